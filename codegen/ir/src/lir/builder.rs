//! Function builder, which appends statements and folds constants, so that LIR stays readable.

mod blocks;
mod remainders;
mod resources;

pub use blocks::BuildStmts;

use remainders::Progressions;

use super::{
    Address, Bin, Block, BlockProduct, Buffer, BufferId, Carried, Cast, Cmp, Function, Gather, If, Joined,
    Keep, Math, Op, Origins, Scalar, Space, Stmt, Ticket, Ty, Value,
};
use crate::lir::bit_width;
use sched_nest::GpuDimension;
use std::collections::HashMap;

/// A function under construction; statements go to the innermost open block.
pub struct Builder {
    function: Function,
    blocks: Vec<Block>,
    /// The numbers of integer constants, for folding.
    ints: HashMap<Value, i64>,
    /// Numbers that other integers can be, if these are not all numbers.
    progressions: Progressions,
    /// Integer constants defined so far, by type and number.
    interned: HashMap<(Ty, i64), Value>,
    constants: Block,
    rows: Option<Value>,
    /// Number of groups of loads with [`Keep::Reload`].
    reloads: u32,
    /// Names of launches so far.
    launches: Vec<String>,
    /// Registers that threads of the current launch need for sums.
    registers: Option<u32>,
    /// Bytes of shared memory of the current launch.
    shared_bytes: u64,
}

impl Builder {
    /// An empty function for a CPU.
    pub fn new(name: impl Into<String>) -> Builder {
        Builder::with_index(name, Scalar::I64)
    }

    /// An empty function with indices of this type.
    pub fn with_index(name: impl Into<String>, index: Scalar) -> Builder {
        Builder {
            function: Function::empty(name.into(), index),
            blocks: vec![Vec::new()],
            ints: HashMap::new(),
            progressions: Progressions::default(),
            interned: HashMap::new(),
            constants: Vec::new(),
            rows: None,
            reloads: 0,
            launches: Vec::new(),
            registers: None,
            shared_bytes: 0,
        }
    }

    /// The finished function.
    pub fn finish(mut self) -> Function {
        let mut body = std::mem::take(&mut self.constants);
        body.extend(self.blocks.pop().unwrap_or_default());
        self.function.body = body;
        self.function
    }

    /// Declares a buffer. Equal buffers that are not temporary share one declaration. A name in use
    /// gets a number.
    pub fn buffer(&mut self, name: &str, space: Space, element: Scalar) -> BufferId {
        let made = matches!(space, Space::Private | Space::Shared | Space::Counters);
        let same = |b: &Buffer| !made && b.space == space && b.element == element;
        if let Some(at) = self.function.buffers.iter().position(same) {
            return BufferId(at as u32);
        }
        let unique = unused(name, |name| self.function.buffers.iter().any(|b| b.name == name));
        self.function.buffers.push(Buffer { name: unique, space, element });
        BufferId(self.function.buffers.len() as u32 - 1)
    }

    /// Begins a block, to which statements go until [`Builder::close_block`].
    pub fn open_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Ends the innermost open block.
    pub fn close_block(&mut self) -> Block {
        self.blocks.pop().unwrap_or_default()
    }

    /// A branch between two blocks. The values of the block that runs are the result.
    pub fn branch(
        &mut self,
        cond: Value,
        (then, of_then): (Block, &[Value]),
        (otherwise, of_otherwise): (Block, &[Value]),
    ) -> Vec<Value> {
        let after = self.fresh_like(of_then);
        let arms = of_then.iter().zip(of_otherwise);
        let joined = after.iter().zip(arms);
        let joined =
            joined.map(|(after, (then, other))| Joined { after: *after, then: *then, otherwise: *other });
        let joined = joined.collect();
        self.push(Stmt::If(Box::new(If { cond, then, otherwise, joined })));
        after
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.function.ty(value)
    }

    /// The value of an integer constant.
    pub fn as_int(&self, value: Value) -> Option<i64> {
        self.ints.get(&value).copied()
    }

