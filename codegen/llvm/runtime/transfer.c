/* Transfer of rows to a device as bins: threads of the host quantize the rows of a run while the device
 * computes another. */
#include "plan.h"

enum {
    CHUNK_OF_ROWS = 16 * 1024,     /* bytes of rows that a thread quantizes at a time */
    QUANTIZING_BYTES = 24 * 1024,  /* bytes of temporary memory: converted rows, and transposed rows */
};

const schedc_transfer *schedc_transfer_of(const schedc_plan *p, int64_t n_rows)
{
    const schedc_transfer *transfer = p->model->gpu->transfer;
    bool is_faster = transfer && n_rows >= transfer->least_rows && p->threads >= transfer->least_threads;
    return is_faster && p->walk == p->model->outputs[SCHEDC_KIND_RAW].kernel ? transfer : NULL;
}

size_t schedc_transfer_bytes(const schedc_transfer *transfer, int64_t n_rows)
{
    int64_t blocks = (n_rows - 1) / transfer->block + 1;
    return (size_t)(blocks * transfer->block) * (size_t)transfer->row_bytes;
}

typedef struct quantizing {
    const schedc_plan *plan;
    const schedc_transfer *transfer;
    schedc_ctx *ctx;
    int64_t first, n_rows, chunk; /* rows of the run; `chunk` is the rows of one iteration */
    unsigned char *to;
} quantizing;

static void quantize_chunk(void *env, int64_t i)
{
    const quantizing *all = env;
    const schedc_plan *p = all->plan;
    int64_t first = i * all->chunk, left = all->n_rows - first;
    _Alignas(SCHEDC_ALIGN) unsigned char stack[QUANTIZING_BYTES];
    schedc_team team = {.threads = 1};
    schedc_arena_init(&team.arena, stack, sizeof stack, false);
    schedc_ctx ctx = {.rows = p->rows + (size_t)(all->first + first) * p->row_step,
                      .n_rows = left < all->chunk ? left : all->chunk,
                      .out = all->to + (size_t)first * (size_t)all->transfer->row_bytes,
                      .tables = p->model->tables,
                      .team = &team};
    void *packed = p->convert ? schedc_rt_alloc(&ctx, ctx.n_rows * (int64_t)p->row_bytes) : NULL;
    if (packed) {
        schedc_pack_serially(p, all->first + first, ctx.n_rows, packed);
        ctx.rows = packed;
    }
    if (ctx.status == SCHEDC_OK)
        all->transfer->quantize(&ctx);
    if (packed)
        schedc_rt_free(&ctx, packed);
    if (ctx.status != SCHEDC_OK)
        schedc_rt_fail(all->ctx, (int32_t)ctx.status);
}

int32_t schedc_quantize_rows(const schedc_plan *p, const schedc_transfer *transfer, int64_t first,
                             int64_t n_rows,
                             unsigned char *to)
{
    schedc_team team = {.threads = p->threads};
    schedc_ctx ctx = {.team = &team};
    int64_t blocks = (int64_t)(CHUNK_OF_ROWS / (p->row_bytes * (size_t)transfer->block + 1));
    int64_t chunk = (blocks > 1 ? blocks : 1) * transfer->block;
    quantizing all = {p, transfer, &ctx, first, n_rows, chunk, to};
    schedc_rt_parallel(&ctx, quantize_chunk, &all, (n_rows - 1) / chunk + 1);
    return (int32_t)ctx.status;
}
