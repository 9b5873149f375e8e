/* A driver without a device, for tests: libcuda's functions that the runtime, the harness of bench/gpu and the crate
 * sched-gpu call, over the processor.
 *
 * What is put into a stream is done as late as it may be, stream by stream, so that nothing can rely on work that nobody
 * has waited for. Memory of the device cannot be touched but by what is done in streams. Modules are shared libraries with
 * a function for each kernel, as schedc emits them for this machine; the threads of a block run in turns, each on a stack
 * of its own, from barrier to barrier.
 *
 * FAKE_CUDA says what goes wrong: "devices:0", "capability:70", "shared:1000" (bytes of a block), and "alloc:3", "load:1",
 * "launch:2" (the call of this number fails). */
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, NO_IMAGE = 200, NOT_FOUND = 500,
       NOT_READY = 600, ILLEGAL = 700 };
enum { STACK = 1 << 17, MOST_THREADS = 1024, MOST_ARGUMENTS = 64, MOST_MEMORY = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int contexts; /* that are current for some thread */

/* The number that FAKE_CUDA gives for a word, or else another one. */
static long said(const char *word, long otherwise)
{
    const char *text = getenv("FAKE_CUDA");
    const char *found = text ? strstr(text, word) : NULL;
    return found ? strtol(found + strlen(word), NULL, 10) : otherwise;
}

static bool fails(const char *word, long *count)
{
    return ++*count == said(word, -1);
}

/* Memory of the device: open while work is done, closed otherwise. */

static struct {
    void *at;
    size_t bytes;
} pieces[MOST_MEMORY];
static int num_pieces;

static void open_memory(int how)
{
    for (int i = 0; i < num_pieces; i++)
        if (pieces[i].at && mprotect(pieces[i].at, pieces[i].bytes, how) != 0)
            abort();
}

/* Streams. */

typedef struct stream stream;

/* One record of an event: whoever waits does so for the newest one that there is then. */
typedef struct mark {
    stream *in;
    bool done;
    struct timespec at;
} mark;

typedef struct event {
    mark *newest;
    bool is_timed;
} event;

typedef struct kernel {
    void (*run)(const void *thread, void *const *arguments);
    int num_arguments;
    long most_shared;
} kernel;

typedef struct work {
    struct work *next;
    enum { COPY, FILL, LAUNCH, RECORD, WAIT } what;
    void *to;
    const void *from;
    size_t bytes;
    int value;
    kernel *kernel;
    unsigned grid[3], block[3], shared;
    uint64_t arguments[MOST_ARGUMENTS];
    mark *mark;
} work;

struct stream {
    work *first, **last;
};

static stream standard = {NULL, &standard.first};
static stream *all_streams[256] = {&standard};
static int num_streams = 1;

static work *add(stream *to, int what)
{
    to = to ? to : &standard;
    work *new = calloc(1, sizeof *new);
    new->what = what;
    *to->last = new;
    to->last = &new->next;
    return new;
}

/* Threads of a block. */

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
static work *launched;
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

static void run_block(work *w, const unsigned *block, fiber *fibers, unsigned char *stacks, unsigned char *shared)
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

static void run_grid(work *w)
{
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

static void run_until(stream *s, mark *m)
{
    while (s->first && (!m || !m->done)) {
        work *w = s->first;
        s->first = w->next;
        if (!s->first)
            s->last = &s->first;
        switch (w->what) {
        case COPY:
            memcpy(w->to, w->from, w->bytes);
            break;
        case FILL:
            memset(w->to, w->value, w->bytes);
            break;
        case LAUNCH:
            run_grid(w);
            break;
        case RECORD:
            clock_gettime(CLOCK_MONOTONIC, &w->mark->at);
            w->mark->done = true;
            break;
        case WAIT:
            run_until(w->mark->in, w->mark);
            break;
        }
        free(w);
    }
}

static void finish(stream *s, mark *m)
{
    open_memory(PROT_READ | PROT_WRITE);
    run_until(s, m);
    open_memory(PROT_NONE);
}

static void finish_event(const event *e)
{
    if (e->newest && !e->newest->done)
        finish(e->newest->in, e->newest);
}

static void finish_all(void)
{
    for (int i = 0; i < num_streams; i++)
        finish(all_streams[i], NULL);
}

/* The driver's functions. */

#define LOCKED(result, body) \
    pthread_mutex_lock(&lock); \
    int result = OK; \
    body; \
    pthread_mutex_unlock(&lock); \
    return result

EXPORT int cuInit(unsigned flags)
{
    return flags ? INVALID : OK;
}

EXPORT int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal < said("devices:", 1) ? OK : 101;
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    *text = error == NO_IMAGE ? "no image" : "an error of the driver for tests";
    return OK;
}

EXPORT int cuDriverGetVersion(int *version)
{
    *version = 12000;
    return OK;
}

EXPORT int cuDeviceGetCount(int *count)
{
    *count = (int)said("devices:", 1);
    return OK;
}

EXPORT int cuDeviceGetName(char *name, int length, int device)
{
    snprintf(name, (size_t)length, "a processor that stands in for GPU %d", device);
    return OK;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    *bytes = (size_t)1 << 30;
    return device == 0 ? OK : 101;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int capability = (int)said("capability:", 90);
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : device;
    return OK;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device)
{
    *context = (void *)(uintptr_t)(device + 1);
    return OK;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device)
{
    return device == 0 ? OK : 101;
}

EXPORT int cuCtxSetCurrent(void *context)
{
    return context ? OK : INVALID;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
    LOCKED(result, contexts++; result = context ? OK : INVALID);
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
    LOCKED(result, *context = NULL; contexts--);
}

/* How many contexts threads have left current. */
EXPORT int fake_contexts(void)
{
    return contexts;
}

EXPORT int cuModuleLoadData(void **module, const void *image)
{
    static long count;
    char name[] = "/tmp/fake-cuda-XXXXXX";
    Elf64_Ehdr header;
    if (fails("load:", &count))
        return NO_MEMORY;
    memcpy(&header, image, sizeof header);
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return NO_IMAGE;
    size_t bytes = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    int file = mkstemp(name);
    bool written = file >= 0 && write(file, image, bytes) == (ssize_t)bytes;
    close(file);
    *module = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(name);
    return *module ? OK : NO_IMAGE;
}

EXPORT int cuModuleUnload(void *module)
{
    return dlclose(module) == 0 ? OK : INVALID;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    char counted[256];
    snprintf(counted, sizeof counted, "%s_arguments", name);
    const int *num_arguments = dlsym(module, counted);
    kernel *new = calloc(1, sizeof *new);
    *(void **)&new->run = dlsym(module, name);
    if (!new->run || !num_arguments || *num_arguments > MOST_ARGUMENTS)
        return NOT_FOUND;
    new->num_arguments = *num_arguments;
    new->most_shared = 48 * 1024;
    *function = new;
    return OK;
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
    if (attribute != 8 || value > said("shared:", 227 * 1024))
        return INVALID;
    ((kernel *)function)->most_shared = value;
    return OK;
}

EXPORT int cuMemAlloc_v2(uint64_t *memory, size_t bytes)
{
    static long count;
    if (fails("alloc:", &count) || num_pieces == MOST_MEMORY || bytes == 0)
        return NO_MEMORY;
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NO_MEMORY;
    *memory = (uintptr_t)at;
    LOCKED(result, pieces[num_pieces].at = at; pieces[num_pieces++].bytes = bytes);
}

EXPORT int cuMemFree_v2(uint64_t memory)
{
    pthread_mutex_lock(&lock);
    finish_all();
    int result = INVALID;
    for (int i = 0; i < num_pieces; i++) {
        if ((uintptr_t)pieces[i].at != memory)
            continue;
        munmap(pieces[i].at, pieces[i].bytes);
        pieces[i].at = NULL;
        result = OK;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

/* Bytes of memory that have not been freed. */
EXPORT size_t fake_memory(void)
{
    size_t bytes = 0;
    for (int i = 0; i < num_pieces; i++)
        bytes += pieces[i].at ? pieces[i].bytes : 0;
    return bytes;
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    *memory = flags ? NULL : malloc(bytes);
    return *memory ? OK : NO_MEMORY;
}

EXPORT int cuMemFreeHost(void *memory)
{
    LOCKED(result, finish_all(); free(memory));
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    LOCKED(result, open_memory(PROT_READ | PROT_WRITE); memcpy((void *)(uintptr_t)to, from, bytes); open_memory(PROT_NONE));
}

static _Atomic size_t uploaded; /* by way of streams */

/* Bytes that have been put into streams to be copied to the device, since the last call of this function. */
EXPORT size_t fake_uploaded(void)
{
    return atomic_exchange(&uploaded, 0);
}

static int copy(void *to, const void *from, size_t bytes, stream *in)
{
    pthread_mutex_lock(&lock);
    work *w = add(in, COPY);
    w->to = to;
    w->from = from;
    w->bytes = bytes;
    pthread_mutex_unlock(&lock);
    return OK;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *in)
{
    uploaded += bytes;
    return copy((void *)(uintptr_t)to, from, bytes, in);
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *in)
{
    return copy(to, (const void *)(uintptr_t)from, bytes, in);
}

EXPORT int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *in)
{
    return copy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, in);
}

EXPORT int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *in)
{
    pthread_mutex_lock(&lock);
    work *w = add(in, FILL);
    w->to = (void *)(uintptr_t)to;
    w->value = value;
    w->bytes = bytes;
    pthread_mutex_unlock(&lock);
    return OK;
}

