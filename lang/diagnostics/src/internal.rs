//! Codes for bugs of schedc itself. The user is not at fault.

/// Advice about a bug of schedc.
pub const BUG_REPORT_HELP: &str = "this is not your fault. Please report it with this text, the command \
                                   line, and the schedule and the model if you can share them";

crate::codes! { Internal in "explain/";
    PANIC 1 "X0001" Error "bug in schedc"
    ILL_FORMED 2 "X0002" Error "invalid intermediate code"
    REJECTED 3 "X0003" Error "code that LLVM rejects"
    SYMBOLIC 4 "X0004" Error "checked schedule with unknown properties"
    IMPOSSIBLE 5 "X0005" Error "unexpected failure"
    SIMULATED 6 "X0006" Error "invalid memory access in the simulator"
}
