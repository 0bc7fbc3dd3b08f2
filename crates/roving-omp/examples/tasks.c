/* Programs that do nothing but tasks, for rows.c. Each checks its result. */
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *name, int is_right)
{
    if (!is_right) {
        fprintf(stderr, "%s: the result is wrong\n", name);
        exit(1);
    }
}

static uint64_t hash(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static long queens(unsigned all, unsigned columns, unsigned left, unsigned right)
{
    long ways = 0;
    if (columns == all)
        return 1;
    for (unsigned free = all & ~(columns | left | right); free; free &= free - 1) {
        unsigned bit = free & -free;
#pragma omp task shared(ways) firstprivate(bit)
        {
            long found = queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
            if (found) {
#pragma omp atomic
                ways += found;
            }
        }
    }
#pragma omp taskwait
    return ways;
}

static void sort(int *at, int *other, int count)
{
    if (count < 64) {
        for (int i = 1; i < count; i++) {
            int x = at[i], j = i;
            for (; j > 0 && at[j - 1] > x; j--)
                at[j] = at[j - 1];
            at[j] = x;
        }
        return;
    }
    int half = count / 2;
#pragma omp task
    sort(at, other, half);
#pragma omp task
    sort(at + half, other + half, count - half);
#pragma omp taskwait
    for (int i = 0, a = 0, b = half; i < count; i++)
        other[i] = a < half && (b == count || at[a] <= at[b]) ? at[a++] : at[b++];
    memcpy(at, other, count * sizeof *at);
}

/* Blocks of a matrix, each after those that it needs. */
enum { BLOCKS = 24, SIDE = 24 };
static double blocks[BLOCKS][BLOCKS][SIDE][SIDE];

static void update(double (*c)[SIDE], double (*a)[SIDE], double (*b)[SIDE])
{
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++)
            for (int j = 0; j < SIDE; j++)
                c[i][j] -= a[i][k] * b[k][j] * 1e-6;
}

static void blocked(void)
{
    for (int k = 0; k < BLOCKS; k++) {
#pragma omp task depend(inout : blocks[k][k])
        update(blocks[k][k], blocks[k][k], blocks[k][k]);
        for (int i = k + 1; i < BLOCKS; i++) {
#pragma omp task depend(in : blocks[k][k]) depend(inout : blocks[k][i])
            update(blocks[k][i], blocks[k][k], blocks[k][i]);
#pragma omp task depend(in : blocks[k][k]) depend(inout : blocks[i][k])
            update(blocks[i][k], blocks[i][k], blocks[k][k]);
        }
        for (int i = k + 1; i < BLOCKS; i++)
            for (int j = k + 1; j < BLOCKS; j++) {
#pragma omp task depend(in : blocks[i][k], blocks[k][j]) depend(inout : blocks[i][j])
                update(blocks[i][j], blocks[i][k], blocks[k][j]);
            }
    }
}

static void fill_blocks(void)
{
    double *at = &blocks[0][0][0][0];
    for (size_t i = 0; i < sizeof blocks / sizeof *at; i++)
        at[i] = (double)(hash(i + 1) % 1000) / 1000;
}

static double depending(void)
{
    static double expected[BLOCKS][BLOCKS][SIDE][SIDE];
    /* Outside of a region, each task is run at once. */
    fill_blocks();
    blocked();
    memcpy(expected, blocks, sizeof blocks);
    fill_blocks();
    double began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    blocked();
    double took = 1e3 * (omp_get_wtime() - began);
    expect("blocks", !memcmp(expected, blocks, sizeof blocks));
    return took;
}

/* Strassen's product of matrices, down to a side of `leaf`: a task for each of the seven products.
   Each matrix is given by its first element and the length of its rows. */
typedef struct {
    double *at;
    int row;
} Matrix;

static int leaf;

static Matrix part(Matrix of, int side, int down, int right)
{
    of.at += down * side * of.row + right * side;
    return of;
}

/* to = a + factor * b; with a factor of 0, b is not looked at. */
static void sum(Matrix to, Matrix a, double factor, Matrix b, int side)
{
    for (int i = 0; i < side; i++)
        for (int j = 0; j < side; j++) {
            double x = a.at[i * a.row + j];
            if (factor != 0)
                x += factor * b.at[i * b.row + j];
            to.at[i * to.row + j] = x;
        }
}

static void product(Matrix c, Matrix a, Matrix b, int side)
{
    for (int i = 0; i < side; i++) {
        memset(c.at + i * c.row, 0, side * sizeof(double));
        for (int k = 0; k < side; k++)
            for (int j = 0; j < side; j++)
                c.at[i * c.row + j] += a.at[i * a.row + k] * b.at[k * b.row + j];
    }
}

