//! Reads code statement by statement, with what is known of its indices, and adds up what it costs.

use crate::Call;
use crate::breakdown::Told;
use crate::flight::Flight;
use crate::folded::Folded;
use crate::loops::Sampled;
use crate::machine::Machine;
use crate::memory::{Access, LoopAround, Served, Site};
use crate::operation::{Amount, Kind, instructions};
use crate::value::{DEPTHS, Known, Varies};
use crate::work::Work;
use sched_ir::lir::{
    Address, Bin, Block, Cast, Cmp, Function, If, Keep, Module, Op, Scalar, Space, Stmt, Value,
};
use std::collections::HashMap;

/// Instructions of an operation that moves to another line of the cache: none, but the line itself.
const NO_INSTRUCTIONS: f64 = 0.0;
/// Iterations that are read at least to see how they follow each other.
const LEAST_FOLLOWING: usize = 3;
/// How many times the instructions in flight are read to see that.
const FLIGHTS: f64 = 2.0;
/// Instructions to get temporary memory.
const ALLOCATION: f64 = 40.0;

/// Reads a function.
pub struct Reader<'a> {
    pub(crate) module: &'a Module,
    pub(crate) function: &'a Function,
    pub(crate) machine: &'a Machine,
    pub(crate) call: Call<'a>,
    pub(crate) values: Vec<Known>,
    /// Bytes of each buffer.
    pub(crate) sizes: Vec<f64>,
    /// What takes no instruction of its own.
    pub(crate) folded: Folded,
    /// How many loops have been read.
    pub(crate) loops: u32,
    /// The loops around what is read.
    pub(crate) around: Vec<LoopAround>,
    /// What conditions and numbers of iterations have varied with.
    pub(crate) sensitive: Varies,
    /// Nothing inside the loop that is read begins before.
    pub(crate) floor: f64,
    /// When the last value is there.
    pub(crate) latest: f64,
    /// The instructions before, since the last loop began or ended.
    pub(crate) flight: Flight,
    /// Whether the iteration that is read follows the one that was read before.
    pub(crate) follows: bool,
    /// What has been loaded in the iteration that is read, and need not be loaded again.
    pub(crate) loaded: Vec<(Op, Value)>,
    /// The accesses, while they are collected.
    pub(crate) accesses: Option<Vec<Access>>,
    /// Where accesses are served.
    pub(crate) served: HashMap<Site, Served>,
    /// Where time goes, if that is asked for.
    pub(crate) told: Option<Told>,
}

