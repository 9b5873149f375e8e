/* The whole runtime as one translation unit, so that it is one object for the linker. */
#include "internal.h"

#include "cpu.c"
#include "cores.c"
#include "memory.c"
#include "pool.c"
#include "rows.c"
#include "transfer.c"
#include "run.c"
#include "call.c"
#include "driver.c"
#include "device.c"
#include "gpu.c"
