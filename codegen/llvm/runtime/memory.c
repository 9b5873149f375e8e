/* Temporary memory of kernels: from the call's arena while it lasts, else from the heap. */
#include "internal.h"

#include <stdlib.h>

#define PIECE ((uint64_t)1 << 32) /* one live piece, in the arena's word */
#define BYTES (PIECE - 1)

/* Stands before every piece, so that freeing the newest piece gives its bytes back at once. */
typedef union header {
    uint32_t bytes; /* of header and piece */
    unsigned char line[SCHEDC_ALIGN];
} header;

void schedc_arena_init(schedc_arena *arena, void *memory, size_t bytes)
{
    size_t skip = -(uintptr_t)memory & (SCHEDC_ALIGN - 1);
    size_t size = bytes > skip ? bytes - skip : 0;
    if (size > INT32_MAX)
        size = INT32_MAX;
    arena->base = size ? (unsigned char *)memory + skip : NULL;
    arena->size = (uint32_t)size & ~(uint32_t)(SCHEDC_ALIGN - 1);
    atomic_init(&arena->used, 0);
}

static void *arena_alloc(schedc_arena *arena, uint64_t bytes)
{
    bytes += sizeof(header);
    uint64_t used = atomic_load_explicit(&arena->used, memory_order_relaxed);
    do {
        if (bytes > arena->size - (used & BYTES))
            return NULL;
        /* acquire: whoever gave these bytes back has finished with them */
    } while (!atomic_compare_exchange_weak_explicit(&arena->used, &used, used + PIECE + bytes, memory_order_acquire,
                                                    memory_order_relaxed));
    header *piece = (header *)(arena->base + (used & BYTES));
    piece->bytes = (uint32_t)bytes;
    return piece + 1;
}

/* The newest piece gives back its bytes, the last live piece gives back all; others wait for either. */
static void arena_free(schedc_arena *arena, void *memory)
{
    header *piece = (header *)memory - 1;
    uint64_t start = (uint64_t)((unsigned char *)piece - arena->base), end = start + piece->bytes;
    uint64_t used = atomic_load_explicit(&arena->used, memory_order_relaxed), left;
    do {
        uint64_t pieces = (used & ~BYTES) - PIECE;
        uint64_t bytes = pieces == 0 ? 0 : (used & BYTES) == end ? start : used & BYTES;
        left = pieces | bytes;
    } while (!atomic_compare_exchange_weak_explicit(&arena->used, &used, left, memory_order_acq_rel,
                                                    memory_order_relaxed));
}

void *schedc_rt_alloc(schedc_ctx *ctx, int64_t bytes)
{
    if (bytes >= 0 && bytes <= PTRDIFF_MAX - SCHEDC_ALIGN) {
        uint64_t rounded = bytes ? ((uint64_t)bytes + SCHEDC_ALIGN - 1) & ~(uint64_t)(SCHEDC_ALIGN - 1) : SCHEDC_ALIGN;
        void *memory = ctx->team ? arena_alloc(&ctx->team->arena, rounded) : NULL;
        if (!memory)
            memory = aligned_alloc(SCHEDC_ALIGN, rounded);
        if (memory)
            return memory;
    }
    schedc_rt_fail(ctx, SCHEDC_ERR_MEMORY);
    return NULL;
}

void schedc_rt_free(schedc_ctx *ctx, void *memory)
{
    schedc_arena *arena = ctx->team ? &ctx->team->arena : NULL;
    if (arena && memory && (uintptr_t)memory - (uintptr_t)arena->base < arena->size)
        arena_free(arena, memory);
    else
        free(memory);
}

void schedc_rt_fail(schedc_ctx *ctx, int32_t status)
{
    int64_t none = SCHEDC_OK;
    __atomic_compare_exchange_n(&ctx->status, &none, (int64_t)status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}
