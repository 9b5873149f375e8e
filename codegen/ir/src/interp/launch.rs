//! Launches: threads run one after the other between barriers, in a scrambled order, and so do blocks.
//!
//! The verifier has proved that barriers, fences and tickets are in uniform control flow. So the threads of a
//! block run statements that contain these *in step*: conditions are the same for all threads. Between two
//! barriers, one thread after the other runs from the first to the second.

use super::order::Order;
use super::threads::ThreadCoordinates;
use super::{Interpreter, InterpreterError, Region};
use crate::lir::{Alloc, Block, Carried, For, If, Launch, Scalar, Space, Stmt, Ticket, Ty, While};
use std::mem::swap;

/// State of a thread while others run.
struct Thread<'m> {
    lanes: Vec<u64>,
    /// The thread's own memory: buffers with their regions.
    own: Vec<(usize, Region<'m>)>,
}

/// The threads of a block.
struct Threads<'m> {
    all: Vec<Thread<'m>>,
    extents: [u32; 3],
    block: [i64; 3],
    /// Number of times that all threads ran so far, from which the order of the next time follows.
    runs: u64,
}

/// Coordinates of block or thread `number`, in a grid or block with these extents. Numbers grow fastest in
/// dimension x.
fn place(number: u64, [x, y, _]: [u64; 3]) -> [i64; 3] {
    [number % x.max(1), number / x.max(1) % y.max(1), number / x.max(1) / y.max(1)].map(|n| n as i64)
}

impl<'f, 'm> Interpreter<'f, 'm> {
    /// Runs all blocks of a launch.
    pub(super) fn launch(&mut self, launch: &'f Launch) -> Result<(), InterpreterError> {
        let extents = launch.grid.map(|extent| u64::try_from(self.int(extent)).unwrap_or(0));
        let blocks = extents.iter().fold(1, |all: u64, extent| all.saturating_mul(*extent));
        let count = u64::from(launch.threads());
        self.spend(count)?;
        let thread = || Thread { lanes: self.lanes.clone(), own: Vec::new() };
        let all = (0..count).map(|_| thread()).collect();
        let mut threads = Threads { all, extents: launch.block, block: [0; 3], runs: 0 };
        self.tasks.enter_launch(launch, blocks);
        if let Some(counter) = &mut self.access_counter {
            counter.launch(launch, extents, blocks);
        }
        for _ in 0..blocks {
            self.spend(1)?;
            let too_many = InterpreterError::TooLong { steps: self.options.max_steps };
            let number = self.tasks.next_block().ok_or(too_many)?;
            threads.block = place(number as u64, extents);
            self.in_step(&mut threads, &launch.body)?;
        }
        self.tasks.leave_launch();
        Ok(())
    }

    /// Whether a statement contains a barrier, a fence, a ticket or an allocation of shared memory.
    fn is_cooperative(&self, stmt: &Stmt) -> bool {
        let here = match stmt {
            Stmt::Barrier | Stmt::Fence | Stmt::Ticket(_) => true,
            Stmt::Alloc(stmt) => self.is_shared(stmt),
            _ => false,
        };
        here || stmt.blocks().into_iter().flatten().any(|stmt| self.is_cooperative(stmt))
    }

    fn is_shared(&self, stmt: &Alloc) -> bool {
        self.function.buffer(stmt.buffer).space == Space::Shared
    }

    /// Runs statements that all threads reach.
    fn in_step(&mut self, threads: &mut Threads<'m>, block: &'f Block) -> Result<(), InterpreterError> {
        let mut rest = block.as_slice();
        while let [first, others @ ..] = rest {
            if self.is_cooperative(first) {
                self.spend(1)?;
                self.stmt_in_step(threads, first)?;
                rest = others;
                continue;
            }
            let apart = rest.iter().take_while(|stmt| !self.is_cooperative(stmt)).count();
            let (now, later) = rest.split_at(apart);
            self.for_each_thread(threads, |interpreter| interpreter.statements(now))?;
            rest = later;
        }
        Ok(())
    }

