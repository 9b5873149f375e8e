/* A check that ends the test program. */
#ifndef CONDITION_H
#define CONDITION_H

#include <stdio.h>
#include <unistd.h>

/* _exit: a failing child of a fork must not run the parent's exit handlers. */
#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: check fails: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1); \
        } \
    } while (0)

#endif
