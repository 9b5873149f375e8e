//! Codes of data.

sched_diagnostics::codes! { Data in "explain/";
    UNREADABLE 1 "D0001" Error "input that cannot be read"
    UNKNOWN_FORMAT 2 "D0002" Error "unknown data format"
    EMPTY 3 "D0003" Error "empty input"
    COLUMNS 4 "D0004" Error "wrong number of columns"
    NOT_A_NUMBER 5 "D0005" Error "cell that is not a number"
    MISSING_FEATURE 6 "D0006" Error "missing feature"
    DUPLICATE_FEATURE 7 "D0007" Error "feature given twice"
    MALFORMED_HEADER 8 "D0008" Error "malformed array header"
    UNSUPPORTED_ARRAY 9 "D0009" Error "array that holds no rows of numbers"
    LENGTH 10 "D0010" Error "file shorter or longer than it says"
    TOO_LARGE 11 "D0011" Error "too much data"
    UNWRITABLE 12 "D0012" Error "output that cannot be written"
    UNKNOWN_EXTENSION 13 "D0013" Error "unknown file extension"
    SHAPE 14 "D0014" Error "values that do not fill rows"
    OPEN_QUOTE 15 "D0015" Error "quotation mark that is never closed"
    UNUSABLE_NAMES 16 "D0016" Error "feature names that cannot be told apart"
    UNMATCHED_HEADER 17 "D0017" Error "header that cannot be matched"
}