static void strassen(Matrix c, Matrix a, Matrix b, int side);

/* c = (a1 + fa * a2) * (b1 + fb * b2) */
static void seventh(Matrix c, Matrix a1, double fa, Matrix a2, Matrix b1, double fb, Matrix b2,
                    int side)
{
    double *room = malloc(2 * side * side * sizeof *room);
    Matrix a = {room, side}, b = {room + side * side, side};
    sum(a, a1, fa, a2, side);
    sum(b, b1, fb, b2, side);
    strassen(c, a, b, side);
    free(room);
}

static void strassen(Matrix c, Matrix a, Matrix b, int side)
{
    if (side <= leaf) {
        product(c, a, b, side);
        return;
    }
    int half = side / 2;
    Matrix a11 = a, a12 = part(a, half, 0, 1), a21 = part(a, half, 1, 0), a22 = part(a, half, 1, 1);
    Matrix b11 = b, b12 = part(b, half, 0, 1), b21 = part(b, half, 1, 0), b22 = part(b, half, 1, 1);
    double *room = malloc(7 * half * half * sizeof *room);
    Matrix m[7];
    for (int i = 0; i < 7; i++)
        m[i] = (Matrix){room + i * half * half, half};
#pragma omp task
    seventh(m[0], a11, 1, a22, b11, 1, b22, half);
#pragma omp task
    seventh(m[1], a21, 1, a22, b11, 0, b11, half);
#pragma omp task
    seventh(m[2], a11, 0, a11, b12, -1, b22, half);
#pragma omp task
    seventh(m[3], a22, 0, a22, b21, -1, b11, half);
#pragma omp task
    seventh(m[4], a11, 1, a12, b22, 0, b22, half);
#pragma omp task
    seventh(m[5], a21, -1, a11, b11, 1, b12, half);
#pragma omp task
    seventh(m[6], a12, -1, a22, b21, 1, b22, half);
#pragma omp taskwait
    for (int i = 0; i < half; i++)
        for (int j = 0; j < half; j++) {
            int at = i * half + j;
            double m1 = m[0].at[at], m2 = m[1].at[at], m3 = m[2].at[at], m4 = m[3].at[at];
            double m5 = m[4].at[at], m6 = m[5].at[at], m7 = m[6].at[at];
            double *upper = c.at + i * c.row + j, *lower = upper + half * c.row;
            upper[0] = m1 + m4 - m5 + m7;
            upper[half] = m3 + m5;
            lower[0] = m2 + m4;
            lower[half] = m1 - m2 + m3 + m6;
        }
    free(room);
}

static double multiplied(int side, int of)
{
    leaf = of;
    double *all = malloc(3 * side * side * sizeof *all);
    Matrix a = {all, side}, b = {all + side * side, side}, c = {all + 2 * side * side, side};
    for (int i = 0; i < 2 * side * side; i++)
        all[i] = (double)(hash(i + 1) % 1000) / 1000;
    double began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    strassen(c, a, b, side);
    double took = 1e3 * (omp_get_wtime() - began);
    for (int turn = 0; turn < 1000; turn++) {
        int i = hash(turn + 7) % side, j = hash(turn + 9999) % side;
        double x = 0;
        for (int k = 0; k < side; k++)
            x += a.at[i * side + k] * b.at[k * side + j];
        expect("strassen", fabs(x - c.at[i * side + j]) < 1e-8 * side);
    }
    free(all);
    return took;
}

/* The factors L and U of a matrix of blocks, of which many are empty: tasks for the blocks of a row
   and of a column, and then for all that they meet in. */
enum { MOST = 64 };
static double *lu[MOST][MOST];

static void factor(double *d, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++) {
            d[i * n + k] /= d[k * n + k];
            for (int j = k + 1; j < n; j++)
                d[i * n + j] -= d[i * n + k] * d[k * n + j];
        }
}

/* Of a block to the right of the diagonal. */
static void solve_row(const double *d, double *x, int n)
{
    for (int k = 0; k < n; k++)
        for (int i = k + 1; i < n; i++)
            for (int j = 0; j < n; j++)
                x[i * n + j] -= d[i * n + k] * x[k * n + j];
}

/* Of a block below the diagonal. */
static void solve_column(const double *d, double *x, int n)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            x[i * n + k] /= d[k * n + k];
            for (int j = k + 1; j < n; j++)
                x[i * n + j] -= x[i * n + k] * d[k * n + j];
        }
}

static void meet(double **at, const double *left, const double *above, int n)
{
    if (!*at)
        *at = calloc(n * n, sizeof **at);
    double *x = *at;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            for (int j = 0; j < n; j++)
                x[i * n + j] -= left[i * n + k] * above[k * n + j];
}

