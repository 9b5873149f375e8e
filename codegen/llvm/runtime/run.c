/* Runs of a model's kernels on the host, and the split of a call into runs. */
#include "plan.h"

#include <stdlib.h>

enum {
    STACK_BYTES = 16 * 1024,  /* bytes of stack for small calls, which never allocate */
    CHUNK_BYTES = 256 * 1024, /* bytes of temporary rows and margins for each thread: they fit L2 */
    CHUNK_THREADS = 16,       /* a run's rows grow with the number of threads up to this one */
    MIN_CHUNK_ROWS = 64,      /* longer runs have a multiple of this number of rows: full tiles are faster */
};

bool schedc_on_device(const schedc_plan *p, int64_t n_rows)
{
    const schedc_gpu *gpu = p->model->gpu;
    if (!gpu)
        return false;
    const schedc_range *range = gpu->ranges;
    /* Leaf indices are computed in the place, host or device, of the longest runs. */
    bool by_tree = p->walk != p->model->outputs[SCHEDC_KIND_RAW].kernel;
    while (range->max_rows != INT64_MAX && (by_tree || n_rows > range->max_rows))
        range++;
    return range->on_device != 0;
}

schedc_plan schedc_part(const schedc_plan *p, int64_t first, int64_t n_rows)
{
    schedc_plan part = *p;
    if (p->columns)
        part.first_row += first;
    else
        part.rows += (size_t)first * p->row_step;
    part.out += (size_t)first * p->out_bytes;
    if (p->base_margin)
        part.base_margin += (size_t)first * p->base_bytes;
    part.n_rows = n_rows;
    return part;
}

/* Returns the bytes of a packed row of a run, or of its converted columns. */
static size_t temporary_row_bytes(const schedc_plan *p)
{
    if (p->direct)
        return p->converted_bytes;
    return p->convert ? p->row_bytes : 0;
}

/* Temporary memory of a call: bytes for each row of a run, and other bytes. */
typedef struct needs {
    size_t per_row, beside;
} needs;

/* Addresses of the temporary data of a run. */
typedef struct run_buffers {
    unsigned char *rows, *margins; /* `rows` are packed, or converted columns */
    int64_t *order;
    int64_t room; /* most rows that fit */
} run_buffers;

static const int64_t ROWS_IN_ORDER = 0;

static size_t aligned(size_t bytes)
{
    return (bytes + SCHEDC_ALIGN - 1) & ~(size_t)(SCHEDC_ALIGN - 1);
}

/* Runs the kernels on the rows [first, first + ctx->n_rows). */
static void run(const schedc_plan *p, schedc_ctx *ctx, int64_t first, const run_buffers *at)
{
    unsigned char *out = p->out + (size_t)first * p->out_bytes;
    ctx->order = &ROWS_IN_ORDER;
    if (p->direct) {
        schedc_hand_columns(p, ctx, first, at->room, at->rows, at->order);
    } else if (p->convert) {
        schedc_pack_rows(p, ctx, first, ctx->n_rows, at->rows);
        ctx->rows = at->rows;
    } else {
        ctx->rows = p->rows + (size_t)first * p->row_step;
    }
    ctx->out = p->margin_bytes ? at->margins : out;
    if (p->model->base && p->walk == p->model->outputs[SCHEDC_KIND_RAW].kernel)
        schedc_begin_sums(p, first, ctx->n_rows, ctx->out);
    p->walk(ctx);
    if (ctx->status != SCHEDC_OK)
        return;
    ctx->rows = ctx->out;
    ctx->out = out;
    if (p->finish)
        p->finish(ctx);
    else if (p->margin_bytes)
        schedc_convert_margins(p, ctx->rows, ctx->n_rows, ctx->out);
}

/* Returns the number of rows of the next run. Kernels cannot read columns in short runs, so the last run must
 * not be short. */
static int64_t next_run(const schedc_plan *p, int64_t left, int64_t chunk)
{
    if (left <= chunk)
        return left;
    bool leaves_few = p->direct && left - chunk < p->model->columns_from;
    return leaves_few ? chunk - p->model->columns_from : chunk;
}

/* Splits the rows from `*first` on into runs whose temporary data fit `memory`. Stops at a run that fails;
 * `*first` is then its first row. */
static int32_t run_all(const schedc_plan *p, schedc_team *team, unsigned char *memory, int64_t chunk,
                       int64_t *first)
{
    run_buffers at = {.room = chunk};
    at.order = (int64_t *)(void *)(memory + (-(uintptr_t)memory & (SCHEDC_ALIGN - 1)));
    at.rows = (unsigned char *)at.order + (p->direct ? aligned(schedc_order_bytes(p)) : 0);
    at.margins = at.rows + aligned((size_t)chunk * temporary_row_bytes(p));
    schedc_ctx ctx = {.tables = p->model->tables, .team = team};
    for (; *first < p->n_rows; *first += ctx.n_rows) {
        ctx.n_rows = next_run(p, p->n_rows - *first, chunk);
        if (schedc_on_device(p, ctx.n_rows)) {
            schedc_plan part = schedc_part(p, *first, ctx.n_rows);
            ctx.status = p->model->gpu->execute(&part);
        } else {
            run(p, &ctx, *first, &at);
        }
        if (ctx.status != SCHEDC_OK)
            break;
    }
    return (int32_t)ctx.status;
}

enum { SLACK = 3 * SCHEDC_ALIGN }; /* bytes lost by aligning the order, rows and margins */

/* Returns the number of rows whose temporary data fit `bytes`. */
static int64_t rows_in(size_t bytes, needs wanted)
{
    return bytes > SLACK + wanted.beside ? (int64_t)((bytes - SLACK - wanted.beside) / wanted.per_row) : 0;
}

