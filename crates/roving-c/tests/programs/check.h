/* What the test programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <roving.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what) \
    do { \
        if (!(what)) { \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, \
                    roving_error_detail()); \
            exit(1); \
        } \
    } while (0)

#define OK(call) CHECK((call) == ROVING_OK)

#endif
