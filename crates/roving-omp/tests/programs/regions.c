/* Regions, barriers, single, master, critical, atomic, sections, threadprivate. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static int mine;
#pragma omp threadprivate(mine)

static void numbers(int threads)
{
    int seen[64] = {0}, sum = 0;
#pragma omp parallel num_threads(threads)
    {
        int num = omp_get_thread_num();
        seen[num] += num + 1;
#pragma omp barrier
#pragma omp critical
        sum += seen[(num + 1) % omp_get_num_threads()];
#pragma omp barrier
#pragma omp master
        printf("%d threads: %d\n", omp_get_num_threads(), sum);
    }
}

static void conditional(void)
{
    int threads[2] = {0};
    for (int on = 0; on < 2; on++) {
#pragma omp parallel if (on) num_threads(3)
#pragma omp master
        threads[on] = omp_get_num_threads();
    }
    printf("if: %d %d\n", threads[0], threads[1]);
#if __GNUC__ >= 12
    int masked = 0;
#pragma omp parallel num_threads(3)
#pragma omp masked filter(omp_get_num_threads() - 1)
    masked += 10 + omp_get_num_threads() - omp_get_thread_num();
    printf("masked: %d\n", masked);
#endif
}

static void singles(void)
{
    int first = 0, last = 0, copies = 0;
#pragma omp parallel num_threads(4)
    {
        int value = -1;
        for (int turn = 0; turn < 100; turn++) {
#pragma omp single nowait
#pragma omp atomic
            first++;
#pragma omp single copyprivate(value)
            value = turn;
            if (value != turn) {
#pragma omp atomic
                copies++;
            }
        }
#pragma omp single
        last = value;
    }
    printf("single: %d %d, wrong copies %d\n", first, last, copies);
}

static void counts(void)
{
    int named = 0, unnamed = 0, atomic = 0;
    double real = 0;
    long double wide = 0;
#pragma omp parallel num_threads(4)
    for (int turn = 0; turn < 1000; turn++) {
#pragma omp critical(a_name)
        named++;
#pragma omp critical
        unnamed++;
#pragma omp atomic
        atomic++;
#pragma omp atomic
        real += 0.5;
#pragma omp atomic
        wide += 1;
    }
    printf("counts: %d %d %d %g %Lg\n", named, unnamed, atomic, real, wide);
}

static void sections(void)
{
    int done[5] = {0};
#pragma omp parallel num_threads(2)
    {
#pragma omp sections
        {
#pragma omp section
            done[0]++;
#pragma omp section
            done[1]++;
#pragma omp section
            done[2]++;
        }
    }
#pragma omp parallel sections num_threads(3)
    {
#pragma omp section
        done[3]++;
#pragma omp section
        done[4]++;
    }
    printf("sections: %d %d %d %d %d\n", done[0], done[1], done[2], done[3], done[4]);
}

static void private_values(void)
{
    int wrong = 0;
    mine = 7;
#pragma omp parallel num_threads(4) copyin(mine)
    {
        if (mine != 7) {
#pragma omp atomic
            wrong++;
        }
        mine = 100 + omp_get_thread_num();
    }
#pragma omp parallel num_threads(4)
    if (mine != 100 + omp_get_thread_num()) {
#pragma omp atomic
        wrong++;
    }
    printf("threadprivate: %d wrong\n", wrong);
}

static void serialized(void)
{
    int inner = 0, level = 0, ancestor = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            inner += omp_get_num_threads();
            if (omp_get_level() == 2 && omp_get_active_level() == 1) {
#pragma omp atomic
                level++;
            }
#pragma omp atomic
            ancestor += omp_get_ancestor_thread_num(1);
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 5; i++) {
#pragma omp atomic
                level += 10;
            }
        }
    }
    printf("nested: %d %d %d\n", inner, level, ancestor);
}

int main(void)
{
    for (int threads = 1; threads <= 5; threads++)
        numbers(threads);
    numbers(2);
    conditional();
    singles();
    counts();
    sections();
    private_values();
    serialized();
    for (int turn = 0; turn < 300; turn++) {
        int sum = 0;
#pragma omp parallel num_threads(1 + turn % 4) reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
        int threads = 1 + turn % 4;
        if (sum != threads * (threads + 1) / 2)
            printf("turn %d: %d\n", turn, sum);
    }
    return 0;
}
