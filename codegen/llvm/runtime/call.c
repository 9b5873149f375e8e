/* The entry points: what a call asks for, and how it is cut into runs of the model's kernels. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    STACK_BYTES = 16 * 1024,  /* small calls live in this much stack and never allocate */
    CHUNK_BYTES = 256 * 1024, /* of temporary rows and margins per thread: they stay in the core's cache */
    CHUNK_THREADS = 16,       /* more threads than this do not make a chunk larger */
    BLOCK_BYTES = 16 * 1024,  /* rows that a thread converts at a time */
    MIN_CHUNK_ROWS = 64,      /* kernels like full tiles */
};

static const double WORTH_A_THREAD_NS = 10000.0; /* waking one costs a few microseconds */

/* A checked call: every size below is known to fit. */
typedef struct plan {
    const schedc_model *model;
    const unsigned char *rows;
    int64_t n_rows;
    size_t row_step;       /* bytes from one of the caller's rows to the next */
    int32_t dtype;         /* element type of the caller's rows */
    size_t row_bytes;      /* one packed row, in the kernels' element type */
    bool convert;          /* rows go through scratch */
    schedc_kernel walk;    /* rows -> margins or leaves */
    schedc_kernel finish;  /* margins -> output; null: none */
    size_t margin_bytes;   /* one row of margins in scratch; 0: the first kernel writes into the output */
    unsigned char *out;
    size_t out_element;    /* bytes of an element of output */
    size_t out_bytes;      /* one row of output */
    void *scratch;         /* the caller's */
    size_t scratch_bytes;
    int32_t threads;
} plan;

/* Reading and checking a call. */

static const size_t CALL_MIN = offsetof(schedc_call, dtype);

/* Copies the fields that the caller knows. What it knows and we do not must be zero, that is, unused. */
static int32_t read_call(schedc_call *to, const schedc_call *from)
{
    uint32_t size;
    if (!from)
        return SCHEDC_ERR_ARGUMENT;
    memcpy(&size, from, sizeof size);
    if (size < CALL_MIN || size % 8 != 0 || size > 4096)
        return SCHEDC_ERR_ARGUMENT;
    const unsigned char *bytes = (const unsigned char *)from;
    for (size_t i = sizeof *to; i < size; i++)
        if (bytes[i] != 0)
            return SCHEDC_ERR_ARGUMENT;
    memset(to, 0, sizeof *to);
    memcpy(to, from, size < sizeof *to ? size : sizeof *to);
    return SCHEDC_OK;
}

int32_t schedc_rt_num_outputs(const schedc_model *model, int32_t kind)
{
    switch (kind) {
    case SCHEDC_KIND_VALUE:
        return model->value ? model->num_values : model->num_margins;
    case SCHEDC_KIND_RAW:
        return model->num_margins;
    case SCHEDC_KIND_CLASS:
        return model->klass ? 1 : 0;
    case SCHEDC_KIND_LEAF:
        return model->leaf ? model->num_trees : 0;
    default:
        return 0;
    }
}

int32_t schedc_rt_output_type(const schedc_model *model, int32_t kind)
{
    switch (kind) {
    case SCHEDC_KIND_VALUE:
    case SCHEDC_KIND_RAW:
        return model->result_type;
    case SCHEDC_KIND_LEAF:
        return SCHEDC_DTYPE_I32;
    default:
        return SCHEDC_DTYPE_F32;
    }
}

static size_t size_of(int32_t dtype)
{
    return dtype == SCHEDC_DTYPE_F64 ? 8 : 4;
}

/* Which kernels make the output, and where the margins between them live. */
static int32_t plan_kernels(plan *p, int32_t kind)
{
    const schedc_model *model = p->model;
    int32_t columns = schedc_rt_num_outputs(model, kind);
    p->out_element = size_of(schedc_rt_output_type(model, kind));
    p->out_bytes = (size_t)columns * p->out_element;
    p->walk = model->raw;
    switch (kind) {
    case SCHEDC_KIND_VALUE:
        p->finish = model->value;
        break;
    case SCHEDC_KIND_RAW:
        break;
    case SCHEDC_KIND_CLASS:
        p->finish = model->klass;
        if (!p->finish)
            return SCHEDC_ERR_UNSUPPORTED;
        break;
    case SCHEDC_KIND_LEAF:
        p->walk = model->leaf;
        return p->walk ? SCHEDC_OK : SCHEDC_ERR_UNSUPPORTED;
    default:
        return SCHEDC_ERR_ARGUMENT;
    }
    /* Margins of the output's own width are finished where they stand: these kernels go row by row. */
    size_t margin = size_of(model->margin_type);
    if (margin != p->out_element || columns != model->num_margins)
        p->margin_bytes = (size_t)model->num_margins * margin;
    return p->walk ? SCHEDC_OK : SCHEDC_ERR_UNSUPPORTED;
}