/* Returns the number of rows of a run that suits the caches, regardless of the available memory. */
static int64_t wanted_chunk(const schedc_plan *p, size_t per_row)
{
    int64_t chunk = p->model->rows_per_run > 1 ? p->model->rows_per_run : 1;
    if (per_row) {
        size_t threads = (size_t)(p->threads < CHUNK_THREADS ? p->threads : CHUNK_THREADS);
        int64_t cached = (int64_t)(CHUNK_BYTES * threads / per_row);
        cached = cached > MIN_CHUNK_ROWS ? cached & -(int64_t)MIN_CHUNK_ROWS : cached > 1 ? cached : 1;
        chunk = chunk < cached ? chunk : cached;
    }
    return chunk < p->n_rows ? chunk : p->n_rows;
}

/* Returns the bytes of temporary rows and margins for each row of a run, and of other temporary data. */
static needs needs_of(const schedc_plan *p)
{
    size_t per_row = temporary_row_bytes(p) + p->margin_bytes;
    return (needs){per_row, p->direct ? aligned(schedc_order_bytes(p)) : 0};
}

static size_t bytes_for(needs wanted, int64_t chunk)
{
    bool none = !wanted.per_row && !wanted.beside;
    return none ? 0 : (size_t)chunk * wanted.per_row + wanted.beside + SLACK;
}

/* Whether all runs are long enough to read columns if each has `chunk` rows, also the last one. */
static bool are_long(const schedc_plan *p, int64_t chunk)
{
    return chunk >= p->n_rows || chunk / 2 >= p->model->columns_from;
}

/* Runs the call in the caller's scratch alone, with fewer threads and then fewer rows at a time until it
 * fits. Returns SCHEDC_LITTLE_SCRATCH if a single row, or the shortest run of columns, does not fit. */
static int32_t execute_in_scratch(schedc_plan p)
{
    needs wanted = needs_of(&p);
    int64_t chunk = wanted_chunk(&p, wanted.per_row), first = 0;
    if (wanted.per_row) {
        int64_t fitting = rows_in(p.scratch_bytes / 2, wanted); /* the other half is for the kernels */
        chunk = fitting < 1 ? 1 : chunk < fitting ? chunk : fitting;
    }
    for (;;) {
        size_t need = bytes_for(wanted, chunk);
        if (need > p.scratch_bytes || (p.direct && !are_long(&p, chunk)))
            return SCHEDC_LITTLE_SCRATCH;
        schedc_team team = {.threads = p.threads};
        unsigned char *scratch = p.scratch;
        schedc_arena_init(&team.arena, scratch + need, p.scratch_bytes - need, p.threads > 1);
        team.arena.is_all = true;
        int32_t status = run_all(&p, &team, scratch, chunk, &first);
        if (status != SCHEDC_LITTLE_SCRATCH || (chunk == 1 && p.threads == 1))
            return status;
        if (p.threads > 1)
            p.threads /= 2;
        else
            chunk = chunk > 2 * MIN_CHUNK_ROWS ? (chunk / 2) & -(int64_t)MIN_CHUNK_ROWS : (chunk + 1) / 2;
    }
}

/* Runs the call in the runtime's own memory: on the stack if that suffices, else on the heap. */
static int32_t execute_anywhere(const schedc_plan *p)
{
    _Alignas(SCHEDC_ALIGN) unsigned char stack[STACK_BYTES];
    schedc_team team = {.threads = p->threads};
    needs wanted = needs_of(p);
    int64_t chunk = wanted_chunk(p, wanted.per_row), first = 0;
    size_t need = bytes_for(wanted, chunk);
    if (need <= STACK_BYTES) {
        need = aligned(need);
        schedc_arena_init(&team.arena, stack + need, STACK_BYTES - need, p->threads > 1);
        return run_all(p, &team, stack, chunk, &first);
    }
    void *memory = malloc(need);
    if (!memory)
        return SCHEDC_ERR_MEMORY;
    schedc_arena_init(&team.arena, stack, STACK_BYTES, p->threads > 1);
    int32_t status = run_all(p, &team, memory, chunk, &first);
    free(memory);
    return status;
}

/* Lets kernels read columns if runs are long enough for it. */
static void plan_direct(schedc_plan *p)
{
    if (!p->columns || p->model->gpu || p->n_rows < p->model->columns_from)
        return;
    p->direct = true;
    p->converted_bytes = (size_t)schedc_count_converted(p) * schedc_size_of(p->model->row_type);
    p->direct = are_long(p, wanted_chunk(p, needs_of(p).per_row));
}

/* Runs a call on the host. Scratch is not used if it has at most STACK_BYTES. If converted columns do not fit
 * it, packed rows may. */
static int32_t execute_on_host(schedc_plan p)
{
    bool has_scratch = p.scratch_bytes > STACK_BYTES;
    plan_direct(&p);
    int32_t status = has_scratch ? execute_in_scratch(p) : SCHEDC_LITTLE_SCRATCH;
    if (status == SCHEDC_LITTLE_SCRATCH && has_scratch && p.direct) {
        p.direct = false;
        status = execute_in_scratch(p);
    }
    return status == SCHEDC_LITTLE_SCRATCH ? execute_anywhere(&p) : status;
}

int32_t schedc_execute(const schedc_plan *p)
{
    int64_t longest = p->model->rows_per_run < p->n_rows ? p->model->rows_per_run : p->n_rows;
    return schedc_on_device(p, longest) ? p->model->gpu->execute(p) : execute_on_host(*p);
}
