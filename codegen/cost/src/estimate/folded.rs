//! Operations that take no instruction of their own, as the one that uses them, or that they use, does their work too.

use sched_ir::lir::{Bin, Block, Function, Op, Scalar, Stmt, Ty, Value};

/// Bytes of the shortest elements that a load repeats in all lanes; shorter ones are repeated by a second instruction.
const REPEATED: u32 = 4;
/// The low byte of a number, which a move takes.
const LOW_BYTE: i64 = 255;
/// Bits of the registers of machines that compare under a mask.
const MASKED_BITS: u32 = 512;

/// The values of a function whose operations are part of other instructions.
#[derive(Clone, Debug, Default)]
pub struct Folded(Vec<bool>);

impl Folded {
    /// Those of a function on registers of so many bits.
    pub fn of(function: &Function, register_bits: u32) -> Folded {
        let mut uses = Uses::of(function);
        uses.loops(&function.body, 0);
        let folds = |number| uses.folds(Value(number as u32), function, register_bits);
        Folded((0..function.types.len()).map(folds).collect())
    }

    /// Whether a value is one of them.
    pub fn has(&self, value: Value) -> bool {
        self.0.get(value.0 as usize).copied().unwrap_or(false)
    }
}

/// What is known of a value before it is decided.
#[derive(Clone, Copy, Default)]
struct Used<'f> {
    /// What defines it.
    op: Option<&'f Op>,
    /// The first value of the innermost loop around it.
    in_loop: u32,
    /// How often it is used.
    times: u32,
    /// How often as the place of a load or a store.
    as_place: u32,
    /// How often for its low byte.
    as_byte: u32,
}

struct Uses<'f>(Vec<Used<'f>>);

impl<'f> Uses<'f> {
    fn of(function: &'f Function) -> Uses<'f> {
        let mut uses = Uses(vec![Used::default(); function.types.len()]);
        Stmt::visit_all(&function.body, |stmt| {
            if let Stmt::Let(value, op) = stmt
                && let Some(used) = uses.0.get_mut(value.0 as usize)
            {
                used.op = Some(op);
            }
        });
        Stmt::visit_all(&function.body, |stmt| uses.note(stmt));
        uses
    }

    fn get(&self, value: Value) -> Used<'f> {
        self.0.get(value.0 as usize).copied().unwrap_or_default()
    }

