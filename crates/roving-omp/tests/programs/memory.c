/* Tasks that depend on all memory, which compilers before GCC 13 have no word for: the calls that
   later ones make. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

extern void GOMP_task(void (*code)(void *), void *data, void (*copy)(void *, void *), long size,
                      long align, bool may_wait, unsigned flags, void **depend, int priority,
                      void *detach);

enum { DEPEND = 8, CELLS = 6, ROUNDS = 30 };

static int cells[CELLS], wrong, rounds;

static void add(void *data)
{
    int i = *(int *)data;
    usleep(20 * (i % 3));
    cells[i]++;
}

/* All that come before it have added, and none that come after. */
static void look(void *unused)
{
    (void)unused;
    rounds++;
    usleep(50);
    for (int i = 0; i < CELLS; i++)
        wrong += cells[i] != rounds;
}

int main(void)
{
#pragma omp parallel num_threads(4)
#pragma omp single
    for (int turn = 0; turn < ROUNDS; turn++) {
        for (int i = 0; i < CELLS; i++) {
            void *out[] = {(void *)1, (void *)1, &cells[i]};
            GOMP_task(add, &i, NULL, sizeof i, sizeof i, true, DEPEND, out, 0, NULL);
        }
        void *object[] = {NULL, (void *)3};
        void *all[] = {(void *)1, (void *)1, NULL};
        void *by_object[] = {NULL, (void *)1, NULL, NULL, NULL, object};
        void **list = turn % 2 ? all : by_object;
        GOMP_task(look, NULL, NULL, 0, 1, true, DEPEND, list, 0, NULL);
    }
    printf("%d rounds, %d wrong\n", rounds, wrong);
    return 0;
}
