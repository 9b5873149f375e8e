/* The artefact of `schedc build`. */
#include <stdlib.h>

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

enum { KIND_RAW = 1, DTYPE_F32 = 0 };

static int32_t (*schedc_predict_ex)(const Call *call);
static float *result;

static void open_artefact(const char *library, const char *model)
{
    (void)model;
    schedc_predict_ex = symbol(open_library(library), "schedc_predict_ex");
}

static void predict(const float *rows, int64_t count, float *out, int32_t threads)
{
    Call call = {.size = sizeof call, .kind = KIND_RAW, .rows = rows, .n_rows = count, .out = out,
                 .dtype = DTYPE_F32, .threads = threads};
    int32_t status = schedc_predict_ex(&call);
    if (status)
        fail("the artefact returns status %d", status);
}

static void margins(float *out, int64_t outputs)
{
    (void)outputs;
    predict(work.rows.values, work.rows.rows, out, 1);
}

static void begin(int64_t outputs)
{
    free(result);
    result = allocate((size_t)(work.batch * outputs) * sizeof(float));
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
