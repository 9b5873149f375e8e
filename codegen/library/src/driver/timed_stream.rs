//! A stream whose work the device itself times.

use super::{Driver, DriverError, DriverStatus, Handle, Stream};
use std::ffi::c_uint;
use std::ptr;
use std::time::Duration;

/// The flag of a stream that does not wait for the default stream.
const STREAM_ALONE: c_uint = 1;
/// The flag of an event that records its time.
const EVENT_WITH_TIMING: c_uint = 0;
/// The status of an event that the device has not reached.
const NOT_READY: DriverStatus = 600;

/// An event: the driver's handle, as a number. 0 is no event.
#[derive(Clone, Copy, Debug)]
struct Event(usize);

impl Event {
    fn handle(self) -> Handle {
        ptr::without_provenance_mut(self.0)
    }
}

/// A stream of a device with the memory of its work, and two events around the work that is timed. Its work
/// and that of other streams do not wait for each other.
pub struct TimedStream {
    driver: &'static Driver,
    device: i32,
    stream: Stream,
    /// Events before and after the timed work.
    events: [Event; 2],
    /// Addresses of the memory that is freed with the stream.
    memory: Vec<u64>,
}

impl TimedStream {
    /// Makes a stream of a device.
    ///
    /// # Errors
    /// When there is no driver or no such device, or the driver fails.
    pub fn new(device: i32) -> Result<TimedStream, DriverError> {
        let driver = Driver::get()?;
        // If a later step fails, `drop` destroys the results of the earlier ones.
        let mut made = TimedStream {
            driver,
            device,
            stream: Stream::DEFAULT,
            events: [Event(0); 2],
            memory: Vec::new(),
        };
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: the handle is writable.
        made.run("make a stream", || unsafe { (driver.stream_create)(&raw mut handle, STREAM_ALONE) })?;
        made.stream = Stream(handle.addr());
        for at in 0..made.events.len() {
            // SAFETY: the handle is writable.
            let create = || unsafe { (driver.event_create)(&raw mut handle, EVENT_WITH_TIMING) };
            made.run("make an event", create)?;
            made.events[at] = Event(handle.addr());
        }
        Ok(made)
    }

    /// The stream, for calls. It ends with this value.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// Allocates memory for work in the stream. It is freed with this value.
    ///
    /// # Errors
    /// When the device has too little memory.
    pub fn alloc(&mut self, bytes: usize) -> Result<u64, DriverError> {
        let address = self.driver.alloc(self.device, bytes.max(1), self.stream)?;
        self.memory.push(address);
        Ok(address)
    }

    /// Allocates memory with a copy of these bytes.
    ///
    /// # Errors
    /// When the device has too little memory, or the copy fails.
    pub fn upload(&mut self, bytes: &[u8]) -> Result<u64, DriverError> {
        let address = self.alloc(bytes.len())?;
        // SAFETY: the memory has this length, and the call waits for the copy.
        self.run("copy rows to the GPU", || unsafe {
            match (self.driver.upload)(address, bytes.as_ptr().cast(), bytes.len(), self.stream.handle()) {
                0 => (self.driver.finish)(self.stream.handle()),
                status => status,
            }
        })?;
        Ok(address)
    }

    /// Puts a task into the stream that writes `value` to memory.
    ///
    /// # Errors
    /// When the driver fails.
    ///
    /// # Safety
    /// The memory is from [`Self::alloc`], and has at least `bytes` bytes.
    pub unsafe fn fill(&self, address: u64, value: u8, bytes: usize) -> Result<(), DriverError> {
        // SAFETY: as the caller promises.
        let fill = || unsafe { (self.driver.fill)(address, value, bytes, self.stream.handle()) };
        self.run("fill memory", fill)
    }

    /// Marks the beginning of the timed work.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn begin(&self) -> Result<(), DriverError> {
        self.record(self.events[0])
    }

    /// Marks the end of the timed work. The device need not have reached it.
    ///
    /// # Errors
    /// When the driver fails.
    pub fn end(&self) -> Result<(), DriverError> {
        self.record(self.events[1])
    }

    fn record(&self, event: Event) -> Result<(), DriverError> {
        // SAFETY: the event and the stream exist.
        let record = || unsafe { (self.driver.event_record)(event.handle(), self.stream.handle()) };
        self.run("mark a time", record)
    }

    /// Whether the device has reached the beginning of the timed work.
    ///
    /// # Errors
    /// When earlier work failed.
    pub fn has_begun(&self) -> Result<bool, DriverError> {
        let mut is_ready = true;
        // SAFETY: the event exists.
        self.run("query a time", || match unsafe { (self.driver.event_query)(self.events[0].handle()) } {
            NOT_READY => {
                is_ready = false;
                0
            }
            status => status,
        })?;
        Ok(is_ready)
    }

    /// Waits for the timed work. Returns the time that the device took for it, by its own clock.
    ///
    /// # Errors
    /// When the work failed.
    pub fn elapsed(&self) -> Result<Duration, DriverError> {
        let [first, last] = self.events.map(Event::handle);
        let mut millis = 0.0;
        // SAFETY: the events exist, and the number is writable.
        self.run("wait for timed work", || unsafe { (self.driver.event_wait)(last) })?;
        // SAFETY: as above.
        let measure = || unsafe { (self.driver.event_elapsed)(&raw mut millis, first, last) };
        self.run("measure the time between two events", measure)?;
        Ok(Duration::try_from_secs_f64(f64::from(millis) * 1e-3).unwrap_or_default())
    }

    /// Waits for all work in the stream.
    ///
    /// # Errors
    /// When the work failed.
    pub fn finish(&self) -> Result<(), DriverError> {
        // SAFETY: the stream exists.
        self.run("wait for a stream", || unsafe { (self.driver.finish)(self.stream.handle()) })
    }

    fn run(&self, task: &str, run: impl FnOnce() -> DriverStatus) -> Result<(), DriverError> {
        self.driver.run_in_context(self.device, task, run)
    }
}

impl Drop for TimedStream {
    fn drop(&mut self) {
        let driver = self.driver;
        let stream = self.stream.handle();
        // The driver fails here only if the device has failed. Its memory is then lost in any case.
        let _ = self.run("free memory", || {
            // SAFETY: the stream, the events and the memory are this value's own, and nobody uses them later.
            unsafe {
                for address in &self.memory {
                    (driver.free)(*address, stream);
                }
                let status = (driver.finish)(stream);
                for event in self.events.into_iter().filter(|event| event.0 != 0) {
                    (driver.event_destroy)(event.handle());
                }
                if self.stream != Stream::DEFAULT {
                    (driver.stream_destroy)(stream);
                }
                status
            }
        });
    }
}
