//! Clocks: cycles of the warps of a launch on a GPU, measured by running a few blocks.
//!
//! A warp issues in order. A statement waits for its operands, issues one or several instructions, and
//! its result is ready after a latency. Only the first lane of each warp has a clock. If another lane
//! issues more instructions between two barriers, the warp's time is scaled up accordingly. Contention
//! between warps of a multiprocessor is not modelled here; `sched-cost` derives times from these
//! counts.

use crate::lir::{Bin, Function, Op, Space, Stmt, Value};
use std::collections::HashSet;

/// Bytes of a cache line, whose sectors share a tag look-up.
const LINE: u64 = 128;
/// Instructions of an exponential, or of another function of the C library; an estimate.
const MATH: u64 = 24;
/// Instructions of an iteration: increment, compare and branch.
const ITERATION: u64 = 2;

/// Latencies in cycles, from an instruction to its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// Arithmetic and register moves.
    pub arithmetic: u64,
    /// Shared memory.
    pub shared: u64,
    /// Device memory in a sector that the block has touched before.
    pub near: u64,
    /// Device memory in a sector that the block touches for the first time.
    pub far: u64,
    /// Cycles from the last thread's arrival at a barrier to the first thread's departure.
    pub barrier: u64,
}

/// Parameters of a sampled run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// Threads of a warp.
    pub warp: u32,
    /// Most blocks of each launch that run.
    pub blocks: u64,
    /// Latencies of instructions.
    pub latencies: Latencies,
}

/// Work of the blocks that ran, in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockWork {
    /// Instructions that warps issued.
    pub instructions: u64,
    /// Cycles from the start of a block to its end, if it had a multiprocessor alone.
    pub cycles: u64,
    /// Cache lines of 128 bytes that accesses of warps to device memory touched.
    pub lines: u64,
    /// Distinct sectors of the model's tables that blocks touched.
    pub model_sectors: u64,
    /// Distinct sectors of other memory that blocks touched: rows, results and slots.
    pub call_sectors: u64,
}

/// Clocks of the warps of the running block.
pub(super) struct Pace {
    sampling: Sampling,
    /// Number of values of the function.
    values: usize,
    /// Number of the running thread in its block.
    thread: u32,
    /// Instructions of each thread since all threads last met.
    issued: Vec<u64>,
    /// Clock of each warp's first lane.
    warps: Vec<WarpClock>,
    /// Sectors that the running block has touched.
    touched: HashSet<(u32, u64)>,
    /// Latency of the running access in cycles.
    served: u64,
    /// Number of blocks that ran, and their work, for each launch.
    done: Vec<(u64, BlockWork)>,
}

#[derive(Clone, Default)]
struct WarpClock {
    now: u64,
    /// Time at which all threads last met.
    met: u64,
    /// Time at which each value is ready.
    ready: Vec<u64>,
}

impl Pace {
    /// Clocks for a function of `values` values.
    pub fn new(sampling: Sampling, values: usize) -> Pace {
        let (issued, warps, done) = (Vec::new(), Vec::new(), Vec::new());
        Pace { sampling, values, thread: 0, issued, warps, touched: HashSet::new(), served: 0, done }
    }

    /// Number of blocks of a launch that run.
    pub fn blocks(&self, all: u64) -> u64 {
        all.min(self.sampling.blocks)
    }

    /// Starts a block of a launch.
    pub fn begin(&mut self, launch: usize, threads: u32) {
        if self.done.len() <= launch {
            self.done.resize(launch + 1, (0, BlockWork::default()));
        }
        let warps = threads.div_ceil(self.sampling.warp.max(1)) as usize;
        self.issued = vec![0; threads as usize];
        self.warps = vec![WarpClock { now: 0, met: 0, ready: vec![0; self.values] }; warps];
        self.touched.clear();
    }

    /// Ends a block of a launch.
    pub fn end(&mut self, launch: usize) {
        let cycles = self.warps.iter().map(|warp| warp.now).max().unwrap_or(0);
        if let Some((ran, work)) = self.done.get_mut(launch) {
            *ran += 1;
            work.cycles += cycles;
        }
    }

    /// Switches to a thread of the block.
    pub fn run_thread(&mut self, number: u32) {
        self.thread = number;
    }

    /// Synchronises the counts of all threads, at a barrier, at the end, or at uniform statements.
    pub fn meet(&mut self, launch: usize) {
        let size = self.sampling.warp.max(1) as usize;
        let mut instructions = 0;
        for (warp, lanes) in self.warps.iter_mut().zip(self.issued.chunks_mut(size)) {
            let (first, most) =
                (lanes.first().copied().unwrap_or(0), lanes.iter().copied().max().unwrap_or(0));
            instructions += most;
            if let Some(share) = ((warp.now - warp.met) * most).checked_div(first) {
                warp.now = warp.met + share;
            }
            warp.met = warp.now;
            lanes.fill(0);
        }
        if let Some((_, work)) = self.done.get_mut(launch) {
            work.instructions += instructions;
        }
    }

    /// Makes all threads wait for the latest one.
    pub fn barrier(&mut self) {
        let latest = self.warps.iter().map(|warp| warp.now).max().unwrap_or(0);
        for warp in &mut self.warps {
            warp.now = latest + self.sampling.latencies.barrier;
            warp.met = warp.now;
        }
    }

