#include "input.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("harness: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (!memory)
        fail("out of memory");
    return memory;
}

Rows read_npy(const char *path, int64_t least)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail("cannot open %s", path);
    unsigned char start[10];
    char header[4096] = "";
    long long rows = 0, columns = 0;
    if (fread(start, 1, sizeof start, file) != sizeof start || memcmp(start, "\x93NUMPY\x01", 7) != 0)
        fail("%s is no .npy array of version 1", path);
    size_t length = start[8] + 256u * start[9];
    if (length >= sizeof header || fread(header, 1, length, file) != length)
        fail("%s has a bad header", path);
    const char *shape = strstr(header, "'shape': (");
    if (!shape || sscanf(shape, "'shape': (%lld, %lld)", &rows, &columns) != 2 || !strstr(header, "'<f4'") ||
        !strstr(header, "'fortran_order': False") || rows < 1 || columns < 1)
        fail("%s is no two-dimensional float32 array in C order: %s", path, header);

    int64_t total = rows > least ? rows : least;
    size_t row_bytes = (size_t)columns * sizeof(float);
    float *values = allocate((size_t)total * row_bytes);
    if (fread(values, row_bytes, (size_t)rows, file) != (size_t)rows)
        fail("%s is cut off", path);
    fclose(file);
    for (int64_t row = rows; row < total; row++)
        memcpy(values + row * columns, values + (row - rows) * columns, row_bytes);
    return (Rows){values, total, columns, sizeof(float)};
}
