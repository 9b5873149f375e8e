/* Calls of a model that runs on a device, by an artefact's C interface, over the driver of cuda.c.
 *
 * - device LIBRARY CASE: calls of all kinds. Their results must equal those of the case, for any number of
 *   rows. If the case has base margins, calls without them must equal calls that pass the model's own.
 * - device LIBRARY CASE bytes LEAST VALUES BINS PIECE: calls on rows of the host, which are copied to the
 *   device in pieces of at most PIECE rows. Pieces of at least LEAST rows take BINS bytes a row, in multiples
 *   of 64 rows; other pieces take VALUES bytes a row.
 * - device LIBRARY CASE STATUS [then]: a call that fails with a status; with `then`, also one that
 *   succeeds. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "m.h"

enum { KINDS = 4 };

static int64_t n_rows, features, row_bytes; /* of the case; row_bytes: bytes of a row as the model reads it */
static unsigned char *rows, *expected[KINDS], *base, *own_base;
static int64_t out_bytes[KINDS]; /* of a row; 0: the model has no such output */
static int64_t base_bytes; /* of a row's base margins; 0: the case has none */
static int32_t dtype;

static int32_t (*predict_ex)(const m_call *);
static const char *(*explain)(int32_t);

static int64_t number(FILE *file)
{
    int64_t n;
    CHECK(fread(&n, sizeof n, 1, file) == 1);
    return n;
}

static unsigned char *bytes(FILE *file, int64_t count)
{
    unsigned char *all = malloc((size_t)count + 1);
    CHECK(fread(all, 1, (size_t)count, file) == (size_t)count);
    return all;
}

static void read_case(const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file);
    n_rows = number(file);
    features = number(file);
    dtype = (int32_t)number(file);
    row_bytes = features * (dtype == M_F64 ? 8 : 4);
    rows = bytes(file, n_rows * row_bytes);
    for (int kind = 0; kind < KINDS; kind++) {
        out_bytes[kind] = number(file);
        expected[kind] = bytes(file, n_rows * out_bytes[kind]);
    }
    base_bytes = number(file);
    base = bytes(file, n_rows * base_bytes);
    own_base = bytes(file, base_bytes);
    fclose(file);
}

/* Returns the base margins of the rows from `first` on; null if the case has none. */
static const void *base_of(int kind, int64_t first)
{
    return base_bytes && kind != M_LEAF ? base + first * base_bytes : NULL;
}

static m_call call_on(int kind, const void *from, int64_t n, void *out)
{
    m_call call = {0};
    call.size = sizeof call;
    call.kind = kind;
    call.rows = from;
    call.n_rows = n;
    call.out = out;
    call.dtype = dtype;
    call.threads = 2;
    return call;
}

static void must(int32_t status)
{
    if (status != M_OK)
        fprintf(stderr, "status %d: %s\n", status, explain(status));
    CHECK(status == M_OK);
}

static void must_be(int32_t status, const unsigned char *out, int kind, int64_t first, int64_t n)
{
    must(status);
    CHECK(memcmp(out, expected[kind] + first * out_bytes[kind], (size_t)(n * out_bytes[kind])) == 0);
}

/* Rows from `first` on, in the host's memory. */
static void from_host(int kind, int64_t first, int64_t n)
{
    unsigned char *out = calloc(1, (size_t)(n * out_bytes[kind]) + 1);
    m_call call = call_on(kind, rows + first * row_bytes, n, out);
    call.base_margin = base_of(kind, first);
    must_be(predict_ex(&call), out, kind, first, n);
    free(out);
}

/* Rows in the other type, with gaps between them. */
static void strided(int kind, int64_t n)
{
    bool is_double = dtype == M_F64;
    int64_t stride = features + 3;
    double *doubles = calloc((size_t)(n * stride) + 1, sizeof *doubles);
    float *floats = calloc((size_t)(n * stride) + 1, sizeof *floats);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < features; j++)
            if (is_double)
                floats[i * stride + j] = (float)((double *)rows)[i * features + j];
            else
                doubles[i * stride + j] = ((float *)rows)[i * features + j];
    unsigned char *out = calloc(1, (size_t)(n * out_bytes[kind]) + 1);
    m_call call = call_on(kind, is_double ? (void *)floats : (void *)doubles, n, out);
    call.dtype = is_double ? M_F32 : M_F64;
    call.row_stride = stride;
    call.base_margin = base_of(kind, 0);
    must_be(predict_ex(&call), out, kind, 0, n);
    free(out);
    free(doubles);
    free(floats);
}

