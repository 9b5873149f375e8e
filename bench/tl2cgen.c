/* Generated C of tl2cgen, compiled to a library and called row by row. It reads rows in its own format, in
 * which a missing value has the bits of -1, with the type of the model: floats, or doubles for models of
 * LightGBM. The conversion is not measured, which favours tl2cgen. It is single-threaded.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

typedef union {
    int missing;
    float value;
} FloatEntry;

typedef union {
    int missing;
    double value;
} DoubleEntry;

static void (*predict_row)(void *row, int margin, void *result);
static bool in_doubles; /* the model */
static char *entries;   /* all rows */
static size_t row_bytes;
static int64_t width; /* margins per row */
static char *result;

static double value_at(int64_t index)
{
    return work.rows.element == 8 ? ((const double *)work.rows.values)[index]
                                  : ((const float *)work.rows.values)[index];
}

static size_t element(void)
{
    return in_doubles ? sizeof(double) : sizeof(float);
}

static void open_tl2cgen(const char *library, const char *model)
{
    void *opened = open_library(library);
    predict_row = symbol(opened, "predict");
    in_doubles = strcmp(model, "float64") == 0;
    int64_t count = work.rows.rows * work.rows.columns;
    row_bytes = (size_t)work.rows.columns * element();
    entries = allocate((size_t)count * element());
    for (int64_t index = 0; index < count; index++) {
        double value = value_at(index);
        if (in_doubles && isnan(value))
            ((DoubleEntry *)entries)[index].missing = -1;
        else if (in_doubles)
            ((DoubleEntry *)entries)[index].value = value;
        else if (isnan(value))
            ((FloatEntry *)entries)[index].missing = -1;
        else
            ((FloatEntry *)entries)[index].value = (float)value;
    }
}

static void predict(char *rows, int64_t count, char *out)
{
    size_t bytes = (size_t)width * element();
    memset(out, 0, (size_t)count * bytes);
    for (int64_t row = 0; row < count; row++)
        predict_row(rows + (size_t)row * row_bytes, !work.values, out + (size_t)row * bytes);
}

static void margins(double *out, int64_t outputs)
{
    width = outputs;
    int64_t count = work.rows.rows * outputs;
    char *found = allocate((size_t)count * element());
    predict(entries, work.rows.rows, found);
    if (in_doubles)
        memcpy(out, found, (size_t)count * sizeof(double));
    else
        widen(out, (const float *)found, count);
    free(found);
}

static void begin(int64_t outputs)
{
    width = outputs;
    free(result);
    result = allocate((size_t)(work.batch * outputs) * element());
}

static void run(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++) {
        size_t row = (size_t)((first + call) % work.batches * work.batch);
        predict(entries + row * row_bytes, work.batch, result);
    }
}

static int ways(Contender *ways)
{
    ways[0] = (Contender){.who = "tl2cgen", .way = "row by row", .single = true, .run = run};
    return 1;
}

const Program tl2cgen = {"tl2cgen", open_tl2cgen, margins, begin, ways};
