/* Reads the input of benchmarks. Errors end the program with a message. */
#ifndef BENCH_INPUT_H
#define BENCH_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Rows of features. */
typedef struct {
    void *values; /* row-major */
    int64_t rows;
    int64_t columns;
    size_t element; /* bytes of a value: 4 for float, 8 for double */
} Rows;

/* Prints a message, as printf does, and exits with status 1. */
_Noreturn void fail(const char *format, ...);

/* Memory aligned to 64 bytes; never null. Release it with `free`. */
void *allocate(size_t bytes);

/* Reads a two-dimensional little-endian float32 array in C order. Repeats the rows up to at least `least`
 * rows. */
Rows read_npy(const char *path, int64_t least);

#endif
