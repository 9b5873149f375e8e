/*
 * LightGBM's C library, in two ways:
 *   matrix   LGBM_BoosterPredictForMat on the caller's rows;
 *   row      LGBM_BoosterPredictForMatSingleRowFast, prepared once and then called row by row, on one thread.
 * If several threads are allowed, the first way also runs with one.
 */
#include <stdio.h>
#include <stdlib.h>

#include "contender.h"

typedef void *Handle;

enum { NORMAL = 0, RAW_SCORE = 1, FLOAT32 = 0, FLOAT64 = 1, ROW_MAJOR = 1, ALL_ITERATIONS = -1 };

/* The part of the interface in use; all functions return 0 on success. */
static struct {
    const char *(*last_error)(void);
    int (*load)(const char *path, int *iterations, Handle *booster);
    int (*predict)(Handle booster, const void *rows, int type, int32_t count, int32_t columns, int row_major,
                   int kind, int first, int iterations, const char *parameters, int64_t *length,
                   double *result);
    int (*prepare_row)(Handle booster, int kind, int first, int iterations, int type, int32_t columns,
                       const char *parameters, Handle *prepared);
    int (*predict_row)(Handle prepared, const void *row, int64_t *length, double *result);
} lgb;

static Handle booster, prepared;
static char parameters[2][32]; /* the number of threads: the allowed one, and one */
static double *result;
static int64_t width; /* results of a row */

static void check(int failed)
{
    if (failed)
        fail("LightGBM: %s", lgb.last_error());
}

static int type(void)
{
    return work.rows.element == 8 ? FLOAT64 : FLOAT32;
}

static int kind(void)
{
    return work.values ? NORMAL : RAW_SCORE;
}

static void open_lightgbm(const char *path, const char *model)
{
    void *library = open_library(path);
    lgb.last_error = symbol(library, "LGBM_GetLastError");
    lgb.load = symbol(library, "LGBM_BoosterCreateFromModelfile");
    lgb.predict = symbol(library, "LGBM_BoosterPredictForMat");
    lgb.prepare_row = symbol(library, "LGBM_BoosterPredictForMatSingleRowFastInit");
    lgb.predict_row = symbol(library, "LGBM_BoosterPredictForMatSingleRowFast");
    int iterations;
    check(lgb.load(model, &iterations, &booster));
    check(lgb.prepare_row(booster, kind(), 0, ALL_ITERATIONS, type(), (int32_t)work.rows.columns,
                          "num_threads=1", &prepared));
    snprintf(parameters[0], sizeof parameters[0], "num_threads=1");
    snprintf(parameters[1], sizeof parameters[1], "num_threads=1");
}

static int64_t predict(const void *rows, int64_t count, double *out, bool single)
{
    int64_t length;
    check(lgb.predict(booster, rows, type(), (int32_t)count, (int32_t)work.rows.columns, ROW_MAJOR, kind(), 0,
                      ALL_ITERATIONS, parameters[single], &length, out));
    return length;
}

static void margins(double *out, int64_t outputs)
{
    if (predict(work.rows.values, work.rows.rows, out, true) != work.rows.rows * outputs)
        fail("LightGBM does not predict %lld values for a row", (long long)outputs);
}

static void begin(int64_t outputs)
{
    width = outputs;
    snprintf(parameters[0], sizeof parameters[0], "num_threads=%d", work.threads);
    free(result);
    result = allocate((size_t)(work.batch * outputs) * sizeof(double));
}

static void run_matrix(Contender *self, int64_t first, int64_t calls)
{
    for (int64_t call = 0; call < calls; call++)
        predict(rows_of(first + call), work.batch, result, self->single);
}

static void run_rows(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    size_t bytes = (size_t)work.rows.columns * work.rows.element;
    for (int64_t call = 0; call < calls; call++) {
        const char *rows = rows_of(first + call);
        for (int64_t row = 0; row < work.batch; row++) {
            int64_t length;
            check(lgb.predict_row(prepared, rows + (size_t)row * bytes, &length, result + row * width));
        }
    }
}

static int ways(Contender *ways)
{
    int count = 0;
    for (int single = 0; single <= (work.threads > 1); single++)
        ways[count++] = (Contender){.who = "LightGBM", .way = "matrix", .single = single, .run = run_matrix};
    ways[count++] = (Contender){.who = "LightGBM", .way = "row", .single = true, .run = run_rows};
    return count;
}

const Program lightgbm = {"LightGBM", open_lightgbm, margins, begin, ways};
