/* What a task gets stays where the compiler's code has copied it: an array whose length is not
   constant stands behind a pointer to it. */
#include <stdio.h>

int main(int arguments, char **argument)
{
    int length = arguments + 5, wrong = 0, array[length];
    (void)argument;
    for (int i = 0; i < length; i++)
        array[i] = i;
    for (int turn = 0; turn < 100; turn++)
#pragma omp parallel num_threads(4)
#pragma omp single
    {
#pragma omp taskloop firstprivate(array) num_tasks(8)
        for (int i = 0; i < 80; i++)
            if (array[i % length] != i % length)
#pragma omp atomic
                wrong++;
#pragma omp taskloop firstprivate(array) num_tasks(8) if (0)
        for (int i = 0; i < 80; i++)
            wrong += array[i % length] != i % length;
#pragma omp task firstprivate(array)
        for (int i = 0; i < length; i++)
            if (array[i] != i)
#pragma omp atomic
                wrong++;
    }
    printf("%d wrong\n", wrong);
    return 0;
}
