/* A LightGBM model that lleaves compiled to a function of a range of rows of doubles. It is single-threaded.
 * The conversion of rows to doubles is not measured, which favours lleaves.
 */
#include <stdlib.h>

#include "contender.h"

static void (*forest_root)(double *rows, double *out, int first, int end);
static double *rows; /* all rows */
static double *result;

static void open_lleaves(const char *library, const char *model)
{
    (void)model;
    forest_root = symbol(open_library(library), "forest_root");
    int64_t count = work.rows.rows * work.rows.columns;
    if (work.rows.element == 8) {
        rows = work.rows.values;
        return;
    }
    rows = allocate((size_t)count * sizeof(double));
    widen(rows, work.rows.values, count);
}

static void margins(double *out, int64_t outputs)
{
    (void)outputs;
    forest_root(rows, out, 0, (int)work.rows.rows);
}

static void begin(int64_t outputs)
{
    free(result);
    result = allocate((size_t)(work.batch * outputs) * sizeof(double));
}

static void run(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        forest_root(rows + (first + call) % work.batches * work.batch * work.rows.columns, result, 0,
                    (int)work.batch);
}

static int ways(Contender *ways)
{
    ways[0] = (Contender){.who = "lleaves", .way = "forest_root", .single = true, .run = run};
    return 1;
}

const Program lleaves = {"lleaves", open_lleaves, margins, begin, ways};
