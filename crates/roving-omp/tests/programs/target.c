/* Target regions, where there is no device: all of it runs on the host. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000 };

struct pair {
    int left;
    double right;
    char text[40];
};

#pragma omp declare target
int shared_count = 5;
static int doubled(int x)
{
    return 2 * x + shared_count;
}
#pragma omp end declare target

/* What is mapped, and what is a copy of the region's own. */
static void copies(void)
{
    int a[COUNT], sum = 0, copied = 7, inside = 0;
    struct pair pair = {3, 4.5, "a pair"};
    int *there = malloc(COUNT * sizeof *there);
    for (int i = 0; i < COUNT; i++)
        a[i] = there[i] = i;
#pragma omp target map(tofrom : a, sum) map(tofrom : there[0 : COUNT]) firstprivate(pair)           \
    map(from : inside)
    {
        for (int i = 0; i < COUNT; i++) {
            a[i] += there[i];
            there[i]--;
            sum += doubled(a[i]);
        }
        pair.left = 100;
        pair.text[0] = 'x';
        copied++;
        inside = copied;
    }
    printf("copies: %d %d %d, %d and %d, %d %s\n", a[10], there[10], sum, copied, inside, pair.left,
           pair.text);
    double real = 1.5;
    long long wide = 1LL << 40;
    int back = 0;
#pragma omp target map(from : back) defaultmap(none) firstprivate(real, wide)
    {
        real *= 2;
        wide++;
        back = (int)real + (wide == (1LL << 40) + 1);
    }
    printf("private: %.1f %d %d\n", real, wide == 1LL << 40, back);
    int size = 3, local[size];
    for (int i = 0; i < size; i++)
        local[i] = i;
#pragma omp target firstprivate(local) map(from : back)
    {
        local[1] = 50;
        back = local[0] + local[1] + local[2];
    }
    printf("array: %d %d\n", local[1], back);
    free(there);
}

/* Where a target region is, and what it has. */
static void inside(void)
{
    int here[8] = {0};
#pragma omp parallel num_threads(3)
#pragma omp master
    {
#pragma omp target map(tofrom : here)
        {
            here[0] = omp_is_initial_device();
            here[1] = omp_get_num_threads();
            here[2] = omp_get_level();
            here[3] = omp_in_parallel();
#pragma omp parallel num_threads(2)
            {
#pragma omp atomic
                here[4]++;
            }
        }
        here[5] = omp_get_level();
    }
    printf("inside: initial %d, of %d, level %d, parallel %d, %d; then level %d\n", here[0], here[1],
           here[2], here[3], here[4], here[5]);
    printf("devices: %d, initial %d, default %d\n", omp_get_num_devices(), omp_get_initial_device(),
           omp_get_default_device());
}

static void teams(void)
{
    int sum = 0, count = 0, leagues = 0, limit = 0, a[COUNT];
#pragma omp target teams distribute parallel for map(from : a)
    for (int i = 0; i < COUNT; i++)
        a[i] = 3 * i;
#pragma omp target teams distribute parallel for simd reduction(+ : sum) map(tofrom : sum)         \
    map(to : a)
    for (int i = 0; i < COUNT; i++)
        sum += a[i];
#pragma omp target teams num_teams(3) thread_limit(2) map(tofrom : count, leagues, limit)
#pragma omp parallel
    {
#pragma omp critical
        {
            count += omp_get_thread_num() == 0 ? 1 + 10 * omp_get_team_num() : 0;
            leagues = omp_get_num_teams();
            limit = omp_get_thread_limit();
        }
    }
    printf("teams: %d, %d in %d, limit %d\n", sum, count, leagues, limit);
#pragma omp target parallel for map(tofrom : sum) reduction(- : sum)
    for (int i = 0; i < COUNT; i++)
        sum -= i;
    printf("parallel: %d\n", sum);
#if __GNUC__ >= 12
#pragma omp target thread_limit(2) map(from : limit)
    limit = omp_get_thread_limit();
    printf("limit: %d\n", limit);
#endif
}

/* Data that stays, which on the host is the program's own. */
static void data(void)
{
#if __GNUC__ >= 10
    int a[COUNT], *heap = malloc(COUNT * sizeof *heap), sum = 0, same = 0;
    memset(a, 0, sizeof a);
    for (int i = 0; i < COUNT; i++)
        heap[i] = i;
#pragma omp target data map(tofrom : a) map(to : heap[0 : COUNT]) use_device_ptr(heap)
    {
#pragma omp target map(tofrom : sum) is_device_ptr(heap)
        for (int i = 0; i < COUNT; i++)
            sum += heap[i];
#pragma omp target
        a[3] = 5;
#pragma omp target update from(a)
        a[4] = a[3] + 1;
#pragma omp target update to(a)
#pragma omp target map(tofrom : sum)
        sum += a[4];
    }
#pragma omp target enter data map(to : a, heap[0 : COUNT])
#pragma omp target map(always, tofrom : a[0 : COUNT])
    for (int i = 0; i < COUNT; i++)
        a[i] += heap[i];
#pragma omp target exit data map(from : a) map(release : heap[0 : COUNT])
#pragma omp target data map(a) use_device_addr(a)
    same = omp_target_is_present(a, omp_get_initial_device());
    printf("data: %d %d %d, there %d\n", sum, a[3], a[COUNT - 1], same);
    free(heap);
#endif
}