    /// Passes a barrier.
    fn barrier(&mut self) -> Result<(), InterpreterError> {
        if let Some(counter) = &mut self.access_counter {
            counter.barrier();
        }
        self.tasks.barrier().ok_or(InterpreterError::TooLong { steps: self.options.max_steps })
    }

    /// Takes a ticket: the first thread adds to the counter, and passes the old value through shared memory.
    fn ticket(
        &mut self,
        threads: &mut Threads<'m>,
        stmt: &'f Stmt,
        ticket: &'f Ticket,
    ) -> Result<(), InterpreterError> {
        let Ticket { number, counter, shared } = ticket;
        let (ty, to) = (Ty::of(Scalar::I32), shared.0 as usize);
        self.barrier()?;
        self.for_each_thread(threads, |it| {
            if it.coordinates.thread != [0; 3] {
                return Ok(());
            }
            let start = it.start_byte(counter);
            it.count_access((stmt, 0), counter.buffer, start, ty.bytes());
            let region = &mut it.regions[counter.buffer.0 as usize];
            let old = region
                .count_up(&it.tasks, start)
                .map_err(|trap| it.trap_error(stmt, counter.buffer, trap))?;
            it.tasks.take_ticket((counter.buffer.0 as usize, start));
            it.regions[to].store(&it.tasks, 0, ty, &[old]).map_err(|trap| it.trap_error(stmt, *shared, trap))
        })?;
        self.barrier()?;
        self.for_each_thread(threads, |it| {
            let mut lanes = [0];
            it.regions[to]
                .load(&it.tasks, 0, ty, &mut lanes)
                .map_err(|trap| it.trap_error(stmt, *shared, trap))?;
            it.set_int(*number, lanes[0] as i64);
            Ok(())
        })
    }

    /// Runs a statement that contains a barrier, a fence, a ticket or an allocation of shared memory.
    fn stmt_in_step(&mut self, threads: &mut Threads<'m>, stmt: &'f Stmt) -> Result<(), InterpreterError> {
        match stmt {
            Stmt::Barrier => self.barrier(),
            Stmt::Fence => {
                self.tasks.fence();
                Ok(())
            }
            Stmt::Ticket(ticket) => self.ticket(threads, stmt, ticket),
            Stmt::Alloc(stmt) if self.is_shared(stmt) => {
                let (buffer, size) = self.reserve_memory(stmt)?;
                self.regions[buffer] = Region::owned(size as usize, 0);
                if let Some(counter) = &mut self.access_counter {
                    counter.add_shared(size);
                }
                self.in_step(threads, &stmt.body)?;
                if let Some(counter) = &mut self.access_counter {
                    counter.free_shared(size);
                }
                self.regions[buffer] = Region::constant(&[]);
                self.memory_left += size;
                Ok(())
            }
            Stmt::Alloc(stmt) => self.alloc_per_thread(threads, stmt),
            Stmt::For(stmt) => self.for_in_step(threads, stmt),
            Stmt::While(stmt) => self.while_in_step(threads, stmt),
            Stmt::If(stmt) => self.if_in_step(threads, stmt),
            // Other statements contain no barrier.
            _ => Ok(()),
        }
    }

    /// Allocates memory for each thread, and runs the statements inside, which contain a barrier.
    fn alloc_per_thread(
        &mut self,
        threads: &mut Threads<'m>,
        stmt: &'f Alloc,
    ) -> Result<(), InterpreterError> {
        let mut total = 0;
        for thread in &mut threads.all {
            let (buffer, size) = self.reserve_memory(stmt)?;
            total += size;
            thread.own.push((buffer, Region::of_thread(size as usize)));
        }
        self.in_step(threads, &stmt.body)?;
        threads.all.iter_mut().for_each(|thread| drop(thread.own.pop()));
        self.memory_left += total;
        Ok(())
    }

