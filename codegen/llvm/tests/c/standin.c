/* Tests of the driver of cuda.c: when work becomes visible, and which misuse ends a program. CUDA's documents
 * describe copies ("API synchronization behavior") and the default stream ("Stream synchronization
 * behavior").
 *
 * standin MODULE: MODULE is kernels.c. With FAKE_CUDA=pageable:1, asynchronous copies of pageable memory
 * complete before they return. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "condition.h"

typedef uint64_t pointer;
typedef void *handle;

int cuInit(unsigned), cuDevicePrimaryCtxRetain(handle *, int), cuCtxPushCurrent_v2(handle),
    cuCtxPopCurrent_v2(handle *);
int cuMemAlloc_v2(pointer *, size_t), cuMemFree_v2(pointer), cuMemHostAlloc(void **, size_t, unsigned),
    cuMemFreeHost(void *), cuMemAllocAsync(pointer *, size_t, handle), cuMemFreeAsync(pointer, handle);
int cuPointerGetAttribute(int *, int, pointer);
int cuMemcpyHtoD_v2(pointer, const void *, size_t), cuMemcpyDtoH_v2(void *, pointer, size_t);
int cuMemcpyHtoDAsync_v2(pointer, const void *, size_t, handle), cuMemcpyDtoHAsync_v2(void *, pointer,
    size_t, handle);
int cuMemcpyDtoDAsync_v2(pointer, pointer, size_t, handle), cuMemsetD8Async(pointer, unsigned char, size_t,
    handle);
int cuStreamCreate(handle *, unsigned), cuStreamDestroy_v2(handle), cuStreamSynchronize(handle);
int cuStreamWaitEvent(handle, handle, unsigned), cuEventCreate(handle *, unsigned), cuEventRecord(handle,
    handle);
int cuModuleLoadData(handle *, const void *), cuModuleUnload(handle), cuModuleGetFunction(handle *, handle,
    const char *);
int cuLaunchKernel(handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, handle,
                   void **, void **);

enum { BYTES = 64, NON_BLOCKING = 1 };

static unsigned char ones[BYTES], twos[BYTES], pageable[BYTES], *pinned;
static pointer memory, seen;
static handle alone, other, blocking, event; /* streams; the first two wait for no other */

/* Returns the content of the device's memory that a stream reads, while the other streams do nothing. */
static int seen_by(handle stream)
{
    unsigned char found[BYTES];
    CHECK(cuMemcpyDtoDAsync_v2(seen, memory, BYTES, stream) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(found, seen, BYTES, stream) == 0);
    CHECK(cuStreamSynchronize(stream) == 0);
    return found[BYTES - 1];
}

/* Completes all work, and fills all memory with zeros. */
static void clear(void)
{
    handle all[] = {alone, other, blocking, NULL};
    for (int i = 0; i < 4; i++)
        CHECK(cuStreamSynchronize(all[i]) == 0);
    memset(ones, 1, BYTES);
    memset(twos, 2, BYTES);
    memset(pageable, 0, BYTES);
    memset(pinned, 0, BYTES);
    CHECK(cuMemsetD8Async(memory, 0, BYTES, NULL) == 0 && cuStreamSynchronize(NULL) == 0);
}

