//! LIR: the input of the back ends. Structured, typed, in SSA form, with explicit memory.
//!
//! # Semantics
//!
//! A [`Function`] is a tree of [`Stmt`]s over [`Value`]s, each defined once and visible in the blocks
//! below its definition. Loops carry values explicitly, so memory is the only mutable state.
//!
//! Memory is a set of buffers. An access names a buffer and an [`Address`]: byte `index * stride + offset`
//! from the buffer's start. Buffers do not overlap. Buffers in [`Space::Input`], [`Space::InputOrder`] and
//! [`Space::ModelTable`] are read only. The memory of [`Stmt::Alloc`] is uninitialised and lives as long as
//! its body.
//!
//! Integers wrap. Comparisons of integers are signed, except for one. Floating-point operations round
//! once, in the given order, and are never contracted or reassociated; so margins are bit-equal to the
//! trainer's.
//!
//! The iterations of [`Stmt::Parallel`] may run at the same time. Two of them may touch the same bytes
//! only by loads or by [`Stmt::AtomicAdd`]. Code of GPUs is in launches, whose semantics are in
//! `launch.rs`.

mod banks;
mod builder;
mod divisor;
mod encodings;
mod entering;
mod fits;
mod launch;
mod module;
mod nested;
mod ops;
mod origin;
mod print;
mod product;
mod slot_places;
mod standalone;
mod table;
mod unread;
mod uses;
mod value;
mod vectors;

pub use banks::{ACCESS_BYTES, BANK_BYTES, BANKS, wavefronts};
pub use builder::{BuildStmts, Builder};
pub use divisor::greatest_common_divisor;
pub use encodings::EncodedTables;
pub use entering::OuterOrigin;
pub use fits::MAX_LOOKUP;
pub(crate) use fits::{OperandChecks, OperandType, bit_width};
pub use launch::{
    BinTransfer, GpuAxis, GpuDimension, GpuLevel, Launch, MAX_THREADS, ProcessorKind, SHARED_ALIGNMENT,
    Ticket,
};
pub use module::{Interface, KernelKind, Module};
pub use ops::Op;
pub use origin::{Origin, Origins, Task};
pub use product::{BlockProduct, ProductElements, TILE, TILE_TERMS, WARP, product_tile};
pub use sched_outputs::OutputKind;
pub use slot_places::{BlockSlots, SlotPlaces};
pub use standalone::Standalone;
pub use table::Table;
pub use uses::Uses;
pub use value::Value;

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// A truth value, or one bit of a mask.
    I1,
    /// 8 bits.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits: indices and trip counts of CPUs.
    I64,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
}

impl Scalar {
    /// Size in memory, in bytes. Truth values are not stored.
    pub fn bytes(self) -> u32 {
        match self {
            Scalar::I1 | Scalar::I8 => 1,
            Scalar::I16 => 2,
            Scalar::I32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::F64 => 8,
        }
    }

    /// Whether the type is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// A scalar, or a vector of `lanes` scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// Type of a lane.
    pub scalar: Scalar,
    /// Number of lanes; 1 is a scalar.
    pub lanes: u16,
}

impl Ty {
    /// Shorthand for the index type of CPUs.
    pub const I64: Ty = Ty::of(Scalar::I64);
    /// Shorthand for truth values.
    pub const I1: Ty = Ty::of(Scalar::I1);

    /// A scalar type.
    pub const fn of(scalar: Scalar) -> Ty {
        Ty { scalar, lanes: 1 }
    }

    /// A vector type.
    pub const fn vector(scalar: Scalar, lanes: u16) -> Ty {
        Ty { scalar, lanes }
    }

    /// The type with another element and the same lanes.
    pub fn with(self, scalar: Scalar) -> Ty {
        Ty { scalar, lanes: self.lanes }
    }

    /// Size in memory, in bytes.
    pub fn bytes(self) -> u32 {
        self.scalar.bytes() * u32::from(self.lanes)
    }
}

/// A buffer of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Origin of a buffer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The input of the call. Read only.
    Input,
    /// Describes the input as `i64` words. Word 0 is 0 for row-major input. Otherwise word `1 + f` is
    /// the element of feature `f` in row 0, and the rows of a feature are contiguous. For
    /// [`KernelKind::PackColumns`], nine words describe each column. Read only, on the host.
    InputOrder,
    /// The output of the call.
    Output,
    /// The model's table of this number. Read only.
    ModelTable(u32),
    /// Memory of one [`Stmt::Alloc`]; inside a launch, of one thread.
    Private,
    /// Memory of one [`Stmt::Alloc`] that the threads of a block share; only inside a launch.
    Shared,
    /// Memory of one [`Stmt::Alloc`] around launches: counters of [`Stmt::Ticket`]. They are 0 at the start
    /// of its body, and must be 0 at the end.
    Counters,
}

