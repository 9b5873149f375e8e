/* LLVM takes random numbers, for names of temporary files, from `arc4random`, which needs glibc 2.36. This
 * one needs glibc 2.25. */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

uint32_t arc4random(void);

uint32_t arc4random(void) {
    uint32_t number = 0;
    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != (ssize_t)sizeof number) {
        /* Early in a system's start. A name that is taken is tried again with another number. */
        struct timespec now = {0};
        clock_gettime(CLOCK_MONOTONIC, &now);
        number = (uint32_t)now.tv_nsec * 2654435761u;
    }
    return number;
}