    fn for_in_step(&mut self, threads: &mut Threads<'m>, stmt: &'f For) -> Result<(), InterpreterError> {
        let range = |interpreter: &mut Self| [interpreter.int(stmt.lo), interpreter.int(stmt.hi)];
        let [lo, hi] = self.agreed_value(threads, range)?;
        self.carry(threads, &stmt.carried, Self::begin)?;
        let mut next = Some(lo);
        while let Some(iv) = next.filter(|iv| *iv < hi) {
            self.spend(1)?;
            self.for_each_thread(threads, |interpreter| {
                interpreter.set_int(stmt.iv, iv);
                Ok(())
            })?;
            self.in_step(threads, &stmt.body)?;
            self.carry(threads, &stmt.carried, Self::pass_on)?;
            next = iv.checked_add(stmt.step);
        }
        self.carry(threads, &stmt.carried, Self::end)
    }

    fn while_in_step(&mut self, threads: &mut Threads<'m>, stmt: &'f While) -> Result<(), InterpreterError> {
        self.carry(threads, &stmt.carried, Self::begin)?;
        loop {
            self.spend(1)?;
            self.in_step(threads, &stmt.test)?;
            let [goes_on] = self.agreed_value(threads, |interpreter| [interpreter.lane(stmt.cond) as i64])?;
            if goes_on == 0 {
                break;
            }
            self.in_step(threads, &stmt.body)?;
            self.carry(threads, &stmt.carried, Self::pass_on)?;
        }
        self.carry(threads, &stmt.carried, Self::end)
    }

    fn if_in_step(&mut self, threads: &mut Threads<'m>, stmt: &'f If) -> Result<(), InterpreterError> {
        let [holds] = self.agreed_value(threads, |interpreter| [interpreter.lane(stmt.cond) as i64])?;
        self.in_step(threads, if holds == 0 { &stmt.otherwise } else { &stmt.then })?;
        self.for_each_thread(threads, |interpreter| {
            for j in &stmt.joined {
                interpreter.copy(if holds == 0 { j.otherwise } else { j.then }, j.after);
            }
            Ok(())
        })
    }

    fn carry(
        &mut self,
        threads: &mut Threads<'m>,
        carried: &'f [Carried],
        step: fn(&mut Self, &[Carried]),
    ) -> Result<(), InterpreterError> {
        self.for_each_thread(threads, |interpreter| {
            step(interpreter, carried);
            Ok(())
        })
    }

    /// Values that must be the same in all threads.
    fn agreed_value<const N: usize>(
        &mut self,
        threads: &mut Threads<'m>,
        of: impl Fn(&mut Self) -> [i64; N],
    ) -> Result<[i64; N], InterpreterError> {
        let mut known = None;
        self.for_each_thread(threads, |interpreter| {
            let found = of(interpreter);
            if known.replace(found).is_some_and(|other| other != found) {
                return Err(InterpreterError::Malformed(
                    "the threads of a block disagree at a barrier".to_string(),
                ));
            }
            Ok(())
        })?;
        known.ok_or_else(|| InterpreterError::Malformed("a launch without threads".to_string()))
    }

    /// Calls `run` for each thread of a block.
    fn for_each_thread(
        &mut self,
        threads: &mut Threads<'m>,
        mut run: impl FnMut(&mut Self) -> Result<(), InterpreterError>,
    ) -> Result<(), InterpreterError> {
        threads.runs += 1;
        let count = threads.all.len() as u64;
        let order = Order::new(self.options.seed.wrapping_add(threads.runs), count);
        for n in 0..count {
            let number = order.nth(n) as u64;
            let coordinates = ThreadCoordinates {
                block: threads.block,
                thread: place(number, threads.extents.map(u64::from)),
            };
            self.coordinates = coordinates;
            self.tasks.run_thread(number as u32);
            if let Some(counter) = &mut self.access_counter {
                counter.run_thread(number as u32);
            }
            self.swap(&mut threads.all[number as usize]);
            let result = run(self);
            self.swap(&mut threads.all[number as usize]);
            result?;
        }
        if let Some(counter) = &mut self.access_counter {
            counter.add_up_accesses(self.function);
        }
        Ok(())
    }

    /// Swaps a thread's values and memory in or out.
    fn swap(&mut self, thread: &mut Thread<'m>) {
        swap(&mut self.lanes, &mut thread.lanes);
        for (buffer, region) in &mut thread.own {
            swap(&mut self.regions[*buffer], region);
        }
    }
}
