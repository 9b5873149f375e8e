//! Machine code that LLVM's ORC loads into this process.

use crate::codes;
use crate::error::LlvmError;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::{
    LLVMOrcCreateLLJIT, LLVMOrcDisposeLLJIT, LLVMOrcLLJITAddObjectFile, LLVMOrcLLJITGetExecutionSession,
    LLVMOrcLLJITGetMainJITDylib, LLVMOrcLLJITLookup, LLVMOrcLLJITMangleAndIntern, LLVMOrcLLJITRef,
};
use inkwell::llvm_sys::orc2::{
    LLVMJITEvaluatedSymbol, LLVMJITSymbolFlags, LLVMJITSymbolGenericFlags, LLVMOrcAbsoluteSymbols,
    LLVMOrcCSymbolMapPair, LLVMOrcDisposeMaterializationUnit, LLVMOrcExecutionSessionSetErrorReporter,
    LLVMOrcJITDylibDefine,
};
use inkwell::memory_buffer::MemoryBuffer;
use std::ffi::{CStr, CString, c_void};
use std::mem::ManuallyDrop;
use std::ptr;

/// Loaded machine code, which is unloaded when dropped.
pub(crate) struct Orc {
    jit: LLVMOrcLLJITRef,
}

impl Orc {
    /// Loads an object file that may refer to the given symbols and to those of this process.
    pub(crate) fn load(
        object: MemoryBuffer<'static>,
        symbols: &[(&str, *const ())],
    ) -> Result<Orc, LlvmError> {
        let mut jit = ptr::null_mut();
        // SAFETY: no builder means LLVM's defaults, and `jit` is written on success.
        check(unsafe { LLVMOrcCreateLLJIT(&mut jit, ptr::null_mut()) })?;
        let orc = Orc { jit };
        // SAFETY: the reporter takes no state.
        unsafe {
            let session = LLVMOrcLLJITGetExecutionSession(jit);
            LLVMOrcExecutionSessionSetErrorReporter(session, drop_error, ptr::null_mut());
        }
        orc.define(symbols)?;
        let object = ManuallyDrop::new(object);
        // SAFETY: LLVM owns the buffer from here on, also if it fails.
        check(unsafe {
            LLVMOrcLLJITAddObjectFile(jit, LLVMOrcLLJITGetMainJITDylib(jit), object.as_mut_ptr())
        })?;
        Ok(orc)
    }

    /// Defines the addresses of symbols that the code refers to.
    fn define(&self, symbols: &[(&str, *const ())]) -> Result<(), LlvmError> {
        let mut pairs = Vec::with_capacity(symbols.len());
        for (name, address) in symbols {
            let name = c_symbol(name)?;
            let flags = LLVMJITSymbolFlags {
                GenericFlags: LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
                    | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8,
                TargetFlags: 0,
            };
            pairs.push(LLVMOrcCSymbolMapPair {
                // SAFETY: the name is a string; the unit below takes over the reference.
                Name: unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) },
                Sym: LLVMJITEvaluatedSymbol { Address: *address as u64, Flags: flags },
            });
        }
        // SAFETY: LLVM copies the pairs. It owns the unit if the definition succeeds, else this function
        // does.
        unsafe {
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            let error = LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(self.jit), unit);
            if !error.is_null() {
                LLVMOrcDisposeMaterializationUnit(unit);
            }
            check(error)
        }
    }

    /// Returns the address of a symbol of the object. The first call links the object.
    pub(crate) fn address(&self, symbol: &str) -> Result<*const (), LlvmError> {
        let name = c_symbol(symbol)?;
        let mut address = 0;
        // SAFETY: `address` is written on success.
        check(unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, name.as_ptr()) })?;
        if address == 0 {
            return Err(LlvmError::new(
                codes::LOADING,
                format!("the machine code has no function `{symbol}`"),
            ));
        }
        Ok(address as usize as *const ())
    }
}

impl Drop for Orc {
    fn drop(&mut self) {
        // SAFETY: created by `load` and not used afterwards. After an error, nothing else could be freed.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
    }
}

fn c_symbol(symbol: &str) -> Result<CString, LlvmError> {
    CString::new(symbol).map_err(|_| LlvmError::ill_formed("a symbol's name contains a NUL"))
}

/// Converts an error of LLVM.
fn check(error: LLVMErrorRef) -> Result<(), LlvmError> {
    if error.is_null() {
        return Ok(());
    }
    Err(LlvmError::new(codes::LOADING, format!("LLVM cannot load the machine code: {}", take_message(error))))
}

/// Returns the text of an error, and frees the error.
fn take_message(error: LLVMErrorRef) -> String {
    // SAFETY: the error is not null and is used once; the message is a string until it is disposed of.
    unsafe {
        let text = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        message
    }
}

/// Drops an error that `check` has returned, so that LLVM does not print it.
extern "C" fn drop_error(_: *mut c_void, error: LLVMErrorRef) {
    if !error.is_null() {
        take_message(error);
    }
}
