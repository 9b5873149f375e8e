//! Removes unfinished files when schedc is interrupted or runs out of memory.

use mimalloc::MiMalloc;
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The global allocator, mimalloc, which records a failed allocation. Models and schedules are many small
/// objects; the C library's allocator takes a third longer.
pub struct Allocator;

/// Whether an allocation has failed. Most callers abort the process in this case.
static ALLOCATION_FAILED: AtomicBool = AtomicBool::new(false);

/// Sets [`ALLOCATION_FAILED`] if there is no memory.
fn record_failure(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        ALLOCATION_FAILED.store(true, Ordering::Relaxed);
    }
    memory
}

// SAFETY: all calls are forwarded to mimalloc.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises, here and below.
        record_failure(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        record_failure(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        record_failure(unsafe { MiMalloc.realloc(memory, layout, size) })
    }
}

/// Whether the running command stops by itself after a signal and keeps its results.
static ENDS_WELL: AtomicBool = AtomicBool::new(false);

/// The signal that has requested the end of the process; 0: none.
static INTERRUPTED: AtomicI32 = AtomicI32::new(0);

/// From now on, the first signal only sets the flag that [`was_interrupted`] returns. The second one ends the
/// process.
pub fn end_well() {
    ENDS_WELL.store(true, Ordering::Relaxed);
}

/// Whether a signal has requested the end of the process.
pub fn was_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed) != 0
}

/// Ends the process as a signal would have, if one has requested it. Prints `note`, which names the missing
/// result.
pub fn end_if_interrupted(note: &str) {
    let signal = INTERRUPTED.load(Ordering::Relaxed);
    if signal != 0 {
        let _ = writeln!(std::io::stderr().lock(), "note: {note}");
        end_by(signal);
    }
}

/// Removes unfinished files and ends the process as the signal would have. Shells then show status 128 plus
/// the signal's number.
fn end_by(signal: i32) {
    clean_up();
    let _ = low_level::emulate_default_handler(signal);
}

/// Installs handlers that remove unfinished files when a signal or a lack of memory ends the process.
pub fn install() {
    let heard: Vec<i32> =
        [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let listen = move || {
        let Ok(mut signals) = Signals::new(heard) else { return };
        for signal in signals.forever() {
            if ENDS_WELL.swap(false, Ordering::Relaxed) {
                INTERRUPTED.store(signal, Ordering::Relaxed);
                continue;
            }
            end_by(signal);
        }
    };
    // If the thread cannot start, signals keep their default effect.
    let _ = std::thread::Builder::new().name("signals".to_string()).stack_size(1 << 18).spawn(listen);
    // SAFETY: the aborting thread raises the signal itself, at a point where it holds no lock that the
    // handler waits for forever.
    let _ = unsafe { low_level::register(SIGABRT, before_abort) };
    // Above the limit of `ulimit -f`, a write then fails with an error that commands report.
    // SAFETY: the handler does nothing.
    let _ = unsafe { low_level::register(SIGXFSZ, || ()) };
    sched_llvm::on_allocation_failure(without_memory);
}

/// Whether this process was started with the signal ignored, as by `nohup`.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

fn clean_up() {
    sched_llvm::abandon_tools();
    schedc_data::abandon_unfinished();
}

/// Reports that memory has run out, and ends the process.
fn without_memory() -> ! {
    let _ = std::io::stderr().write_all(
        b"error: there is not enough memory\n  help: free some, raise the limit that `ulimit -v` or the \
          container sets, or give schedc less: fewer rows, a smaller model, a schedule with less code\n",
    );
    clean_up();
    low_level::exit(2)
}

/// Handles an imminent abort. Rust's own collections abort when memory runs out.
fn before_abort() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::Relaxed) {
        low_level::exit(2);
    }
    end_if_out_of_memory();
    clean_up();
}

/// Ends the process if memory has run out, which explains any other apparent bug.
pub fn end_if_out_of_memory() {
    if ALLOCATION_FAILED.load(Ordering::Relaxed) || is_memory_short() || was_limit_near() {
        without_memory();
    }
}

/// Whether an allocation of 64 MiB fails. LLVM does not use the allocator above, so its failures are not
/// recorded.
fn is_memory_short() -> bool {
    let Ok(layout) = Layout::from_size_align(64 << 20, 4096) else { return false };
    // SAFETY: the size is not zero, and the memory is freed with the same layout.
    unsafe {
        let memory = MiMalloc.alloc(layout);
        if !memory.is_null() {
            MiMalloc.dealloc(memory, layout);
        }
        memory.is_null()
    }
}

/// Whether peak memory came within 64 MiB of the limit on address space. A C++ exception frees memory before
/// it ends the process, so the present size shows nothing.
fn was_limit_near() -> bool {
    const NEAR: u64 = 64 << 10; // KiB
    let number = |path: &str, name: &str, unit: u64| {
        let text = std::fs::read_to_string(path).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? / unit)
    };
    let peak = number("/proc/self/status", "VmPeak:", 1);
    let limit = number("/proc/self/limits", "Max address space", 1024);
    matches!((peak, limit), (Some(peak), Some(limit)) if peak + NEAR > limit)
}
