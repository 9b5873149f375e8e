//! Interpreter of LIR, which reports errors that compiled code would hide: accesses outside a buffer,
//! reads of uninitialised memory, and races between iterations of parallel loops. It is the oracle for
//! the back ends.
//!
//! Iterations of a parallel loop, and threads of a launch, run one after the other, in a scrambled
//! order that depends only on a seed. Any order detects a race, unless another error precedes it.

mod access;
mod call_memory;
mod conflict;
mod error;
mod launch;
mod memory;
mod ops;
mod options;
mod order;
mod product;
mod race;
mod threads;
mod tickets;
mod vector;
mod warp;

pub use call_memory::CallMemory;
pub use error::{AccessKind, InterpreterError, InvalidAccess, Race};
pub use options::InterpreterOptions;
pub use warp::{AccessCost, LaunchCost};

use crate::lir::{Alloc, Block, Carried, For, Function, If, Op, Parallel, Space, Stmt, Value, While};
use crate::verify::verify;
use call_memory::regions;
use memory::Region;
use race::Tasks;
use threads::ThreadCoordinates;
use warp::AccessCounter;

/// Runs a function with the default [`InterpreterOptions`].
pub fn run(function: &Function, memory: CallMemory<'_>) -> Result<(), InterpreterError> {
    run_with(function, memory, &InterpreterOptions::default())
}

/// Runs a function. After an error, the output holds the values that were written before.
pub fn run_with(
    function: &Function,
    memory: CallMemory<'_>,
    options: &InterpreterOptions,
) -> Result<(), InterpreterError> {
    verify(function).map_err(InterpreterError::Malformed)?;
    Interpreter::new(function, memory, options)?.block(&function.body)
}

/// Runs a function as [`run_with`] does, and counts the costs of its launches on a GPU with `warp`
/// threads per warp.
///
/// # Errors
///
/// As for [`run_with`].
pub fn count_launches(
    function: &Function,
    memory: CallMemory<'_>,
    options: &InterpreterOptions,
    warp: u32,
) -> Result<Vec<LaunchCost>, InterpreterError> {
    verify(function).map_err(InterpreterError::Malformed)?;
    let mut interpreter = Interpreter::new(function, memory, options)?;
    interpreter.access_counter = Some(AccessCounter::new(warp));
    interpreter.block(&function.body)?;
    let counter = interpreter
        .access_counter
        .ok_or_else(|| InterpreterError::Malformed("nothing was counted".to_string()))?;
    Ok(counter.costs(function, |stmt| error::statement_text(function, stmt)))
}

/// Costs of the accesses of all launches.
///
/// # Errors
///
/// As for [`run_with`].
pub fn count_accesses(
    function: &Function,
    memory: CallMemory<'_>,
    options: &InterpreterOptions,
    warp: u32,
) -> Result<Vec<AccessCost>, InterpreterError> {
    let launches = count_launches(function, memory, options, warp)?;
    Ok(launches.into_iter().flat_map(|launch| launch.accesses).collect())
}

/// State of a run. The verifier has checked the function, so numbers of values and buffers are valid, and
/// values are defined before use.
struct Interpreter<'f, 'm> {
    function: &'f Function,
    options: &'f InterpreterOptions,
    rows: i64,
    /// Lanes of all values.
    lanes: Vec<u64>,
    /// Index of each value's first lane.
    first_lane: Vec<usize>,
    /// Scratch memory for carried values on their way to the next iteration.
    passing: Vec<u64>,
    regions: Vec<Region<'m>>,
    /// Coordinates of the running thread of a launch.
    coordinates: ThreadCoordinates,
    /// Access counts, if requested.
    access_counter: Option<AccessCounter>,
    tasks: Tasks<'f>,
    steps_left: u64,
    memory_left: u64,
}

impl<'f, 'm> Interpreter<'f, 'm> {
    fn new(
        function: &'f Function,
        memory: CallMemory<'m>,
        options: &'f InterpreterOptions,
    ) -> Result<Interpreter<'f, 'm>, InterpreterError> {
        let mut total = 0;
        let place = |ty: &crate::lir::Ty| {
            let first = total;
            total += usize::from(ty.lanes);
            first
        };
        let first_lane: Vec<usize> = function.types.iter().map(place).collect();
        Ok(Interpreter {
            function,
            options,
            rows: memory.rows,
            lanes: vec![0; total],
            first_lane,
            passing: Vec::new(),
            regions: regions(function, memory, options)?,
            coordinates: ThreadCoordinates::default(),
            access_counter: None,
            tasks: Tasks::new(options.seed),
            steps_left: options.max_steps,
            memory_left: options.max_memory,
        })
    }