/* The rows' place, type and stride; also refuses sizes that no address space holds. */
static int32_t plan_rows(plan *p, const schedc_call *call)
{
    int64_t features = p->model->num_features, stride = call->row_stride ? call->row_stride : features, bytes;
    if (call->n_rows < 0 || stride < features || (call->dtype != SCHEDC_DTYPE_F32 && call->dtype != SCHEDC_DTYPE_F64))
        return SCHEDC_ERR_ARGUMENT;
    p->n_rows = call->n_rows;
    if (call->n_rows == 0)
        return SCHEDC_OK;

    p->rows = call->rows;
    p->out = call->out;
    if (!p->rows || !p->out || (uintptr_t)p->out % p->out_element != 0)
        return SCHEDC_ERR_ARGUMENT;
    p->dtype = call->dtype;
    int64_t element = (int64_t)size_of(p->dtype), kernel_element = (int64_t)size_of(p->model->row_type);
    p->row_bytes = (size_t)(features * kernel_element);
    if (__builtin_mul_overflow(stride, element, &bytes))
        return SCHEDC_ERR_ARGUMENT;
    p->row_step = (size_t)bytes;
    if (__builtin_mul_overflow(call->n_rows, bytes, &bytes) ||
        __builtin_mul_overflow(call->n_rows, (int64_t)p->out_bytes, &bytes))
        return SCHEDC_ERR_ARGUMENT;
    p->convert = element != kernel_element || (uintptr_t)p->rows % (size_t)element != 0 ||
                 (p->row_step != p->row_bytes && p->n_rows > 1);
    return SCHEDC_OK;
}

/* As many threads as are asked for and as the work pays for. */
static int32_t plan_threads(const plan *p, int32_t wanted)
{
    double worth = (double)p->n_rows * p->model->ns_per_row / WORTH_A_THREAD_NS;
    if (!(worth >= 2.0))
        return 1;
    if (wanted == 0)
        wanted = schedc_default_threads();
    if (wanted > schedc_most_threads())
        wanted = schedc_most_threads();
    return worth < wanted ? (int32_t)worth : wanted;
}

/* Rows and margins on their way through scratch. */

/* The caller's elements may lie at any address, so they are copied out, never read in place. */
static void pack_row(const plan *p, unsigned char *to, const unsigned char *from)
{
    int32_t features = p->model->num_features;
    if (p->dtype == p->model->row_type) {
        memcpy(to, from, p->row_bytes);
    } else if (p->dtype == SCHEDC_DTYPE_F32) {
        for (int32_t i = 0; i < features; i++) {
            float x;
            memcpy(&x, from + (size_t)i * 4, 4);
            ((double *)to)[i] = x;
        }
    } else {
        for (int32_t i = 0; i < features; i++) {
            double x;
            memcpy(&x, from + (size_t)i * 8, 8);
            ((float *)to)[i] = (float)x;
        }
    }
}

typedef struct packing {
    const plan *plan;
    const unsigned char *from;
    unsigned char *to;
    int64_t n_rows, block; /* rows in all, rows of one iteration */
} packing;

static void pack_block(void *env, int64_t i)
{
    const packing *all = env;
    const plan *p = all->plan;
    int64_t end = (i + 1) * all->block;
    if (end > all->n_rows)
        end = all->n_rows;
    for (int64_t row = i * all->block; row < end; row++)
        pack_row(p, all->to + (size_t)row * p->row_bytes, all->from + (size_t)row * p->row_step);
}

static void pack_rows(const plan *p, schedc_ctx *ctx, int64_t first, unsigned char *to)
{
    int64_t block = p->row_bytes < BLOCK_BYTES ? (int64_t)(BLOCK_BYTES / (p->row_bytes + 1)) + 1 : 1;
    packing all = {p, p->rows + (size_t)first * p->row_step, to, ctx->n_rows, block};
    schedc_rt_parallel(ctx, pack_block, &all, (ctx->n_rows - 1) / block + 1);
}

