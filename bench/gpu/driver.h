/* NVIDIA's driver, loaded at run time: libcuda.so.1, or the library in SCHEDC_CUDA_DRIVER. */
#ifndef BENCH_GPU_DRIVER_H
#define BENCH_GPU_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t Memory; /* a device address */
typedef void *Handle;    /* a context, module, function, stream or event */

/* The functions in use; each returns 0 or an error number. */
#define DRIVER_FUNCTIONS(X)                                                                                  \
    X(init, "cuInit", (unsigned flags))                                                                      \
    X(version, "cuDriverGetVersion", (int *version))                                                         \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                 \
    X(device_name, "cuDeviceGetName", (char *name, int length, int device))                                  \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t *bytes, int device))                                     \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                     \
    X(retain, "cuDevicePrimaryCtxRetain", (Handle * context, int device))                                    \
    X(push, "cuCtxPushCurrent_v2", (Handle context))                                                         \
    X(module_load, "cuModuleLoadData", (Handle * module, const void *image))                                 \
    X(function_get, "cuModuleGetFunction", (Handle * function, Handle module, const char *name))             \
    X(alloc, "cuMemAlloc_v2", (Memory * memory, size_t bytes))                                               \
    X(free, "cuMemFree_v2", (Memory memory))                                                                 \
    X(alloc_pinned, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))                         \
    X(free_pinned, "cuMemFreeHost", (void *memory))                                                          \
    X(upload_async, "cuMemcpyHtoDAsync_v2", (Memory to, const void *from, size_t bytes, Handle stream))      \
    X(download_async, "cuMemcpyDtoHAsync_v2", (void *to, Memory from, size_t bytes, Handle stream))          \
    X(copy_async, "cuMemcpyDtoDAsync_v2", (Memory to, Memory from, size_t bytes, Handle stream))             \
    X(fill_async, "cuMemsetD8Async", (Memory to, unsigned char value, size_t bytes, Handle stream))          \
    X(stream_create, "cuStreamCreate", (Handle * stream, unsigned flags))                                    \
    X(stream_synchronize, "cuStreamSynchronize", (Handle stream))                                            \
    X(event_create, "cuEventCreate", (Handle * event, unsigned flags))                                       \
    X(event_record, "cuEventRecord", (Handle event, Handle stream))                                          \
    X(event_synchronize, "cuEventSynchronize", (Handle event))                                               \
    X(event_elapsed, "cuEventElapsedTime", (float *milliseconds, Handle start, Handle end))                  \
    X(launch, "cuLaunchKernel",                                                                              \
      (Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,                 \
       unsigned block_y, unsigned block_z, unsigned shared, Handle stream, void **arguments, void **extra))

typedef struct {
#define FIELD(name, symbol, arguments) int (*name) arguments;
    DRIVER_FUNCTIONS(FIELD)
#undef FIELD
} Driver;

/* Loads the driver and makes the context of the first device current; ends the program with a message if
 * there is none. */
extern Driver cu;
extern int device; /* the driver's number of the device */
void start_driver(void);

/* The context of the device, for other threads. */
void enter_device(void);

/* Ends the program with a message if the driver returned an error. */
void must(int error, const char *what);

/* Allocates device memory, at least one byte. */
Memory device_memory(size_t bytes);

/* A stream that does not synchronize with the default stream. */
Handle new_stream(void);

/* Copies from host memory to the device, in a stream. In the default stream, a copy might return before it
 * has finished, and the streams of `new_stream` would not wait for it. */
void upload(Memory to, const void *from, size_t bytes, Handle stream);

/* Microseconds between two events. */
double micros_between(Handle start, Handle end);

#endif