static void sparse_lu(int count, int n)
{
    for (int k = 0; k < count; k++) {
        factor(lu[k][k], n);
        for (int i = k + 1; i < count; i++) {
            if (lu[k][i]) {
#pragma omp task
                solve_row(lu[k][k], lu[k][i], n);
            }
            if (lu[i][k]) {
#pragma omp task
                solve_column(lu[k][k], lu[i][k], n);
            }
        }
#pragma omp taskwait
        for (int i = k + 1; i < count; i++)
            for (int j = k + 1; j < count && lu[i][k]; j++)
                if (lu[k][j]) {
#pragma omp task
                    meet(&lu[i][j], lu[i][k], lu[k][j], n);
                }
#pragma omp taskwait
    }
}

/* Fills in a matrix whose diagonal is large, one block of five besides. */
static void fill(int count, int n)
{
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int is_there = abs(i - j) < 2 || hash(i * MOST + j + 1) % 5 == 0;
            free(lu[i][j]);
            lu[i][j] = is_there ? malloc(n * n * sizeof(double)) : NULL;
            for (int k = 0; k < n * n && is_there; k++)
                lu[i][j][k] = (double)(hash((i * MOST + j) * 4096 + k) % 1000) / 1000 +
                              (i == j && k % (n + 1) == 0 ? 10.0 * count * n : 0);
        }
}

static double checksum(int count, int n)
{
    double all = 0;
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            for (int k = 0; k < n * n && lu[i][j]; k++)
                all += lu[i][j][k] * (1 + (i + j + k) % 7);
    return all;
}

static double factored(int count, int n)
{
    /* Outside of a region, each task is run at once. */
    fill(count, n);
    sparse_lu(count, n);
    double expected = checksum(count, n);
    fill(count, n);
    double began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    sparse_lu(count, n);
    double took = 1e3 * (omp_get_wtime() - began);
    expect("sparse LU", checksum(count, n) == expected);
    return took;
}

/* Rectangles in the smallest rectangle, each beside or below one that lies there: a task for each
   place, unless it is no better than what has been found. */
enum { CELLS = 10 };
typedef struct {
    signed char x, y, w, h;
} Cell;
typedef struct {
    int count;
    Cell cells[CELLS];
} Plan;

static const signed char sides[CELLS][2] = {{23, 7}, {11, 19}, {17, 5},  {6, 14},  {10, 18},
                                            {3, 29}, {12, 4},  {21, 13}, {16, 25}, {9, 27}};
static int least;

static int area(const Plan *plan)
{
    int w = 0, h = 0;
    for (int i = 0; i < plan->count; i++) {
        const Cell *cell = &plan->cells[i];
        w = w > cell->x + cell->w ? w : cell->x + cell->w;
        h = h > cell->y + cell->h ? h : cell->y + cell->h;
    }
    return w * h;
}

/* Whether there is room for it at its place. */
static int fits(const Plan *plan, Cell cell)
{
    for (int i = 0; i < plan->count; i++) {
        const Cell *other = &plan->cells[i];
        if (cell.x < other->x + other->w && other->x < cell.x + cell.w &&
            cell.y < other->y + other->h && other->y < cell.y + cell.h)
            return 0;
    }
    return 1;
}

static void place(Plan plan)
{
    int best, own = area(&plan);
#pragma omp atomic read
    best = least;
    if (own >= best)
        return;
    if (plan.count == CELLS) {
#pragma omp critical
        if (own < least) {
#pragma omp atomic write
            least = own;
        }
        return;
    }
    for (int beside = 0; beside < plan.count; beside++)
        for (int way = 0; way < 4; way++) {
            const Cell *by = &plan.cells[beside];
            const signed char *side = sides[plan.count];
            Cell cell = {by->x, by->y, side[way & 1], side[~way & 1]};
            if (way & 2)
                cell.x += by->w;
            else
                cell.y += by->h;
            if (!fits(&plan, cell))
                continue;
            Plan next = plan;
            next.cells[next.count++] = cell;
#pragma omp task firstprivate(next)
            place(next);
        }
#pragma omp taskwait
}

static double planned(void)
{
    Plan first = {1, {{0, 0, sides[0][0], sides[0][1]}}};
    least = 10000;
    double began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    place(first);
    double took = 1e3 * (omp_get_wtime() - began);
    expect("floorplan", least == 1863);
    return took;
}

/* UTS: a tree of which nobody knows beforehand where the work is. A node is twenty bytes, from which
   SHA-1 makes its children. */
typedef struct {
    uint32_t words[5];
} Node;

