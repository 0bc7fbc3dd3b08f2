/* A thread that yields in a loop, and waits for what its own tasks do, of which some are hidden; and,
   with an argument, a field that is wider than memory. */
#include <omp.h>
#include <stdio.h>
#include <string.h>

static void yields(void)
{
    int left = 40;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        for (int i = 0; i < 40; i++) {
#pragma omp task shared(left)
            {
#pragma omp atomic
                left--;
            }
        }
        int seen;
        do {
#pragma omp taskyield
#pragma omp atomic read
            seen = left;
        } while (seen > 0);
    }
    printf("left: %d\n", left);
}

static void widths(void)
{
    char text[8];
    const char *wide[] = {"%99999999999999999n|", "%18446744073709551615n|", "%9000000000000000000000n|",
                          "%0.3n|"};
    for (int i = 0; i < 4; i++) {
        memset(text, 0, sizeof text);
        printf("%d %s\n", omp_capture_affinity(text, sizeof text, wide[i]) > 0, text);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        widths();
    else
        yields();
    return 0;
}
