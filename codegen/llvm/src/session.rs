//! A context of LLVM whose errors are collected instead of ending the process.

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
type Messages = Mutex<Vec<String>>;

/// A context of LLVM with a handler for errors. Without one, LLVM prints an error and calls `exit`.
pub(crate) struct Session {
    // Declared first, so that it is dropped before the list that its handler writes to.
    context: Context,
    messages: Box<Messages>,
}

impl Session {
    /// Creates a context with a handler.
    pub(crate) fn new() -> Session {
        options::initialise();
        let session = Session { context: Context::create(), messages: Box::default() };
        let list: *const Messages = &*session.messages;
        // SAFETY: the list lives in a box that outlives the context, and is shared only through its mutex.
        unsafe {
            LLVMContextSetDiagnosticHandler(session.context.raw(), Some(collect), list as *mut c_void);
        }
        session
    }

    /// Returns the context.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Fails if LLVM has reported an error.
    pub(crate) fn check(&self) -> Result<(), LlvmError> {
        let messages = match self.messages.lock() {
            Ok(list) => list.join("; "),
            Err(poisoned) => poisoned.into_inner().join("; "),
        };
        if messages.is_empty() { Ok(()) } else { Err(LlvmError::new(codes::CODE_GENERATION, messages)) }
    }
}

/// Receives LLVM's messages; remarks and warnings are dropped.
extern "C" fn collect(info: LLVMDiagnosticInfoRef, list: *mut c_void) {
    // SAFETY: `list` is the pointer that was set with this handler, and LLVM's message is a string until it
    // is freed.
    unsafe {
        if !matches!(LLVMGetDiagInfoSeverity(info), LLVMDiagnosticSeverity::LLVMDSError) {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        if let Ok(mut list) = (*(list as *const Messages)).lock() {
            list.push(message);
        }
    }
}
