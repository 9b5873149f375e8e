/* The search for the drivers. */
#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

static struct found {
    pthread_once_t once;
    int32_t status;
    schedc_driver calls;
} found[] = {
    [SCHEDC_NVIDIA] = {.once = PTHREAD_ONCE_INIT, .status = SCHEDC_ERR_DRIVER},
    [SCHEDC_AMD] = {.once = PTHREAD_ONCE_INIT, .status = SCHEDC_ERR_DRIVER},
};

/* Opens the library that an environment variable names, or else the system's. It stays loaded, since
 * drivers cannot be unloaded. */
static void *open_driver(const char *variable, const char *usual)
{
    const char *named = getenv(variable);
    return dlopen(named && *named ? named : usual, RTLD_NOW | RTLD_LOCAL);
}

static void start_driver(struct found *driver)
{
    int32_t error = driver->calls.init(0);
    driver->status = error == CU_OK          ? SCHEDC_OK
                     : error == CU_NO_DEVICE ? SCHEDC_ERR_DEVICE
                                             : SCHEDC_ERR_DRIVER;
}

#define FIND_ONE(to, library, symbol) \
    *(void **)&(to) = dlsym(library, symbol); \
    if (!(to)) \
        return;

static void find_graphs(schedc_driver *calls, void *library)
{
#define FIND(name, cuda, arguments) FIND_ONE(calls->name, library, cuda)
    SCHEDC_GRAPH_FUNCTIONS(FIND)
#undef FIND
    calls->has_graphs = true;
}

static void find_cuda(void)
{
    struct found *driver = &found[SCHEDC_NVIDIA];
    void *library = open_driver("SCHEDC_CUDA_DRIVER", "libcuda.so.1");
    if (!library)
        return;
#define FIND(name, cuda, hip, arguments) FIND_ONE(driver->calls.name, library, cuda)
    SCHEDC_DRIVER_FUNCTIONS(FIND)
#undef FIND
    find_graphs(&driver->calls, library);
    start_driver(driver);
}

static void find_hip(void)
{
    struct found *driver = &found[SCHEDC_AMD];
    void *library = open_driver("SCHEDC_HIP_DRIVER", "libamdhip64.so");
    if (!library)
        return;
#define FIND(name, cuda, hip, arguments) FIND_ONE(driver->calls.name, library, hip)
    SCHEDC_DRIVER_FUNCTIONS(FIND)
#undef FIND
    start_driver(driver);
}

const schedc_driver *schedc_driver_get(int32_t maker, int32_t *status)
{
    struct found *driver = &found[maker == SCHEDC_AMD ? SCHEDC_AMD : SCHEDC_NVIDIA];
    pthread_once(&driver->once, maker == SCHEDC_AMD ? find_hip : find_cuda);
    *status = driver->status;
    return driver->status == SCHEDC_OK ? &driver->calls : NULL;
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