    #[inline]
    fn at(&self, value: Value) -> usize {
        self.first_lane[value.0 as usize]
    }

    /// The lane of a scalar.
    #[inline]
    fn lane(&self, value: Value) -> u64 {
        self.lanes[self.at(value)]
    }

    #[inline]
    fn int(&self, value: Value) -> i64 {
        self.lane(value) as i64
    }

    #[inline]
    fn set_int(&mut self, value: Value, n: i64) {
        let at = self.at(value);
        self.lanes[at] = n as u64;
    }

    #[inline]
    fn copy(&mut self, from: Value, to: Value) {
        let (from, to, lanes) = (self.at(from), self.at(to), self.function.ty(to).lanes);
        self.lanes.copy_within(from..from + usize::from(lanes), to);
    }

    #[inline]
    fn spend(&mut self, steps: u64) -> Result<(), InterpreterError> {
        match self.steps_left.checked_sub(steps) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(InterpreterError::TooLong { steps: self.options.max_steps }),
        }
    }

    #[inline]
    fn block(&mut self, block: &'f Block) -> Result<(), InterpreterError> {
        self.statements(block)
    }

    fn statements(&mut self, block: &'f [Stmt]) -> Result<(), InterpreterError> {
        for stmt in block {
            self.spend(1)?;
            match stmt {
                Stmt::Let(value, op) => self.define(stmt, *value, op)?,
                Stmt::Store(to, value) => self.store(stmt, to, *value)?,
                Stmt::StoreMasked(to, value, mask) => self.store_masked(stmt, to, *value, *mask)?,
                Stmt::AtomicAdd(to, value) => self.atomic_add(stmt, to, *value)?,
                Stmt::Prefetch(_) => {}
                Stmt::For(stmt) => self.for_loop(stmt)?,
                Stmt::While(stmt) => self.while_loop(stmt)?,
                Stmt::If(stmt) => self.if_else(stmt)?,
                Stmt::Parallel(stmt) => self.parallel(stmt)?,
                Stmt::Alloc(stmt) => self.alloc(stmt)?,
                Stmt::Launch(stmt) => self.launch(stmt)?,
                // `launch.rs` runs all threads up to these.
                Stmt::Barrier | Stmt::Fence | Stmt::Ticket(_) => {}
                Stmt::Product(product) => self.product(stmt, product)?,
            }
        }
        Ok(())
    }

    #[inline]
    fn define(&mut self, stmt: &'f Stmt, value: Value, op: &'f Op) -> Result<(), InterpreterError> {
        let ty = self.function.ty(value);
        let to = self.at(value);
        let count = usize::from(ty.lanes);
        let each = to..to + count;
        match *op {
            Op::Int(n) => self.lanes[each].fill(ops::wrap(ty.scalar, n)),
            Op::Float(x) => self.lanes[each].fill(ops::float(ty.scalar, x)),
            Op::RowCount => self.lanes[to] = self.rows as u64,
            Op::Id(dimension) => self.lanes[to] = self.coordinates.get(dimension) as u64,
            Op::Bin(op, a, b) => {
                let (a, b) = (self.at(a), self.at(b));
                for i in 0..count {
                    self.lanes[to + i] = ops::bin(op, ty.scalar, self.lanes[a + i], self.lanes[b + i]);
                }
            }
            Op::Cmp(op, a, b) => {
                let scalar = self.function.ty(a).scalar;
                let (a, b) = (self.at(a), self.at(b));
                for i in 0..count {
                    self.lanes[to + i] = ops::cmp(op, scalar, self.lanes[a + i], self.lanes[b + i]);
                }
            }
            Op::Select(cond, a, b) => {
                // A scalar condition selects all lanes.
                let step = usize::from(self.function.ty(cond).lanes > 1);
                let (cond, a, b) = (self.at(cond), self.at(a), self.at(b));
                for i in 0..count {
                    let from = if self.lanes[cond + i * step] != 0 { a } else { b };
                    self.lanes[to + i] = self.lanes[from + i];
                }
            }
            Op::Cast(cast, v) => {
                let scalar = self.function.ty(v).scalar;
                let v = self.at(v);
                for i in 0..count {
                    self.lanes[to + i] = ops::cast(cast, scalar, ty.scalar, self.lanes[v + i]);
                }
            }
            Op::Math(math, v) => {
                let v = self.at(v);
                for i in 0..count {
                    self.lanes[to + i] = ops::math(math, ty.scalar, self.lanes[v + i]);
                }
            }
            Op::Fma(a, b, c) => {
                let operands = [a, b, c].map(|operand| self.at(operand));
                for i in 0..count {
                    self.lanes[to + i] = ops::fma(ty.scalar, operands.map(|at| self.lanes[at + i]));
                }
            }
            Op::SquareRoot(v) => {
                let v = self.at(v);
                for i in 0..count {
                    self.lanes[to + i] = ops::square_root(ty.scalar, self.lanes[v + i]);
                }
            }
            Op::Round(rounding, v) => {
                let v = self.at(v);
                for i in 0..count {
                    self.lanes[to + i] = ops::round(rounding, ty.scalar, self.lanes[v + i]);
                }
            }
            Op::Load(ref from, _) => {
                let start = self.start_byte(from);
                self.count_access((stmt, 0), from.buffer, start, ty.bytes());
                let region = &mut self.regions[from.buffer.0 as usize];
                region
                    .load(&self.tasks, start, ty, &mut self.lanes[each])
                    .map_err(|trap| self.trap_error(stmt, from.buffer, trap))?;
            }
            Op::LoadMasked(ref from, mask) => self.load_masked(stmt, value, from, mask)?,
            Op::Gather(ref gather) => self.gather(stmt, value, gather)?,
            Op::Splat(v) => {
                let lane = self.lane(v);
                self.lanes[each].fill(lane);
            }
            Op::Iota => {
                for i in 0..count {
                    self.lanes[to + i] = ops::wrap(ty.scalar, i as i64);
                }
            }
            Op::Extract(v, lane) => self.lanes[to] = self.lanes[self.at(v) + usize::from(lane)],
            Op::ExtractHalf(v, number) => {
                let v = self.at(v);
                for i in 0..count {
                    let half = self.lanes[v + i] >> (32 * u32::from(number));
                    self.lanes[to + i] = ops::wrap(ty.scalar, half as i64);
                }
            }
            Op::BitcastNarrow(v) => {
                let from = self.function.ty(v);
                let (v, pieces) = (self.at(v), count / usize::from(from.lanes).max(1));
                for i in 0..count {
                    let piece = self.lanes[v + i / pieces] >> (8 * ty.scalar.bytes() as usize * (i % pieces));
                    self.lanes[to + i] = ops::wrap(ty.scalar, piece as i64);
                }
            }
            Op::Concat(a, b) => {
                let (a, b, half) = (self.at(a), self.at(b), count / 2);
                for i in 0..half {
                    self.lanes[to + i] = self.lanes[a + i];
                    self.lanes[to + half + i] = self.lanes[b + i];
                }
            }
            Op::TransposeStep(a, b, size, number) => {
                let (a, b, size) = (self.at(a), self.at(b), usize::from(size));
                for i in 0..count {
                    let (from, place) = if i & size == 0 { (a, i) } else { (b, i - size) };
                    self.lanes[to + i] = self.lanes[from + place + usize::from(number) * size];
                }
            }
            Op::LaneShift(v, distance) => {
                let (v, stay) = (self.at(v), count - usize::from(distance));
                for i in 0..count {
                    self.lanes[to + i] = if i < stay { self.lanes[v + i + usize::from(distance)] } else { 0 };
                }
            }
            Op::Lookup(table, index) => self.lookup(value, table, index),
            Op::Any(mask) => {
                let (mask, lanes) = (self.at(mask), self.function.ty(mask).lanes);
                let any = self.lanes[mask..mask + usize::from(lanes)].contains(&u64::MAX);
                self.lanes[to] = if any { u64::MAX } else { 0 };
            }
            Op::PopCount(bits) => self.lanes[to] = self.lane(bits).count_ones().into(),
            Op::MaskBits(mask) => {
                let (mask, lanes) = (self.at(mask), self.function.ty(mask).lanes);
                let each = self.lanes[mask..mask + usize::from(lanes)].iter().enumerate();
                self.lanes[to] = each.fold(0, |bits, (at, lane)| bits | (lane & 1) << at);
            }
        }
        Ok(())
    }

    fn for_loop(&mut self, stmt: &'f For) -> Result<(), InterpreterError> {
        let (lo, hi) = (self.int(stmt.lo), self.int(stmt.hi));
        self.begin(&stmt.carried);
        let mut next = Some(lo);
        while let Some(iv) = next.filter(|iv| *iv < hi) {
            self.spend(1)?;
            self.set_int(stmt.iv, iv);
            self.block(&stmt.body)?;
            self.pass_on(&stmt.carried);
            // A counter beyond the largest integer exceeds any end.
            next = iv.checked_add(stmt.step);
        }
        self.end(&stmt.carried);
        Ok(())
    }

    fn while_loop(&mut self, stmt: &'f While) -> Result<(), InterpreterError> {
        self.begin(&stmt.carried);
        loop {
            self.spend(1)?;
            self.block(&stmt.test)?;
            if self.lane(stmt.cond) == 0 {
                break;
            }
            self.block(&stmt.body)?;
            self.pass_on(&stmt.carried);
        }
        self.end(&stmt.carried);
        Ok(())
    }

    fn begin(&mut self, carried: &[Carried]) {
        for c in carried {
            self.copy(c.first, c.inside);
        }
    }

    /// Passes carried values to the next iteration. Reads all next values before it overwrites any, since a
    /// next value can be another one's current value.
    fn pass_on(&mut self, carried: &[Carried]) {
        if let [only] = carried {
            return self.copy(only.next, only.inside);
        }
        self.passing.clear();
        for c in carried {
            let (from, lanes) = (self.at(c.next), self.function.ty(c.next).lanes);
            self.passing.extend_from_slice(&self.lanes[from..from + usize::from(lanes)]);
        }
        let mut from = 0;
        for c in carried {
            let (to, lanes) = (self.at(c.inside), usize::from(self.function.ty(c.inside).lanes));
            self.lanes[to..to + lanes].copy_from_slice(&self.passing[from..from + lanes]);
            from += lanes;
        }
    }

    fn end(&mut self, carried: &[Carried]) {
        for c in carried {
            self.copy(c.inside, c.after);
        }
    }

    fn if_else(&mut self, stmt: &'f If) -> Result<(), InterpreterError> {
        let holds = self.lane(stmt.cond) != 0;
        self.block(if holds { &stmt.then } else { &stmt.otherwise })?;
        for j in &stmt.joined {
            self.copy(if holds { j.then } else { j.otherwise }, j.after);
        }
        Ok(())
    }

    fn parallel(&mut self, stmt: &'f Parallel) -> Result<(), InterpreterError> {
        let trip = u64::try_from(self.int(stmt.trip)).unwrap_or(0);
        self.tasks.enter(stmt, trip);
        for _ in 0..trip {
            self.spend(1)?;
            let too_many = InterpreterError::TooLong { steps: self.options.max_steps };
            let iv = self.tasks.next().ok_or(too_many)?;
            self.set_int(stmt.iv, iv);
            self.block(&stmt.body)?;
        }
        self.tasks.leave();
        Ok(())
    }

    /// Buffer and size in bytes of temporary memory. Subtracts the size from the run's remaining memory.
    fn reserve_memory(&mut self, stmt: &Alloc) -> Result<(usize, u64), InterpreterError> {
        let bytes = self.int(stmt.bytes);
        let size = u64::try_from(bytes).ok().filter(|size| *size <= self.memory_left);
        let Some(size) = size else {
            let buffer = self.function.buffer(stmt.buffer).name.clone();
            return Err(InterpreterError::Allocation { buffer, bytes, left: self.memory_left });
        };
        self.spend(size / 64)?;
        self.memory_left -= size;
        Ok((stmt.buffer.0 as usize, size))
    }

    fn alloc(&mut self, stmt: &'f Alloc) -> Result<(), InterpreterError> {
        let (buffer, size) = self.reserve_memory(stmt)?;
        let are_counters = self.function.buffer(stmt.buffer).space == Space::Counters;
        self.regions[buffer] = match self.tasks.in_launch() {
            true => Region::of_thread(size as usize),
            false if are_counters => Region::counters(size as usize),
            false => Region::owned(size as usize, self.tasks.depth()),
        };
        self.block(&stmt.body)?;
        if are_counters && !self.regions[buffer].is_zero() {
            let buffer = self.function.buffer(stmt.buffer).name.clone();
            return Err(InterpreterError::CounterKept { buffer });
        }
        self.regions[buffer] = Region::constant(&[]);
        self.memory_left += size;
        Ok(())
    }
}
