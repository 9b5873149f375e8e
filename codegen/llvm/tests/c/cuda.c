/* A driver without a device, for tests. It has the functions of libcuda that the runtime, the harness of
 * bench/gpu and the crate sched-gpu call, and runs kernels on the processor. streams.h orders the work, and
 * blocks.h runs the kernels.
 *
 * Only work in streams can access the device's memory, which holds garbage at first. Modules are shared
 * libraries with a function for each kernel, as schedc emits them for this machine. Functions that need a
 * context fail without one.
 *
 * FAKE_CUDA selects a failure: "devices:0", "capability:70", "shared:1000" (bytes of a block), and
 * "alloc:3", "load:1", "stream:1", "event:1", "record:1", "query:1", "wait:1", "elapsed:1", "copy:1",
 * "fill:1", "cache:1", "launch:2", "capture:1", "instantiate:1", "graph:1" (the call of this number fails).
 * With "idle:1", modules may also be PTX, whose kernels do nothing. With "leaks:1", the driver reports at the
 * end of the program what is left. */
#include "streams.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 100, NO_IMAGE = 200, NO_CONTEXT = 201, NOT_FOUND = 500,
       NOT_READY = 600, ILLEGAL = 700, NOT_CAPTURED = 900, CAPTURE_BROKEN = 901 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int contexts; /* number of contexts that are current for some thread */
enum { MOST_CONTEXTS = 64 };
/* Number of the thread's current contexts, and their devices, the newest last. */
static _Thread_local int own_contexts, devices[MOST_CONTEXTS];
static int modules; /* number of loaded modules */

static bool fails(const char *word, long *count)
{
    return ++*count == said(word, -1);
}

/* The driver's functions. */

#define LOCKED(result, body) \
    pthread_mutex_lock(&lock); \
    int result = OK; \
    body; \
    go_on(); \
    pthread_mutex_unlock(&lock); \
    return result

static _Thread_local graph *capturing; /* the graph of the capture that this thread has begun */

/* Whether a call of this thread breaks its capture: the call waits, or allocates or frees memory. */
static bool breaks_capture(void)
{
    if (capturing)
        capturing->is_broken = true;
    return capturing != NULL;
}

/* A function of the driver that needs a context. */
#define IN_CONTEXT(result, body) \
    if (!own_contexts) \
        return NO_CONTEXT; \
    LOCKED(result, body)

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

/* Attribute of a device: bytes of its second-level cache. */
enum { SECOND_CACHE = 38 };

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    static long count;
    if (attribute == SECOND_CACHE) {
        *value = 1 << 16;
        return fails("cache:", &count) ? INVALID : OK;
    }
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
    own_contexts = context != NULL;
    devices[0] = (int)(uintptr_t)context - 1;
    return OK;
}

EXPORT int cuCtxPushCurrent_v2(void *context)
{
    if (!context || own_contexts == MOST_CONTEXTS)
        return INVALID;
    devices[own_contexts] = (int)(uintptr_t)context - 1;
    LOCKED(result, contexts++; own_contexts++);
}

EXPORT int cuCtxPopCurrent_v2(void **context)
{
    IN_CONTEXT(result, *context = NULL; contexts--; own_contexts--);
}

/* Returns the device of the current context. */
static int current_device(void)
{
    return devices[own_contexts - 1];
}

/* Returns the number of contexts that threads have left current. */
EXPORT int fake_contexts(void)
{
    return contexts;
}

/* A module: a shared library, or the text of PTX. */
typedef struct module {
    void *library;
    char *ptx;
} module;

/* Loads a shared library from memory; null if it is none. */
static void *load_library(const void *image)
{
    char name[] = "/tmp/fake-cuda-XXXXXX";
    Elf64_Ehdr header;
    memcpy(&header, image, sizeof header);
    size_t bytes = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    int file = mkstemp(name);
    bool written = file >= 0 && write(file, image, bytes) == (ssize_t)bytes;
    close(file);
    void *library = written ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    unlink(name);
    return library;
}

EXPORT int cuModuleLoadData(void **loaded, const void *image)
{
    static long count;
    if (!own_contexts)
        return NO_CONTEXT;
    if (fails("load:", &count))
        return NO_MEMORY;
    module new = {NULL, NULL};
    if (memcmp(image, ELFMAG, SELFMAG) == 0)
        new.library = load_library(image);
    else if (said("idle:", 0))
        new.ptx = strdup(image);
    if (!new.library && !new.ptx)
        return NO_IMAGE;
    *loaded = memcpy(malloc(sizeof new), &new, sizeof new);
    LOCKED(result, modules++);
}

