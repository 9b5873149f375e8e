//! Codes for the use of the command line, and for files that are neither models nor data.

crate::codes! { Usage in "explain/";
    WRONG 1 "U0001" Error "wrong usage"
    UNREADABLE 2 "U0002" Error "file that cannot be read"
    OWN_INPUT 3 "U0003" Error "output that would replace an input"
    NO_SUCH_OUTPUT 4 "U0004" Error "output that the model does not have"
    FOREIGN_FOLDER 7 "U0007" Error "folder with files that schedc has not written"
}
