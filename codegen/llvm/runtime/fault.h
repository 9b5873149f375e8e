/* Seeded faults: deliberate mistakes in the order of work on devices. Tests compile the runtime with one
 * of them at a time, and must detect each. */
#ifndef SCHEDC_FAULT_H
#define SCHEDC_FAULT_H

#include <stdbool.h>

enum schedc_fault {
    SCHEDC_NO_FAULT,
    SCHEDC_TABLES_NOT_AWAITED,   /* calls begin before the tables have been copied */
    SCHEDC_GROWTH_NOT_AWAITED,   /* memory that kernels still use is replaced when it grows */
    SCHEDC_LAST_CALL_FORGOTTEN,  /* a call uses the memory of an earlier call that may not be done */
    SCHEDC_LAST_CALL_DROPPED,    /* the same, with a call between them that ran on the host */
    SCHEDC_RECORD_NOT_CHECKED,   /* the same, if the end of the earlier call could not be recorded */
    SCHEDC_RESULTS_NOT_AWAITED,  /* results are read before they have been copied */
    SCHEDC_FAILURE_NOT_AWAITED,  /* a failing call returns while its copies are under way */
    SCHEDC_RELEASE_NOT_AWAITED,  /* a model is released while a call of it is under way */
    SCHEDC_GRAPH_OUTLIVES_MEMORY, /* a graph is launched after memory that it uses has been replaced */
    SCHEDC_COUNTERS_NOT_CLEARED, /* launches count from what new memory holds */
    SCHEDC_FAILURE_KEEPS_COUNTERS, /* launches count from what a launch left that failed in part */
    SCHEDC_UNLOAD_WITHOUT_CONTEXT, /* code stays loaded if loading fails later */
};

#ifndef SCHEDC_SEEDED
#define SCHEDC_SEEDED SCHEDC_NO_FAULT
#endif

/* Whether the runtime makes this mistake: only in tests. */
static inline bool schedc_seeded(enum schedc_fault fault)
{
    return fault == SCHEDC_SEEDED;
}

#endif