    fn with(&mut self, value: Value, change: impl FnOnce(&mut Used<'f>)) {
        if let Some(used) = self.0.get_mut(value.0 as usize) {
            change(used);
        }
    }

    fn note(&mut self, stmt: &Stmt) {
        let mut also = |value: Value| self.with(value, |used| used.times += 1);
        match stmt {
            Stmt::Let(_, op) => {
                op.for_each_value(&mut also);
                self.note_in(op);
            }
            Stmt::Store(at, value) | Stmt::AtomicAdd(at, value) => {
                also(*value);
                self.note_place(at.index);
            }
            Stmt::StoreMasked(at, value, mask) => {
                [*value, *mask].into_iter().for_each(&mut also);
                self.note_place(at.index);
            }
            Stmt::Prefetch(at) => self.note_place(at.index),
            Stmt::For(this) => {
                [this.lo, this.hi].into_iter().for_each(&mut also);
                this.carried.iter().flat_map(|carried| [carried.first, carried.next]).for_each(&mut also);
            }
            Stmt::While(this) => {
                also(this.cond);
                this.carried.iter().flat_map(|carried| [carried.first, carried.next]).for_each(&mut also);
            }
            Stmt::If(this) => {
                also(this.cond);
                this.joined.iter().flat_map(|joined| [joined.then, joined.otherwise]).for_each(&mut also);
            }
            Stmt::Parallel(this) => also(this.trip),
            Stmt::Alloc(this) => also(this.bytes),
            Stmt::Launch(_) | Stmt::Barrier => {}
        }
    }

    fn note_place(&mut self, index: Value) {
        self.with(index, |used| (used.times, used.as_place) = (used.times + 1, used.as_place + 1));
    }

    /// What an operation uses values for; how often it does is noted already.
    fn note_in(&mut self, op: &Op) {
        match op {
            Op::Load(at, _) | Op::LoadMasked(at, _) => self.with(at.index, |used| used.as_place += 1),
            Op::Bin(Bin::And, value, mask) if self.int(*mask) == Some(LOW_BYTE) => {
                self.with(*value, |used| used.as_byte += 1);
            }
            _ => {}
        }
    }

    /// Tells values which loop they are in.
    fn loops(&mut self, block: &Block, first: u32) {
        let mut left = vec![(block, first)];
        while let Some((block, first)) = left.pop() {
            for stmt in block {
                let inside = match stmt {
                    Stmt::Let(value, _) => {
                        self.with(*value, |used| used.in_loop = first);
                        continue;
                    }
                    Stmt::For(this) => this.iv.0,
                    Stmt::While(this) => {
                        this.carried.iter().map(|carried| carried.inside.0).min().unwrap_or(first)
                    }
                    Stmt::Parallel(this) => this.iv.0,
                    _ => first,
                };
                left.extend(stmt.blocks().into_iter().map(|block| (block, inside)));
            }
        }
    }

    fn int(&self, value: Value) -> Option<i64> {
        match self.get(value).op {
            Some(Op::Int(n)) => Some(*n),
            _ => None,
        }
    }

    fn folds(&self, value: Value, function: &Function, register_bits: u32) -> bool {
        let (ty, used) = (function.ty(value), self.get(value));
        let Some(op) = used.op else { return false };
        match op {
            // A load repeats what it brings.
            Op::Splat(v) => {
                let of = self.get(*v);
                let is_load = matches!(of.op, Some(Op::Load(..)));
                is_load && of.times == 1 && function.ty(*v).bytes() >= REPEATED
            }
            // A comparison under a mask.
            Op::Bin(Bin::And, a, b) if ty.scalar == Scalar::I1 && ty.lanes > 1 => {
                let compares = |value: Value| {
                    let of = self.get(value);
                    of.times == 1 && matches!(of.op, Some(Op::Cmp(..)))
                };
                register_bits >= MASKED_BITS && (compares(*a) || compares(*b))
            }
            // A processor tests the last bit where it stands, and adds what the test found.
            Op::Bin(Bin::And, _, one) if ty.lanes == 1 && self.int(*one) == Some(1) => true,
            // Part of an address: what does not change in the loop is added before it.
            Op::Bin(Bin::Add, a, b) if is_index(ty) && used.as_place == used.times => {
                [a, b].into_iter().any(|operand| operand.0 < used.in_loop)
            }
            // Bytes of a number are moved from where they are.
            Op::Bin(Bin::Shr, _, distance) if ty.lanes == 1 => {
                used.as_byte == used.times && self.int(*distance).is_some_and(|bits| bits % 8 == 0)
            }
            _ => false,
        }
    }
}

fn is_index(ty: Ty) -> bool {
    ty.lanes == 1 && !ty.scalar.is_float()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_ir::lir::{Address, Build, Builder, Cmp, Space};

    #[test]
    fn what_other_instructions_do_takes_none() {
        let mut b = Builder::new("raw");
        let table = b.buffer("table", Space::Model(0), Scalar::I32);
        let (zero, start, lanes) = (b.int(0), b.rows(), Ty::vector(Scalar::I8, 64));
        let mut found = Vec::new();
        b.for_loop((zero, start, 1), &[], |b, at, _| {
            let place = b.add(start, at);
            let record = Address { buffer: table, index: place, stride: 4, offset: 0 };
            let node = b.load_index(Scalar::I32, record);
            let distance = b.int(8);
            let shifted = b.bin(Bin::Shr, node, distance);
            let byte = b.int(255);
            let column = b.bin(Bin::And, shifted, byte);
            let of_column = Address { buffer: table, index: column, stride: 4, offset: 0 };
            let word = b.load(Ty::of(Scalar::I32), of_column);
            let all = b.splat(word, 16);
            let all = b.cast(sched_ir::lir::Cast::Bits, all, lanes);
            let row = b.load(lanes, Address { buffer: table, index: zero, stride: 1, offset: 0 });
            let (less, equal) = (b.cmp(Cmp::UnsignedLt, row, all), b.cmp(Cmp::Eq, row, all));
            let both = b.bin(Bin::And, less, equal);
            b.store_masked(Address { buffer: table, index: zero, stride: 1, offset: 0 }, row, both);
            found = vec![place, shifted, all, both, column, less];
            Vec::new()
        });
        let function = b.finish();
        let of = |bits| {
            let folded = Folded::of(&function, bits);
            let count = (0..function.types.len()).filter(|n| folded.has(Value(*n as u32))).count();
            (found.iter().map(|value| folded.has(*value)).collect::<Vec<_>>(), count)
        };
        // The sum is part of an address, the shift of a move, and the conjunction of a comparison where there are masks. The
        // fourth is the repeated word, a part of its load.
        assert_eq!(of(512), (vec![true, true, false, true, false, false], 4));
        assert_eq!(of(256), (vec![true, true, false, false, false, false], 3));
    }
}