/* Rows at an address that is not a multiple of their elements' size. */
static void unaligned(int kind)
{
    unsigned char *moved = malloc((size_t)(n_rows * row_bytes) + 1);
    unsigned char *out = calloc(1, (size_t)(n_rows * out_bytes[kind]) + 1);
    memcpy(moved + 1, rows, (size_t)(n_rows * row_bytes));
    m_call call = call_on(kind, moved + 1, n_rows, out);
    call.base_margin = base_of(kind, 0);
    must_be(predict_ex(&call), out, kind, 0, n_rows);
    free(out);
    free(moved);
}

static void *many_calls(void *number)
{
    int64_t seed = (int64_t)(intptr_t)number;
    for (int i = 0; i < 6; i++) {
        int kind = (int)((seed + i) % KINDS);
        int64_t first = (seed * 37 + i * 11) % n_rows;
        if (out_bytes[kind])
            from_host(kind, first, (seed * 13 + i * 29) % (n_rows - first) + 1);
    }
    return NULL;
}

/* Functions of the driver for a program whose rows are on a device. */
static int (*retain)(void **, int), (*push)(void *), (*pop)(void **);
static int (*mem_alloc)(uint64_t *, size_t), (*mem_free)(uint64_t), (*upload)(uint64_t, const void *, size_t,
    void *);
static int (*download)(void *, uint64_t, size_t, void *), (*stream_create)(void **, unsigned),
    (*synchronize)(void *);
static int (*current_contexts)(void);

static void on_device(int kind, void *driver)
{
    enum { CALLS = 3 };
    *(void **)&mem_alloc = dlsym(driver, "cuMemAlloc_v2");
    *(void **)&mem_free = dlsym(driver, "cuMemFree_v2");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&push = dlsym(driver, "cuCtxPushCurrent_v2");
    *(void **)&pop = dlsym(driver, "cuCtxPopCurrent_v2");
    *(void **)&upload = dlsym(driver, "cuMemcpyHtoDAsync_v2");
    *(void **)&download = dlsym(driver, "cuMemcpyDtoHAsync_v2");
    *(void **)&stream_create = dlsym(driver, "cuStreamCreate");
    *(void **)&synchronize = dlsym(driver, "cuStreamSynchronize");
    uint64_t from, begin, to[CALLS];
    void *streams[CALLS] = {0}; /* the first is the default stream */
    void *context;
    CHECK(retain(&context, 0) == 0 && push(context) == 0);
    CHECK(mem_alloc(&from, (size_t)(n_rows * row_bytes)) == 0);
    /* The other streams do not wait for the default stream. */
    CHECK(upload(from, rows, (size_t)(n_rows * row_bytes), streams[0]) == 0);
    CHECK(mem_alloc(&begin, (size_t)(n_rows * base_bytes) + 1) == 0);
    CHECK(upload(begin, base, (size_t)(n_rows * base_bytes) + 1, streams[0]) == 0);
    CHECK(synchronize(streams[0]) == 0);
    /* Calls in several streams; none is complete when the next one is made. */
    for (int i = 0; i < CALLS; i++) {
        CHECK(i == 0 || stream_create(&streams[i], 1) == 0);
        CHECK(mem_alloc(&to[i], (size_t)(n_rows * out_bytes[kind])) == 0);
        int64_t first = i * n_rows / CALLS;
        m_call call = call_on(kind, (void *)(uintptr_t)(from + (uint64_t)(first * row_bytes)), n_rows - first,
                              (void *)(uintptr_t)to[i]);
        call.memory = M_DEVICE;
        call.stream = streams[i];
        if (base_of(kind, first))
            call.base_margin = (void *)(uintptr_t)(begin + (uint64_t)(first * base_bytes));
        must(predict_ex(&call));
    }
    for (int i = CALLS - 1; i >= 0; i--) {
        int64_t first = i * n_rows / CALLS;
        size_t size = (size_t)((n_rows - first) * out_bytes[kind]);
        unsigned char *out = calloc(1, size);
        CHECK(download(out, to[i], size, streams[i]) == 0 && synchronize(streams[i]) == 0);
        CHECK(memcmp(out, expected[kind] + first * out_bytes[kind], size) == 0);
        CHECK(mem_free(to[i]) == 0);
        free(out);
    }
    CHECK(mem_free(from) == 0 && mem_free(begin) == 0 && pop(&context) == 0);
}

