//! Buffers of a run: their bytes, initialised parts, and earlier accesses.

use super::conflict::Conflict;
use super::error::AccessKind;
use super::ops;
use super::race::{Tasks, Touches, record};
use super::threads::{ThreadTouches, record_thread};
use crate::lir::{Scalar, Ty};
use std::ops::Range;

/// Kind of an invalid access; the caller adds its position.
pub(super) enum Trap<'f> {
    OutOfBounds(Range<i128>),
    ReadOnly(Range<i128>),
    Uninitialised(Range<i128>),
    Race(Range<i128>, AccessKind, Box<Conflict<'f>>),
}

/// The memory of one buffer.
pub(super) struct Region<'m> {
    bytes: RegionBytes<'m>,
    /// Whether each byte has a value. Unused for read-only memory, which is initialised.
    written: Vec<bool>,
    /// Earlier accesses to each byte by iterations of parallel loops. Empty until iterations share the
    /// buffer.
    touches: Vec<Touches>,
    /// Earlier accesses to each byte by threads of launches. Empty until threads share the buffer.
    by_threads: Vec<ThreadTouches>,
    /// Number of parallel loops around the buffer's allocation, whose iterations do not share it.
    /// `usize::MAX` if no iterations or threads share the buffer.
    depth: usize,
}

