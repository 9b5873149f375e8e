//! Codes of the errors of this crate.

sched_diagnostics::codes! { Compilation in "explain/";
    LAYOUT_BUDGET 2 "C0002" Error "layout too large"
    PAD_BUDGET 3 "C0003" Error "too much padding"
    PRIVATE_BUDGET 4 "C0004" Error "private sums too large"
    SYMBOLIC 5 "C0005" Error "schedule that is still symbolic"
    CODE_SIZE 6 "C0006" Error "too much code"
    NO_PROFILE 7 "C0007" Error "no profile of the leaves"
    SHARED_MEMORY 13 "C0013" Error "too much shared memory in a block"
    CATEGORY_BUDGET 14 "C0014" Error "tables of categories too large"
    NOT_OBLIVIOUS 20 "C0020" Error "tree that is not oblivious"
}