impl<'a> Reader<'a> {
    /// One that knows nothing yet.
    pub fn new(
        module: &'a Module,
        function: &'a Function,
        machine: &'a Machine,
        call: Call<'a>,
    ) -> Reader<'a> {
        let rows = call.rows as f64;
        let element = |scalar: Scalar| f64::from(scalar.bytes());
        let sizes = function.buffers.iter().map(|buffer| match buffer.space {
            Space::Input => rows * call.facts.features * element(buffer.element),
            Space::Output => rows * call.facts.margins * element(buffer.element),
            Space::Order => 8.0,
            Space::Model(number) => {
                module.tables.get(number as usize).map_or(0.0, |table| table.bytes.len() as f64)
            }
            Space::Private | Space::Shared => f64::INFINITY,
        });
        Reader {
            module,
            function,
            machine,
            call,
            values: vec![Known::default(); function.types.len()],
            sizes: sizes.collect(),
            folded: Folded::of(function, machine.register_bits),
            loops: 0,
            around: Vec::new(),
            sensitive: Varies::NOT,
            floor: 0.0,
            latest: 0.0,
            flight: Flight::default(),
            follows: false,
            loaded: Vec::new(),
            accesses: None,
            served: HashMap::new(),
            told: None,
        }
    }

    /// What is known of a value.
    pub(crate) fn get(&self, value: Value) -> Known {
        self.values.get(value.0 as usize).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, value: Value, known: Known) {
        self.latest = self.latest.max(known.ready);
        if let Some(place) = self.values.get_mut(value.0 as usize) {
            *place = known;
        }
    }

    /// Reads statements in order.
    pub(crate) fn block(&mut self, block: &Block) -> Work {
        let mut work = Work::default();
        for stmt in block {
            self.stmt(stmt, &mut work);
        }
        work
    }

    fn stmt(&mut self, stmt: &Stmt, work: &mut Work) {
        match stmt {
            Stmt::Let(value, op) => {
                self.told_of(*value, work, |reader, work| reader.define(*value, op, work));
            }
            Stmt::Store(at, value) | Stmt::StoreMasked(at, value, _) | Stmt::AtomicAdd(at, value) => {
                let made_last = at.index.max(*value);
                self.told_of(made_last, work, |reader, work| reader.store(at, *value, work));
            }
            Stmt::Prefetch(_) => work.add(Kind::Load, self.machine.charge(Kind::Load).each, 1.0),
            Stmt::For(this) => self.for_loop(this, work),
            Stmt::While(this) => self.while_loop(this, work),
            Stmt::If(this) => self.choice(this, work),
            Stmt::Parallel(this) => self.parallel(this, work),
            Stmt::Alloc(this) => {
                let bytes = self.get(this.bytes).int.unwrap_or(0).max(0) as f64;
                if let Some(size) = self.sizes.get_mut(this.buffer.0 as usize) {
                    *size = bytes;
                }
                work.add(Kind::Scalar, NO_INSTRUCTIONS, ALLOCATION);
                let inside = self.block(&this.body);
                work.and(&inside);
            }
            // Code of GPUs is not told by this model.
            Stmt::Launch(_) | Stmt::Barrier => {}
        }
    }

    fn define(&mut self, value: Value, op: &Op, work: &mut Work) {
        let ty = self.function.ty(value);
        let mut begins = self.floor;
        let mut chain = None;
        let depth = self.around.len();
        op.for_each_value(|operand| {
            let operand = self.get(operand);
            begins = begins.max(operand.ready);
            if let Some((of, cycles)) = operand.chain.filter(|(of, _)| *of == depth) {
                let longest = chain.map_or(cycles, |(_, longest): (usize, f64)| longest.max(cycles));
                chain = Some((of, longest));
            }
        });
        let mut latency = 0.0;
        if let Some(known) = self.same_load(value, op) {
            return self.set(value, known);
        }
        let amount = instructions(self.function, op, ty, self.machine.register_bits);
        if let Some(amount) = amount.filter(|_| !self.folded.has(value)) {
            let cost = self.machine.cost(amount);
            // A gather is a load for each lane, or more where a core takes it apart so slowly that nothing else begins meanwhile.
            let instructions = match op {
                Op::Gather(gather) => {
                    let lanes = f64::from(self.function.ty(gather.index).lanes);
                    lanes.max(cost.each * self.machine.issue)
                }
                _ => amount.registers.max(1.0),
            };
            work.add(amount.kind, cost.each, instructions);
            begins = self.flight.begin(begins, (amount.kind, instructions), self.machine);
            latency = cost.latency + self.lines(value, op, work);
            self.flight.end(begins + latency);
        }
        let mut known = self.result(op, ty.lanes == 1);
        known.ready = begins + latency;
        known.chain = chain.map(|(of, cycles)| (of, cycles + latency));
        self.set(value, known);
    }

    /// The value that was loaded from the same place before. From now on it is this one.
    fn same_load(&mut self, value: Value, op: &Op) -> Option<Known> {
        if !matches!(op, Op::Gather(_) | Op::Load(_, Keep::Invariant | Keep::UntilReload)) {
            return None;
        }
        let known = self.loaded.iter().find(|(loaded, _)| loaded == op).map(|(_, value)| self.get(*value));
        if known.is_none() {
            self.loaded.push((op.clone(), value));
        }
        known
    }

    /// The lines that a load brings, and how long it is waited for them.
    fn lines(&mut self, value: Value, op: &Op, work: &mut Work) -> f64 {
        let (buffer, index, stride, random) = match op {
            Op::Load(at, _) | Op::LoadMasked(at, _) => (at.buffer, at.index, at.stride, None),
            Op::Gather(gather) => {
                let lanes = f64::from(self.function.ty(gather.index).lanes);
                (gather.buffer, gather.base, gather.stride, Some(lanes))
            }
            _ => return 0.0,
        };
        let bytes = match op {
            Op::Gather(gather) => f64::from(gather.stride),
            _ => f64::from(self.function.ty(value).bytes()),
        };
        let index = self.get(index);
        let random = random.or(index.varies.meets(Varies::DATA).then_some(1.0));
        let site = Site { value: value.0, store: None };
        self.access(site, (buffer.0 as usize, bytes), (&index, stride), random, work)
    }

    fn store(&mut self, at: &Address, value: Value, work: &mut Work) {
        let ty = self.function.ty(value);
        let register = f64::from(self.machine.register_bits / 8);
        let registers = f64::from(ty.bytes()) / register;
        let registers = if registers < 1.0 { registers } else { registers.ceil() };
        let cost = self.machine.cost(Amount { kind: Kind::Store, registers });
        work.add(Kind::Store, cost.each, registers.max(1.0));
        let index = self.get(at.index);
        let random = index.varies.meets(Varies::DATA).then_some(1.0);
        let site = Site { value: at.index.0, store: Some(at.offset ^ (at.buffer.0 << 24)) };
        let place = (at.buffer.0 as usize, f64::from(ty.bytes()));
        self.access(site, place, (&index, at.stride), random, work);
        self.latest = self.latest.max(self.get(value).ready);
    }

    /// Notes an access, or says how long it is waited for it.
    fn access(
        &mut self,
        site: Site,
        place: (usize, f64),
        index: (&Known, u32),
        random: Option<f64>,
        work: &mut Work,
    ) -> f64 {
        if let Some(accesses) = &mut self.accesses {
            accesses.push(Access::new(site, place, index, random, &self.around));
            return 0.0;
        }
        let Some(served) = self.served.get(&site) else { return 0.0 };
        if let Some(told) = &mut self.told {
            let origin = self.function.origins.number(Value(site.value));
            told.note_access((origin, site.store.is_none()), served, self.machine);
        }
        let mut waits = 0.0;
        for (share, bytes) in &served.shares {
            let (latency, line) = self.machine.beyond_first(*bytes, served.waits);
            work.add_lines(served.lines * share * line);
            waits += share * latency;
        }
        if served.waits { waits } else { 0.0 }
    }

    /// What is known of a result, but for when it is there.
    fn result(&self, op: &Op, is_scalar: bool) -> Known {
        let mut known = Known::default();
        op.for_each_value(|value| known.varies = known.varies | self.get(value).varies);
        match op {
            Op::Int(n) => known.int = Some(*n),
            Op::Rows => known.int = Some(self.call.rows as i64),
            Op::Bin(op, a, b) if is_scalar => {
                let (a, b) = (self.get(*a), self.get(*b));
                if let (Some(m), Some(n)) = (a.int, b.int) {
                    (known.int, known.slopes) = computed(*op, (&a, m), (&b, n));
                }
            }
            Op::Cmp(cmp, a, b) if is_scalar => {
                let both = self.get(*a).int.zip(self.get(*b).int);
                known.int = both.and_then(|(a, b)| compared(*cmp, a, b)).map(i64::from);
            }
            Op::Select(cond, a, b) if is_scalar => {
                if let Some(cond) = self.get(*cond).int {
                    let chosen = self.get(if cond != 0 { *a } else { *b });
                    (known.int, known.slopes) = (chosen.int, chosen.slopes);
                }
            }
            Op::Cast(Cast::ZExt | Cast::SExt | Cast::Trunc, v) if is_scalar => {
                let v = self.get(*v);
                (known.int, known.slopes) = (v.int, v.slopes);
            }
            Op::Load(at, _) => return self.loaded(at, known, is_scalar),
            Op::Gather(_) | Op::LoadMasked(..) => known.varies = known.varies | Varies::DATA,
            _ => {}
        }
        known
    }

    /// What is loaded: a number of the model's tables, or that rows follow each other.
    fn loaded(&self, at: &Address, mut known: Known, is_scalar: bool) -> Known {
        let index = self.get(at.index);
        let buffer = self.function.buffer(at.buffer);
        match (buffer.space, index.int) {
            (Space::Order, Some(first)) => {
                let columns = i64::from(self.call.columns);
                known.int = Some(columns * first * self.call.rows as i64 + i64::from(first == 0) * columns);
            }
            (Space::Model(number), Some(n)) if is_scalar && !buffer.element.is_float() => {
                let start = n * i64::from(at.stride) + i64::from(at.offset);
                known.int = self.word(number, start, buffer.element.bytes());
                // A table of places grows evenly, more or less.
                let last = (self.sizes.get(at.buffer.0 as usize).copied().unwrap_or(0.0)
                    / f64::from(at.stride)) as i64
                    - 1;
                let ends = self.word(number, i64::from(at.offset), buffer.element.bytes()).zip(self.word(
                    number,
                    last * i64::from(at.stride) + i64::from(at.offset),
                    buffer.element.bytes(),
                ));
                if let Some((begin, end)) = ends.filter(|_| last > 0) {
                    let each = (end - begin) as f32 / last as f32;
                    known.slopes = index.slopes.map(|slope| slope * each);
                }
            }
            (Space::Model(_), None) | (Space::Input | Space::Private | Space::Shared | Space::Output, _) => {
                known.varies = known.varies | Varies::DATA;
            }
            _ => {}
        }
        known
    }

    fn word(&self, table: u32, start: i64, bytes: u32) -> Option<i64> {
        let start = usize::try_from(start).ok()?;
        let bytes = self.module.tables.get(table as usize)?.bytes.get(start..start + bytes as usize)?;
        let mut word = [if bytes.last()? & 0x80 != 0 { 0xff } else { 0 }; 8];
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(i64::from_le_bytes(word))
    }

    fn choice(&mut self, this: &If, work: &mut Work) {
        let cond = self.get(this.cond);
        self.sensitive = self.sensitive | cond.varies.without(Varies::DATA);
        let then = match cond.int {
            Some(n) => n != 0,
            // Whether a step is needed at all: it is, for some row or other.
            None => true,
        };
        let arm = self.block(if then { &this.then } else { &this.otherwise });
        work.and(&arm);
        work.add(Kind::Scalar, NO_INSTRUCTIONS, 1.0);
        for joined in &this.joined {
            let known = self.get(if then { joined.then } else { joined.otherwise });
            self.set(joined.after, Known { varies: known.varies | cond.varies, ..known });
        }
    }

    /// Reads iterations of a loop that differ, and adds them up.
    pub(crate) fn iterations(
        &mut self,
        name: Value,
        trips: f64,
        mut read: impl FnMut(&mut Self, f64) -> Work,
    ) -> Sampled {
        let depth = self.around.len();
        let own = Varies::with_loop(depth);
        let outer = self.sensitive;
        self.sensitive = Varies::NOT;
        self.around.push(LoopAround { name: name.0, trips });
        let mut sampled = Sampled::default();
        let loops = self.loops;
        let (floor, begun) = (self.floor, self.latest);
        let mut one = |reader: &mut Self, at: f64, weight: f64| {
            (reader.floor, reader.latest) = (begun, begun);
            reader.flight = Flight::default();
            let before = reader.loaded.len();
            let outer = reader.told.as_mut().map(std::mem::take);
            let work = read(reader, at);
            reader.loaded.truncate(before);
            sampled.add(&work, reader.latest - begun, weight);
            if let Some(inner) = std::mem::replace(&mut reader.told, outer) {
                inner.add_to(&mut sampled.told, weight);
            }
        };
        one(self, 0.0, 1.0);
        let innermost = self.loops == loops;
        let first = self.latest;
        if self.accesses.is_none() && trips > 1.0 && depth + 1 < DEPTHS && self.sensitive.meets(own) {
            for (at, weight) in Sampled::others(trips) {
                one(self, at, weight);
            }
        }
        if innermost && self.accesses.is_none() && trips > 1.0 {
            sampled.following = Some(self.following((begun, first), trips, &mut read));
        }
        (self.floor, self.latest) = (floor, begun);
        self.flight = Flight::default();
        self.around.pop();
        sampled.has_loops = self.loops > loops;
        self.loops += 1;
        self.sensitive = outer | self.sensitive.without(own);
        sampled.scaled(trips)
    }

    /// Cycles from the end of one iteration to the end of the next one, where they follow each other as in the code.
    fn following(
        &mut self,
        (begun, first): (f64, f64),
        trips: f64,
        read: &mut dyn FnMut(&mut Self, f64) -> Work,
    ) -> f64 {
        let told = self.told.take();
        let mut ends = vec![first];
        let enough = FLIGHTS * self.machine.in_flight;
        self.follows = true;
        while (ends.len() as f64) < trips && (ends.len() < LEAST_FOLLOWING || self.flight.read() < enough) {
            let before = self.loaded.len();
            self.floor = begun;
            read(self, 0.0);
            self.loaded.truncate(before);
            ends.push(self.latest);
        }
        self.follows = false;
        self.told = told;
        // The first ones fill the queues.
        let last = ends.len() - 1;
        let from = last / 2;
        match (ends.get(from), ends.get(last)) {
            (Some(begin), Some(end)) if from < last => (end - begin) / (last - from) as f64,
            _ => 0.0,
        }
    }
}

