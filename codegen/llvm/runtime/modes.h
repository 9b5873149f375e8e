/* Modes of floating-point operations of a thread: rounding, and whether denormal numbers count as zero.
 * Programs may change them, also through their libraries; kernels always run with the default modes. */
#ifndef SCHEDC_MODES_H
#define SCHEDC_MODES_H

#if defined(__x86_64__)

typedef unsigned int schedc_modes;

enum {
    SCHEDC_MODE_BITS = 0xffc0,    /* all bits but the flags of past exceptions */
    SCHEDC_DEFAULT_MODES = 0x1f80 /* no traps, rounding to nearest, denormal numbers */
};

/* Sets the default modes of the calling thread, and returns those to restore. */
static inline schedc_modes schedc_enter_modes(void)
{
    schedc_modes found = __builtin_ia32_stmxcsr();
    if ((found & SCHEDC_MODE_BITS) != SCHEDC_DEFAULT_MODES)
        __builtin_ia32_ldmxcsr(SCHEDC_DEFAULT_MODES);
    return found;
}

static inline void schedc_leave_modes(schedc_modes found)
{
    if ((found & SCHEDC_MODE_BITS) != SCHEDC_DEFAULT_MODES)
        __builtin_ia32_ldmxcsr(found);
}

#else
#include <fenv.h>

typedef fenv_t schedc_modes;

static inline schedc_modes schedc_enter_modes(void)
{
    schedc_modes found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}

static inline void schedc_leave_modes(schedc_modes found)
{
    fesetenv(&found);
}

#endif

#endif