EXPORT int cuStreamCreate(void **made, unsigned flags)
{
    stream *new = calloc(1, sizeof *new);
    new->last = &new->first;
    *made = new;
    LOCKED(result, if (num_streams == 256 || flags > 1) result = INVALID; else all_streams[num_streams++] = new);
}

EXPORT int cuStreamCreateWithPriority(void **made, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(made, flags);
}

EXPORT int cuCtxSynchronize(void)
{
    LOCKED(result, finish_all());
}

EXPORT int cuStreamDestroy_v2(void *ended)
{
    LOCKED(result, finish(ended, NULL));
}

EXPORT int cuStreamSynchronize(void *of)
{
    LOCKED(result, finish(of ? of : &standard, NULL));
}

EXPORT int cuStreamWaitEvent(void *in, void *for_event, unsigned flags)
{
    event *e = for_event;
    LOCKED(result, if (flags) result = INVALID; else if (e->newest) add(in, WAIT)->mark = e->newest);
}

EXPORT int cuEventCreate(void **made, unsigned flags)
{
    event *new = calloc(1, sizeof *new);
    new->is_timed = !(flags & 2);
    *made = new;
    return flags > 3 ? INVALID : OK;
}

EXPORT int cuEventDestroy_v2(void *ended)
{
    event *e = ended;
    LOCKED(result, finish_event(e); free(e));
}