/// Declaration of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// A name for printing, unique in the function.
    pub name: String,
    /// Memory that holds the buffer, and who provides it.
    pub space: Space,
    /// Element type of the buffer, mostly for printing; accesses have their own types.
    pub element: Scalar,
}

/// Byte `index * stride + offset` of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The buffer.
    pub buffer: BufferId,
    /// Element number, an index. Where it is a sum of indices, the sum does not overflow.
    pub index: Value,
    /// Bytes between elements.
    pub stride: u32,
    /// Bytes from the element's start.
    pub offset: u32,
}

impl Address {
    /// An element of a buffer that holds elements of one type and nothing else.
    pub fn element(buffer: BufferId, index: Value, element: Scalar) -> Address {
        Address { buffer, index, stride: element.bytes(), offset: 0 }
    }
}

/// Two-operand arithmetic, lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bin {
    /// Sum, integer or float.
    Add,
    /// Difference, integer or float.
    Sub,
    /// Product, integer or float.
    Mul,
    /// Float quotient.
    Div,
    /// Integer quotient, rounded towards zero. The divisor is a positive constant.
    IDiv,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Shift to the right, filling with zeros. The distance counts modulo the width.
    Shr,
    /// The smaller operand. Integers are signed. For floats, the second operand if either is NaN.
    Min,
    /// The larger operand. Integers are signed. For floats, the second operand if either is NaN.
    Max,
}

/// Comparisons, lane by lane. Integer comparisons are signed except for [`Cmp::UnsignedLt`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Integer equality.
    Eq,
    /// Integer inequality.
    Ne,
    /// Integer less.
    Lt,
    /// Integer less or equal.
    Le,
    /// Unsigned integer less.
    UnsignedLt,
    /// Float less, false on NaN.
    OLt,
    /// Float less or equal, false on NaN.
    OLe,
    /// Float less, true on NaN.
    ULt,
    /// Float less or equal, true on NaN.
    ULe,
    /// Either operand is NaN.
    Uno,
}

/// Conversions, lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cast {
    /// Widen an integer with zeros; a truth value becomes 0 or 1.
    ZExt,
    /// Widen an integer with its sign.
    SExt,
    /// Keep the low bits of an integer.
    Trunc,
    /// Between float types: exact when widening, round to nearest when narrowing.
    Float,
    /// Signed integer to float.
    IntToFloat,
    /// Float to signed integer, rounded towards zero. A number out of range becomes the nearest integer, and
    /// NaN becomes 0.
    FloatToInt,
    /// Keep the bits; sizes are equal.
    Bits,
}

/// Functions of the C library; results are those of the platform's libm, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// `expf` or `exp`.
    Exp,
    /// `exp2f` or `exp2`.
    PowerOfTwo,
}

/// Rounding of floats to whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To the largest whole number that is not above.
    Down,
    /// To the smallest whole number that is not below.
    Up,
    /// To the nearest whole number, ties to even.
    Nearest,
}

/// Time during which later loads may reuse this load's value from a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Keep {
    /// Reuse as long as memory does not change. The load may also move ahead.
    #[default]
    Invariant,
    /// Reuse until a load with [`Keep::Reload`]. Loads before and after such a load are not merged, and this
    /// load does not move ahead of it.
    UntilReload,
    /// No reuse of earlier loads, so that registers are free for other values. Loads with the same
    /// number form a group, and may be merged with each other.
    Reload(u32),
}