EXPORT int cuModuleUnload(void *unloaded)
{
    module *m = unloaded;
    IN_CONTEXT(result, if (is_running(m)) refuse("a module is unloaded while its kernels run");
               modules--; if (m->library && dlclose(m->library) != 0) result = INVALID;
               free(m->ptx); free(m));
}

/* Returns the number of modules that have not been unloaded. */
EXPORT int fake_modules(void)
{
    return modules;
}

/* Returns the number of parameters of a kernel in PTX; -1 if there is no such kernel. */
static int count_parameters(const char *ptx, const char *name)
{
    char entry[256];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    const char *at = strstr(ptx, entry), *end = at ? strchr(at, ')') : NULL;
    int count = at ? 0 : -1;
    while (end && (at = strstr(at, ".param")) && at < end) {
        at++;
        count++;
    }
    return count;
}

EXPORT int cuModuleGetFunction(void **function, void *of, const char *name)
{
    module *m = of;
    kernel *new = calloc(1, sizeof *new);
    new->module = m;
    new->num_arguments = -1;
    if (m->ptx) {
        new->num_arguments = count_parameters(m->ptx, name);
    } else {
        char counted[256];
        snprintf(counted, sizeof counted, "%s_arguments", name);
        const int *num_arguments = dlsym(m->library, counted);
        *(void **)&new->run = dlsym(m->library, name);
        if (new->run && num_arguments)
            new->num_arguments = *num_arguments;
    }
    if (new->num_arguments < 0 || new->num_arguments > MOST_ARGUMENTS) {
        free(new);
        return NOT_FOUND;
    }
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
    if (!own_contexts)
        return NO_CONTEXT;
    if (breaks_capture())
        return NOT_CAPTURED;
    if (fails("alloc:", &count) || bytes == 0)
        return NO_MEMORY;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return NO_MEMORY;
    memset(at, 0xa5, bytes);
    mprotect(at, bytes, PROT_NONE);
    *memory = (uintptr_t)at;
    LOCKED(result, if (!new_piece(on_device, at, bytes, current_device())) result = NO_MEMORY);
}

EXPORT int cuMemFree_v2(uint64_t memory)
{
    if (breaks_capture())
        return NOT_CAPTURED;
    IN_CONTEXT(
        result, if (!end_memory((void *)(uintptr_t)memory)) result = INVALID);
}

/* Memory that can be used immediately, and is freed when the stream reaches the call that frees it. */
EXPORT int cuMemAllocAsync(uint64_t *memory, size_t bytes, void *in)
{
    (void)in;
    return cuMemAlloc_v2(memory, bytes);
}

EXPORT int cuMemFreeAsync(uint64_t memory, void *in)
{
    IN_CONTEXT(result, add(in, FREE)->to = (void *)(uintptr_t)memory);
}

EXPORT int cuPointerGetAttribute(int *value, int attribute, uint64_t address)
{
    const piece *in = piece_of(on_device, (const void *)(uintptr_t)address, 1);
    *value = in ? in->device : -1;
    return in && attribute == 9 ? OK : INVALID;
}

static size_t bytes_in(const piece *all)
{
    size_t bytes = 0;
    for (int i = 0; i < MOST_MEMORY; i++)
        bytes += all[i].at ? all[i].bytes : 0;
    return bytes;
}

/* Returns the bytes of memory that have not been freed, on the device and pinned. */
EXPORT size_t fake_memory(void)
{
    return bytes_in(on_device) + bytes_in(pinned);
}

EXPORT int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags)
{
    if (breaks_capture())
        return NOT_CAPTURED;
    IN_CONTEXT(result, *memory = flags ? NULL : malloc(bytes);
               if (!*memory || !new_piece(pinned, *memory, bytes, 0)) result = NO_MEMORY);
}

EXPORT int cuMemFreeHost(void *memory)
{
    if (breaks_capture())
        return NOT_CAPTURED;
    IN_CONTEXT(
        result, piece *freed = piece_at(pinned, (uintptr_t)memory);
        if (!freed) result = INVALID; else {
            if (is_used(freed))
                refuse("pinned memory is freed while a copy in a stream uses it");
            free(memory);
            freed->at = NULL;
        });
}

EXPORT int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
    IN_CONTEXT(result, copy_to_device((void *)(uintptr_t)to, from, bytes));
}