/// A number of two others, and how it grows.
fn computed(op: Bin, (a, m): (&Known, i64), (b, n): (&Known, i64)) -> (Option<i64>, [f32; DEPTHS]) {
    let of = |known: &Known, int| (Some(int), known.slopes);
    match op {
        Bin::Add => (Some(m.wrapping_add(n)), Known::slopes_of(a, 1.0, b, 1.0)),
        Bin::Sub => (Some(m.wrapping_sub(n)), Known::slopes_of(a, 1.0, b, -1.0)),
        Bin::Mul => (Some(m.wrapping_mul(n)), Known::slopes_of(a, n as f64, b, m as f64)),
        Bin::IDiv if n > 0 => (Some(m / n), Known::slopes_of(a, 1.0 / n as f64, b, 0.0)),
        Bin::Min => {
            if m <= n {
                of(a, m)
            } else {
                of(b, n)
            }
        }
        Bin::Max => {
            if m >= n {
                of(a, m)
            } else {
                of(b, n)
            }
        }
        Bin::And => (Some(m & n), [0.0; DEPTHS]),
        Bin::Or => (Some(m | n), [0.0; DEPTHS]),
        Bin::Xor => (Some(m ^ n), [0.0; DEPTHS]),
        Bin::Shr => {
            let by = n & 63;
            (Some(((m as u64) >> by) as i64), Known::slopes_of(a, 0.5f64.powi(by as i32), b, 0.0))
        }
        Bin::Div | Bin::IDiv => (None, [0.0; DEPTHS]),
    }
}

fn compared(cmp: Cmp, a: i64, b: i64) -> Option<bool> {
    Some(match cmp {
        Cmp::Eq => a == b,
        Cmp::Ne => a != b,
        Cmp::Lt => a < b,
        Cmp::Le => a <= b,
        Cmp::UnsignedLt => (a as u64) < b as u64,
        Cmp::OLt | Cmp::OLe | Cmp::ULt | Cmp::ULe | Cmp::Uno => return None,
    })
}
