//! Linking by LLVM's linker in this process, without a C toolchain.
//!
//! The libraries equal those of a C compiler: they name `libc.so.6` and `libm.so.6`, and the versions of the
//! functions that `linker/system.txt` lists.

use crate::codes;
use crate::error::LlvmError;
use crate::options::{SwitchUser, Switches};
use crate::tools::{TemporaryFolder, read};
use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Stubs of the system's libraries.
const SYSTEM_STUBS: [(&str, &[u8]); 2] = [
    ("libc.so.6", include_bytes!(concat!(env!("OUT_DIR"), "/libc.so.6.stub"))),
    ("libm.so.6", include_bytes!(concat!(env!("OUT_DIR"), "/libm.so.6.stub"))),
];

/// Object that C compilers add to every library.
const START_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/start.o"));

/// Links objects of a folder into a shared library, as a C compiler does with the same options.
pub(crate) fn shared_library(
    folder: &TemporaryFolder,
    options: &[OsString],
    objects: &[PathBuf],
    out: &Path,
) -> Result<(), LlvmError> {
    let start = folder.write("start.o", START_OBJECT)?;
    let mut line: Vec<&OsStr> = Vec::new();
    line.extend(["-shared", "--eh-frame-hdr", "--hash-style=gnu", "--build-id"].map(OsStr::new));
    line.extend(options.iter().map(OsString::as_os_str));
    line.extend([OsStr::new("-o"), out.as_os_str()]);
    line.extend(objects.iter().map(|object| object.as_os_str()));
    line.push(start.as_os_str());
    let system = SYSTEM_STUBS.map(|(name, bytes)| folder.write(name, bytes));
    let system = system.into_iter().collect::<Result<Vec<_>, _>>()?;
    line.push(OsStr::new("--as-needed"));
    line.extend(system.iter().map(|library| library.as_os_str()));
    link(&line)
}

/// Joins objects into one, of which only the exports are visible.
pub(crate) fn object(objects: &[PathBuf], joined: &Path, exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let mut line: Vec<&OsStr> = vec![OsStr::new("-r"), OsStr::new("-o"), joined.as_os_str()];
    line.extend(objects.iter().map(|object| object.as_os_str()));
    link(&line)?;
    keep_global(&read(joined)?, exports)
}

/// Appends bytes that C++ passes to the `Vec<u8>` at `to`.
unsafe extern "C" fn take(to: *mut c_void, bytes: *const c_char, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: `to` is the vector of a caller below, which waits, and `bytes` points to `count` bytes.
    unsafe {
        let to = &mut *to.cast::<Vec<u8>>();
        to.extend_from_slice(std::slice::from_raw_parts(bytes.cast(), count));
    }
}

/// Receiver of bytes from C++.
type ByteReceiver = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

unsafe extern "C" {
    fn schedc_link(
        arguments: *const *const c_char,
        count: usize,
        take: ByteReceiver,
        to: *mut c_void,
    ) -> c_int;
    fn schedc_keep_global(
        bytes: *const c_char,
        size: usize,
        names: *const *const c_char,
        count: usize,
        take: ByteReceiver,
        to: *mut c_void,
    ) -> c_int;
}

/// Whether LLVM's linker may still be called. It uses global variables, so only one call runs at a time.
static IS_LINKER_USABLE: Mutex<bool> = Mutex::new(true);

/// Runs LLVM's linker with the arguments of `ld.lld`.
pub(crate) fn link(arguments: &[&OsStr]) -> Result<(), LlvmError> {
    // One thread suffices for a few objects, and a process that forks then loses no thread of LLD. If the
    // disk is full, writing the output without mapping it leads to an error instead of a signal.
    let all = ["ld.lld", "--threads=1", "--no-mmap-output-file", "--no-color-diagnostics"].map(OsStr::new);
    let texts = all.iter().chain(arguments).map(|text| c_string(text.as_bytes()));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let mut messages = Vec::<u8>::new();
    let mut usable = IS_LINKER_USABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if !*usable {
        let message = "an earlier call left it in a state in which it cannot be called again";
        return Err(linking_error(message).with_help("start the process again"));
    }
    // LLD resets LLVM's switches, so no code may be generated meanwhile.
    let _switches = Switches::hold(SwitchUser::Linker);
    // SAFETY: the pointers point to texts that end with NUL, and `take` gets the vector that it expects.
    let status = unsafe {
        schedc_link(pointers.as_ptr(), pointers.len(), take, std::ptr::from_mut(&mut messages).cast())
    };
    *usable = status != 2;
    drop(usable);
    if status == 0 { Ok(()) } else { Err(linking_error(String::from_utf8_lossy(&messages).trim())) }
}

/// Makes all symbols of an object local except the exports.
fn keep_global(object: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let names = exports.iter().map(|name| c_string(name.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let mut out = Vec::<u8>::new();
    // SAFETY: as above; the object has as many bytes as its length says.
    let status = unsafe {
        let to = std::ptr::from_mut(&mut out).cast();
        schedc_keep_global(object.as_ptr().cast(), object.len(), pointers.as_ptr(), pointers.len(), take, to)
    };
    if status == 0 { Ok(out) } else { Err(linking_error(String::from_utf8_lossy(&out).trim())) }
}

fn c_string(text: &[u8]) -> Result<CString, LlvmError> {
    CString::new(text).map_err(|_| linking_error("a path contains a zero byte"))
}

fn linking_error(why: &str) -> LlvmError {
    LlvmError::new(codes::TOOL_FAILED, format!("LLVM's linker fails: {why}"))
}
