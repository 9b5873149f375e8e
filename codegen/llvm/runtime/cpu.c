/* The instruction sets that kernels may use. They come from cpuid itself: the compiler's helper would make
 * every artefact depend on the compiler's support library. */
#include "internal.h"
#include "levels.h"

#include <stdlib.h>
#include <string.h>

#define KNOWN ((uint64_t)1 << 63) /* in the cached word: the bits are valid */
#define OSXSAVE ((uint32_t)1 << 27)

/* The processor levels, the lowest first: rows of `machines!` in lang/machines/src/level.rs. */
static const struct level {
    const char *word;
    bool is_target;   /* SCHEDC_CPU may name it */
    uint64_t bit, on; /* the level's own bit, and those of the levels below it */
    uint32_t cpuid[SCHEDC_CPUID_WORDS];
    uint64_t state; /* registers that the operating system must save */
    const char *lacks;
} known_levels[] = {
#define LEVEL(word, is_target, bit, on, leaf1c, extended, leaf7b, leaf7c, state, lacks) \
    {word, is_target, bit, on, {leaf1c, extended, leaf7b, leaf7c}, state, lacks},
    SCHEDC_LEVELS(LEVEL)
#undef LEVEL
};

enum { NUM_LEVELS = sizeof known_levels / sizeof *known_levels };

#if defined(__x86_64__)
#include <cpuid.h>

/* Returns the register state that the operating system saves: instructions that need other state fault,
 * although cpuid lists them. */
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

static uint64_t ask_processor(void)
{
    /* In the order of Register in lang/machines/src/cpuid.rs. */
    uint32_t have[SCHEDC_CPUID_WORDS] = {0};
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d))
        have[0] = c;
    if (__get_cpuid(0x80000001, &a, &b, &c, &d))
        have[1] = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        have[2] = b;
        have[3] = c;
    }
    uint64_t state = have[0] & OSXSAVE ? saved_state() : 0; /* else there is no xgetbv */

    uint64_t levels = 0;
    for (size_t i = 0; i < NUM_LEVELS; i++) {
        const struct level *level = &known_levels[i];
        bool has = has_all(levels, level->on) && has_all(state, level->state);
        for (size_t word = 0; word < SCHEDC_CPUID_WORDS; word++)
            has = has && has_all(have[word], level->cpuid[word]);
        if (has)
            levels |= level->bit;
    }
    return levels;
}
#else
static uint64_t ask_processor(void)
{
    return 0;
}
#endif

/* The instruction sets of the level that SCHEDC_CPU names; all of them if it names none. */
static uint64_t allowed(void)
{
    const char *text = getenv("SCHEDC_CPU");
    if (text && strcmp(text, SCHEDC_BASELINE) == 0)
        return 0;
    for (size_t i = 0; text && i < NUM_LEVELS; i++)
        if (known_levels[i].is_target && strcmp(text, known_levels[i].word) == 0)
            return known_levels[i].bit | known_levels[i].on;
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

const char *schedc_cpu_message(uint64_t lacks)
{
    for (size_t i = 0; i < NUM_LEVELS; i++)
        if (lacks & known_levels[i].bit)
            return known_levels[i].lacks;
    return "this processor lacks instructions that the model was compiled for; "
           "compile it for an older processor";
}
