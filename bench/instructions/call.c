/*
 * call LIBRARY N_ROWS CALLS: opens a built library and predicts the same N_ROWS rows CALLS times.
 *
 * run.py counts the instructions of two runs that differ only in CALLS.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int32_t predict(const float *rows, int64_t n_rows, float *out);
typedef int32_t count(int32_t kind);
typedef int32_t features(void);

/* The library's function with this name; ends the program if it is missing. */
static void *function(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "call: %s\n", dlerror());
        exit(2);
    }
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: call LIBRARY N_ROWS CALLS\n");
        return 2;
    }
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library) {
        fprintf(stderr, "call: %s\n", dlerror());
        return 2;
    }
    predict *run = (predict *)function(library, "schedc_predict");
    size_t n_rows = strtoul(argv[2], NULL, 10), calls = strtoul(argv[3], NULL, 10);
    size_t columns = (size_t)((features *)function(library, "schedc_num_features"))();
    size_t outputs = (size_t)((count *)function(library, "schedc_num_outputs"))(0);
    float *rows = malloc(n_rows * columns * sizeof *rows + 1);
    float *out = malloc(n_rows * outputs * sizeof *out + 1);
    if (!rows || !out) {
        fprintf(stderr, "call: no memory\n");
        return 2;
    }
    /* A linear congruential generator: values from -4 to 4, the same on every machine. */
    uint32_t state = 1;
    for (size_t at = 0; at < n_rows * columns; at++) {
        state = state * 1664525u + 1013904223u;
        rows[at] = (float)(state >> 8) / (float)(1 << 21) - 4.0f;
    }
    for (size_t call = 0; call < calls; call++) {
        int32_t status = run(rows, (int64_t)n_rows, out);
        if (status != 0) {
            fprintf(stderr, "call: status %d\n", (int)status);
            return 1;
        }
    }
    return 0;
}
