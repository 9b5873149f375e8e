/* Which instruction sets may be used. Asked of the processor directly: the compiler's own helper would make every
 * artefact depend on the compiler's support library. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN ((uint64_t)1 << 63) /* in the cached word: the processor has been asked */

#if defined(__x86_64__)
#include <cpuid.h>

/* The register state that the operating system saves: instructions without it fault although cpuid lists them. */
static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static bool has_all(uint64_t bits, uint64_t wanted)
{
    return (bits & wanted) == wanted;
}

#define BIT(n) ((uint64_t)1 << (n))

static uint64_t ask_processor(void)
{
    uint32_t a, b, c, d, basic = 0, extended = 0, features_b = 0, features_c = 0, features_d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d))
        basic = c;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        extended = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        features_b = b;
        features_c = c;
        features_d = d;
    }
    uint64_t state = basic & BIT(27) ? saved_state() : 0; /* OSXSAVE: xgetbv exists */

    uint64_t have = 0;
    /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF */
    if (has_all(basic, BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23)) && has_all(extended, BIT(0)))
        have |= SCHEDC_CPU_V2;
    /* FMA, MOVBE, AVX, F16C; LZCNT; BMI1, AVX2, BMI2; xmm and ymm saved */
    if ((have & SCHEDC_CPU_V2) && has_all(basic, BIT(12) | BIT(22) | BIT(28) | BIT(29)) && has_all(extended, BIT(5)) &&
        has_all(features_b, BIT(3) | BIT(5) | BIT(8)) && has_all(state, 0x06))
        have |= SCHEDC_CPU_V3;
    /* AVX512F, DQ, CD, BW, VL; masks and zmm saved */
    if ((have & SCHEDC_CPU_V3) && has_all(features_b, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31)) &&
        has_all(state, 0xe6))
        have |= SCHEDC_CPU_V4;
    if ((have & SCHEDC_CPU_V4) && has_all(features_c, BIT(1)))
        have |= SCHEDC_CPU_VBMI;
    if ((have & SCHEDC_CPU_V4) && has_all(features_d, BIT(23)))
        have |= SCHEDC_CPU_AVX512FP16;
    return have;
}
#else
static uint64_t ask_processor(void)
{
    return 0;
}
#endif

/* What SCHEDC_CPU leaves of the instruction sets: those of the level that it names. */
static uint64_t allowed(void)
{
    static const struct {
        const char *name;
        uint64_t bits;
    } levels[] = {
        {"x86-64", 0},
        {"x86-64-v2", SCHEDC_CPU_V2},
        {"x86-64-v3", SCHEDC_CPU_V2 | SCHEDC_CPU_V3},
        {"x86-64-v4", SCHEDC_CPU_V2 | SCHEDC_CPU_V3 | SCHEDC_CPU_V4},
    };
    const char *text = getenv("SCHEDC_CPU");
    for (size_t i = 0; text && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(text, levels[i].name) == 0)
            return levels[i].bits;
    return ~(uint64_t)0;
}

uint64_t schedc_cpu_lacks(uint64_t needs)
{
    static _Atomic uint64_t cache;
    uint64_t have = atomic_load_explicit(&cache, memory_order_relaxed);
    if (!have) {
        have = (ask_processor() & allowed()) | KNOWN;
        atomic_store_explicit(&cache, have, memory_order_relaxed);
    }
    return needs & ~(have & ~KNOWN);
}