/* Target regions among tasks. */
static void tasks(void)
{
    int x = 0, y = 0, z = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : x) shared(x)
        x = 1;
#pragma omp target map(tofrom : x) depend(inout : x) nowait
        x = 10 * x + 2;
#pragma omp target enter data map(to : x) depend(inout : x) nowait
#pragma omp target update to(x) depend(inout : x) nowait
#pragma omp target exit data map(from : x) depend(inout : x) nowait
#pragma omp task depend(in : x) depend(out : y) shared(x, y)
        y = x + 1;
#pragma omp target map(tofrom : y) map(from : z) depend(in : y) depend(out : z)
        z = y + 1;
#pragma omp taskwait
    }
    printf("tasks: %d %d %d\n", x, y, z);
    int with = 0;
#pragma omp target map(tofrom : with) if (0)
    with++;
#pragma omp target map(tofrom : with) device(omp_get_initial_device())
    with++;
    printf("with: %d\n", with);
}

/* The settings that a region begins with, and those of each team. */
static void asked(const char *where)
{
    int count = 0, teams = 0, limit = 0;
#pragma omp parallel num_threads(3)
#pragma omp critical
    {
        count++;
        teams += omp_get_team_num();
        limit = omp_get_thread_limit();
    }
    printf("%s: team %d of %d, %d threads, %d, limit %d, most %d, level %d\n", where,
           omp_get_team_num(), omp_get_num_teams(), count, teams, limit == 2, omp_get_max_threads(),
           omp_get_level());
}

static void leagues(int some)
{
    omp_set_num_threads(some + 4);
#pragma omp target teams num_teams(some) thread_limit(some - 1)
#pragma omp parallel if (0)
    asked("some");
#pragma omp target teams
#pragma omp parallel if (0)
    asked("teams");
#pragma omp target
    asked("alone");
#if __GNUC__ >= 12
#pragma omp target thread_limit(some - 1)
    asked("limit");
    printf("then: %d\n", omp_get_max_threads());
    int x = 1, y = 0;
#pragma omp parallel num_threads(2) reduction(task, + : x)
#pragma omp single
    {
#pragma omp target in_reduction(+ : x)
        x += 5;
#pragma omp target in_reduction(+ : x) map(tofrom : y) nowait
        {
            x += 6;
            y = 2;
        }
    }
    printf("reduced: %d %d\n", x, y);
#endif
}

/* The functions, for the host as a device. */
static void memory(void)
{
    int host = omp_get_initial_device();
    int *there = omp_target_alloc(COUNT * sizeof *there, host), back[COUNT];
    for (int i = 0; i < COUNT; i++)
        back[i] = i;
    int told = omp_target_memcpy(there, back, 10 * sizeof *back, 5 * sizeof *back, 0, host, host);
    printf("copy: %d %d %d\n", told, there[5], there[14]);
    /* A block of 2 by 3 from (1, 1) in a table of 4 by 5 to (0, 2) in one of 3 by 6. */
    size_t volume[] = {2, 3}, from[] = {1, 1}, to[] = {0, 2}, of[] = {4, 5}, into[] = {3, 6};
    memset(there, 0, COUNT * sizeof *there);
    told = omp_target_memcpy_rect(there, back, sizeof *back, 2, volume, to, from, into, of, host,
                                  host);
    printf("block: %d:", told);
    for (int i = 0; i < 18; i++)
        printf(" %d", there[i]);
    size_t cube[] = {2, 2, 2}, none[] = {0, 1, 0}, four[] = {4, 4, 4};
    told = omp_target_memcpy_rect(there, back, sizeof *back, 3, cube, none, none, four, four, host,
                                  host);
    printf("\ncube: %d, %d %d %d, most %d\n", told, there[4], there[9], there[25],
           omp_target_memcpy_rect(NULL, NULL, 4, 0, NULL, NULL, NULL, NULL, NULL, host, host) > 2);
    printf("wrong: %d %d %d %d\n", omp_target_memcpy(there, back, 4, 0, 0, 7, host) != 0,
           omp_target_alloc(8, 7) == NULL, omp_target_is_present(there, 7),
           omp_target_is_present(NULL, host));
    printf("empty: %d %d\n", omp_target_alloc(0, host) == NULL,
           omp_target_memcpy(there, back, 0, 0, 0, host, host));
    printf("associate: %d %d\n", omp_target_associate_ptr(there, there, 8, 0, host) != 0,
           omp_target_disassociate_ptr(there, host) != 0);
    omp_target_free(there, host);
    omp_target_free(NULL, host);
}

int main(int count, char **words)
{
    (void)words;
    copies();
    inside();
    teams();
    data();
    tasks();
    leagues(count + 2);
    memory();
    return 0;
}
