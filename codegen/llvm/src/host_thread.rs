//! The state of a thread of a launch that runs on the host's processor.

use std::ffi::c_void;

/// One thread of a launch. Its layout is that of C.
#[repr(C)]
pub struct HostThread {
    /// Numbers of its block in the directions x, y and z.
    pub block: [u32; 3],
    /// Numbers of the thread in its block.
    pub thread: [u32; 3],
    /// Shared memory of its block, aligned to 64 bytes.
    pub shared: *mut u8,
    /// Barrier: it returns when all threads of the block have called it with their `fiber`.
    pub barrier: unsafe extern "C" fn(*mut c_void),
    /// Argument of the barrier.
    pub fiber: *mut c_void,
}
