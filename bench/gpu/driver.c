#include "driver.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "input.h"

enum { NON_BLOCKING = 1 };

Driver cu;
int device;
static Handle context;

void must(int error, const char *what)
{
    if (error)
        fail("the driver returns error %d: %s", error, what);
}

void start_driver(void)
{
    const char *named = getenv("SCHEDC_CUDA_DRIVER");
    void *library = dlopen(named && *named ? named : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        fail("no driver: %s", dlerror());
#define FIND(name, symbol, arguments)                                                                        \
    *(void **)&cu.name = dlsym(library, symbol);                                                             \
    if (!cu.name)                                                                                            \
        fail("the driver is too old: it has no %s", symbol);
    DRIVER_FUNCTIONS(FIND)
#undef FIND
    must(cu.init(0), "cuInit");
    must(cu.device_get(&device, 0), "there is no GPU");
    must(cu.retain(&context, device), "the context of the GPU");
    enter_device();
}

void enter_device(void)
{
    must(cu.push(context), "the context of the GPU");
}

Memory device_memory(size_t bytes)
{
    Memory memory = 0;
    must(cu.alloc(&memory, bytes ? bytes : 1), "memory of the GPU");
    return memory;
}

Handle new_stream(void)
{
    Handle stream = NULL;
    must(cu.stream_create(&stream, NON_BLOCKING), "a stream");
    return stream;
}

void upload(Memory to, const void *from, size_t bytes, Handle stream)
{
    must(cu.upload_async(to, from, bytes, stream), "a copy");
}

double micros_between(Handle start, Handle end)
{
    float milliseconds = 0;
    must(cu.event_elapsed(&milliseconds, start, end), "the time between two events");
    return 1e3 * (double)milliseconds;
}
