/* The artefact of `schedc build`. */
#include <stdlib.h>
#include <string.h>

#include "contender.h"

/* A call, as the generated header declares it. */
typedef struct {
    uint32_t size;
    int32_t kind;
    const void *rows;
    int64_t n_rows;
    void *out;
    int32_t dtype;
    int32_t threads;
    int64_t row_stride;
    void *scratch;
    int64_t scratch_size;
} Call;

enum { KIND_VALUE = 0, KIND_RAW = 1, DTYPE_F32 = 0, DTYPE_F64 = 1 };

static int32_t (*schedc_predict_ex)(const Call *call);
static bool in_doubles; /* the results */
static void *result;

static void open_artefact(const char *library, const char *model)
{
    (void)model;
    void *opened = open_library(library);
    schedc_predict_ex = symbol(opened, "schedc_predict_ex");
    int32_t (*output_type)(int32_t kind) = symbol(opened, "schedc_output_type");
    in_doubles = output_type(work.values ? KIND_VALUE : KIND_RAW) == DTYPE_F64;
}

static size_t bytes_of(int64_t values)
{
    return (size_t)values * (in_doubles ? sizeof(double) : sizeof(float));
}

static void predict(const void *rows, int64_t count, void *out, int32_t threads)
{
    Call call = {.size = sizeof call,
                 .kind = work.values ? KIND_VALUE : KIND_RAW,
                 .rows = rows,
                 .n_rows = count,
                 .out = out,
                 .dtype = work.rows.element == 8 ? DTYPE_F64 : DTYPE_F32,
                 .threads = threads};
    int32_t status = schedc_predict_ex(&call);
    if (status)
        fail("the artefact returns status %d", status);
}

static void margins(double *out, int64_t outputs)
{
    int64_t count = work.rows.rows * outputs;
    void *found = allocate(bytes_of(count));
    predict(work.rows.values, work.rows.rows, found, 1);
    if (in_doubles)
        memcpy(out, found, bytes_of(count));
    else
        widen(out, found, count);
    free(found);
}

static void begin(int64_t outputs)
{
    free(result);
    result = allocate(bytes_of(work.batch * outputs));
}

static void run(Contender *self, int64_t first, int64_t calls)
{
    (void)self;
    for (int64_t call = 0; call < calls; call++)
        predict(rows_of(first + call), work.batch, result, work.threads);
}

static int ways(Contender *ways)
{
    ways[0] = (Contender){.who = "schedc", .way = "predict_ex", .run = run};
    return 1;
}

const Program artefact = {"schedc", open_artefact, margins, begin, ways};