/// One load per lane: byte `(base + index) * stride + offset` of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gather {
    /// The buffer.
    pub buffer: BufferId,
    /// Element number that all lanes start from, a scalar index.
    pub base: Value,
    /// Signed distance of each lane from `base` in elements, a vector of `i32`.
    pub index: Value,
    /// Bytes between elements.
    pub stride: u32,
    /// Bytes from the element's start.
    pub offset: u32,
    /// Mask of the lanes that are read; the others are zero. `None` reads all lanes.
    pub mask: Option<Value>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Defines a value.
    Let(Value, Op),
    /// Writes a value; a vector goes to consecutive bytes.
    Store(Address, Value),
    /// Writes the lanes of a vector that the mask (the last operand) selects.
    StoreMasked(Address, Value, Value),
    /// Adds a scalar float to memory in one indivisible step.
    AtomicAdd(Address, Value),
    /// A hint that the cache line at the address will be read soon. Never faults.
    Prefetch(Address),
    /// A counted loop.
    For(Box<For>),
    /// A loop with a test before each iteration.
    While(Box<While>),
    /// Two alternative blocks.
    If(Box<If>),
    /// Independent iterations.
    Parallel(Box<Parallel>),
    /// Temporary memory.
    Alloc(Box<Alloc>),
    /// Code of a GPU.
    Launch(Box<Launch>),
    /// All threads of a block wait for each other here, and then see each other's earlier writes.
    Barrier,
    /// A fence of all threads of a block, which orders accesses of different blocks (`launch.rs`).
    Fence,
    /// A ticket for each block of a group.
    Ticket(Ticket),
    /// The threads of a block multiply matrices.
    Product(Box<BlockProduct>),
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A value that a loop carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// The value inside an iteration.
    pub inside: Value,
    /// Value before the first iteration.
    pub first: Value,
    /// Value for the next iteration; defined in the body.
    pub next: Value,
    /// Value after the loop: `next` of the last iteration, or `first`.
    pub after: Value,
}

/// `for iv = lo; iv < hi; iv += step`, with `step` a positive constant.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The counter, an index.
    pub iv: Value,
    /// First value.
    pub lo: Value,
    /// Exclusive end.
    pub hi: Value,
    /// Distance, at least 1.
    pub step: i64,
    /// Values carried from iteration to iteration.
    pub carried: Vec<Carried>,
    /// The repeated statements.
    pub body: Block,
}

/// Step counts of the walks in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalkSteps {
    /// Steps of all walks before the loop.
    pub steps_before: u32,
    /// Largest number of levels of a tree that one step descends.
    pub levels_per_step: u32,
}

/// Repeats `body` while `cond` holds; `test` computes `cond` before each iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// Values carried; `inside` is visible in `test` and `body`, `after` equals `inside` of the failing test.
    pub carried: Vec<Carried>,
    /// Step counts, from which the cost model estimates the iterations; without effect on results.
    pub walk_steps: WalkSteps,
    /// Statements that compute the condition.
    pub test: Block,
    /// The condition, an `i1` defined in `test`.
    pub cond: Value,
    /// The repeated statements.
    pub body: Block,
}

/// A value that both arms of an [`If`] define.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joined {
    /// The value after the choice.
    pub after: Value,
    /// Value if the condition holds.
    pub then: Value,
    /// Value otherwise.
    pub otherwise: Value,
}

/// Two alternative blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Condition, an `i1`.
    pub cond: Value,
    /// Block for a true condition.
    pub then: Block,
    /// Block for a false condition.
    pub otherwise: Block,
    /// Values that both blocks define.
    pub joined: Vec<Joined>,
}

/// `trip` iterations that may run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// The iteration number, an index from 0.
    pub iv: Value,
    /// Number of iterations; none if negative.
    pub trip: Value,
    /// Statements of one iteration.
    pub body: Block,
}

/// Temporary memory of `bytes` bytes for the body. If the allocation fails, the body is skipped and the
/// call fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Alloc {
    /// The allocated buffer.
    pub buffer: BufferId,
    /// Size in bytes, an index.
    pub bytes: Value,
    /// Statements that can use the buffer.
    pub body: Block,
}

/// A function: one kernel of the compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name, a C identifier.
    pub name: String,
    /// Type of indices, counters and numbers of rows and bytes: `i64` on CPUs, `i32` on machines with
    /// 32-bit registers.
    pub index: Scalar,
    /// The type of each value, by number.
    pub types: Vec<Ty>,
    /// Origin of each value in the schedule.
    pub origins: Origins,
    /// All buffers, by number.
    pub buffers: Vec<Buffer>,
    /// Statements of the function.
    pub body: Block,
}

impl Function {
    /// A function without statements.
    pub fn empty(name: String, index: Scalar) -> Function {
        let (types, buffers, body) = (Vec::new(), Vec::new(), Block::new());
        Function { name, index, types, origins: Origins::default(), buffers, body }
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.types[value.0 as usize]
    }

    /// A buffer's declaration.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }
}