/* Results without base margins equal those with the model's own, for rows of the host and of the device. */
static void begins_with_own_base(void)
{
    size_t size = (size_t)(n_rows * out_bytes[M_RAW]);
    unsigned char *own = malloc((size_t)(n_rows * base_bytes)), *with = calloc(1, size);
    for (int64_t row = 0; row < n_rows; row++)
        memcpy(own + row * base_bytes, own_base, (size_t)base_bytes);
    m_call call = call_on(M_RAW, rows, n_rows, with);
    call.base_margin = own;
    must(predict_ex(&call));
    CHECK(memcmp(with, expected[M_RAW], size) != 0);
    free(expected[M_RAW]);
    expected[M_RAW] = with;
    base_bytes = 0;
    from_host(M_RAW, 0, n_rows);
    free(own);
}

static void wrong_calls(void)
{
    unsigned char *out = calloc(1, (size_t)(n_rows * out_bytes[M_RAW]) + 1);
    m_call call = call_on(M_RAW, rows, n_rows, out);
    call.device = -1;
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    call.device = 7;
    CHECK(predict_ex(&call) == M_ERR_DEVICE);
    call.device = 0;
    call.memory = 2;
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    call.memory = M_DEVICE;
    call.dtype = dtype == M_F32 ? M_F64 : M_F32;
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    free(out);
}

static void every_way(void)
{
    const int64_t counts[] = {0, 1, 2, 33, 64, 127, 128, 129, 200, n_rows};
    for (int kind = 0; kind < KINDS; kind++) {
        if (!out_bytes[kind])
            continue;
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            if (counts[i] <= n_rows)
                from_host(kind, n_rows - counts[i], counts[i]);
        /* Calls that repeat the same work for other rows. */
        for (int i = 0; i < 12 && 33 + i <= n_rows; i++)
            from_host(kind, i, 33);
        strided(kind, n_rows);
        strided(kind, n_rows / 2 + 1);
        unaligned(kind);
    }
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, many_calls, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    void *driver = dlopen(getenv("SCHEDC_CUDA_DRIVER"), RTLD_NOW);
    CHECK(driver);
    for (int kind = 0; kind < KINDS; kind++)
        if (out_bytes[kind] && !getenv("HOST_TOO"))
            on_device(kind, driver);
    if (base_bytes) {
        begins_with_own_base();
        on_device(M_RAW, driver);
    }
    wrong_calls();
    *(void **)&current_contexts = dlsym(driver, "fake_contexts");
    CHECK(current_contexts() == 0);
}

/* Checks the bytes that calls for sums copy to the device, in pieces of at most `piece` rows. */
static void bytes_travel(char **said)
{
    const int64_t least = atoll(said[0]), values = atoll(said[1]), bins = atoll(said[2]), piece
        = atoll(said[3]);
    void *driver = dlopen(getenv("SCHEDC_CUDA_DRIVER"), RTLD_NOW);
    CHECK(driver);
    size_t (*uploaded)(void);
    *(void **)&uploaded = dlsym(driver, "fake_uploaded");
    const int64_t counts[] = {0, 1, 63, 64, 65, least - 1, least, least + 1, n_rows};
    /* The first call also copies the tables. */
    from_host(M_RAW, 0, 1);
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            int64_t n = counts[i], wanted = 0;
            if (!out_bytes[kind] || n < 0 || n > n_rows)
                continue;
            uploaded();
            from_host(kind, n_rows - n, n);
            for (int64_t left = n; left > 0; left -= piece) {
                int64_t run = left < piece ? left : piece;
                wanted += kind != M_LEAF && run >= least ? (run + 63) / 64 * 64 * bins : run * values;
            }
            size_t found = uploaded();
            if ((int64_t)found != wanted)
                fprintf(stderr, "output %d of %ld rows: %ld bytes, not %ld\n", kind, (long)n, (long)found,
                        (long)wanted);
            CHECK((int64_t)found == wanted);
        }
}

int main(int argc, char **argv)
{
    CHECK(argc >= 3);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    *(void **)&predict_ex = dlsym(library, "m_predict_ex");
    *(void **)&explain = dlsym(library, "m_error");
    CHECK(predict_ex && explain);
    read_case(argv[2]);
    if (argc == 3) {
        every_way();
        return 0;
    }
    if (argc == 8 && strcmp(argv[3], "bytes") == 0) {
        bytes_travel(argv + 4);
        return 0;
    }
    unsigned char *out = calloc(1, (size_t)(n_rows * out_bytes[M_RAW]) + 1);
    m_call call = call_on(M_RAW, rows, n_rows, out);
    int32_t status = predict_ex(&call);
    if (status != atoi(argv[3]))
        fprintf(stderr, "status %d: %s\n", status, explain(status));
    CHECK(status == atoi(argv[3]));
    CHECK(strcmp(explain(status), "unknown status") != 0);
    if (argc > 4)
        from_host(M_RAW, 0, n_rows);
    return 0;
}
