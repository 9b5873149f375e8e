//! One LLVM context whose complaints are collected instead of ending the process.

use crate::codes;
use crate::error::LlvmError;
use crate::options;
use inkwell::context::Context;
use inkwell::llvm_sys::LLVMDiagnosticSeverity;
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;
use std::ffi::{CStr, c_void};
use std::sync::Mutex;

/// Error messages that LLVM reported through its diagnostic handler.
type Complaints = Mutex<Vec<String>>;

/// A context of LLVM. Without a handler, LLVM prints an error and calls `exit`.
pub(crate) struct Session {
    // Declared first, so that it is gone before the list that its handler writes to.
    context: Context,
    complaints: Box<Complaints>,
}

impl Session {
    /// A fresh context.
    pub(crate) fn new() -> Session {
        options::initialise();
        let session = Session { context: Context::create(), complaints: Box::default() };
        let list: *const Complaints = &*session.complaints;
        // SAFETY: the list lives in a box that outlives the context, and is shared only through its mutex.
        unsafe {
            LLVMContextSetDiagnosticHandler(session.context.raw(), Some(collect), list as *mut c_void);
        }
        session
    }

    /// The context.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// An error if LLVM has reported one.
    pub(crate) fn check(&self) -> Result<(), LlvmError> {
        let complaints = match self.complaints.lock() {
            Ok(list) => list.join("; "),
            Err(poisoned) => poisoned.into_inner().join("; "),
        };
        if complaints.is_empty() { Ok(()) } else { Err(LlvmError::new(codes::CODE_GENERATION, complaints)) }
    }
}

/// Called by LLVM; remarks and warnings are dropped.
extern "C" fn collect(info: LLVMDiagnosticInfoRef, list: *mut c_void) {
    // SAFETY: `list` is the pointer given with this handler, and LLVM's message is a string until it is
    // disposed of.
    unsafe {
        if !matches!(LLVMGetDiagInfoSeverity(info), LLVMDiagnosticSeverity::LLVMDSError) {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        if let Ok(mut list) = (*(list as *const Complaints)).lock() {
            list.push(message);
        }
    }
}