    /// Clock of the running thread, if it is the first lane of a warp.
    #[inline]
    fn clock(&mut self) -> Option<&mut WarpClock> {
        let size = self.sampling.warp.max(1);
        match self.thread.is_multiple_of(size) {
            true => self.warps.get_mut((self.thread / size) as usize),
            false => None,
        }
    }

    #[inline]
    fn issue(&mut self, instructions: u64) {
        if let Some(issued) = self.issued.get_mut(self.thread as usize) {
            *issued += instructions;
        }
        if let Some(clock) = self.clock() {
            clock.now += instructions;
        }
    }

    /// Waits until some values are ready.
    #[inline]
    fn wait(&mut self, for_values: impl FnOnce(&mut dyn FnMut(Value))) {
        if let Some(clock) = self.clock() {
            let mut latest = clock.now;
            for_values(&mut |value| {
                latest = latest.max(clock.ready.get(value.0 as usize).copied().unwrap_or(0))
            });
            clock.now = latest;
        }
    }

    /// Copies the ready time of a value.
    #[inline]
    pub fn copy(&mut self, from: Value, to: Value) {
        if let Some(clock) = self.clock()
            && let Some(ready) = clock.ready.get(from.0 as usize).copied()
            && let Some(place) = clock.ready.get_mut(to.0 as usize)
        {
            *place = ready;
        }
    }

    /// Starts an iteration, or takes a branch on a value.
    #[inline]
    pub fn branch(&mut self, by: Option<Value>) {
        self.wait(|visit| by.into_iter().for_each(visit));
        self.issue(if by.is_some() { 1 } else { ITERATION });
    }

    /// Before a statement runs: waits for its operands and issues its instructions.
    #[inline]
    pub fn before(&mut self, function: &Function, stmt: &Stmt) {
        self.served = self.sampling.latencies.arithmetic;
        let count = match stmt {
            Stmt::Let(value, op) => {
                self.wait(|visit| op.for_each_value(visit));
                instructions(op, u64::from(function.ty(*value).lanes))
            }
            Stmt::Store(to, value) | Stmt::AtomicAdd(to, value) => {
                self.wait(|visit| [to.index, *value].into_iter().for_each(visit));
                2
            }
            Stmt::StoreMasked(to, value, mask) => {
                self.wait(|visit| [to.index, *value, *mask].into_iter().for_each(visit));
                2
            }
            _ => 0,
        };
        self.issue(count);
    }

    /// After a statement ran: sets the ready time of its result.
    #[inline]
    pub fn after(&mut self, stmt: &Stmt) {
        let Stmt::Let(value, op) = stmt else { return };
        let latency = match op {
            Op::Int(_) | Op::Float(_) | Op::Rows | Op::Id(_) => 0,
            Op::Math(..) => MATH * self.sampling.latencies.arithmetic,
            _ => self.served,
        };
        if let Some(clock) = self.clock()
            && let Some(place) = clock.ready.get_mut(value.0 as usize)
        {
            *place = clock.now + latency;
        }
    }

    /// Charges an access of the running thread to shared or device memory.
    pub fn access(
        &mut self,
        launch: usize,
        (buffer, space): (u32, Space),
        start: u64,
        bytes: u64,
        sector: u64,
    ) {
        let Latencies { shared, near, far, .. } = self.sampling.latencies;
        if space == Space::Shared {
            self.served = self.served.max(shared);
            return;
        }
        let mut new = 0;
        for sector in start / sector..(start + bytes).div_ceil(sector) {
            new += u64::from(self.touched.insert((buffer, sector)));
        }
        self.served = self.served.max(if new > 0 { far } else { near });
        if let Some((_, work)) = self.done.get_mut(launch) {
            match space {
                Space::Model(_) => work.model_sectors += new,
                _ => work.call_sectors += new,
            }
        }
    }

    /// Counts the cache lines of a warp's access to device memory.
    pub fn lines(&mut self, launch: usize, lanes: &[(u64, u64)]) {
        let mut lines: Vec<u64> =
            lanes.iter().flat_map(|(start, end)| start / LINE..end.div_ceil(LINE)).collect();
        lines.sort_unstable();
        lines.dedup();
        if let Some((_, work)) = self.done.get_mut(launch) {
            work.lines += lines.len() as u64;
        }
    }

    /// Number of blocks of a launch that ran, and their work.
    pub fn work(&self, launch: usize) -> (u64, BlockWork) {
        self.done.get(launch).copied().unwrap_or_default()
    }
}

/// Instructions of an operation, an estimate since the assembler merges some.
fn instructions(op: &Op, lanes: u64) -> u64 {
    match op {
        Op::Int(_) | Op::Float(_) | Op::Rows | Op::Id(_) | Op::Splat(_) | Op::Iota | Op::Extract(..) => 0,
        // A vector of few bytes is one register.
        Op::Bin(Bin::IDiv | Bin::Div, ..) => 4 * lanes,
        Op::Math(..) => MATH * lanes,
        // An access also computes an address.
        Op::Load(..) | Op::LoadMasked(..) => 2,
        Op::Gather(_) | Op::Lookup(..) => 2 * lanes,
        _ => lanes,
    }
}
