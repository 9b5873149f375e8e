//! Linking in this process, by LLVM's own linker: what [`link`](crate::link) does with the C toolchain, without one.
//!
//! Libraries come out as those of a C compiler do: they name `libc.so.6` and `libm.so.6`, and the versions of functions that
//! `linker/system.txt` lists.

use crate::codes;
use crate::error::LlvmError;
use crate::link::{Folder, read};
use crate::options::Switches;
use std::ffi::{CString, OsStr, OsString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Libraries that stand for those of the system.
const SYSTEM: [(&str, &[u8]); 2] = [
    ("libc.so.6", include_bytes!(concat!(env!("OUT_DIR"), "/libc.so.6.stub"))),
    ("libm.so.6", include_bytes!(concat!(env!("OUT_DIR"), "/libm.so.6.stub"))),
];

/// What a C compiler adds to every library.
const START: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/start.o"));

/// Links objects of a folder into a shared library, as the C compiler does with the same options.
pub(crate) fn shared_library(
    folder: &Folder,
    options: &[OsString],
    objects: &[PathBuf],
    out: &Path,
) -> Result<(), LlvmError> {
    let start = folder.write("start.o", START)?;
    let mut line: Vec<&OsStr> = Vec::new();
    line.extend(["-shared", "--eh-frame-hdr", "--hash-style=gnu", "--build-id"].map(OsStr::new));
    line.extend(options.iter().map(OsString::as_os_str));
    line.extend([OsStr::new("-o"), out.as_os_str()]);
    line.extend(objects.iter().map(|object| object.as_os_str()));
    line.push(start.as_os_str());
    let system = SYSTEM.map(|(name, bytes)| folder.write(name, bytes));
    let system = system.into_iter().collect::<Result<Vec<_>, _>>()?;
    line.push(OsStr::new("--as-needed"));
    line.extend(system.iter().map(|library| library.as_os_str()));
    link(&line)
}

/// Joins objects into one, in which only the exports are visible.
pub(crate) fn object(objects: &[PathBuf], joined: &Path, exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let mut line: Vec<&OsStr> = vec![OsStr::new("-r"), OsStr::new("-o"), joined.as_os_str()];
    line.extend(objects.iter().map(|object| object.as_os_str()));
    link(&line)?;
    keep_global(&read(joined)?, exports)
}

/// Takes bytes from C++, appending them to a `Vec<u8>`.
unsafe extern "C" fn take(to: *mut c_void, bytes: *const c_char, count: usize) {
    if count == 0 {
        return;
    }
    // SAFETY: `to` is the vector of a caller below, which waits, and `bytes` are `count` bytes.
    unsafe {
        let to = &mut *to.cast::<Vec<u8>>();
        to.extend_from_slice(std::slice::from_raw_parts(bytes.cast(), count));
    }
}

type Take = unsafe extern "C" fn(*mut c_void, *const c_char, usize);

unsafe extern "C" {
    fn schedc_link(arguments: *const *const c_char, count: usize, take: Take, to: *mut c_void) -> c_int;
    fn schedc_keep_global(
        bytes: *const c_char,
        size: usize,
        names: *const *const c_char,
        count: usize,
        take: Take,
        to: *mut c_void,
    ) -> c_int;
}

/// Whether LLVM's linker may still be called. It works on global variables, so that there is one call at a time.
static USABLE: Mutex<bool> = Mutex::new(true);

/// Runs LLVM's linker with the arguments of `ld.lld`.
pub(crate) fn link(arguments: &[&OsStr]) -> Result<(), LlvmError> {
    // One thread is enough for a few objects, and leaves nothing behind that a fork would lose. Output that is not mapped
    // gives an error where the disk is full, and no signal.
    let all = ["ld.lld", "--threads=1", "--no-mmap-output-file", "--no-color-diagnostics"].map(OsStr::new);
    let texts = all.iter().chain(arguments).map(|text| c_string(text.as_bytes()));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    let mut said = Vec::<u8>::new();
    let mut usable = USABLE.lock().unwrap_or_else(PoisonError::into_inner);
    if !*usable {
        return Err(failed("it could not go on when it was called before, and cannot be called again"));
    }
    // LLD sets LLVM's switches back, so that no code may be generated meanwhile.
    let _switches = Switches::hold(false);
    // SAFETY: the pointers are to texts that end with NUL, and `take` gets the vector that it expects.
    let status =
        unsafe { schedc_link(pointers.as_ptr(), pointers.len(), take, std::ptr::from_mut(&mut said).cast()) };
    *usable = status != 2;
    drop(usable);
    if status == 0 { Ok(()) } else { Err(failed(String::from_utf8_lossy(&said).trim())) }
}

/// Makes all symbols of an object local but the given ones.
fn keep_global(object: &[u8], exports: &[String]) -> Result<Vec<u8>, LlvmError> {
    let names = exports.iter().map(|name| c_string(name.as_bytes())).collect::<Result<Vec<_>, _>>()?;
    let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
    let mut out = Vec::<u8>::new();
    // SAFETY: as above; the object is as many bytes as it says.
    let status = unsafe {
        let to = std::ptr::from_mut(&mut out).cast();
        schedc_keep_global(object.as_ptr().cast(), object.len(), pointers.as_ptr(), pointers.len(), take, to)
    };
    if status == 0 { Ok(out) } else { Err(failed(String::from_utf8_lossy(&out).trim())) }
}

fn c_string(text: &[u8]) -> Result<CString, LlvmError> {
    CString::new(text).map_err(|_| failed("a path contains a zero byte"))
}

fn failed(why: &str) -> LlvmError {
    LlvmError::new(codes::TOOL_FAILED, format!("LLVM's linker fails: {why}"))
}
