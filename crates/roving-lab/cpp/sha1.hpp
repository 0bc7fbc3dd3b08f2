// SHA-1 of the one message that UTS hashes: a parent's digest and a child's number, 24 bytes.
// The digest is kept as five words in host order, so no byte is ever swapped.
#pragma once
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace sha1 {

struct Digest {
    uint32_t word[5];
};

constexpr uint32_t kInitial[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};

inline uint32_t rotate_left(uint32_t x, int n) { return (x << n) | (x >> (32 - n)); }

// One block of sixteen words, as FIPS 180-4 writes it.
inline Digest block(const uint32_t (&message)[16]) {
    uint32_t w[80];
    for (int t = 0; t < 16; ++t) w[t] = message[t];
    for (int t = 16; t < 80; ++t) w[t] = rotate_left(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = kInitial[0], b = kInitial[1], c = kInitial[2], d = kInitial[3], e = kInitial[4];
    for (int t = 0; t < 80; ++t) {
        uint32_t f, k;
        if (t < 20) {
            f = (b & c) | (~b & d);
            k = 0x5a827999u;
        } else if (t < 40) {
            f = b ^ c ^ d;
            k = 0x6ed9eba1u;
        } else if (t < 60) {
            f = (b & c) | (b & d) | (c & d);
            k = 0x8f1bbcdcu;
        } else {
            f = b ^ c ^ d;
            k = 0xca62c1d6u;
        }
        uint32_t next = rotate_left(a, 5) + f + e + k + w[t];
        e = d;
        d = c;
        c = rotate_left(b, 30);
        b = a;
        a = next;
    }
    return Digest{{kInitial[0] + a, kInitial[1] + b, kInitial[2] + c, kInitial[3] + d, kInitial[4] + e}};
}

// The root's digest: sixteen zero bytes, then the seed.
inline Digest root(uint32_t seed) {
    const uint32_t message[16] = {0, 0, 0, 0, seed, 0x80000000u, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20 * 8};
    return block(message);
}

inline Digest child_portable(const Digest& parent, uint32_t index) {
    const uint32_t* p = parent.word;
    const uint32_t message[16] = {p[0], p[1], p[2], p[3], p[4], index, 0x80000000u, 0,
                                  0,    0,    0,    0,    0,    0,     0,           24 * 8};
    return block(message);
}

#if defined(__x86_64__)

inline bool has_sha_instructions() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 19))) return false;  // SSE4.1
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
    return (b & (1u << 29)) != 0;  // SHA
}

// The running hashes of `Lanes` siblings. One hash is a chain of dependent instructions, so a
// second one fits into its gaps. Lane 3 of a vector holds the first of four words.
template <int Lanes>
struct Running {
    __m128i abcd[Lanes];
    __m128i before[Lanes];  // `abcd` before the last four rounds: the next word e comes from it
    __m128i words[Lanes][4];
};

// Rounds 4 * Step to 4 * Step + 3.
template <int Lanes, int Step>
__attribute__((target("sha,sse4.1"), always_inline)) inline void rounds(Running<Lanes>& running) {
    for (int lane = 0; lane < Lanes; ++lane) {
        __m128i* const w = running.words[lane];
        if (Step >= 4) {
            const __m128i half = _mm_xor_si128(_mm_sha1msg1_epu32(w[Step % 4], w[(Step + 1) % 4]), w[(Step + 2) % 4]);
            w[Step % 4] = _mm_sha1msg2_epu32(half, w[(Step + 3) % 4]);
        }
        const __m128i e = _mm_sha1nexte_epu32(running.before[lane], w[Step % 4]);
        running.before[lane] = running.abcd[lane];
        running.abcd[lane] = _mm_sha1rnds4_epu32(running.abcd[lane], e, Step / 5);
    }
}

// The children first, first + 1, ... of `parent`, as many as there are lanes.
template <int Lanes>
__attribute__((target("sha,sse4.1"))) inline void children_sha(const Digest& parent, uint32_t first, Digest* out) {
    const __m128i initial = _mm_set_epi32(kInitial[0], kInitial[1], kInitial[2], kInitial[3]);
    const __m128i initial_e = _mm_set_epi32(kInitial[4], 0, 0, 0);
    const __m128i parent_words = _mm_shuffle_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(parent.word)), 0x1b);
    const __m128i after_four = _mm_sha1rnds4_epu32(initial, _mm_add_epi32(initial_e, parent_words), 0);
    Running<Lanes> running;
    for (int lane = 0; lane < Lanes; ++lane) {
        running.abcd[lane] = after_four;
        running.before[lane] = initial;
        running.words[lane][0] = parent_words;
        running.words[lane][1] = _mm_set_epi32(parent.word[4], first + lane, 0x80000000u, 0);
        running.words[lane][2] = _mm_setzero_si128();
        running.words[lane][3] = _mm_set_epi32(0, 0, 0, 24 * 8);
    }
    rounds<Lanes, 1>(running);
    rounds<Lanes, 2>(running);
    rounds<Lanes, 3>(running);
    rounds<Lanes, 4>(running);
    rounds<Lanes, 5>(running);
    rounds<Lanes, 6>(running);
    rounds<Lanes, 7>(running);
    rounds<Lanes, 8>(running);
    rounds<Lanes, 9>(running);
    rounds<Lanes, 10>(running);
    rounds<Lanes, 11>(running);
    rounds<Lanes, 12>(running);
    rounds<Lanes, 13>(running);
    rounds<Lanes, 14>(running);
    rounds<Lanes, 15>(running);
    rounds<Lanes, 16>(running);
    rounds<Lanes, 17>(running);
    rounds<Lanes, 18>(running);
    rounds<Lanes, 19>(running);
    for (int lane = 0; lane < Lanes; ++lane) {
        const __m128i abcd = _mm_add_epi32(running.abcd[lane], initial);
        const __m128i e = _mm_sha1nexte_epu32(running.before[lane], initial_e);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out[lane].word), _mm_shuffle_epi32(abcd, 0x1b));
        out[lane].word[4] = static_cast<uint32_t>(_mm_extract_epi32(e, 3));
    }
}

__attribute__((target("sha,sse4.1"))) inline void all_children_sha(const Digest& parent, uint32_t first, uint32_t count, Digest* out) {
    uint32_t done = 0;
    for (; done + 2 <= count; done += 2) children_sha<2>(parent, first + done, out + done);
    if (done < count) children_sha<1>(parent, first + done, out + done);
}

inline const bool kUseSha = has_sha_instructions();

#else

inline const bool kUseSha = false;
inline void all_children_sha(const Digest&, uint32_t, uint32_t, Digest*) {}

#endif

// The children first to first + count - 1 of `parent`.
inline void children(const Digest& parent, uint32_t first, uint32_t count, bool portable, Digest* out) {
    if (kUseSha && !portable) {
        all_children_sha(parent, first, count, out);
    } else {
        for (uint32_t i = 0; i < count; ++i) out[i] = child_portable(parent, first + i);
    }
}

}  // namespace sha1
