//! Operations that fold into another instruction: the one that uses their result, or the one that computes
//! their operand.

use sched_ir::lir::{Bin, Block, Function, Op, Scalar, Stmt, Ty, Value};

/// Bytes of the shortest element that a load can broadcast to all lanes. For shorter elements, x86-64 needs a
/// second instruction.
const LEAST_BROADCAST_BYTES: u32 = 4;
/// Mask of an integer's low byte, which a zero-extending move selects.
const LOW_BYTE_MASK: i64 = 255;
/// Bits of a register on machines that can compare under a mask (AVX-512).
const MASKING_REGISTER_BITS: u32 = 512;

/// The values of a function whose operations fold into other instructions.
#[derive(Clone, Debug, Default)]
pub struct FoldedValues(Vec<bool>);

impl FoldedValues {
    /// The folded values of a function on registers of `register_bits` bits.
    pub fn of(function: &Function, register_bits: u32) -> FoldedValues {
        let mut uses = UseLists::of(function);
        uses.note_loops(&function.body, 0);
        let folds = |number| uses.folds(Value(number as u32), function, register_bits);
        FoldedValues((0..function.types.len()).map(folds).collect())
    }

    /// Whether a value's operation folds.
    pub fn contains(&self, value: Value) -> bool {
        self.0.get(value.0 as usize).copied().unwrap_or(false)
    }
}

/// The definition and the uses of a value.
#[derive(Clone, Copy, Default)]
struct ValueUses<'f> {
    /// Operation that defines the value.
    op: Option<&'f Op>,
    /// First value of the innermost loop around it; smaller values are defined outside.
    loop_begin: u32,
    /// Number of uses.
    count: u32,
    /// Number of uses as the index of a load or a store.
    as_index: u32,
    /// Number of uses that read only the low byte of the value.
    as_byte: u32,
}

/// The uses of all values.
struct UseLists<'f>(Vec<ValueUses<'f>>);

impl<'f> UseLists<'f> {
    fn of(function: &'f Function) -> UseLists<'f> {
        let mut uses = UseLists(vec![ValueUses::default(); function.types.len()]);
        Stmt::visit_all(&function.body, |stmt| {
            if let Stmt::Let(value, op) = stmt
                && let Some(used) = uses.0.get_mut(value.0 as usize)
            {
                used.op = Some(op);
            }
        });
        Stmt::visit_all(&function.body, |stmt| uses.note_statement(stmt));
        uses
    }

    fn get(&self, value: Value) -> ValueUses<'f> {
        self.0.get(value.0 as usize).copied().unwrap_or_default()
    }

