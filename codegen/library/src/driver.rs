//! Calls of NVIDIA's driver: memory for results on a GPU, the order of work in streams, and the time of work.
//!
//! A library's runtime makes prediction calls ([`crate::Call`]). A caller that has no memory for their
//! results allocates it here. The runtime and this module load the same driver and use the same contexts.

mod timed_stream;

pub use timed_stream::TimedStream;

use libloading::Library;
use std::error::Error;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::fmt;
use std::ptr;
use std::sync::OnceLock;

type DriverStatus = c_int;
type Handle = *mut c_void;

/// A stream: the driver's handle, as a number. 0 and 1 are the default stream of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream(pub usize);

impl Stream {
    /// The default stream of a device. Its work and that of ordinary other streams wait for each other.
    pub const DEFAULT: Stream = Stream(0);

    /// The stream with this handle. DLPack and CUDA's runtime call the default stream 1.
    pub fn of(handle: usize) -> Stream {
        if handle == 1 { Stream::DEFAULT } else { Stream(handle) }
    }

    /// The handle in the driver's calls and in [`crate::Call::stream`].
    pub fn handle(self) -> *mut c_void {
        ptr::without_provenance_mut(self.0)
    }

    /// The handle in DLPack and in `__cuda_array_interface__`, which forbid 0.
    pub fn dlpack_number(self) -> usize {
        self.0.max(1)
    }
}

/// Reason for which a function of the driver failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError {
    message: String,
    /// The driver's status; 0 if there is no driver.
    status: DriverStatus,
}

impl DriverError {
    /// Whether the device has too little memory.
    pub fn is_lack_of_memory(&self) -> bool {
        self.status == OUT_OF_MEMORY
    }
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for DriverError {}

macro_rules! functions {
    ($($field:ident: $symbol:literal ($($argument:ty),*);)*) => {
        /// The driver of this machine.
        pub struct Driver {
            $($field: unsafe extern "C" fn($($argument),*) -> DriverStatus,)*
            _library: Library,
        }

        impl Driver {
            fn load(name: &str) -> Result<Driver, String> {
                // SAFETY: the library is the system's driver, or one that the user trusts and has named.
                let library = unsafe { Library::new(name) }.map_err(|error| {
                    error.source().map_or_else(|| error.to_string(), ToString::to_string)
                })?;
                Ok(Driver {
                    $($field: {
                        // SAFETY: functions of this name have this type in every version of the driver.
                        let symbol = unsafe { library.get(concat!($symbol, "\0").as_bytes()) };
                        *symbol.map_err(|_| format!("{name} has no function {}", $symbol))?
                    },)*
                    _library: library,
                })
            }
        }
    };
}

functions! {
    init: "cuInit" (c_uint);
    device: "cuDeviceGet" (*mut c_int, c_int);
    device_attribute: "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    retain: "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    push: "cuCtxPushCurrent_v2" (Handle);
    pop: "cuCtxPopCurrent_v2" (*mut Handle);
    synchronize: "cuCtxSynchronize" ();
    alloc: "cuMemAllocAsync" (*mut u64, usize, Handle);
    free: "cuMemFreeAsync" (u64, Handle);
    upload: "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle);
    download: "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle);
    fill: "cuMemsetD8Async" (u64, u8, usize, Handle);
    stream_create: "cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy: "cuStreamDestroy_v2" (Handle);
    finish: "cuStreamSynchronize" (Handle);
    attribute: "cuPointerGetAttribute" (*mut c_int, c_int, u64);
    event_create: "cuEventCreate" (*mut Handle, c_uint);
    event_record: "cuEventRecord" (Handle, Handle);
    event_query: "cuEventQuery" (Handle);
    event_wait: "cuEventSynchronize" (Handle);
    event_elapsed: "cuEventElapsedTime" (*mut f32, Handle, Handle);
    event_destroy: "cuEventDestroy_v2" (Handle);
    wait: "cuStreamWaitEvent" (Handle, Handle, c_uint);
    text: "cuGetErrorString" (DriverStatus, *mut *const c_char);
}

/// The status for a lack of memory.
const OUT_OF_MEMORY: DriverStatus = 2;
/// The attribute of an address: the number of its device.
const DEVICE_ORDINAL_ATTRIBUTE: c_int = 9;
/// The attribute of a device: bytes of its second-level cache.
const SECOND_CACHE_ATTRIBUTE: c_int = 38;
/// The flag of an event that records no time.
const EVENT_WITHOUT_TIMING: c_uint = 2;

impl Driver {
    /// The driver, which is loaded at the first call: the library that `SCHEDC_CUDA_DRIVER` names, or the
    /// system's.
    ///
    /// # Errors
    /// When there is no driver, or it is too old.
    pub fn get() -> Result<&'static Driver, DriverError> {
        static DRIVER: OnceLock<Result<Driver, String>> = OnceLock::new();
        let found = DRIVER.get_or_init(|| {
            let named = std::env::var("SCHEDC_CUDA_DRIVER").ok().filter(|name| !name.is_empty());
            let driver = Driver::load(named.as_deref().unwrap_or("libcuda.so.1"))?;
            // SAFETY: the function takes this number.
            driver.check(unsafe { (driver.init)(0) }, "start").map_err(|error| error.message)?;
            Ok(driver)
        });
        found.as_ref().map_err(|reason| DriverError {
            message: format!(
                "there is no driver for NVIDIA GPUs ({reason}); install one, or set SCHEDC_CUDA_DRIVER to \
                 the path of its library"
            ),
            status: 0,
        })
    }