    /// The remainder, at least 0, of the division of an integer by a positive number, if it is known at
    /// compile time.
    pub fn remainder(&self, value: Value, by: i64) -> Option<i64> {
        self.progressions.remainder(&self.ints, value, by)
    }

    fn record_loop(&mut self, variable: Value, bounds: (Value, Value, i64)) {
        self.progressions.record_loop(&self.ints, variable, bounds);
    }

    fn fresh(&mut self, ty: Ty) -> Value {
        self.function.types.push(ty);
        self.function.origins.record();
        Value(self.function.types.len() as u32 - 1)
    }

    fn push(&mut self, stmt: Stmt) {
        if let Some(block) = self.blocks.last_mut() {
            block.push(stmt);
        }
    }

    pub(super) fn define(&mut self, ty: Ty, op: Op) -> Value {
        let value = self.fresh(ty);
        self.push(Stmt::Let(value, op));
        value
    }

    pub(super) fn origins_mut(&mut self) -> &mut Origins {
        &mut self.function.origins
    }

    /// The type of indices.
    pub fn index(&self) -> Ty {
        Ty::of(self.function.index)
    }

    /// Type of node and element numbers: an index for a single walk, `i32` in vectors.
    pub fn number_type(&self, lanes: u16) -> Ty {
        if lanes == 1 { self.index() } else { Ty::vector(Scalar::I32, lanes) }
    }

    /// Converts unsigned integers to the type of node and element numbers, zero-extended or truncated.
    pub fn to_index(&mut self, value: Value) -> Value {
        let from = self.ty(value);
        let to = self.number_type(from.lanes);
        let cast = if bit_width(from.scalar) > bit_width(to.scalar) { Cast::Trunc } else { Cast::ZExt };
        self.cast(cast, value, to)
    }

    /// An integer constant of the index type.
    pub fn int(&mut self, n: i64) -> Value {
        self.int_of(self.index(), n)
    }

    /// An integer constant of some type.
    pub fn int_of(&mut self, ty: Ty, n: i64) -> Value {
        if let Some(value) = self.interned.get(&(ty, n)) {
            return *value;
        }
        let value = self.fresh(ty);
        self.constants.push(Stmt::Let(value, Op::Int(n)));
        self.interned.insert((ty, n), value);
        self.ints.insert(value, n);
        value
    }

    /// A float constant.
    pub fn float(&mut self, ty: Ty, x: f64) -> Value {
        let value = self.fresh(ty);
        self.constants.push(Stmt::Let(value, Op::Float(x)));
        value
    }

    /// The number of rows of the call.
    pub fn n_rows(&mut self) -> Value {
        if let Some(rows) = self.rows {
            return rows;
        }
        let value = self.fresh(self.index());
        self.constants.push(Stmt::Let(value, Op::RowCount));
        self.rows = Some(value);
        value
    }

    /// Arithmetic; the operands have one type.
    pub fn bin(&mut self, op: Bin, a: Value, b: Value) -> Value {
        let ty = self.ty(a);
        if let Some(folded) = self.fold(op, ty, a, b) {
            return folded;
        }
        let result = self.define(ty, Op::Bin(op, a, b));
        if ty == self.index() {
            self.progressions.record_result(&self.ints, result, (op, a, b));
        }
        result
    }

    fn fold(&mut self, op: Bin, ty: Ty, a: Value, b: Value) -> Option<Value> {
        let (x, y) = (self.as_int(a), self.as_int(b));
        if let (Some(x), Some(y)) = (x, y) {
            let n = match op {
                Bin::Add => x.checked_add(y)?,
                Bin::Sub => x.checked_sub(y)?,
                Bin::Mul => x.checked_mul(y)?,
                Bin::IDiv => x.checked_div(y)?,
                Bin::And => x & y,
                Bin::Or => x | y,
                Bin::Xor => x ^ y,
                Bin::Min => x.min(y),
                Bin::Max => x.max(y),
                Bin::Div | Bin::Shr => return None,
            };
            let fits = self.function.index == Scalar::I64 || i32::try_from(n).is_ok();
            return (fits && ty == self.index()).then(|| self.int(n));
        }
        match (op, x, y) {
            (Bin::Add, Some(0), _) | (Bin::Mul, Some(1), _) => Some(b),
            (Bin::Add | Bin::Sub, _, Some(0)) | (Bin::Mul | Bin::IDiv, _, Some(1)) => Some(a),
            (Bin::Mul, Some(0), _) => Some(a),
            (Bin::Mul, _, Some(0)) => Some(b),
            _ => None,
        }
    }

