//! Codes of LLVM and of libraries.

sched_diagnostics::codes! { Library in "explain/";
    ILL_FORMED 1 "L0001" Error "ill-formed code"
    REJECTED 2 "L0002" Error "code that LLVM rejects"
    UNKNOWN_CPU 3 "L0003" Error "unknown processor"
    CANNOT_RUN 4 "L0004" Error "code for another processor"
    CODE_GENERATION 5 "L0005" Error "no machine code"
    LOADING 6 "L0006" Error "code that cannot be loaded"
    NO_TOOL 7 "L0007" Error "missing program"
    TOOL_FAILED 8 "L0008" Error "failing program"
    TEMPORARY_FILE 9 "L0009" Error "temporary file that cannot be written"
    BAD_PREFIX 10 "L0010" Error "unusable prefix"
    TOO_LARGE 11 "L0011" Error "tables too large for a library"
    FOREIGN_HEADER 12 "L0012" Error "file beside a library that schedc did not write"
    PREDICTION 13 "L0013" Error "prediction that failed"
}
