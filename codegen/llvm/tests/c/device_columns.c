/* Calls with columns in a device's memory, over the driver of cuda.c. The raw output of the library is its
 * rows, so that the rows of such calls can be compared with those of the same columns in the host's memory.
 *
 * - device_columns LIBRARY FEATURES DTYPE: columns of all types. */
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "condition.h"
#include "m.h"

enum { TYPES = M_BIT + 1, MOST_FEATURES = 64, DICTIONARY = 50 };

static int32_t (*predict_ex)(const m_call *);
static const char *(*explain)(int32_t);

/* Functions of the driver. */
static int (*retain)(void **, int), (*push)(void *), (*pop)(void **);
static int (*mem_alloc)(uint64_t *, size_t), (*mem_free)(uint64_t);
static int (*upload)(uint64_t, const void *, size_t, void *), (*download)(void *, uint64_t, size_t, void *);
static int (*stream_create)(void **, unsigned), (*synchronize)(void *);

static void find_driver(void)
{
    void *driver = dlopen(getenv("SCHEDC_CUDA_DRIVER"), RTLD_NOW);
    CHECK(driver);
    *(void **)&mem_alloc = dlsym(driver, "cuMemAlloc_v2");
    *(void **)&mem_free = dlsym(driver, "cuMemFree_v2");
    *(void **)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
    *(void **)&push = dlsym(driver, "cuCtxPushCurrent_v2");
    *(void **)&pop = dlsym(driver, "cuCtxPopCurrent_v2");
    *(void **)&upload = dlsym(driver, "cuMemcpyHtoDAsync_v2");
    *(void **)&download = dlsym(driver, "cuMemcpyDtoHAsync_v2");
    *(void **)&stream_create = dlsym(driver, "cuStreamCreate");
    *(void **)&synchronize = dlsym(driver, "cuStreamSynchronize");
}

