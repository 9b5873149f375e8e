/* Finding the driver. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct {
    pthread_once_t once;
    int32_t status;
    schedc_driver calls;
} found = {.once = PTHREAD_ONCE_INIT, .status = SCHEDC_ERR_DRIVER};

/* The library that SCHEDC_CUDA_DRIVER names, or else the system's. It stays loaded: a driver cannot be unloaded. */
static void find_driver(void)
{
    const char *named = getenv("SCHEDC_CUDA_DRIVER");
    void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
#define FIND(name, symbol, arguments)                                                                                  \
    *(void **)&found.calls.name = dlsym(library, symbol);                                                             \
    if (!found.calls.name)                                                                                            \
        return;
    SCHEDC_DRIVER_FUNCTIONS(FIND)
#undef FIND
    int32_t error = found.calls.init(0);
    found.status = error == CU_OK ? SCHEDC_OK : error == CU_NO_DEVICE ? SCHEDC_ERR_DEVICE : SCHEDC_ERR_DRIVER;
}

const schedc_driver *schedc_driver_get(int32_t *status)
{
    pthread_once(&found.once, find_driver);
    *status = found.status;
    return found.status == SCHEDC_OK ? &found.calls : NULL;
}

int32_t schedc_driver_status(int32_t error)
{
    switch (error) {
    case CU_OK:
        return SCHEDC_OK;
    case CU_OUT_OF_MEMORY:
        return SCHEDC_ERR_DEVICE_MEMORY;
    case CU_NO_DEVICE:
    case CU_INVALID_DEVICE:
    case CU_INVALID_IMAGE:
    case CU_NO_BINARY:
    case CU_INVALID_PTX:
    case CU_UNSUPPORTED_PTX:
        return SCHEDC_ERR_DEVICE;
    default:
        return SCHEDC_ERR_LAUNCH;
    }
}