static void copies_to_the_device(void)
{
    /* From pageable memory: the driver has only read it. Only streams that wait for the default stream see
     * the copy. */
    clear();
    CHECK(cuMemcpyHtoD_v2(memory, ones, BYTES) == 0);
    memset(ones, 3, BYTES);
    CHECK(seen_by(alone) == 0 && seen_by(blocking) == 1 && seen_by(alone) == 1);
    clear();
    CHECK(cuMemcpyHtoD_v2(memory, ones, BYTES) == 0);
    CHECK(seen_by(alone) == 0 && cuStreamSynchronize(NULL) == 0 && seen_by(alone) == 1);
    /* But the copy waits for earlier work in the default stream. */
    clear();
    CHECK(cuMemcpyHtoD_v2(memory, ones, BYTES) == 0 && cuMemcpyHtoD_v2(memory, twos, BYTES) == 0
          && seen_by(alone) == 1);
    /* From pinned memory: the copy is complete. */
    clear();
    memcpy(pinned, ones, BYTES);
    CHECK(cuMemcpyHtoD_v2(memory, pinned, BYTES) == 0 && seen_by(alone) == 1);
    /* In a stream: other streams see the copy only after they have waited for the stream. */
    clear();
    memcpy(pinned, ones, BYTES);
    CHECK(cuMemcpyHtoDAsync_v2(memory, pinned, BYTES, alone) == 0);
    CHECK(seen_by(other) == 0 && seen_by(blocking) == 0 && seen_by(NULL) == 0 && seen_by(alone) == 1
          && seen_by(other) == 1);
    clear();
    memcpy(pinned, ones, BYTES);
    CHECK(cuMemcpyHtoDAsync_v2(memory, pinned, BYTES, alone) == 0 && cuEventRecord(event, alone) == 0);
    CHECK(cuStreamWaitEvent(other, event, 0) == 0 && seen_by(other) == 1);
    /* Until then its source must not change. */
    clear();
    memcpy(pinned, ones, BYTES);
    CHECK(cuMemcpyHtoDAsync_v2(memory, pinned, BYTES, alone) == 0);
    memcpy(pinned, twos, BYTES);
    CHECK(seen_by(alone) == 2);
    clear();
    int waits = getenv("FAKE_CUDA") != NULL;
    CHECK(cuMemcpyHtoDAsync_v2(memory, ones, BYTES, alone) == 0);
    CHECK(seen_by(other) == waits);
    memcpy(ones, twos, BYTES);
    CHECK(seen_by(alone) == 2 - waits);
}

static void copies_to_the_host(void)
{
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, alone) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(pinned, memory, BYTES, alone) == 0 && pinned[0] == 0);
    CHECK(cuStreamSynchronize(other) == 0 && pinned[0] == 0);
    CHECK(cuStreamSynchronize(alone) == 0 && pinned[0] == 1);
    clear();
    int waits = getenv("FAKE_CUDA") != NULL;
    CHECK(cuMemsetD8Async(memory, 1, BYTES, alone) == 0);
    CHECK(cuMemcpyDtoHAsync_v2(pageable, memory, BYTES, alone) == 0 && pageable[0] == waits);
    CHECK(cuStreamSynchronize(alone) == 0 && pageable[0] == 1);
    /* Without a stream, the copy is complete, but it has not waited for other streams. */
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, alone) == 0);
    CHECK(cuMemcpyDtoH_v2(pageable, memory, BYTES) == 0 && pageable[0] == 0);
    CHECK(cuMemcpyDtoH_v2(pinned, memory, BYTES) == 0 && pinned[0] == 0);
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, blocking) == 0);
    CHECK(cuMemcpyDtoH_v2(pageable, memory, BYTES) == 0 && pageable[0] == 1);
}

/* The default stream waits for earlier work in blocking streams, and these wait for it. */
static void default_stream(void)
{
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, alone) == 0 && seen_by(NULL) == 0);
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, blocking) == 0 && seen_by(NULL) == 1);
    clear();
    CHECK(cuMemsetD8Async(memory, 1, BYTES, NULL) == 0 && seen_by(alone) == 0 && seen_by(blocking) == 1);
}

static handle module, kernel;

static void launch(handle stream)
{
    int64_t one = 1;
    CHECK(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&memory, &seen, &one}, NULL) == 0);
}

static void free_of_a_fill(void)
{
    cuMemsetD8Async(memory, 1, BYTES, alone);
    cuMemFree_v2(memory);
}

static void free_of_a_kernel(void)
{
    launch(alone);
    cuMemFree_v2(seen);
}

