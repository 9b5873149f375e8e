//! Codes for the use of the command line, and for files that are neither models nor data.

crate::codes! { Usage in "explain/";
    WRONG 1 "U0001" Error "wrong usage"
    UNREADABLE 2 "U0002" Error "unreadable file"
    OWN_INPUT 3 "U0003" Error "output among the inputs"
    NO_SUCH_OUTPUT 4 "U0004" Error "output not available for the model"
    FOREIGN_FOLDER 7 "U0007" Error "folder with other files"
    LOCK_DAMAGED 20 "U0020" Error "damaged lock"
    LOCK_CONFLICT 21 "U0021" Error "lock with merge conflicts"
    LOCK_NEWER 22 "U0022" Error "lock from a newer schedc"
    LOCK_PROCESSOR 23 "U0023" Warning "lock entry of another processor"
    LOCK_MODEL 24 "U0024" Warning "lock entry of another model"
    LOCK_EPOCH 25 "U0025" Warning "lock entry of another schedc"
    LOCK_EDITED 26 "U0026" Warning "edited lock entry"
    LOCK_TARGET 27 "U0027" Warning "lock entry of another target"
    LOCK_MISSING 28 "U0028" Warning "no lock entry"
}
