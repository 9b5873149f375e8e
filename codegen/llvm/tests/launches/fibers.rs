//! A grid of threads on this machine: one block after the other, with a fiber and its stack for each thread
//! of the block.

#![allow(unsafe_code)]

use corosensei::stack::{STACK_ALIGNMENT, Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult, Yielder};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use sched_llvm::{HostKernel, HostThread};
use std::ffi::c_void;
use std::ptr;

const GUARD_BYTES: usize = 1 << 16;
const STACK_BYTES: usize = 1 << 17;

/// Memory of a fiber's stack, whose lower end is protected.
struct FiberStack {
    start: *mut c_void,
}

impl FiberStack {
    fn new() -> FiberStack {
        assert_eq!((GUARD_BYTES + STACK_BYTES) % STACK_ALIGNMENT, 0);
        // SAFETY: the call maps new memory, and makes its upper part accessible.
        unsafe {
            let bytes = GUARD_BYTES + STACK_BYTES;
            let start = mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE)
                .expect("memory for a stack");
            let open = MprotectFlags::READ | MprotectFlags::WRITE;
            mprotect(start.byte_add(GUARD_BYTES), STACK_BYTES, open).expect("memory can be opened");
            FiberStack { start }
        }
    }
}

impl Drop for FiberStack {
    fn drop(&mut self) {
        // SAFETY: `new` mapped the memory, and nothing runs on it any more.
        let _ = unsafe { munmap(self.start, GUARD_BYTES + STACK_BYTES) };
    }
}

// SAFETY: the memory is mapped as long as the value lives, and begins with a guard.
unsafe impl Stack for FiberStack {
    fn base(&self) -> StackPointer {
        StackPointer::new(self.start as usize + GUARD_BYTES + STACK_BYTES).expect("an address")
    }

    fn limit(&self) -> StackPointer {
        StackPointer::new(self.start as usize).expect("an address")
    }
}

/// 64 bytes of memory, aligned to 64.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct AlignedBytes(pub [u8; 64]);

/// Memory of at least `bytes` bytes, filled with garbage.
pub fn memory(bytes: usize) -> Vec<AlignedBytes> {
    vec![AlignedBytes([0xa5; 64]); bytes.div_ceil(64).max(1)]
}

/// The barrier: suspends the fiber until it is resumed.
unsafe extern "C" fn wait(fiber: *mut c_void) {
    // SAFETY: a thread has its own yielder, and runs on its fiber.
    unsafe { (*fiber.cast::<Yielder<(), ()>>()).suspend(()) }
}

/// Runs a kernel. `parameters` has a pointer to each parameter.
pub fn launch(kernel: &HostKernel, grid: [u32; 3], block: [u32; 3], parameters: &[*const c_void]) {
    let threads: Vec<[u32; 3]> = numbers(block).collect();
    let mut stacks: Vec<FiberStack> = threads.iter().map(|_| FiberStack::new()).collect();
    for block in numbers(grid) {
        let mut shared = memory(kernel.shared_bytes);
        let shared = shared.as_mut_ptr().cast::<u8>();
        let fiber = |thread: &[u32; 3]| {
            let (thread, function, parameters) = (*thread, kernel.function, parameters.as_ptr());
            let stack = stacks.pop().expect("a stack for each thread");
            Coroutine::with_stack(stack, move |yielder: &Yielder<(), ()>, ()| {
                let fiber = ptr::from_ref(yielder).cast_mut().cast();
                let thread = HostThread { block, thread, shared, barrier: wait, fiber };
                // SAFETY: the parameters are those of the kernel.
                unsafe { function(&thread, parameters) };
            })
        };
        let mut fibers: Vec<Coroutine<(), (), (), FiberStack>> = threads.iter().map(fiber).collect();
        // In every other interval between barriers, threads run in reverse order.
        let mut forward = true;
        loop {
            let mut waiting = 0;
            let mut resume = |fiber: &mut Coroutine<(), (), (), FiberStack>| {
                waiting += usize::from(matches!(fiber.resume(()), CoroutineResult::Yield(())));
            };
            if forward {
                fibers.iter_mut().for_each(&mut resume)
            } else {
                fibers.iter_mut().rev().for_each(&mut resume)
            }
            forward = !forward;
            if waiting == 0 {
                break;
            }
            assert_eq!(
                waiting,
                fibers.len(),
                "{}: some threads come to a barrier, others do not",
                kernel.name
            );
        }
        stacks = fibers.into_iter().map(Coroutine::into_stack).collect();
    }
}

/// All triples of numbers below `extent`; x changes fastest.
fn numbers(extent: [u32; 3]) -> impl Iterator<Item = [u32; 3]> {
    let [x, y, z] = extent;
    (0..z).flat_map(move |z| (0..y).flat_map(move |y| (0..x).map(move |x| [x, y, z])))
}