static void free_in_another_stream(void)
{
    cuMemsetD8Async(memory, 1, BYTES, alone);
    cuMemFreeAsync(memory, other);
    cuStreamSynchronize(other);
}

static void launch_on_another_device(void)
{
    handle second;
    cuDevicePrimaryCtxRetain(&second, 1);
    cuCtxPushCurrent_v2(second);
    launch(alone);
}

static void free_of_a_copy(void)
{
    cuMemcpyHtoDAsync_v2(memory, pinned, BYTES, alone);
    cuMemFreeHost(pinned);
}

static void unload_of_a_kernel(void)
{
    launch(alone);
    cuModuleUnload(module);
}

static void use_of_a_stream(void)
{
    cuStreamDestroy_v2(alone);
    cuMemsetD8Async(memory, 1, BYTES, alone);
}

/* Work that has not ended when its memory, its module or its stream is released. */
static void refusals(void)
{
    void (*const all[])(void) = {free_of_a_fill,         free_of_a_kernel,         free_of_a_copy,
                                 free_in_another_stream, launch_on_another_device, unload_of_a_kernel,
                                 use_of_a_stream};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        clear();
        pid_t child = fork();
        if (child == 0) {
            close(2);
            all[i]();
            _exit(0);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
    /* Memory may be freed in the stream that uses it. */
    clear();
    pointer ordered;
    int number;
    CHECK(cuMemAllocAsync(&ordered, BYTES, alone) == 0 && cuMemsetD8Async(ordered, 1, BYTES, alone) == 0);
    CHECK(cuPointerGetAttribute(&number, 9, ordered) == 0 && number == 0);
    CHECK(cuMemFreeAsync(ordered, alone) == 0 && cuStreamSynchronize(alone) == 0);
    CHECK(cuPointerGetAttribute(&number, 9, ordered) != 0);
    /* Work in a stream is still done after the stream is destroyed. */
    clear();
    handle ended;
    CHECK(cuStreamCreate(&ended, NON_BLOCKING) == 0 && cuMemsetD8Async(memory, 1, BYTES, ended) == 0);
    CHECK(cuEventRecord(event, ended) == 0 && cuStreamDestroy_v2(ended) == 0);
    CHECK(seen_by(alone) == 0 && cuStreamWaitEvent(alone, event, 0) == 0 && seen_by(alone) == 1);
}

static void load(const char *path)
{
    static unsigned char image[1 << 20];
    FILE *file = fopen(path, "rb");
    CHECK(file && fread(image, 1, sizeof image, file) > 0);
    fclose(file);
    CHECK(cuModuleLoadData(&module, image) == 0 && cuModuleGetFunction(&kernel, module, "value") == 0);
}

int main(int argc, char **argv)
{
    handle context;
    CHECK(argc == 2 && cuInit(0) == 0);
    CHECK(cuMemAlloc_v2(&memory, BYTES) == 201); /* without a context */
    CHECK(cuDevicePrimaryCtxRetain(&context, 0) == 0 && cuCtxPushCurrent_v2(context) == 0);
    CHECK(cuMemAlloc_v2(&memory, BYTES) == 0 && cuMemAlloc_v2(&seen, BYTES) == 0);
    CHECK(cuMemHostAlloc((void **)&pinned, BYTES, 0) == 0 && cuEventCreate(&event, 2) == 0);
    CHECK(cuStreamCreate(&alone, NON_BLOCKING) == 0 && cuStreamCreate(&other, NON_BLOCKING) == 0);
    CHECK(cuStreamCreate(&blocking, 0) == 0);
    load(argv[1]);
    copies_to_the_device();
    copies_to_the_host();
    default_stream();
    refusals();
    clear();
    CHECK(cuModuleUnload(module) == 0 && cuMemFreeHost(pinned) == 0);
    CHECK(cuMemFree_v2(memory) == 0 && cuMemFree_v2(seen) == 0 && cuCtxPopCurrent_v2(&context) == 0);
    return 0;
}
