/* C that tl2cgen generated, compiled to a library, and called row by row. It wants rows in its own form, in which a
 * missing value has the bits of -1: they are brought into it outside the measured time, which is more than fair. It has no
 * threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

typedef union {
    int missing;
    float value;
} Entry;

static void (*predict_row)(Entry *row, int margin, float *result);
static Entry *entries; /* all rows */
static int64_t width;  /* margins per row */
static float *result;

static void open_tl2cgen(const char *library, const char *model)
{
    (void)model;
    predict_row = symbol(open_library(library), "predict");
    int64_t count = work.rows.rows * work.rows.columns;
    entries = allocate((size_t)count * sizeof *entries);
    for (int64_t index = 0; index < count; index++) {
        if (isnan(work.rows.values[index]))
            entries[index].missing = -1;
        else
            entries[index].value = work.rows.values[index];
    }
}

static void predict(Entry *rows, int64_t count, float *out)
{
    memset(out, 0, (size_t)(count * width) * sizeof(float));
    for (int64_t row = 0; row < count; row++)
        predict_row(rows + row * work.rows.columns, 1, out + row * width);
}

static void margins(float *out, int64_t outputs)
{
    width = outputs;
    predict(entries, work.rows.rows, out);
}

static void begin(int64_t outputs)
{
    width = outputs;
    free(result);
    result = allocate((size_t)(work.batch * outputs) * sizeof(float));
}

static void run(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        predict(entries + (first + call) % work.batches * work.batch * work.rows.columns, work.batch, result);
}

static int ways(Contender *ways)
{
    ways[0] = (Contender){.who = "tl2cgen", .way = "row by row", .single = true, .run = run};
    return 1;
}

const Program tl2cgen = {"tl2cgen", open_tl2cgen, margins, begin, ways};