/* Margins that are the output themselves, in another type. */
static void convert_margins(const plan *p, const schedc_ctx *ctx)
{
    int64_t count = ctx->n_rows * p->model->num_margins;
    if (p->model->margin_type == SCHEDC_DTYPE_F64)
        for (int64_t i = 0; i < count; i++)
            ((float *)ctx->out)[i] = (float)((const double *)ctx->rows)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((double *)ctx->out)[i] = ((const float *)ctx->rows)[i];
}

/* Running. */

/* One run of the kernels over rows [first, first + ctx->n_rows). */
static void run(const plan *p, schedc_ctx *ctx, int64_t first, unsigned char *rows, unsigned char *margins)
{
    unsigned char *out = p->out + (size_t)first * p->out_bytes;
    if (p->convert)
        pack_rows(p, ctx, first, rows);
    ctx->rows = p->convert ? rows : p->rows + (size_t)first * p->row_step;
    ctx->out = p->margin_bytes ? margins : out;
    p->walk(ctx);
    if (ctx->status != SCHEDC_OK)
        return;
    ctx->rows = ctx->out;
    ctx->out = out;
    if (p->finish)
        p->finish(ctx);
    else if (p->margin_bytes)
        convert_margins(p, ctx);
}

/* Cuts the rows from `first` on into runs whose temporary rows and margins fit `memory`, up to a run that fails. */
static int32_t run_all(const plan *p, schedc_team *team, unsigned char *memory, int64_t chunk, int64_t *first)
{
    size_t rows_bytes = p->convert ? p->row_bytes * (size_t)chunk : 0;
    unsigned char *rows = memory + (-(uintptr_t)memory & (SCHEDC_ALIGN - 1));
    unsigned char *margins = rows + ((rows_bytes + SCHEDC_ALIGN - 1) & ~(size_t)(SCHEDC_ALIGN - 1));
    schedc_ctx ctx = {.tables = p->model->tables, .team = team};
    for (; *first < p->n_rows; *first += ctx.n_rows) {
        ctx.n_rows = p->n_rows - *first < chunk ? p->n_rows - *first : chunk;
        run(p, &ctx, *first, rows, margins);
        if (ctx.status != SCHEDC_OK)
            break;
    }
    return (int32_t)ctx.status;
}

enum { SLACK = 2 * SCHEDC_ALIGN }; /* what aligning rows and margins may cost */

/* Rows whose temporary data fit `bytes`. */
static int64_t rows_in(size_t bytes, size_t per_row)
{
    return bytes > SLACK ? (int64_t)((bytes - SLACK) / per_row) : 0;
}

/* Rows of one run if memory were no concern, only caches. */
static int64_t wanted_chunk(const plan *p, size_t per_row)
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

/* Bytes of temporary rows and margins, for each row of a run. */
static size_t bytes_per_row(const plan *p)
{
    return (p->convert ? p->row_bytes : 0) + p->margin_bytes;
}

/* Runs the call in nothing but the caller's scratch, with fewer threads and then fewer rows at a time until it fits;
 * SCHEDC_LITTLE_SCRATCH if a single row does not. */