    fn update(&mut self, value: Value, change: impl FnOnce(&mut ValueUses<'f>)) {
        if let Some(used) = self.0.get_mut(value.0 as usize) {
            change(used);
        }
    }

    /// Counts the uses of values by a statement.
    fn note_statement(&mut self, stmt: &Stmt) {
        let mut note = |value: Value| self.update(value, |uses| uses.count += 1);
        match stmt {
            Stmt::Let(_, op) => {
                op.for_each_value(&mut note);
                self.note_roles(op);
            }
            Stmt::Store(at, value) | Stmt::AtomicAdd(at, value) => {
                note(*value);
                self.note_index(at.index);
            }
            Stmt::StoreMasked(at, value, mask) => {
                [*value, *mask].into_iter().for_each(&mut note);
                self.note_index(at.index);
            }
            Stmt::Prefetch(at) => self.note_index(at.index),
            Stmt::For(this) => {
                [this.lo, this.hi].into_iter().for_each(&mut note);
                this.carried.iter().flat_map(|carried| [carried.first, carried.next]).for_each(&mut note);
            }
            Stmt::While(this) => {
                note(this.cond);
                this.carried.iter().flat_map(|carried| [carried.first, carried.next]).for_each(&mut note);
            }
            Stmt::If(this) => {
                note(this.cond);
                this.joined.iter().flat_map(|joined| [joined.then, joined.otherwise]).for_each(&mut note);
            }
            Stmt::Parallel(this) => note(this.trip),
            Stmt::Alloc(this) => note(this.bytes),
            Stmt::Launch(_) | Stmt::Barrier | Stmt::Fence | Stmt::Ticket(_) | Stmt::Product(_) => {}
        }
    }

    fn note_index(&mut self, index: Value) {
        self.update(index, |uses| (uses.count, uses.as_index) = (uses.count + 1, uses.as_index + 1));
    }

    /// Counts the uses by an operation as an index and as a low byte. The uses as such are counted elsewhere.
    fn note_roles(&mut self, op: &Op) {
        match op {
            Op::Load(at, _) | Op::LoadMasked(at, _) => self.update(at.index, |uses| uses.as_index += 1),
            Op::Bin(Bin::And, value, mask) if self.int(*mask) == Some(LOW_BYTE_MASK) => {
                self.update(*value, |uses| uses.as_byte += 1);
            }
            _ => {}
        }
    }

    /// Notes the first value of the innermost loop around each value of `block`; `first` is the first value
    /// of the innermost loop around `block` itself.
    fn note_loops(&mut self, block: &Block, first: u32) {
        let mut open = vec![(block, first)];
        while let Some((block, first)) = open.pop() {
            for stmt in block {
                let inside = match stmt {
                    Stmt::Let(value, _) => {
                        self.update(*value, |uses| uses.loop_begin = first);
                        continue;
                    }
                    Stmt::For(this) => this.iv.0,
                    Stmt::While(this) => {
                        this.carried.iter().map(|carried| carried.inside.0).min().unwrap_or(first)
                    }
                    Stmt::Parallel(this) => this.iv.0,
                    _ => first,
                };
                open.extend(stmt.blocks().into_iter().map(|block| (block, inside)));
            }
        }
    }

    /// The integer of a constant.
    fn int(&self, value: Value) -> Option<i64> {
        match self.get(value).op {
            Some(Op::Int(n)) => Some(*n),
            _ => None,
        }
    }

    /// Whether the operation of `value` folds.
    fn folds(&self, value: Value, function: &Function, register_bits: u32) -> bool {
        let (ty, uses) = (function.ty(value), self.get(value));
        let Some(op) = uses.op else { return false };
        match op {
            // A broadcast of a loaded value is part of the load.
            Op::Splat(v) => {
                let of = self.get(*v);
                let is_load = matches!(of.op, Some(Op::Load(..)));
                is_load && of.count == 1 && function.ty(*v).bytes() >= LEAST_BROADCAST_BYTES
            }
            // The comparison takes the other operand as its mask.
            Op::Bin(Bin::And, a, b) if ty.scalar == Scalar::I1 && ty.lanes > 1 => {
                let compares = |value: Value| {
                    let of = self.get(value);
                    of.count == 1 && matches!(of.op, Some(Op::Cmp(..)))
                };
                register_bits >= MASKING_REGISTER_BITS && (compares(*a) || compares(*b))
            }
            // A bit test, or an addition with carry, needs no separate conjunction with 1.
            Op::Bin(Bin::And, _, one) if ty.lanes == 1 && self.int(*one) == Some(1) => true,
            // Addressing modes include an addition. Operands that do not change in the loop are added before
            // it.
            Op::Bin(Bin::Add, a, b) if is_index(ty) && uses.as_index == uses.count => {
                [a, b].into_iter().any(|operand| operand.0 < uses.loop_begin)
            }
            // A move can select any byte of an integer.
            Op::Bin(Bin::Shr, _, distance) if ty.lanes == 1 => {
                uses.as_byte == uses.count && self.int(*distance).is_some_and(|bits| bits % 8 == 0)
            }
            _ => false,
        }
    }
}

/// Whether a type is a scalar integer.
fn is_index(ty: Ty) -> bool {
    ty.lanes == 1 && !ty.scalar.is_float()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sched_ir::lir::{Address, BuildStmts, Builder, Cmp, Space};

    #[test]
    fn addresses_bytes_masks_and_broadcasts_fold() {
        let mut b = Builder::new("raw");
        let table = b.buffer("table", Space::ModelTable(0), Scalar::I32);
        let (zero, start, lanes) = (b.int(0), b.n_rows(), Ty::vector(Scalar::I8, 64));
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
            let folded = FoldedValues::of(&function, bits);
            let count = (0..function.types.len()).filter(|n| folded.contains(Value(*n as u32))).count();
            (found.iter().map(|value| folded.contains(*value)).collect::<Vec<_>>(), count)
        };
        // The first value, a sum, folds into an address, and the second one, a shift, into a move. The third
        // one, a conjunction, folds into a comparison if the machine has masks. The fourth one, a broadcast,
        // folds into its load.
        assert_eq!(of(512), (vec![true, true, false, true, false, false], 4));
        assert_eq!(of(256), (vec![true, true, false, false, false, false], 3));
    }
}
