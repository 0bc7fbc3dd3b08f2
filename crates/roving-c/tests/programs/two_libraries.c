/* Loads two libraries, each with the static one in it, and has each work on the other's workers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            exit(1); \
        } \
    } while (0)

struct library {
    int (*number)(void);
    void (*use)(void);
    void *(*frames)(void);
    void (*call_often)(void (*leaf)(void));
};

/* POSIX lets a pointer to a function be read so. */
static void find(void *from, const char *name, void *function)
{
    void *found = dlsym(from, name);
    CHECK(found != NULL);
    *(void **)function = found;
}

static struct library loaded(const char *path, int flags)
{
    struct library library;
    void *from = dlopen(path, RTLD_NOW | flags);
    if (from == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    find(from, "number", &library.number);
    find(from, "use", &library.use);
    find(from, "frames", &library.frames);
    find(from, "call_often", &library.call_often);
    return library;
}

int main(int count, char **words)
{
    CHECK(count == 4);
    int flags = strcmp(words[3], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL;
    struct library one = loaded(words[1], flags), two = loaded(words[2], flags);
    CHECK(one.number() == 1 && two.number() == 2);
    one.use();
    two.use();
    one.call_often(two.use);
    two.call_often(one.use);
    CHECK(one.frames() != two.frames());
    return 0;
}
