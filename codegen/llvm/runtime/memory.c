/* Temporary memory of kernels: from the call's arena while it lasts, then from the heap. */
#include "internal.h"

#include <stdlib.h>

/* Header of an allocated piece of an arena. Pieces are contiguous. */
typedef union header {
    struct {
        size_t bytes;  /* of header and piece */
        size_t before; /* start of the piece before it */
        bool is_free;
    };
    unsigned char line[SCHEDC_ALIGN];
} header;

void schedc_arena_init(schedc_arena *arena, void *memory, size_t bytes, bool shared)
{
    size_t skip = -(uintptr_t)memory & (SCHEDC_ALIGN - 1);
    size_t size = bytes > skip ? (bytes - skip) & ~(size_t)(SCHEDC_ALIGN - 1) : 0;
    unsigned char *base = size ? (unsigned char *)memory + skip : NULL;
    *arena = (schedc_arena){.base = base, .size = size, .shared = shared};
    if (shared)
        pthread_mutex_init(&arena->lock, NULL);
}

static header *piece_at(const schedc_arena *arena, size_t start)
{
    return (header *)(arena->base + start);
}

/* Takes a free piece of the wanted size, or else a new one, or else the smallest larger free one. The
 * iterations of a loop therefore need no more memory than those that run at the same time. */
static header *take(schedc_arena *arena, size_t bytes)
{
    header *larger = NULL;
    for (size_t at = 0; at < arena->used; at += piece_at(arena, at)->bytes) {
        header *piece = piece_at(arena, at);
        if (!piece->is_free || piece->bytes < bytes)
            continue;
        if (piece->bytes == bytes)
            return piece;
        if (!larger || piece->bytes < larger->bytes)
            larger = piece;
    }
    if (bytes > arena->size - arena->used)
        return larger;
    header *piece = piece_at(arena, arena->used);
    piece->bytes = bytes;
    piece->before = arena->newest;
    arena->newest = arena->used;
    arena->used += bytes;
    return piece;
}

static void *arena_alloc(schedc_arena *arena, size_t bytes)
{
    if (arena->shared)
        pthread_mutex_lock(&arena->lock);
    header *piece = take(arena, bytes + sizeof(header));
    if (piece)
        piece->is_free = false;
    if (arena->shared)
        pthread_mutex_unlock(&arena->lock);
    return piece ? piece + 1 : NULL;
}

/* Frees a piece. Free pieces at the end shrink the arena; those between others can be taken again. */
static void arena_free(schedc_arena *arena, void *memory)
{
    if (arena->shared)
        pthread_mutex_lock(&arena->lock);
    ((header *)memory - 1)->is_free = true;
    while (arena->used && piece_at(arena, arena->newest)->is_free) {
        arena->used = arena->newest;
        arena->newest = piece_at(arena, arena->newest)->before;
    }
    if (arena->shared)
        pthread_mutex_unlock(&arena->lock);
}

void *schedc_rt_alloc(schedc_ctx *ctx, int64_t bytes)
{
    if (ctx->team && ctx->team->lane)
        return ctx->team->alloc(ctx, bytes);
    schedc_arena *arena = ctx->team ? &ctx->team->arena : NULL;
    bool only_arena = arena && arena->is_all;
    /* The run has failed, and the call repeats it with fewer rows: this run should end soon. */
    if (only_arena && __atomic_load_n(&ctx->status, __ATOMIC_RELAXED) != SCHEDC_OK)
        return NULL;
    if (bytes >= 0 && bytes <= PTRDIFF_MAX - 4 * SCHEDC_ALIGN) {
        size_t lines = ((size_t)bytes + SCHEDC_ALIGN - 1) & ~(size_t)(SCHEDC_ALIGN - 1);
        size_t rounded = bytes ? lines : SCHEDC_ALIGN;
        void *memory = arena ? arena_alloc(arena, rounded) : NULL;
        if (!memory && !only_arena)
            memory = aligned_alloc(SCHEDC_ALIGN, rounded);
        if (memory)
            return memory;
    }
    schedc_rt_fail(ctx, only_arena ? SCHEDC_LITTLE_SCRATCH : SCHEDC_ERR_MEMORY);
    return NULL;
}

void schedc_rt_free(schedc_ctx *ctx, void *memory)
{
    if (ctx->team && ctx->team->lane) {
        ctx->team->free(ctx, memory);
        return;
    }
    schedc_arena *arena = ctx->team ? &ctx->team->arena : NULL;
    if (arena && memory && (uintptr_t)memory - (uintptr_t)arena->base < arena->size)
        arena_free(arena, memory);
    else
        free(memory);
}

void schedc_rt_fail(schedc_ctx *ctx, int32_t status)
{
    int64_t none = SCHEDC_OK;
    __atomic_compare_exchange_n(&ctx->status, &none, (int64_t)status, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}