static uint64_t random_bits(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Memory of the host with random bytes, and the same bytes on the device. */
typedef struct memory {
    unsigned char *host;
    size_t size;
    uint64_t device;
} memory;

static memory random_memory(size_t size)
{
    memory made = {malloc(size), size, 0};
    CHECK(made.host && mem_alloc(&made.device, size) == 0);
    for (size_t i = 0; i < size; i++)
        made.host[i] = (unsigned char)(random_bits() >> 32);
    return made;
}

static void *on_device(const memory *m, const void *host)
{
    return host ? (void *)(uintptr_t)(m->device + (uint64_t)((const unsigned char *)host - m->host)) : NULL;
}

/* The values, bits of validity and dictionary of a column. */
typedef struct column {
    memory values, validity, dictionary;
    m_column host, device;
} column;

static const size_t SIZES[TYPES] = {
    [M_F32] = 4, [M_F64] = 8, [M_I8] = 1,  [M_I16] = 2, [M_I32] = 4,  [M_I64] = 8,
    [M_U8] = 1,  [M_U16] = 2, [M_U32] = 4, [M_U64] = 8, [M_BOOL] = 1, [M_BIT] = 0,
};

/* Makes indices of a column's values: a few are negative or too large. */
static void fill_indices(column *c, size_t size)
{
    for (size_t at = 0; at + size <= c->values.size; at += size) {
        int64_t index = (int64_t)(random_bits() % (DICTIONARY + 10)) - 5;
        memcpy(c->values.host + at, &index, size);
    }
}

/* Makes number `number` of the columns for `n` rows. */
static column make_column(int number, int shift, int64_t n)
{
    static const int64_t STEPS[] = {1, 3, -2};
    int32_t type = (number + shift) % TYPES;
    size_t size = SIZES[type];
    int64_t step = STEPS[(number / 2 + shift) % 3], span = step < 0 ? -step : step;
    column c = {0};
    c.values = random_memory(size ? (size_t)(n * span) * size : (size_t)n / 8 + 3);
    c.validity = random_memory((size_t)n / 8 + 3);
    c.dictionary = random_memory(DICTIONARY * sizeof(double));
    c.host.type = type;
    c.host.values = c.values.host;
    if (type == M_BIT)
        c.host.values_offset = number % 8;
    else if (step != 1)
        c.host.stride = step * (int64_t)size;
    if (size && step < 0)
        c.host.values = c.values.host + (size_t)((n - 1) * span) * size;
    if (number % 3 == 1) {
        c.host.validity = c.validity.host;
        c.host.validity_offset = number % 11;
    }
    if (number % 4 < 2 && type >= M_I32 && type <= M_U64) {
        fill_indices(&c, size);
        c.host.dictionary = (double *)c.dictionary.host;
        c.host.dictionary_size = DICTIONARY;
    }
    if (number % 13 == 5)
        c.host = (m_column){0};
    c.device = c.host;
    c.device.values = on_device(&c.values, c.host.values);
    c.device.validity = on_device(&c.validity, c.host.validity);
    c.device.dictionary = on_device(&c.dictionary, c.host.dictionary);
    memory *all[] = {&c.values, &c.validity, &c.dictionary};
    for (int i = 0; i < 3; i++)
        CHECK(upload(all[i]->device, all[i]->host, all[i]->size, NULL) == 0);
    return c;
}

static void release(column *c)
{
    memory *all[] = {&c->values, &c->validity, &c->dictionary};
    for (int i = 0; i < 3; i++) {
        CHECK(mem_free(all[i]->device) == 0);
        free(all[i]->host);
    }
}

static m_call call_on(const m_column *columns, int64_t n, void *out)
{
    m_call call = {0};
    call.size = sizeof call;
    call.kind = M_RAW;
    call.columns = columns;
    call.n_rows = n;
    call.out = out;
    return call;
}

static void must(int32_t status)
{
    if (status != M_OK)
        fprintf(stderr, "status %d: %s\n", status, explain(status));
    CHECK(status == M_OK);
}

static bool are_same(const unsigned char *found, const unsigned char *wanted, int64_t count, size_t size)
{
    for (int64_t i = 0; i < count; i++) {
        double x = size == 8 ? ((const double *)found)[i] : ((const float *)found)[i];
        double y = size == 8 ? ((const double *)wanted)[i] : ((const float *)wanted)[i];
        if (memcmp(&x, &y, sizeof x) != 0 && !(isnan(x) && isnan(y))) {
            fprintf(stderr, "value %ld is %a, not %a\n", (long)i, x, y);
            return false;
        }
    }
    return true;
}

/* Calls with columns that a device could not read, or that are not supported there. */
static void wrong_calls(m_column *columns, uint64_t out)
{
    m_call call = call_on(columns, 1, (void *)(uintptr_t)out);
    call.memory = M_DEVICE;
    m_column right = columns[0];
    must(predict_ex(&call));
    double missing = 0;
    call.missing = &missing;
    CHECK(predict_ex(&call) == M_ERR_UNSUPPORTED);
    call.missing = NULL;
    columns[0] = (m_column){.values = (const char *)right.values + 2, .type = M_F32};
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    columns[0] = (m_column){.values = right.values, .type = M_F32, .stride = 6};
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    columns[0] = (m_column){.values = right.values, .type = M_U8};
    columns[0].dictionary = (const double *)((uintptr_t)right.values + 4);
    columns[0].dictionary_size = 1;
    CHECK(predict_ex(&call) == M_ERR_ARGUMENT);
    columns[0] = right;
}

/* Compares rows of two calls in two streams, the first of which is not complete when the second is made. */
static void compare(int features, int shift, int64_t n, size_t size, void *const streams[2])
{
    column all[MOST_FEATURES];
    m_column host[MOST_FEATURES], device[MOST_FEATURES];
    for (int i = 0; i < features; i++) {
        all[i] = make_column(i, shift, n);
        host[i] = all[i].host;
        device[i] = all[i].device;
    }
    CHECK(synchronize(NULL) == 0);
    size_t bytes = (size_t)(n * features) * size;
    unsigned char *wanted = calloc(1, bytes), *found = calloc(1, bytes);
    CHECK(wanted && found);
    m_call call = call_on(host, n, wanted);
    must(predict_ex(&call));
    uint64_t out[2];
    for (int i = 0; i < 2; i++) {
        CHECK(mem_alloc(&out[i], bytes) == 0);
        call = call_on(device, n, (void *)(uintptr_t)out[i]);
        call.memory = M_DEVICE;
        call.stream = streams[i];
        must(predict_ex(&call));
    }
    memset(device, 0, sizeof device);
    for (int i = 0; i < 2; i++) {
        CHECK(download(found, out[i], bytes, streams[i]) == 0 && synchronize(streams[i]) == 0);
        bool is_right = are_same(found, wanted, n * features, size);
        if (!is_right)
            fprintf(stderr, "shift %d, %ld rows\n", shift, (long)n);
        CHECK(is_right);
    }
    if (shift == 0) {
        device[0] = all[0].device;
        wrong_calls(device, out[0]);
    }
    CHECK(synchronize(NULL) == 0 && mem_free(out[0]) == 0 && mem_free(out[1]) == 0);
    for (int i = 0; i < features; i++)
        release(&all[i]);
    free(wanted);
    free(found);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    *(void **)&predict_ex = dlsym(library, "m_predict_ex");
    *(void **)&explain = dlsym(library, "m_error");
    CHECK(predict_ex && explain);
    find_driver();
    void *context, *streams[2] = {NULL, NULL};
    CHECK(retain(&context, 0) == 0 && push(context) == 0 && stream_create(&streams[0], 1) == 0);
    int features = atoi(argv[2]);
    size_t size = atoi(argv[3]) == M_F64 ? 8 : 4;
    CHECK(features <= MOST_FEATURES);
    const int64_t counts[] = {1, 2, 31, 64, 300, 1000};
    for (int shift = 0; shift < TYPES; shift++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            compare(features, shift, counts[i], size, streams);
    CHECK(pop(&context) == 0);
    return 0;
}