enum RegionBytes<'m> {
    Constant(&'m [u8]),
    Borrowed(&'m mut [u8]),
    Owned(Vec<u8>),
}

impl<'m> Region<'m> {
    /// Read-only memory of the caller.
    pub fn constant(bytes: &'m [u8]) -> Region<'m> {
        Region::new(RegionBytes::Constant(bytes), Vec::new(), usize::MAX)
    }

    /// Read-only memory that the interpreter owns.
    pub fn read_only(bytes: Vec<u8>) -> Region<'m> {
        let written = vec![true; bytes.len()];
        Region::new(RegionBytes::Owned(bytes), written, 0)
    }

    /// Writable memory of the caller. Its bytes have values if `is_written`; otherwise they count as
    /// uninitialised.
    pub fn borrowed(bytes: &'m mut [u8], is_written: bool) -> Region<'m> {
        let written = vec![is_written; bytes.len()];
        Region::new(RegionBytes::Borrowed(bytes), written, 0)
    }

    /// Temporary memory of `size` bytes, allocated inside `depth` parallel loops.
    pub fn owned(size: usize, depth: usize) -> Region<'m> {
        Region::new(RegionBytes::Owned(vec![0; size]), vec![false; size], depth)
    }

    /// Counters for launches: temporary memory of `size` bytes that are 0.
    pub fn counters(size: usize) -> Region<'m> {
        Region::new(RegionBytes::Owned(vec![0; size]), vec![true; size], 0)
    }

    /// Temporary memory of `size` bytes for one thread of a launch.
    pub fn of_thread(size: usize) -> Region<'m> {
        Region::owned(size, usize::MAX)
    }

    fn new(bytes: RegionBytes<'m>, written: Vec<bool>, depth: usize) -> Region<'m> {
        Region { bytes, written, touches: Vec::new(), by_threads: Vec::new(), depth }
    }

    /// Whether the region is temporary memory of one thread.
    pub fn is_of_thread(&self) -> bool {
        self.depth == usize::MAX && matches!(self.bytes, RegionBytes::Owned(_))
    }

    /// Whether all bytes are 0.
    pub fn is_zero(&self) -> bool {
        self.get().iter().all(|byte| *byte == 0)
    }

    /// Size in bytes.
    pub fn size(&self) -> usize {
        self.get().len()
    }

    #[inline]
    fn get(&self) -> &[u8] {
        match &self.bytes {
            RegionBytes::Constant(bytes) => bytes,
            RegionBytes::Borrowed(bytes) => bytes,
            RegionBytes::Owned(bytes) => bytes,
        }
    }

    /// The bytes of an access to `width` bytes from `start`, if they are in the buffer.
    #[inline]
    fn range<'f>(&self, start: i128, width: u32) -> Result<Range<usize>, Trap<'f>> {
        let end = start + i128::from(width);
        if start < 0 || end > self.size() as i128 {
            return Err(Trap::OutOfBounds(start..end));
        }
        Ok(start as usize..end as usize)
    }

    /// Reads a value, lane by lane, from consecutive bytes.
    #[inline]
    pub fn load<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        start: i128,
        ty: Ty,
        lanes: &mut [u64],
    ) -> Result<(), Trap<'f>> {
        let range = self.range(start, ty.bytes())?;
        self.record_access(tasks, &range, AccessKind::Read)?;
        self.initialised(&range)?;
        let bytes = &self.get()[range];
        for (lane, bytes) in lanes.iter_mut().zip(bytes.chunks_exact(ty.scalar.bytes() as usize)) {
            *lane = ops::decode(ty.scalar, bytes);
        }
        Ok(())
    }

    /// Writes a value, lane by lane, to consecutive bytes.
    #[inline]
    pub fn store<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        start: i128,
        ty: Ty,
        lanes: &[u64],
    ) -> Result<(), Trap<'f>> {
        let range = self.range(start, ty.bytes())?;
        self.record_access(tasks, &range, AccessKind::Write)?;
        self.write(range, ty.scalar, lanes)
    }

    /// Adds 1 to an integer of 32 bits in memory, and returns its old value.
    pub fn count_up<'f>(&mut self, tasks: &Tasks<'f>, start: i128) -> Result<u64, Trap<'f>> {
        let range = self.range(start, Scalar::I32.bytes())?;
        self.record_access(tasks, &range, AccessKind::Atomic)?;
        self.initialised(&range)?;
        let old = ops::decode(Scalar::I32, &self.get()[range.clone()]);
        self.write(range, Scalar::I32, &[ops::bin(crate::lir::Bin::Add, Scalar::I32, old, 1)])?;
        Ok(old)
    }

    /// Adds a float to memory.
    pub fn atomic_add<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        start: i128,
        scalar: Scalar,
        lane: u64,
    ) -> Result<(), Trap<'f>> {
        let range = self.range(start, scalar.bytes())?;
        self.record_access(tasks, &range, AccessKind::Atomic)?;
        self.initialised(&range)?;
        let old = ops::decode(scalar, &self.get()[range.clone()]);
        self.write(range, scalar, &[ops::bin(crate::lir::Bin::Add, scalar, old, lane)])
    }

    #[inline]
    fn write<'f>(&mut self, range: Range<usize>, scalar: Scalar, lanes: &[u64]) -> Result<(), Trap<'f>> {
        let bytes = match &mut self.bytes {
            RegionBytes::Constant(_) => return Err(Trap::ReadOnly(wide(&range))),
            RegionBytes::Borrowed(bytes) => &mut bytes[range.clone()],
            RegionBytes::Owned(bytes) => &mut bytes[range.clone()],
        };
        for (lane, bytes) in lanes.iter().zip(bytes.chunks_exact_mut(scalar.bytes() as usize)) {
            ops::encode(scalar, *lane, bytes);
        }
        self.written[range].fill(true);
        Ok(())
    }

    #[inline]
    fn initialised<'f>(&self, range: &Range<usize>) -> Result<(), Trap<'f>> {
        if matches!(self.bytes, RegionBytes::Constant(_)) {
            return Ok(());
        }
        let written = &self.written[range.clone()];
        let Some(first) = written.iter().position(|w| !w) else { return Ok(()) };
        let count = written[first..].iter().take_while(|w| !**w).count();
        let first = range.start + first;
        Err(Trap::Uninitialised(wide(&(first..first + count))))
    }

    /// Records the access if iterations or threads share the buffer.
    #[inline]
    fn record_access<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        range: &Range<usize>,
        kind: AccessKind,
    ) -> Result<(), Trap<'f>> {
        if self.depth == usize::MAX {
            return Ok(());
        }
        if tasks.in_launch() {
            return self.record_access_by_thread(tasks, range, kind);
        }
        if tasks.depth() <= self.depth { Ok(()) } else { self.record_access_by_iteration(tasks, range, kind) }
    }

    fn record_access_by_iteration<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        range: &Range<usize>,
        kind: AccessKind,
    ) -> Result<(), Trap<'f>> {
        if self.touches.is_empty() {
            self.touches = vec![[0; 3]; self.size()];
        }
        // Bytes of one access often have the same earlier accesses, which are then checked once.
        let mut known = None;
        for (i, touches) in self.touches[range.clone()].iter_mut().enumerate() {
            let after = match known {
                Some((before, after)) if before == *touches => after,
                _ => record(tasks, *touches, kind).map_err(|conflict| {
                    let first = range.start + i;
                    Trap::Race(wide(&(first..range.end)), kind, conflict)
                })?,
            };
            known = Some((*touches, after));
            *touches = after;
        }
        Ok(())
    }

    fn record_access_by_thread<'f>(
        &mut self,
        tasks: &Tasks<'f>,
        range: &Range<usize>,
        kind: AccessKind,
    ) -> Result<(), Trap<'f>> {
        if self.by_threads.is_empty() {
            self.by_threads = vec![ThreadTouches::default(); self.size()];
        }
        let Some(clock) = tasks.clock() else { return Ok(()) };
        for (i, touches) in self.by_threads[range.clone()].iter_mut().enumerate() {
            record_thread(clock, touches, kind).map_err(|conflict| {
                let first = range.start + i;
                Trap::Race(wide(&(first..range.end)), kind, conflict)
            })?;
        }
        Ok(())
    }
}

fn wide(range: &Range<usize>) -> Range<i128> {
    range.start as i128..range.end as i128
}

/// Byte `index * stride + offset` of a buffer.
#[inline]
pub(super) fn byte_offset(index: i128, stride: u32, offset: u32) -> i128 {
    index * i128::from(stride) + i128::from(offset)
}
