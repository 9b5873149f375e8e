/* Kinds of output. Written from forest/outputs/src/lib.rs by `UPDATE=1 cargo test -p sched-outputs`. */
#ifndef SCHEDC_KINDS_H
#define SCHEDC_KINDS_H

enum {
    SCHEDC_KIND_VALUE = 0,
    SCHEDC_KIND_RAW = 1,
    SCHEDC_KIND_CLASS = 2,
    SCHEDC_KIND_LEAF = 3,
    SCHEDC_KIND_TREE = 4,
    SCHEDC_NUM_KINDS = 5,
};

#endif
