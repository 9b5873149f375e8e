/* Grids of threads on the processor: the threads of a block run alternately, each on its own stack, from
 * barrier to barrier. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { STACK = 1 << 17, MOST_THREADS = 1024, MOST_ARGUMENTS = 128 };

/* A function that runs on the device. Without `run` it does nothing. */
typedef struct kernel {
    void *module;
    void (*run)(const void *thread, void *const *arguments);
    int num_arguments;
    long most_shared;
} kernel;

/* A launch of a function. */
typedef struct launch {
    kernel *kernel;
    unsigned grid[3], block[3], shared;
    uint64_t arguments[MOST_ARGUMENTS];
} launch;

typedef struct thread {
    uint32_t block[3], number[3];
    unsigned char *shared;
    void (*barrier)(void *fiber);
    void *fiber;
} thread;

typedef struct fiber {
    ucontext_t context;
    thread thread;
    bool done;
} fiber;

static ucontext_t scheduler;
static fiber *current;
static launch *launched;
static void *pointers[MOST_ARGUMENTS];

static void wait_for_others(void *self)
{
    fiber *of = self;
    swapcontext(&of->context, &scheduler);
}

static void run_fiber(void)
{
    launched->kernel->run(&current->thread, pointers);
    current->done = true;
}

static void run_block(launch *w, const unsigned *block, fiber *fibers, unsigned char *stacks,
                      unsigned char *shared)
{
    unsigned count = w->block[0] * w->block[1] * w->block[2], left = count;
    memset(shared, 0xa5, w->shared);
    for (unsigned i = 0; i < count; i++) {
        fiber *f = &fibers[i];
        f->done = false;
        f->thread = (thread){{block[0], block[1], block[2]},
                             {i % w->block[0], i / w->block[0] % w->block[1], i / w->block[0] / w->block[1]},
                             shared,
                             wait_for_others,
                             f};
        getcontext(&f->context);
        f->context.uc_stack = (stack_t){.ss_sp = stacks + (size_t)i * STACK, .ss_size = STACK};
        f->context.uc_link = &scheduler;
        makecontext(&f->context, run_fiber, 0);
    }
    while (left) {
        left = 0;
        for (unsigned i = 0; i < count; i++) {
            current = &fibers[i];
            if (!current->done)
                swapcontext(&scheduler, &current->context);
            left += !current->done;
        }
    }
}

static void run_grid(launch *w)
{
    if (!w->kernel->run)
        return;
    unsigned threads = w->block[0] * w->block[1] * w->block[2], block[3];
    fiber *fibers = calloc(threads, sizeof *fibers);
    unsigned char *stacks = mmap(NULL, (size_t)threads * STACK, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    unsigned char *shared = aligned_alloc(128, (w->shared + 255u) & ~127u);
    for (int i = 0; i < w->kernel->num_arguments; i++)
        pointers[i] = &w->arguments[i];
    launched = w;
    for (block[2] = 0; block[2] < w->grid[2]; block[2]++)
        for (block[1] = 0; block[1] < w->grid[1]; block[1]++)
            for (block[0] = 0; block[0] < w->grid[0]; block[0]++)
                run_block(w, block, fibers, stacks, shared);
    free(shared);
    munmap(stacks, (size_t)threads * STACK);
    free(fibers);
}

#endif
