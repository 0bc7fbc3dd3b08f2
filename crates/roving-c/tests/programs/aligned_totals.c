/* The totals of a reduction stand where their type wants them: up to 64 bytes. */
#include "check.h"

struct wide {
    _Alignas(64) uint64_t sums[3];
};

static void check(const void *total)
{
    CHECK((uintptr_t)total % 64 == 0);
}

static void fold(roving_worker *worker, size_t first, size_t end, void *total, void *arg)
{
    struct wide *wide = total;
    (void)worker, (void)arg;
    check(total);
    for (size_t i = first; i < end; i++) {
        wide->sums[i % 3] += i;
    }
}

static void combine(void *total, const void *following, void *arg)
{
    struct wide *wide = total;
    const struct wide *other = following;
    (void)arg;
    check(total), check(following);
    for (int i = 0; i < 3; i++) {
        wide->sums[i] += other->sums[i];
    }
}

/* Something of another size stands between what one round has allocated and the next. */
int main(void)
{
    enum { ROUNDS = 50 };
    struct wide zero = {{0, 0, 0}};
    void *between[ROUNDS];
    for (size_t round = 0; round < ROUNDS; round++) {
        struct {
            char unaligned;
            char result[sizeof(struct wide)];
        } out;
        struct wide got;
        roving_reduction reduction = {sizeof(struct wide), &zero, fold, combine};
        OK(roving_reduce(0, 30000, &reduction, NULL, out.result));
        memcpy(&got, out.result, sizeof got);
        CHECK(got.sums[0] + got.sums[1] + got.sums[2] == 15000ULL * 29999);
        between[round] = malloc(8 + 16 * round);
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        free(between[round]);
    }
    return 0;
}
