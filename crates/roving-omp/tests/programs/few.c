/* A region of eight threads, where the system may have memory for fewer. */
#include <omp.h>
#include <stdio.h>

int main(void)
{
    for (int turn = 0; turn < 2; turn++) {
        int threads = 0, came = 0;
#pragma omp parallel num_threads(8) reduction(+ : came)
        {
            came++;
#pragma omp barrier
#pragma omp single
            threads = omp_get_num_threads();
        }
        printf("%d\n", came == threads ? threads : -1);
    }
    return 0;
}