EXPORT int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
    IN_CONTEXT(result, put_copy(&standard, to, (const void *)(uintptr_t)from, bytes); finish(&standard,
        NULL));
}

static _Atomic size_t uploaded; /* bytes of copies to the device that were put into streams */

/* Returns the bytes of copies to the device that were put into streams since the last call of this
 * function. */
EXPORT size_t fake_uploaded(void)
{
    return atomic_exchange(&uploaded, 0);
}

static int copy(void *to, const void *from, size_t bytes, stream *in)
{
    IN_CONTEXT(result, copy_async(in, to, from, bytes));
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *in)
{
    static long count;
    if (fails("copy:", &count))
        return ILLEGAL;
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
    static long count;
    if (fails("fill:", &count))
        return ILLEGAL;
    IN_CONTEXT(result, work *w = add(in, FILL); w->to = (void *)(uintptr_t)to; w->value = value; w->bytes
               = bytes);
}

EXPORT int cuStreamCreate(void **made, unsigned flags)
{
    static long count;
    if (fails("stream:", &count))
        return NO_MEMORY;
    stream *new = calloc(1, sizeof *new);
    new->last = &new->first;
    new->is_alone = flags & 1;
    *made = new;
    IN_CONTEXT(result, if (num_streams == MOST_STREAMS || flags > 1) result = INVALID;
               else all_streams[num_streams++] = new);
}

EXPORT int cuStreamCreateWithPriority(void **made, unsigned flags, int priority)
{
    (void)priority;
    return cuStreamCreate(made, flags);
}

EXPORT int cuCtxSynchronize(void)
{
    IN_CONTEXT(result, finish_all());
}

/* Work in a destroyed stream is still done. */
EXPORT int cuStreamDestroy_v2(void *ended)
{
    IN_CONTEXT(result, ((stream *)ended)->is_destroyed = true);
}

EXPORT int cuStreamSynchronize(void *of)
{
    if (breaks_capture())
        return NOT_CAPTURED;
    IN_CONTEXT(result, if (of
                           && ((stream *)of)->is_destroyed) refuse("a stream is waited for that has been "
                                                                   "destroyed");
               finish(of, NULL));
}

EXPORT int cuStreamWaitEvent(void *in, void *for_event, unsigned flags)
{
    event *e = for_event;
    IN_CONTEXT(result, if (flags) result = INVALID; else if (e->newest) add(in, WAIT)->mark = e->newest);
}

static int events; /* number of events that have not been destroyed */

EXPORT int cuEventCreate(void **made, unsigned flags)
{
    static long count;
    if (fails("event:", &count))
        return NO_MEMORY;
    event *new = calloc(1, sizeof *new);
    new->is_timed = !(flags & 2);
    *made = new;
    IN_CONTEXT(result, if (flags > 3) result = INVALID; else events++);
}

/* Waits for a record of a destroyed event still end. */
EXPORT int cuEventDestroy_v2(void *ended)
{
    IN_CONTEXT(result, free(ended); events--);
}

EXPORT int cuEventQuery(void *of)
{
    static long count;
    const event *e = of;
    if (fails("query:", &count))
        return ILLEGAL;
    IN_CONTEXT(result, result = !e->newest || e->newest->done ? OK : NOT_READY);
}

EXPORT int cuEventRecord(void *made, void *in)
{
    static long count;
    event *e = made;
    if (fails("record:", &count))
        return ILLEGAL;
    IN_CONTEXT(result, work *w = add(in, RECORD); w->mark = calloc(1, sizeof *w->mark);
               w->mark->in = in ? in : &standard; e->newest = w->mark);
}

EXPORT int cuEventSynchronize(void *of)
{
    static long count;
    if (breaks_capture())
        return NOT_CAPTURED;
    event *e = of;
    if (fails("wait:", &count))
        return ILLEGAL;
    IN_CONTEXT(result, finish_event(e));
}

EXPORT int cuEventElapsedTime(float *milliseconds, void *from, void *to)
{
    static long count;
    const event *first = from, *last = to;
    if (fails("elapsed:", &count))
        return ILLEGAL;
    if (!first->is_timed || !last->is_timed || !first->newest || !last->newest)
        return INVALID;
    if (!first->newest->done || !last->newest->done)
        return NOT_READY;
    const struct timespec *a = &first->newest->at, *b = &last->newest->at;
    *milliseconds = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 + (double)(b->tv_nsec - a->tv_nsec) * 1e-6);
    return OK;
}