    /// Allocates memory that work in `stream` may use.
    ///
    /// # Errors
    /// When there is no such device, or too little memory.
    pub fn alloc(&self, device: i32, bytes: usize, stream: Stream) -> Result<u64, DriverError> {
        let mut address = 0;
        // SAFETY: the address is writable.
        let alloc = || unsafe { (self.alloc)(&raw mut address, bytes, stream.handle()) };
        self.run_in_context(device, &format!("allocate {bytes} bytes"), alloc)?;
        Ok(address)
    }

    /// Frees memory of [`Driver::alloc`] after the work in `stream`. If `waits_for_device` is true, it first
    /// waits for all work of the device.
    ///
    /// # Errors
    /// When the memory is not the driver's, or earlier work failed.
    ///
    /// # Safety
    /// Nobody uses the memory later, and the stream exists.
    pub unsafe fn free(
        &self,
        device: i32,
        address: u64,
        stream: Stream,
        waits_for_device: bool,
    ) -> Result<(), DriverError> {
        // SAFETY: as the caller promises.
        self.run_in_context(device, "free memory", || unsafe {
            match waits_for_device {
                true => (self.synchronize)(),
                false => 0,
            };
            (self.free)(address, stream.handle())
        })
    }

    /// Makes later work in stream `later` wait for the work that is already in stream `earlier`.
    ///
    /// # Errors
    /// When a stream does not exist.
    ///
    /// # Safety
    /// The streams are streams of the device.
    pub unsafe fn order_streams(
        &self,
        device: i32,
        earlier: Stream,
        later: Stream,
    ) -> Result<(), DriverError> {
        if earlier == later {
            return Ok(());
        }
        // SAFETY: as the caller promises. The driver keeps a destroyed event until its work is done.
        self.run_in_context(device, "make one stream wait for another", || unsafe {
            let mut event = ptr::null_mut();
            let mut status = (self.event_create)(&raw mut event, EVENT_WITHOUT_TIMING);
            if status != 0 {
                return status;
            }
            status = (self.event_record)(event, earlier.handle());
            if status == 0 {
                status = (self.wait)(later.handle(), event, 0);
            }
            (self.event_destroy)(event);
            status
        })
    }

    /// Copies memory to the host after the earlier work in `stream`, and waits for the copy.
    ///
    /// # Errors
    /// When the copy or earlier work fails.
    ///
    /// # Safety
    /// `to` and `from` each have `bytes` bytes, and the stream exists.
    pub unsafe fn download(
        &self,
        device: i32,
        to: *mut c_void,
        from: u64,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), DriverError> {
        // SAFETY: as the caller promises.
        self.run_in_context(device, "copy results to the host", || unsafe {
            match (self.download)(to, from, bytes, stream.handle()) {
                0 => (self.finish)(stream.handle()),
                status => status,
            }
        })
    }

    /// Bytes of the second-level cache of a device.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn second_cache_bytes(&self, device: i32) -> Result<usize, DriverError> {
        let mut bytes = 0;
        // SAFETY: the number is writable.
        self.run_in_context(device, "find the size of the second-level cache", || unsafe {
            let mut number = 0;
            match (self.device)(&raw mut number, device) {
                0 => (self.device_attribute)(&raw mut bytes, SECOND_CACHE_ATTRIBUTE, number),
                status => status,
            }
        })?;
        Ok(usize::try_from(bytes).unwrap_or(0))
    }

    /// The number of the device in whose memory `address` is.
    ///
    /// # Errors
    /// When the address is not in the memory of a device.
    pub fn device_of(&self, address: u64) -> Result<i32, DriverError> {
        let mut device = 0;
        // SAFETY: the number is writable, and the driver only compares the address.
        let status = unsafe { (self.attribute)(&raw mut device, DEVICE_ORDINAL_ATTRIBUTE, address) };
        self.check(status, "find the GPU of an address")?;
        Ok(device)
    }

    /// Runs functions of the driver in the context of a device, which all users of the device share.
    fn run_in_context(
        &self,
        device: i32,
        task: &str,
        run: impl FnOnce() -> DriverStatus,
    ) -> Result<(), DriverError> {
        let (mut number, mut context) = (0, ptr::null_mut());
        // SAFETY: the number and the context are writable.
        unsafe {
            self.check((self.device)(&raw mut number, device), &format!("find GPU {device}"))?;
            self.check((self.retain)(&raw mut context, number), &format!("open GPU {device}"))?;
            self.check((self.push)(context), &format!("open GPU {device}"))?;
            let status = run();
            (self.pop)(&raw mut context);
            self.check(status, task)
        }
    }

    fn check(&self, status: DriverStatus, task: &str) -> Result<(), DriverError> {
        if status == 0 {
            return Ok(());
        }
        let mut text = ptr::null();
        // SAFETY: the text is the driver's own.
        let known = unsafe {
            (self.text)(status, &raw mut text);
            crate::model::text(text)
        };
        let reason = known.unwrap_or_else(|| format!("error {status}"));
        Err(DriverError { message: format!("the driver could not {task}: {reason}"), status })
    }
}
