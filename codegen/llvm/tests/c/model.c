/* A model written by hand, as the compiler would emit one with --name m. It has three features, and two
 * margins: a + b + c and a - b, with missing values as zero. Values are twice the margins, the class is
 * the larger margin's, and the leaves are a and b. Every run allocates temporary memory, and runs a parallel
 * loop inside another. */
#include "api.h"

#define EXPORT __attribute__((visibility("default")))
enum { BLOCK = 16 };

int m_temporary = 2048; /* bytes of each block */

static float present(float x)
{
    return x == x ? x : 0.0f;
}

static void raw_row(void *env, int64_t row)
{
    schedc_ctx *ctx = env;
    const float *x = (const float *)ctx->rows + row * 3;
    float *out = (float *)ctx->out + row * 2;
    out[0] = present(x[0]) + present(x[1]) + present(x[2]);
    out[1] = present(x[0]) - present(x[1]);
}

struct block {
    schedc_ctx *ctx;
    int64_t first;
};

static void raw_inner(void *env, int64_t i)
{
    struct block *block = env;
    raw_row(block->ctx, block->first + i);
}

static void raw_block(void *env, int64_t i)
{
    schedc_ctx *ctx = env;
    struct block block = {ctx, i * BLOCK};
    int64_t left = ctx->n_rows - block.first;
    unsigned char *memory = schedc_rt_alloc(ctx, m_temporary);
    if (!memory)
        return;
    for (int k = 0; k < m_temporary; k++)
        memory[k] = (unsigned char)i;
    schedc_rt_parallel(ctx, raw_inner, &block, left < BLOCK ? left : BLOCK);
    for (int k = 0; k < m_temporary; k++)
        if (memory[k] != (unsigned char)i)
            schedc_rt_fail(ctx, 99); /* another thread got the same memory */
    schedc_rt_free(ctx, memory);
}

static void raw(schedc_ctx *ctx)
{
    schedc_rt_parallel(ctx, raw_block, ctx, (ctx->n_rows + BLOCK - 1) / BLOCK);
}

static void value(schedc_ctx *ctx)
{
    for (int64_t i = 0; i < ctx->n_rows * 2; i++)
        ((float *)ctx->out)[i] = 2.0f * ((const float *)ctx->rows)[i];
}

static void klass(schedc_ctx *ctx)
{
    const float *m = ctx->rows;
    for (int64_t i = 0; i < ctx->n_rows; i++)
        ((float *)ctx->out)[i] = m[2 * i + 1] > m[2 * i] ? 1.0f : 0.0f;
}

static void leaf(schedc_ctx *ctx)
{
    for (int64_t i = 0; i < ctx->n_rows; i++)
        for (int t = 0; t < 2; t++)
            ((int32_t *)ctx->out)[2 * i + t] = (int32_t)present(((const float *)ctx->rows)[3 * i + t]);
}

static const schedc_model model = {
    .size = sizeof model,
    .num_features = 3,
    .num_margins = 2,
    .rows_per_run = 50000,
    .ns_per_row = 1000,
    .info = "{}",
    .outputs =
        {
            [SCHEDC_KIND_VALUE] = {value, 2, SCHEDC_DTYPE_F32, SCHEDC_NEEDS_FINISH},
            [SCHEDC_KIND_RAW] = {raw, 2, SCHEDC_DTYPE_F32, SCHEDC_NEEDS_MARGINS},
            [SCHEDC_KIND_CLASS] = {klass, 1, SCHEDC_DTYPE_F32, SCHEDC_NEEDS_FINISH_OR_NONE},
            [SCHEDC_KIND_LEAF] = {leaf, 2, SCHEDC_DTYPE_I32, SCHEDC_NEEDS_WALK},
        },
};

EXPORT int32_t m_predict(const float *rows, int64_t n_rows, float *out)
{
    return schedc_rt_predict(&model, rows, n_rows, out);
}

EXPORT int32_t m_predict_raw(const float *rows, int64_t n_rows, float *out)
{
    return schedc_rt_predict_raw(&model, rows, n_rows, out);
}

EXPORT int32_t m_predict_ex(const schedc_call *call)
{
    return schedc_rt_predict_ex(&model, call);
}

EXPORT int32_t m_num_features(void)
{
    return model.num_features;
}

EXPORT int32_t m_num_outputs(int32_t kind)
{
    return schedc_rt_num_outputs(&model, kind);
}

EXPORT int32_t m_output_type(int32_t kind)
{
    return schedc_rt_output_type(&model, kind);
}

EXPORT const char *m_info(void)
{
    return model.info;
}

EXPORT const char *m_error(int32_t status)
{
    return schedc_rt_error(&model, status);
}