/* Stops a program whose kernel would read memory of another device. */
static void check_devices(const launch *l)
{
    for (int i = 0; i < l->kernel->num_arguments; i++) {
        const piece *at = piece_of(on_device, (const void *)(uintptr_t)l->arguments[i], 1);
        if (at && at->device != current_device())
            refuse("a kernel on GPU %d reads memory of GPU %d", current_device(), at->device);
    }
}

EXPORT int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                          unsigned bz,
                          unsigned shared, void *in, void **arguments, void **extra)
{
    static long count;
    kernel *k = function;
    bool fits = gx && gy && gz && gy < 65536 && gz < 65536 && bx * by * bz - 1 < MOST_THREADS
        && (long)shared <= k->most_shared;
    if (!fits || extra)
        return INVALID;
    if (fails("launch:", &count))
        return ILLEGAL;
    /* The driver copies the arguments, none of which has more than 8 bytes. */
    IN_CONTEXT(result, launch *l = &add(in, LAUNCH)->launch; l->kernel = k; l->shared = shared;
               memcpy(l->grid, (unsigned[]){gx, gy, gz}, sizeof l->grid);
               memcpy(l->block, (unsigned[]){bx, by, bz}, sizeof l->block);
               for (int i = 0; i < k->num_arguments; i++) memcpy(&l->arguments[i], arguments[i], 8);
               check_devices(l));
}

/* Graphs. */

static int graphs;               /* number of graphs and executable graphs that have not been destroyed */
static atomic_int graph_launches;

EXPORT int cuStreamBeginCapture_v2(void *of, int mode)
{
    static long count;
    stream *s = of;
    if (fails("capture:", &count))
        return NOT_CAPTURED;
    if (!s || s->captured || capturing || mode != 1)
        return INVALID;
    graph *new = calloc(1, sizeof *new);
    new->last = &new->first;
    capturing = new;
    IN_CONTEXT(result, s->captured = new);
}

EXPORT int cuStreamEndCapture(void *of, void **made)
{
    stream *s = of;
    graph *ended = s->captured;
    if (!ended || ended != capturing)
        return INVALID;
    capturing = NULL;
    *made = ended->is_broken ? NULL : ended;
    IN_CONTEXT(result, s->captured = NULL; if (ended->is_broken) result = CAPTURE_BROKEN; else graphs++);
}

/* Makes an executable graph: a copy, which lives on when the graph is destroyed. */
EXPORT int cuGraphInstantiateWithFlags(void **made, void *of, unsigned long long flags)
{
    static long count;
    if (flags || fails("instantiate:", &count))
        return INVALID;
    graph *new = calloc(1, sizeof *new);
    new->last = &new->first;
    for (const work *w = ((graph *)of)->first; w; w = w->next) {
        work *copy = capture(new, w->what), *next = copy->next;
        *copy = *w;
        copy->next = next;
    }
    *made = new;
    IN_CONTEXT(result, graphs++);
}

static int end_graph(graph *ended)
{
    for (work *w = ended->first, *next; w; w = next) {
        next = w->next;
        free(w);
    }
    free(ended);
    IN_CONTEXT(result, graphs--);
}

EXPORT int cuGraphDestroy(void *ended)
{
    return end_graph(ended);
}

EXPORT int cuGraphExecDestroy(void *ended)
{
    return end_graph(ended);
}

/* Puts captured work into a stream. */
static void put_again(stream *to, const work *captured)
{
    work *put = add(to, captured->what), *next = put->next;
    *put = *captured;
    put->next = next;
}

EXPORT int cuGraphLaunch(void *launched, void *in)
{
    static long count;
    if (fails("graph:", &count))
        return ILLEGAL;
    graph_launches++;
    const work *first = ((graph *)launched)->first;
    IN_CONTEXT(result, for (const work *w = first; w; w = w->next) put_again(in, w));
}

/* Returns the number of graphs that have not been destroyed. */
EXPORT int fake_graphs(void)
{
    return graphs;
}

/* Returns the number of times that a graph was launched. */
EXPORT int fake_graph_launches(void)
{
    return graph_launches;
}

/* Reports objects that the program has not released. */
__attribute__((destructor)) static void report_leaks(void)
{
    int streams = 0;
    for (int i = 1; i < num_streams; i++)
        streams += !all_streams[i]->is_destroyed;
    if (said("leaks:", 0) && (fake_memory() || events || streams || modules || contexts))
        fprintf(stderr, "the driver for tests: %zu bytes, %d events, %d streams, %d modules and %d contexts "
                "are left\n", fake_memory(), events, streams, modules, contexts);
}
