/* Copies of rows and margins that convert their types. */
#include "plan.h"

#include <math.h>
#include <string.h>

enum { BLOCK_BYTES = 16 * 1024 }; /* bytes of rows that a thread converts at a time */

/* Replaces values that equal the plan's missing value, in the model's own type, by NaN. */
static void mark_missing(const schedc_plan *p, unsigned char *to, int64_t count)
{
    if (p->model->row_type == SCHEDC_DTYPE_F64) {
        double *values = (double *)to;
        for (int64_t i = 0; i < count; i++)
            values[i] = values[i] == p->missing ? (double)NAN : values[i];
    } else {
        float *values = (float *)to, missing = (float)p->missing;
        for (int64_t i = 0; i < count; i++)
            values[i] = values[i] == missing ? NAN : values[i];
    }
}

/* Packs `count` elements that follow each other. The caller's elements may have any alignment, so they are
 * copied before they are read. */
static void pack_values(const schedc_plan *p, unsigned char *to, const unsigned char *from, int64_t count)
{
    if (p->dtype == p->model->row_type) {
        memcpy(to, from, (size_t)count * schedc_size_of(p->dtype));
    } else if (p->dtype == SCHEDC_DTYPE_F32) {
        for (int64_t i = 0; i < count; i++) {
            float x;
            memcpy(&x, from + (size_t)i * 4, 4);
            ((double *)to)[i] = x;
        }
    } else {
        for (int64_t i = 0; i < count; i++) {
            double x;
            memcpy(&x, from + (size_t)i * 8, 8);
            ((float *)to)[i] = (float)x;
        }
    }
    if (p->missing == p->missing)
        mark_missing(p, to, count);
}

void schedc_pack_serially(const schedc_plan *p, int64_t first, int64_t n_rows, unsigned char *to)
{
    if (p->columns) {
        schedc_gather_rows(p, first, n_rows, to);
        return;
    }
    const unsigned char *from = p->rows + (size_t)first * p->row_step;
    int64_t features = p->model->num_features;
    /* Rows without gaps between them are one long row. */
    if (p->row_step == (size_t)features * schedc_size_of(p->dtype)) {
        pack_values(p, to, from, n_rows * features);
        return;
    }
    for (int64_t row = 0; row < n_rows; row++)
        pack_values(p, to + (size_t)row * p->row_bytes, from + (size_t)row * p->row_step, features);
}

typedef struct packing {
    const schedc_plan *plan;
    unsigned char *to;
    int64_t first, n_rows, block; /* rows in all; `block`: rows of one iteration */
} packing;

static void pack_block(void *env, int64_t i)
{
    const packing *all = env;
    const schedc_plan *p = all->plan;
    int64_t before = i * all->block, left = all->n_rows - before;
    schedc_pack_serially(p, all->first + before, left < all->block ? left : all->block,
                         all->to + (size_t)before * p->row_bytes);
}

void schedc_pack_rows(const schedc_plan *p, schedc_ctx *ctx, int64_t first, int64_t n_rows, unsigned char *to)
{
    int64_t block = p->row_bytes < BLOCK_BYTES ? (int64_t)(BLOCK_BYTES / (p->row_bytes + 1)) + 1 : 1;
    packing all = {p, to, first, n_rows, block};
    schedc_rt_parallel(ctx, pack_block, &all, (n_rows - 1) / block + 1);
}

void schedc_begin_sums(const schedc_plan *p, int64_t first, int64_t n_rows, void *margins)
{
    const schedc_model *model = p->model;
    size_t bytes = (size_t)model->num_margins * schedc_size_of(model->margin_type);
    if (p->base_margin) {
        memcpy(margins, p->base_margin + (size_t)first * bytes, bytes * (size_t)n_rows);
        return;
    }
    for (int64_t row = 0; row < n_rows; row++)
        memcpy((unsigned char *)margins + (size_t)row * bytes, model->base, bytes);
}

void schedc_convert_margins(const schedc_plan *p, const void *margins, int64_t n_rows, void *out)
{
    int64_t count = n_rows * p->model->num_margins;
    if (p->model->margin_type == SCHEDC_DTYPE_F64)
        for (int64_t i = 0; i < count; i++)
            ((float *)out)[i] = (float)((const double *)margins)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((double *)out)[i] = ((const float *)margins)[i];
}