    /// `a + b`
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Add, a, b)
    }

    /// `a - b`
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Sub, a, b)
    }

    /// `a * b`
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        self.bin(Bin::Mul, a, b)
    }

    /// `a + n`
    pub fn add_int(&mut self, a: Value, n: i64) -> Value {
        let n = self.int(n);
        self.add(a, n)
    }

    /// `a * n`
    pub fn mul_int(&mut self, a: Value, n: i64) -> Value {
        let n = self.int(n);
        self.mul(a, n)
    }

    /// Quotient and remainder of a division by a positive constant.
    pub fn divide(&mut self, a: Value, n: i64) -> (Value, Value) {
        let divisor = self.int(n);
        let quotient = self.bin(Bin::IDiv, a, divisor);
        let before = self.mul(quotient, divisor);
        (quotient, self.sub(a, before))
    }

    /// The smaller of two integers.
    pub fn min(&mut self, a: Value, b: Value) -> Value {
        if a == b { a } else { self.bin(Bin::Min, a, b) }
    }

    /// The larger of two integers.
    pub fn max(&mut self, a: Value, b: Value) -> Value {
        if a == b { a } else { self.bin(Bin::Max, a, b) }
    }

    /// A comparison.
    pub fn cmp(&mut self, op: Cmp, a: Value, b: Value) -> Value {
        let ty = self.ty(a).with(Scalar::I1);
        if let (Some(x), Some(y)) = (self.as_int(a), self.as_int(b)) {
            let known = match op {
                Cmp::Eq => Some(x == y),
                Cmp::Ne => Some(x != y),
                Cmp::Lt => Some(x < y),
                Cmp::Le => Some(x <= y),
                _ => None,
            };
            if let Some(known) = known {
                return self.int_of(ty, i64::from(known));
            }
        }
        self.define(ty, Op::Cmp(op, a, b))
    }

    /// `cond ? a : b`
    pub fn select(&mut self, cond: Value, a: Value, b: Value) -> Value {
        match self.as_int(cond) {
            Some(0) => b,
            Some(_) => a,
            None => self.define(self.ty(a), Op::Select(cond, a, b)),
        }
    }

    /// A conversion, or the value itself if it has the type already.
    pub fn cast(&mut self, cast: Cast, value: Value, ty: Ty) -> Value {
        if self.ty(value) == ty { value } else { self.define(ty, Op::Cast(cast, value)) }
    }

    /// A function of the C library.
    pub fn math(&mut self, math: Math, value: Value) -> Value {
        self.define(self.ty(value), Op::Math(math, value))
    }

    /// The address `elements` elements further. Adds to the offset, which costs no instruction, unless the
    /// offset would exceed 31 bits.
    pub fn address_after(&mut self, at: Address, elements: i64) -> Address {
        let bytes =
            elements.checked_mul(at.stride.into()).and_then(|bytes| bytes.checked_add(at.offset.into()));
        match bytes.and_then(|bytes| i32::try_from(bytes).ok()).and_then(|bytes| u32::try_from(bytes).ok()) {
            Some(offset) => Address { offset, ..at },
            None => Address { index: self.add_int(at.index, elements), ..at },
        }
    }

    /// A load that may reuse the value of an earlier load as long as memory does not change.
    pub fn load(&mut self, ty: Ty, address: Address) -> Value {
        self.load_with_reuse(Keep::Invariant, ty, address)
    }

    /// A load whose value later loads may reuse as `keep` says.
    pub fn load_with_reuse(&mut self, keep: Keep, ty: Ty, address: Address) -> Value {
        self.define(ty, Op::Load(address, keep))
    }

    /// The [`Keep`] of a new group of loads that reload memory.
    pub fn reload(&mut self) -> Keep {
        self.reloads += 1;
        Keep::Reload(self.reloads)
    }

    /// A load of an integer, zero-extended to an index.
    pub fn load_index(&mut self, scalar: Scalar, address: Address) -> Value {
        let value = self.load(Ty::of(scalar), address);
        self.cast(Cast::ZExt, value, self.index())
    }

    /// A load of the lanes that the mask selects.
    pub fn load_masked(&mut self, ty: Ty, address: Address, mask: Value) -> Value {
        self.define(ty, Op::LoadMasked(address, mask))
    }

    /// One load per lane.
    pub fn gather(&mut self, scalar: Scalar, gather: Gather) -> Value {
        let ty = self.ty(gather.index).with(scalar);
        self.define(ty, Op::Gather(gather))
    }

    /// `count` bits of an integer, from bit `first` on, in the low bits of the result.
    pub fn extract_bits(&mut self, value: Value, first: u32, count: u32) -> Value {
        let ty = self.ty(value);
        let all = 8 * ty.scalar.bytes();
        let mut value = value;
        if first > 0 {
            let distance = self.int_of(ty, i64::from(first));
            value = self.bin(Bin::Shr, value, distance);
        }
        if first + count < all {
            let mask = self.int_of(ty, (1i64 << count) - 1);
            value = self.bin(Bin::And, value, mask);
        }
        value
    }

    /// A store of the lanes that the mask selects.
    pub fn store_masked(&mut self, address: Address, value: Value, mask: Value) {
        self.push(Stmt::StoreMasked(address, value, mask));
    }

    /// A store.
    pub fn store(&mut self, address: Address, value: Value) {
        self.push(Stmt::Store(address, value));
    }

    /// An atomic addition to memory.
    pub fn atomic_add(&mut self, address: Address, value: Value) {
        self.push(Stmt::AtomicAdd(address, value));
    }

    /// The number of a block in its grid, or of a thread in its block.
    pub fn id(&mut self, dimension: GpuDimension) -> Value {
        self.define(self.index(), Op::Id(dimension))
    }

    /// A barrier of a block's threads.
    pub fn barrier(&mut self) {
        self.push(Stmt::Barrier);
    }

    /// A fence of all threads of a block.
    pub fn fence(&mut self) {
        self.push(Stmt::Fence);
    }

    /// A ticket of a counter for the block, passed to its threads through a buffer of shared memory.
    pub fn ticket(&mut self, counter: Address, shared: BufferId) -> Value {
        let number = self.fresh(Ty::of(Scalar::I32));
        self.push(Stmt::Ticket(Ticket { number, counter, shared }));
        number
    }

    /// A product of matrices by the threads of a block.
    pub fn product(&mut self, product: BlockProduct) {
        self.push(Stmt::Product(Box::new(product)));
    }

    /// Appends finished statements.
    pub fn append(&mut self, block: Block) {
        block.into_iter().for_each(|stmt| self.push(stmt));
    }

    /// A prefetch.
    pub fn prefetch(&mut self, address: Address) {
        self.push(Stmt::Prefetch(address));
    }

    fn fresh_like(&mut self, values: &[Value]) -> Vec<Value> {
        values.iter().map(|v| self.fresh(self.ty(*v))).collect()
    }

    fn carry(&mut self, first: &[Value], inside: &[Value], next: &[Value]) -> Vec<Carried> {
        let after = self.fresh_like(first);
        (0..first.len())
            .map(|i| Carried { inside: inside[i], first: first[i], next: next[i], after: after[i] })
            .collect()
    }
}

/// The name, with a number if it is taken.
fn unused(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|n| format!("{name}{n}"));
    std::iter::once(name.to_string()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}
