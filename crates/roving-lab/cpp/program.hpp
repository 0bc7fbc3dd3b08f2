// One program a runtime: it makes its threads once, then does one run for each line on its standard
// input and answers with one JSON line. On `check` the tasks of `flat` count themselves; on any
// other line they are empty.
#pragma once
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "uts.hpp"
#include "workloads.hpp"

namespace program {

// The figures of an answer, in the order of the Rust program's.
struct Answer {
    uint64_t figures[3] = {0, 0, 0};
};

[[noreturn]] inline void reject(const std::string& why) {
    std::fprintf(stderr, "%s\n", why.c_str());
    std::exit(2);
}

inline double real(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') reject("`" + text + "` is not a number");
    return value;
}

inline uint64_t whole(const std::string& text) {
    char* end = nullptr;
    const uint64_t value = std::strtoull(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != '\0') reject("`" + text + "` is not a whole number");
    return value;
}

// Reads -t0, -q0.2 and so on, and the word portable.
inline uts::Parameters tree_parameters(const std::vector<std::string>& words) {
    uts::Parameters p;
    for (const std::string& word : words) {
        if (word == "portable") {
            p.portable = true;
            continue;
        }
        if (word.size() < 3 || word[0] != '-') reject("`" + word + "` is not a parameter of a tree");
        const std::string value = word.substr(2);
        const auto number = [&value] { return static_cast<uint32_t>(whole(value)); };
        switch (word[1]) {
            case 't': p.t = number(); break;
            case 'a': p.a = number(); break;
            case 'b': p.b = real(value); break;
            case 'd': p.d = number(); break;
            case 'q': p.q = real(value); break;
            case 'm': p.m = number(); break;
            case 'r': p.r = number(); break;
            case 'f': p.f = real(value); break;
            case 'g': p.g = number(); break;
            default: reject("`" + word + "` is not a parameter of a tree");
        }
    }
    return p;
}

// A workload with its parameters.
class Work {
  public:
    Work(const std::string& name, const std::vector<std::string>& words) : name_(name) {
        if (name == "uts") {
            tree_.emplace(tree_parameters(words));
            return;
        }
        for (const std::string& word : words) numbers_.push_back(whole(word));
        const size_t wanted = name == "stress" ? 3 : name == "fib" || name == "nqueens" || name == "flat" ? 1 : 0;
        if (wanted == 0) reject("no workload `" + name + "`: known are fib, nqueens, uts, flat, stress");
        if (numbers_.size() != wanted) reject(name + " wants " + std::to_string(wanted) + " numbers");
    }

    template <class Runtime>
    Answer run(bool check) const {
        if (name_ == "uts") {
            const uts::Found found = uts::search<Runtime>(*tree_);
            return Answer{{found.nodes, found.depth, found.leaves}};
        }
        if (name_ == "fib") return Answer{{fib<Runtime>(static_cast<uint32_t>(numbers_[0])), 0, 0}};
        if (name_ == "nqueens") return Answer{{nqueens<Runtime>(static_cast<uint32_t>(numbers_[0])), 0, 0}};
        if (name_ == "flat") return Answer{{Runtime::flat(numbers_[0], check), 0, 0}};
        return Answer{{stress<Runtime>(static_cast<uint32_t>(numbers_[0]), numbers_[1], numbers_[2]), 0, 0}};
    }

  private:
    std::string name_;
    std::vector<uint64_t> numbers_;
    std::optional<uts::Tree> tree_;
};

template <class Runtime>
int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "version") == 0) {
        std::printf("%s\n", Runtime::version().c_str());
        return 0;
    }
    if (argc < 3) reject("usage: " + std::string(argv[0]) + " version | WORKERS WORKLOAD [PARAMETER ...]");
    const uint64_t workers = whole(argv[1]);
    if (workers < 1 || workers > 1024) reject("workers `" + std::string(argv[1]) + "`: want 1 to 1024");
    const Work work(argv[2], std::vector<std::string>(argv + 3, argv + argc));
    Runtime runtime(static_cast<int>(workers));
    for (std::string line; std::getline(std::cin, line);) {
        Answer answer;
        double seconds = 0.0;
        runtime.inside([&] {
            const auto start = std::chrono::steady_clock::now();
            answer = work.template run<Runtime>(line == "check");
            seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        });
        const uint64_t* figures = answer.figures;
        std::printf("{\"seconds\":%.9f,\"answer\":[%llu,%llu,%llu]}\n", seconds,
                    static_cast<unsigned long long>(figures[0]), static_cast<unsigned long long>(figures[1]),
                    static_cast<unsigned long long>(figures[2]));
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace program