static uint32_t rotated(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

/* Of a message of at most 55 bytes, as words with the first byte in front. */
static Node sha1(const uint32_t *message, int words)
{
    static const uint32_t begin[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint32_t w[80] = {0};
    memcpy(w, message, words * 4);
    w[words] = 0x80000000;
    w[15] = words * 32;
    for (int i = 16; i < 80; i++)
        w[i] = rotated(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = begin[0], b = begin[1], c = begin[2], d = begin[3], e = begin[4];
    for (int i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? (b & c | ~b & d) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? (b & c | b & d | c & d) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t next = rotated(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = rotated(b, 30);
        b = a;
        a = next;
    }
    return (Node){{begin[0] + a, begin[1] + b, begin[2] + c, begin[3] + d, begin[4] + e}};
}

/* T3: 2000 children of the root, and eight of another node with a chance of slightly less than one
   in eight. */
enum { OF_ROOT = 2000, OF_NODE = 8 };

static int children(const Node *node)
{
    return (node->words[4] & 0x7fffffff) / 2147483648.0 < 0.124875 ? OF_NODE : 0;
}

static Node child_of(const Node *node, uint32_t number)
{
    uint32_t message[6];
    memcpy(message, node->words, 20);
    message[5] = number;
    return sha1(message, 6);
}

static long serial_nodes(const Node *node, int count)
{
    long all = 1;
    for (int i = 0; i < count; i++) {
        Node child = child_of(node, i);
        all += serial_nodes(&child, children(&child));
    }
    return all;
}

static long nodes(const Node *parent, uint32_t number)
{
    Node node = child_of(parent, number);
    int count = children(&node);
    long all = 1, below[OF_NODE];
    if (!count)
        return 1;
    for (int i = 0; i < count; i++) {
#pragma omp task shared(below, node) firstprivate(i)
        below[i] = nodes(&node, i);
    }
#pragma omp taskwait
    for (int i = 0; i < count; i++)
        all += below[i];
    return all;
}

static long root_nodes(const Node *root)
{
    long all = 1, below[OF_ROOT];
    for (int i = 0; i < OF_ROOT; i++) {
#pragma omp task shared(below) firstprivate(i)
        below[i] = nodes(root, i);
    }
#pragma omp taskwait
    for (int i = 0; i < OF_ROOT; i++)
        all += below[i];
    return all;
}

static double tree(int is_serial)
{
    uint32_t seed[5] = {0, 0, 0, 0, 42};
    Node root = sha1(seed, 5);
    long all = 0;
    double began = omp_get_wtime();
    if (is_serial)
        all = serial_nodes(&root, OF_ROOT);
    else
#pragma omp parallel
#pragma omp single
        all = root_nodes(&root);
    double took = 1e3 * (omp_get_wtime() - began);
    expect("UTS T3", all == 4112897);
    return took;
}

static double sorted(int count)
{
    int *at = malloc(count * sizeof *at), *other = malloc(count * sizeof *at);
    for (int i = 0; i < count; i++)
        at[i] = (int)(i * 2654435761u >> 3);
    double began = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    sort(at, other, count);
    double took = 1e3 * (omp_get_wtime() - began);
    for (int i = 1; i < count; i++)
        expect("sort", at[i - 1] <= at[i]);
    free(at);
    free(other);
    return took;
}

/* Milliseconds of a program, or less than nothing if there is none of that name. */
double tasks(const char *name)
{
    if (!strcmp(name, "sort"))
        return sorted(2000000);
    if (!strcmp(name, "strassen 16"))
        return multiplied(512, 16);
    if (!strcmp(name, "strassen 64"))
        return multiplied(1024, 64);
    if (!strcmp(name, "sparse LU 8"))
        return factored(64, 8);
    if (!strcmp(name, "sparse LU 32"))
        return factored(48, 32);
    if (!strcmp(name, "blocks"))
        return depending();
    if (!strcmp(name, "floorplan"))
        return planned();
    if (!strcmp(name, "UTS T3"))
        return tree(0);
    if (!strcmp(name, "UTS T3 serial"))
        return tree(1);
    double began = omp_get_wtime();
    if (!strcmp(name, "fib")) {
        long found = 0;
#pragma omp parallel
#pragma omp single
        found = fib(32);
        expect(name, found == 2178309);
    } else if (!strncmp(name, "queens ", 7)) {
        int columns = atoi(name + 7);
        long found = 0;
#pragma omp parallel
#pragma omp single
        found = queens((1u << columns) - 1, 0, 0, 0);
        expect(name, found == (columns == 14 ? 365596 : 14200));
    } else {
        return -1;
    }
    return 1e3 * (omp_get_wtime() - began);
}
