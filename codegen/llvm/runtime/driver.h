/* The drivers of GPUs, which are loaded at the first call that needs one: artefacts load on machines
 * without a driver. AMD's HIP has the functions of NVIDIA's CUDA under other names, with the same numbers. */
#ifndef SCHEDC_DRIVER_H
#define SCHEDC_DRIVER_H

#include "internal.h"

typedef int32_t cu_device;
typedef uint64_t cu_pointer; /* address in a device's memory */
typedef void *cu_handle;     /* a context, module, function, stream or event */

enum {
    CU_OK = 0,
    CU_OUT_OF_MEMORY = 2,
    CU_NO_DEVICE = 100,
    CU_INVALID_DEVICE = 101,
    CU_INVALID_IMAGE = 200,
    CU_NO_BINARY = 209,
    CU_INVALID_PTX = 218,
    CU_UNSUPPORTED_PTX = 222,
};

enum {
    CU_MAJOR = 75, /* of the compute capability */
    CU_MINOR = 76,
    /* attribute of a function: bytes of shared memory that a launch may request */
    CU_FUNC_DYNAMIC_SHARED = 8,
    CU_STREAM_NON_BLOCKING = 1,  /* does not wait for the default stream */
    CU_EVENT_NO_TIMING = 2,
    /* While a thread captures, only its own calls that cannot be captured fail. */
    CU_CAPTURE_THREAD_LOCAL = 1,
};

/* Functions of the drivers, with their names in both; each returns CU_OK or an error. Copies without a
 * stream are not among them, because no stream of the runtime would wait for them. */
#define SCHEDC_DRIVER_FUNCTIONS(X) \
    X(init, "cuInit", "hipInit", \
      (unsigned flags)) \
    X(device_get, "cuDeviceGet", "hipDeviceGet", \
      (cu_device * device, int ordinal)) \
    X(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", \
      (int *value, int attribute, cu_device device)) \
    X(retain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain", \
      (cu_handle * context, cu_device device)) \
    X(push, "cuCtxPushCurrent_v2", "hipCtxPushCurrent", \
      (cu_handle context)) \
    X(pop, "cuCtxPopCurrent_v2", "hipCtxPopCurrent", \
      (cu_handle * context)) \
    X(module_load, "cuModuleLoadData", "hipModuleLoadData", \
      (cu_handle * module, const void *image)) \
    X(module_unload, "cuModuleUnload", "hipModuleUnload", \
      (cu_handle module)) \
    X(function_get, "cuModuleGetFunction", "hipModuleGetFunction", \
      (cu_handle * function, cu_handle module, const char *name)) \
    X(function_set, "cuFuncSetAttribute", "hipFuncSetAttribute", \
      (cu_handle function, int attribute, int value)) \
    X(alloc, "cuMemAlloc_v2", "hipMalloc", \
      (cu_pointer * memory, size_t bytes)) \
    X(free, "cuMemFree_v2", "hipFree", \
      (cu_pointer memory)) \
    X(alloc_pinned, "cuMemHostAlloc", "hipHostMalloc", \
      (void **memory, size_t bytes, unsigned flags)) \
    X(free_pinned, "cuMemFreeHost", "hipHostFree", \
      (void *memory)) \
    X(upload_async, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", \
      (cu_pointer to, const void *from, size_t bytes, cu_handle stream)) \
    X(download_async, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", \
      (void *to, cu_pointer from, size_t bytes, cu_handle stream)) \
    X(copy_async, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", \
      (cu_pointer to, cu_pointer from, size_t bytes, cu_handle stream)) \
    X(fill_async, "cuMemsetD8Async", "hipMemsetD8Async", \
      (cu_pointer to, unsigned char value, size_t bytes, cu_handle stream)) \
    X(stream_create, "cuStreamCreate", "hipStreamCreateWithFlags", \
      (cu_handle * stream, unsigned flags)) \
    X(stream_destroy, "cuStreamDestroy_v2", "hipStreamDestroy", \
      (cu_handle stream)) \
    X(stream_wait, "cuStreamWaitEvent", "hipStreamWaitEvent", \
      (cu_handle stream, cu_handle event, unsigned flags)) \
    X(stream_synchronize, "cuStreamSynchronize", "hipStreamSynchronize", \
      (cu_handle stream)) \
    X(event_create, "cuEventCreate", "hipEventCreateWithFlags", \
      (cu_handle * event, unsigned flags)) \
    X(event_destroy, "cuEventDestroy_v2", "hipEventDestroy", \
      (cu_handle event)) \
    X(event_record, "cuEventRecord", "hipEventRecord", \
      (cu_handle event, cu_handle stream)) \
    X(event_synchronize, "cuEventSynchronize", "hipEventSynchronize", \
      (cu_handle event)) \
    X(launch, "cuLaunchKernel", "hipModuleLaunchKernel", \
      (cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
       unsigned block_y, unsigned block_z, unsigned shared, cu_handle stream, void **arguments, \
       void **extra))

/* Functions of NVIDIA's driver for graphs: work that is captured from a stream once, and launched as a whole
 * later. The runtime does without them if the driver lacks one, as those before CUDA 11.4 do. */
#define SCHEDC_GRAPH_FUNCTIONS(X) \
    X(begin_capture, "cuStreamBeginCapture_v2", \
      (cu_handle stream, int mode)) \
    X(end_capture, "cuStreamEndCapture", \
      (cu_handle stream, cu_handle *graph)) \
    X(instantiate, "cuGraphInstantiateWithFlags", \
      (cu_handle * executable, cu_handle graph, unsigned long long flags)) \
    X(graph_destroy, "cuGraphDestroy", \
      (cu_handle graph)) \
    X(graph_launch, "cuGraphLaunch", \
      (cu_handle executable, cu_handle stream)) \
    X(executable_destroy, "cuGraphExecDestroy", \
      (cu_handle executable))

typedef struct schedc_driver {
#define FIELD(name, cuda, hip, arguments) int32_t(*name) arguments;
    SCHEDC_DRIVER_FUNCTIONS(FIELD)
#undef FIELD
#define FIELD(name, cuda, arguments) int32_t(*name) arguments;
    SCHEDC_GRAPH_FUNCTIONS(FIELD)
#undef FIELD
    bool has_graphs; /* whether the functions for graphs are there */
} schedc_driver;

/* Returns a maker's driver, ready for use; null, with a status, if there is none. */
const schedc_driver *schedc_driver_get(int32_t maker, int32_t *status);

/* Returns the status for an error of the driver. */
int32_t schedc_driver_status(int32_t error);

#endif
