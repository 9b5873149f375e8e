//! Handling of failed allocations in LLVM, which is C++.

use std::ffi::{c_char, c_void};
use std::process::abort;
use std::sync::OnceLock;

/// Function that is called when an allocation fails; it does not return.
static ALLOCATION_FAILURE_HANDLER: OnceLock<fn() -> !> = OnceLock::new();

// The functions have no C interface; these are their names in C++'s ABI on Linux.
unsafe extern "C" {
    /// `std::set_new_handler`: sets the function that `operator new` calls before it throws.
    #[link_name = "_ZSt15set_new_handlerPFvvE"]
    fn set_new_handler(handler: extern "C" fn()) -> *const c_void;
    /// `llvm::install_bad_alloc_error_handler`: sets the function that LLVM's containers call before they
    /// abort.
    #[link_name = "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_"]
    fn install_bad_alloc_handler(handler: extern "C" fn(*mut c_void, *const c_char, bool), data: *mut c_void);
}

extern "C" fn new_failed() {
    ALLOCATION_FAILURE_HANDLER.get().map_or_else(|| abort(), |give_up| give_up())
}

extern "C" fn container_failed(_: *mut c_void, _: *const c_char, _: bool) {
    new_failed();
}

/// Makes the process call `give_up` when an allocation in LLVM fails, since LLVM cannot continue then. Only
/// the first call has an effect.
pub fn on_allocation_failure(give_up: fn() -> !) {
    if ALLOCATION_FAILURE_HANDLER.set(give_up).is_ok() {
        // SAFETY: both are called once in a process, and the functions that they get end the process.
        unsafe {
            set_new_handler(new_failed);
            install_bad_alloc_handler(container_failed, std::ptr::null_mut());
        }
    }
}
