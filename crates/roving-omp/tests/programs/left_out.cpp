// Objects that are copied for tasks which a cancelled group leaves out: nothing would end them.
#include <cstdio>

static int alive;

struct Counted {
    int numbers[8] = {};
    Counted() { count(1); }
    Counted(const Counted &) { count(1); }
    ~Counted() { count(-1); }
    static void count(int more)
    {
#pragma omp atomic
        alive += more;
    }
};

int main()
{
    Counted counted;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task if (0)
            {
#pragma omp cancel taskgroup
            }
            for (int i = 0; i < 100; i++)
#pragma omp task firstprivate(counted)
                counted.numbers[0]++;
#pragma omp taskloop nogroup firstprivate(counted) num_tasks(9)
            for (int i = 0; i < 100; i++)
                counted.numbers[0]++;
        }
#pragma omp taskloop firstprivate(counted) num_tasks(9)
        for (int i = 0; i < 100; i++)
            counted.numbers[0]++;
    }
    std::printf("%d alive\n", alive);
}
