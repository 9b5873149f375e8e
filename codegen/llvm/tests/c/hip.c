/* The driver under the names that AMD's HIP has for its functions. */
#include "cuda.c"

#define SAME(hip, cuda, arguments) EXPORT int hip arguments __attribute__((alias(cuda)));

SAME(hipInit, "cuInit", (unsigned flags))
SAME(hipDeviceGet, "cuDeviceGet", (int * device, int ordinal))
SAME(hipDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))
SAME(hipDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void * * context, int device))
SAME(hipCtxPushCurrent, "cuCtxPushCurrent_v2", (void * context))
SAME(hipCtxPopCurrent, "cuCtxPopCurrent_v2", (void * * context))
SAME(hipModuleLoadData, "cuModuleLoadData", (void * * module, const void *image))
SAME(hipModuleUnload, "cuModuleUnload", (void * module))
SAME(hipModuleGetFunction, "cuModuleGetFunction", (void * * function, void * module, const char *name))
SAME(hipFuncSetAttribute, "cuFuncSetAttribute", (void * function, int attribute, int value))
SAME(hipMalloc, "cuMemAlloc_v2", (uint64_t * memory, size_t bytes))
SAME(hipFree, "cuMemFree_v2", (uint64_t memory))
SAME(hipHostMalloc, "cuMemHostAlloc", (void **memory, size_t bytes, unsigned flags))
SAME(hipHostFree, "cuMemFreeHost", (void *memory))
SAME(hipMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (uint64_t to, const void *from, size_t bytes, void * stream))
SAME(hipMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *to, uint64_t from, size_t bytes, void * stream))
SAME(hipMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (uint64_t to, uint64_t from, size_t bytes, void * stream))
SAME(hipMemsetD8Async, "cuMemsetD8Async", (uint64_t to, unsigned char value, size_t bytes, void * stream))
SAME(hipStreamCreateWithFlags, "cuStreamCreate", (void * * stream, unsigned flags))
SAME(hipStreamDestroy, "cuStreamDestroy_v2", (void * stream))
SAME(hipStreamWaitEvent, "cuStreamWaitEvent", (void * stream, void * event, unsigned flags))
SAME(hipStreamSynchronize, "cuStreamSynchronize", (void * stream))
SAME(hipEventCreateWithFlags, "cuEventCreate", (void * * event, unsigned flags))
SAME(hipEventDestroy, "cuEventDestroy_v2", (void * event))
SAME(hipEventRecord, "cuEventRecord", (void * event, void * stream))
SAME(hipEventSynchronize, "cuEventSynchronize", (void * event))
SAME(hipModuleLaunchKernel, "cuLaunchKernel", (void * function, unsigned grid_x, unsigned grid_y,
                                               unsigned grid_z, unsigned block_x, unsigned block_y,
                                                   unsigned block_z, unsigned shared, void * stream,
                                                       void **arguments, void **extra))
