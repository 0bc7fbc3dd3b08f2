// A loop whose body a compiler can make of vectors, if nothing stands between two indices.
#include <roving.hpp>

#include <vector>

int main()
{
    std::vector<float> sums(100000, 1.0f), values(100000, 2.0f);
    float *to = sums.data();
    const float *from = values.data();
    roving::parallel_for(0, sums.size(), [=](std::size_t i) { to[i] = to[i] * 3.0f + from[i]; });
    for (float sum : sums) {
        if (sum != 5.0f) {
            return 1;
        }
    }
    return 0;
}
