/*
 * XGBoost's C library, in two ways:
 *   inplace   XGBoosterPredictFromDense on the caller's rows;
 *   dmatrix   XGBoosterPredict on a DMatrix built beforehand; that is not measured, which favours XGBoost.
 *             Each is predicted once: XGBoost caches the predictions of a DMatrix and would only copy them
 *             the second time.
 * If several threads are allowed, each way also runs with one, which is faster for small batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

enum { MAX_MATRICES = 256, OPTION_MARGIN = 1 };

typedef void *Handle;

/* The part of the interface in use; all functions return 0 on success. */
static struct {
    const char *(*last_error)(void);
    int (*booster_create)(const Handle *matrices, uint64_t count, Handle *booster);
    int (*load_model)(Handle booster, const char *path);
    int (*set_param)(Handle booster, const char *name, const char *value);
    int (*predict_dense)(Handle booster, const char *array, const char *config, Handle proxy,
                         const uint64_t **shape, uint64_t *dimensions, const float **result);
    int (*predict)(Handle booster, Handle matrix, int options, unsigned trees, int training, uint64_t *length,
                   const float **result);
    int (*proxy_create)(Handle *proxy);
    int (*matrix_create)(const char *array, const char *config, Handle *matrix);
    int (*matrix_free)(Handle matrix);
} xgb;

typedef char Array[160]; /* rows, described for XGBoost */

static Handle boosters[2]; /* the model twice: with the allowed number of threads, and with one */
static Handle proxy;       /* a proxy DMatrix: XGBoost is slightly faster with an existing one */
static Array *arrays;      /* of each batch */
static Handle matrices[MAX_MATRICES]; /* of the current sample */

static void check(int failed)
{
    if (failed)
        fail("XGBoost: %s", xgb.last_error());
}

static void open_xgboost(const char *path, const char *model)
{
    void *library = open_library(path);
    xgb.last_error = symbol(library, "XGBGetLastError");
    xgb.booster_create = symbol(library, "XGBoosterCreate");
    xgb.load_model = symbol(library, "XGBoosterLoadModel");
    xgb.set_param = symbol(library, "XGBoosterSetParam");
    xgb.predict_dense = symbol(library, "XGBoosterPredictFromDense");
    xgb.predict = symbol(library, "XGBoosterPredict");
    xgb.proxy_create = symbol(library, "XGProxyDMatrixCreate");
    xgb.matrix_create = symbol(library, "XGDMatrixCreateFromDense");
    xgb.matrix_free = symbol(library, "XGDMatrixFree");
    check(xgb.proxy_create(&proxy));
    for (int index = 0; index < 2; index++) {
        check(xgb.booster_create(NULL, 0, &boosters[index]));
        check(xgb.load_model(boosters[index], model));
        check(xgb.set_param(boosters[index], "nthread", "1"));
    }
}

static void describe(Array text, const void *rows, int64_t count)
{
    snprintf(text, sizeof(Array),
             "{\"data\":[%llu,true],\"shape\":[%lld,%lld],\"typestr\":\"<f%zu\",\"version\":3}",
             (unsigned long long)(uintptr_t)rows, (long long)count, (long long)work.rows.columns,
             work.rows.element);
}

/* Margins of all trees, or predictions. */
#define ALL_TREES                                                                                            \
    ",\"training\":false,\"iteration_begin\":0,\"iteration_end\":0,\"strict_shape\":false,\"missing\":NaN,"  \
    "\"cache_id\":0}"
static const char *const CONFIGS[] = {"{\"type\":1" ALL_TREES, "{\"type\":0" ALL_TREES};

static const float *predict_inplace(Handle booster, const char *array, uint64_t *length)
{
    const uint64_t *shape;
    uint64_t dimensions;
    const float *result;
    check(xgb.predict_dense(booster, array, CONFIGS[work.values], proxy, &shape, &dimensions, &result));
    *length = 1;
    for (uint64_t dimension = 0; dimension < dimensions; dimension++)
        *length *= shape[dimension];
    return result;
}

static void margins(double *out, int64_t outputs)
{
    Array array;
    uint64_t length;
    describe(array, work.rows.values, work.rows.rows);
    const float *result = predict_inplace(boosters[0], array, &length);
    if (length != (uint64_t)(work.rows.rows * outputs))
        fail("XGBoost predicts %llu margins for %lld rows, not %lld each", (unsigned long long)length,
             (long long)work.rows.rows, (long long)outputs);
    widen(out, result, (int64_t)length);
}

static void begin(int64_t outputs)
{
    (void)outputs;
    char number[16];
    snprintf(number, sizeof number, "%d", work.threads);
    check(xgb.set_param(boosters[0], "nthread", number));
    free(arrays);
    arrays = allocate((size_t)work.batches * sizeof *arrays);
    for (int64_t batch = 0; batch < work.batches; batch++)
        describe(arrays[batch], rows_of(batch), work.batch);
}

static void run_inplace(Contender *self, int64_t first, int64_t calls)
{
    uint64_t length;
    for (int64_t call = 0; call < calls; call++)
        predict_inplace(boosters[self->single], arrays[(first + call) % work.batches], &length);
}

static void prepare_dmatrix(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    /* One thread: threads of a parallel build would still spin during the sample. */
    static const char *const config = "{\"missing\":NaN,\"nthread\":1}";
    for (int64_t call = 0; call < calls; call++)
        check(xgb.matrix_create(arrays[(first + call) % work.batches], config, &matrices[call]));
}

static void run_dmatrix(Contender *self, int64_t first, int64_t calls)
{
    (void)first;
    uint64_t length;
    const float *result;
    for (int64_t call = 0; call < calls; call++)
        check(xgb.predict(boosters[self->single], matrices[call], work.values ? 0 : OPTION_MARGIN, 0, 0,
                          &length, &result));
}

static void clean_dmatrix(Contender *self, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        check(xgb.matrix_free(matrices[call]));
}

static int ways(Contender *ways)
{
    int count = 0;
    for (int single = 0; single <= (work.threads > 1); single++) {
        ways[count++] = (Contender){.who = "XGBoost", .way = "inplace", .single = single, .run = run_inplace};
        ways[count++] = (Contender){.who = "XGBoost",
                                    .way = "dmatrix",
                                    .single = single,
                                    .most = MAX_MATRICES,
                                    .prepare = prepare_dmatrix,
                                    .run = run_dmatrix,
                                    .clean = clean_dmatrix};
    }
    return count;
}

const Program xgboost = {"XGBoost", open_xgboost, margins, begin, ways};
