/* Seeded faults: deliberate mistakes in the order of work on devices. A test compiles the runtime with one of them at a time
 * and must see each. */
#ifndef SCHEDC_FAULT_H
#define SCHEDC_FAULT_H

#include <stdbool.h>

enum schedc_fault {
    SCHEDC_NO_FAULT,
    SCHEDC_TABLES_NOT_AWAITED,   /* calls begin before the tables have been copied */
    SCHEDC_GROWTH_NOT_AWAITED,   /* memory that kernels still use is replaced by more */
    SCHEDC_LAST_CALL_FORGOTTEN,  /* a call uses the memory of the one before, which may not be done */
    SCHEDC_LAST_CALL_DROPPED,    /* the same, after a call between them that ran on the host alone */
    SCHEDC_RECORD_NOT_CHECKED,   /* the same, where the end of the first call could not be recorded */
    SCHEDC_RESULTS_NOT_AWAITED,  /* results are read before they have been copied */
    SCHEDC_FAILURE_NOT_AWAITED,  /* a call that fails returns while its copies are under way */
    SCHEDC_RELEASE_NOT_AWAITED,  /* a model is released while a call of it is under way */
    SCHEDC_UNLOAD_WITHOUT_CONTEXT, /* what has been loaded stays where loading fails */
};

#ifndef SCHEDC_SEEDED
#define SCHEDC_SEEDED SCHEDC_NO_FAULT
#endif

/* Whether the runtime is to make this mistake: never, but in tests. */
static inline bool schedc_seeded(enum schedc_fault fault)
{
    return fault == SCHEDC_SEEDED;
}

#endif
