/* How floating-point operations of a thread round, and whether they take denormal numbers for zero. Programs change
 * this for themselves, some without knowing it: kernels compute as if they had not. */
#ifndef SCHEDC_MODES_H
#define SCHEDC_MODES_H

#if defined(__x86_64__)

typedef unsigned int schedc_modes;

enum {
    SCHEDC_MODE_BITS = 0xffc0,    /* all but the flags of what has happened */
    SCHEDC_DEFAULT_MODES = 0x1f80 /* nothing traps, to nearest, denormal numbers are numbers */
};

/* Sets the default modes of the calling thread, and gives what has to be put back. */
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
