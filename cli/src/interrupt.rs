//! Nothing half-made stays behind when schedc is interrupted or runs out of memory.

use mimalloc::MiMalloc;
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use std::alloc::{GlobalAlloc, Layout};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The allocator, which remembers that it had to refuse something. Models and schedules are many small things, which take
/// a third longer with the C library's.
pub struct Allocator;

/// Whether memory was refused. Most of those who ask end the process then.
static REFUSED: AtomicBool = AtomicBool::new(false);

fn noted(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        REFUSED.store(true, Ordering::Relaxed);
    }
    memory
}

// SAFETY: everything is left to an allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises, here and below.
        noted(unsafe { MiMalloc.alloc(layout) })
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(memory, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { MiMalloc.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        noted(unsafe { MiMalloc.realloc(memory, layout, size) })
    }
}

/// Whether there is somebody who ends in good order when a signal asks for it.
static ENDS_WELL: AtomicBool = AtomicBool::new(false);

/// Whether a signal has asked for an end.
static ASKED: AtomicBool = AtomicBool::new(false);

/// From now on the first signal only asks for an end, which [`is_asked`] tells of; the second one ends the process.
pub fn end_well() {
    ENDS_WELL.store(true, Ordering::Relaxed);
}

/// Whether a signal has asked for an end.
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From now on an interrupt, or an end for lack of memory, removes what is not finished.
pub fn install() {
    let heard: Vec<i32> =
        [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)).collect();
    let listen = move || {
        let Ok(mut signals) = Signals::new(heard) else { return };
        for signal in signals.forever() {
            if ENDS_WELL.swap(false, Ordering::Relaxed) {
                ASKED.store(true, Ordering::Relaxed);
                continue;
            }
            clean_up();
            // Ends the process as the signal would have done, for which shells show 128 and its number.
            let _ = low_level::emulate_default_handler(signal);
        }
    };
    // Without a thread to listen, signals do what they always do.
    let _ = std::thread::Builder::new().name("signals".to_string()).stack_size(1 << 18).spawn(listen);
    // SAFETY: the signal is raised by the thread that gives up, at a place where it holds no lock that is waited for
    // here without end.
    let _ = unsafe { low_level::register(SIGABRT, before_abort) };
    sched_llvm::without_memory(without_memory);
}

/// Whether this process was started with a signal ignored, as `nohup` does.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

fn clean_up() {
    sched_llvm::abandon_links();
    schedc_data::abandon_unfinished();
}

/// Says that there is no memory left, and ends the process.
fn without_memory() -> ! {
    let _ = std::io::stderr().write_all(
        b"error: there is not enough memory\n  help: free some, raise the limit that `ulimit -v` or the container sets, \
          or give schedc less: fewer rows, a smaller model, a schedule with less code\n",
    );
    clean_up();
    low_level::exit(2)
}

/// What happens when the process is about to abort: Rust's own collections do so without memory.
fn before_abort() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, Ordering::Relaxed) {
        low_level::exit(2);
    }
    end_if_out_of_memory();
    clean_up();
}

/// Ends the process if there is no memory left, whatever else seems to be wrong.
pub fn end_if_out_of_memory() {
    if REFUSED.load(Ordering::Relaxed) || is_memory_short() || was_limit_near() {
        without_memory();
    }
}

/// Whether memory that any machine has is not to be had. LLVM allocates without the allocator above.
fn is_memory_short() -> bool {
    let Ok(layout) = Layout::from_size_align(64 << 20, 4096) else { return false };
    // SAFETY: the size is not zero, and the memory is given back as it came.
    unsafe {
        let memory = MiMalloc.alloc(layout);
        if !memory.is_null() {
            MiMalloc.dealloc(memory, layout);
        }
        memory.is_null()
    }
}

/// Whether the process has come near its limit of address space: a C++ exception has freed memory before it is fatal.
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