static int32_t execute_in_scratch(plan p)
{
    size_t per_row = bytes_per_row(&p);
    int64_t chunk = wanted_chunk(&p, per_row), first = 0;
    if (per_row) {
        int64_t fitting = rows_in(p.scratch_bytes / 2, per_row); /* the other half is for the kernels */
        chunk = fitting < 1 ? 1 : chunk < fitting ? chunk : fitting;
    }
    for (;;) {
        size_t need = per_row ? (size_t)chunk * per_row + SLACK : 0;
        if (need > p.scratch_bytes)
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

/* Runs the call in memory that it finds itself: on the stack where that is enough, else the heap's. */
static int32_t execute_anywhere(const plan *p)
{
    _Alignas(SCHEDC_ALIGN) unsigned char stack[STACK_BYTES];
    schedc_team team = {.threads = p->threads};
    size_t per_row = bytes_per_row(p);
    int64_t chunk = wanted_chunk(p, per_row), first = 0;
    size_t need = per_row ? (size_t)chunk * per_row + SLACK : 0;
    if (need <= STACK_BYTES) {
        need = (need + SCHEDC_ALIGN - 1) & ~(size_t)(SCHEDC_ALIGN - 1);
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

/* Scratch of no more than the stack's size is not worth using. */
static int32_t execute(const plan *p)
{
    int32_t status = p->scratch_bytes > STACK_BYTES ? execute_in_scratch(*p) : SCHEDC_LITTLE_SCRATCH;
    return status == SCHEDC_LITTLE_SCRATCH ? execute_anywhere(p) : status;
}

/* Entry points. */

/* The first version of a model that this processor can run, or else the last one. */
static const schedc_model *usable(const schedc_model *model)
{
    while (model->otherwise && schedc_cpu_lacks(model->cpu_needs))
        model = model->otherwise;
    return model;
}

static int32_t predict(const schedc_model *versions, const schedc_call *call)
{
    const schedc_model *model = usable(versions);
    plan p = {.model = model};
    int32_t status = plan_kernels(&p, call->kind);
    if (status == SCHEDC_OK)
        status = plan_rows(&p, call);
    if (status != SCHEDC_OK)
        return status;
    if (call->threads < 0 || call->scratch_size < 0)
        return SCHEDC_ERR_ARGUMENT;
    if (schedc_cpu_lacks(model->cpu_needs))
        return SCHEDC_ERR_CPU;
    if (p.n_rows == 0)
        return SCHEDC_OK;
    p.scratch = call->scratch;
    p.scratch_bytes = call->scratch ? (size_t)call->scratch_size : 0;
    p.threads = plan_threads(&p, call->threads);
    return execute(&p);
}

int32_t schedc_rt_predict_ex(const schedc_model *model, const schedc_call *call)
{
    schedc_call known;
    int32_t status = read_call(&known, call);
    return status == SCHEDC_OK ? predict(model, &known) : status;
}

int32_t schedc_rt_predict(const schedc_model *model, const float *rows, int64_t n_rows, void *out)
{
    schedc_call call = {.kind = SCHEDC_KIND_VALUE, .rows = rows, .n_rows = n_rows, .out = out};
    return predict(model, &call);
}

int32_t schedc_rt_predict_raw(const schedc_model *model, const float *rows, int64_t n_rows, void *out)
{
    schedc_call call = {.kind = SCHEDC_KIND_RAW, .rows = rows, .n_rows = n_rows, .out = out};
    return predict(model, &call);
}

static const char *cpu_message(uint64_t lacks)
{
    if (lacks & SCHEDC_CPU_V2)
        return "this processor lacks SSE4.2 (x86-64-v2), which the model was compiled for; compile it for x86-64";
    if (lacks & SCHEDC_CPU_V3)
        return "this processor lacks AVX2 and FMA (x86-64-v3), which the model was compiled for; compile it for "
               "x86-64-v2";
    if (lacks & SCHEDC_CPU_V4)
        return "this processor lacks AVX-512 (x86-64-v4), which the model was compiled for; compile it for x86-64-v3";
    if (lacks & SCHEDC_CPU_VBMI)
        return "this processor lacks AVX-512 VBMI, which the model was compiled for; compile it for x86-64-v4";
    if (lacks & SCHEDC_CPU_AVX512FP16)
        return "this processor lacks AVX-512 FP16, which the model was compiled for; compile it for x86-64-v4";
    return "this processor lacks instructions that the model was compiled for; compile it for an older processor";
}

const char *schedc_rt_error(const schedc_model *model, int32_t status)
{
    switch (status) {
    case SCHEDC_OK:
        return "no error";
    case SCHEDC_ERR_ARGUMENT:
        return "an argument is wrong: a null pointer, a negative count, an output that is not aligned to its "
               "elements, an unknown kind or dtype, a row stride below the number of features, or a call structure of the wrong "
               "size";
    case SCHEDC_ERR_CPU:
        return cpu_message(model ? schedc_cpu_lacks(usable(model)->cpu_needs) : 0);
    case SCHEDC_ERR_MEMORY:
        return "there is not enough memory for temporary data; predict fewer rows at a time or pass scratch memory";
    case SCHEDC_ERR_UNSUPPORTED:
        return "the model has no output of this kind, for example the class of a regression";
    default:
        return "unknown status";
    }
}

const char *schedc_rt_info(const schedc_model *model)
{
    return usable(model)->info;
}