EXPORT int cuEventRecord(void *made, void *in)
{
    event *e = made;
    mark *new = calloc(1, sizeof *new);
    new->in = in ? in : &standard;
    LOCKED(result, e->newest = new; add(in, RECORD)->mark = new);
}

EXPORT int cuEventSynchronize(void *of)
{
    event *e = of;
    LOCKED(result, finish_event(e));
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    const event *first = from, *last = to;
    if (!first->is_timed || !last->is_timed || !first->newest || !last->newest)
        return INVALID;
    if (!first->newest->done || !last->newest->done)
        return NOT_READY;
    const struct timespec *a = &first->newest->at, *b = &last->newest->at;
    *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return OK;
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                          unsigned shared, void *in, void **arguments, void **extra)
{
    static long count;
    kernel *k = function;
    bool fits = gx && gy && gz && gy < 65536 && gz < 65536 && bx * by * bz - 1 < MOST_THREADS && (long)shared <= k->most_shared;
    if (!fits || extra)
        return INVALID;
    if (fails("launch:", &count))
        return ILLEGAL;
    pthread_mutex_lock(&lock);
    work *w = add(in, LAUNCH);
    w->kernel = k;
    memcpy(w->grid, (unsigned[]){gx, gy, gz}, sizeof w->grid);
    memcpy(w->block, (unsigned[]){bx, by, bz}, sizeof w->block);
    w->shared = shared;
    /* The driver copies what is passed; nothing that is passed here has more than 8 bytes. */
    for (int i = 0; i < k->num_arguments; i++)
        memcpy(&w->arguments[i], arguments[i], 8);
    pthread_mutex_unlock(&lock);
    return OK;
}
