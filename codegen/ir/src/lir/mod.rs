//! LIR: what the back ends translate. Structured, typed, in SSA form, with explicit memory.
//!
//! # Semantics
//!
//! A [`Function`] is a tree of [`Stmt`]s over [`Value`]s, each defined once and visible in the blocks below its
//! definition. Loops carry values explicitly, so there is no mutable state but memory.
//!
//! Memory is a set of buffers. An access names a buffer and an [`Address`]: byte `index * stride + offset` from the
//! buffer's start. Buffers do not overlap. A buffer in [`Space::Input`] or [`Space::Model`] is never written. The
//! memory of [`Stmt::Alloc`] is uninitialised and lives as long as its body.
//!
//! Integers wrap; comparisons of integers are signed but for one. Floating-point operations round once, in the given order, and
//! are never contracted or reassociated: that is what makes margins bit-equal to the trainer's.
//!
//! The iterations of [`Stmt::Parallel`] may run at the same time. Two of them may touch the same bytes only by loads
//! or by [`Stmt::AtomicAdd`].

mod builder;
mod print;

pub use builder::{Build, Builder};

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
    /// 64 bits: indices and trip counts.
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

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// A scalar, or a vector of `lanes` scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ty {
    /// The element.
    pub scalar: Scalar,
    /// Number of lanes; 1 is a scalar.
    pub lanes: u16,
}

impl Ty {
    /// Shorthand for the index type.
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

    /// The same shape with another element.
    pub fn with(self, scalar: Scalar) -> Ty {
        Ty { scalar, lanes: self.lanes }
    }

    /// Size in memory, in bytes.
    pub fn bytes(self) -> u32 {
        self.scalar.bytes() * u32::from(self.lanes)
    }
}

/// An SSA value of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub u32);

/// A buffer of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

/// Where a buffer's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// The input of the call. Read only.
    Input,
    /// The output of the call.
    Output,
    /// The model's table with this number. Read only.
    Model(u32),
    /// Memory of one [`Stmt::Alloc`].
    Private,
}

/// A buffer's name and place.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// A name for printing, unique in the function.
    pub name: String,
    /// Where its memory comes from.
    pub space: Space,
    /// What it holds, mostly for printing; accesses carry their own type.
    pub element: Scalar,
}

/// Byte `index * stride + offset` of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// The buffer.
    pub buffer: BufferId,
    /// Element number, an `i64`.
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
    /// Shift to the right, filling with zeros. The distance is a constant below the width.
    Shr,
    /// The smaller one: signed integers; for floats the second operand if either is NaN.
    Min,
    /// The larger one: signed integers; for floats the second operand if either is NaN.
    Max,
}

/// Comparisons, lane by lane. Integers are signed where nothing else is said.
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
    /// Integer less, without signs.
    Below,
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
    /// Keep the bits; sizes are equal.
    Bits,
}

/// Functions of the C library; results are those of the platform's libm, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Math {
    /// `expf` or `exp`.
    Exp,
}

/// What defines a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// An integer constant (all lanes).
    Int(i64),
    /// A float constant (all lanes), rounded to the type.
    Float(f64),
    /// Number of rows of the call.
    Rows,
    /// Arithmetic.
    Bin(Bin, Value, Value),
    /// Comparison; the result has element `i1`.
    Cmp(Cmp, Value, Value),
    /// `cond ? a : b`, lane by lane or for a scalar condition as a whole.
    Select(Value, Value, Value),
    /// Conversion to the result's type.
    Cast(Cast, Value),
    /// A function of the C library.
    Math(Math, Value),
    /// A load of the result's type; a vector comes from consecutive bytes.
    Load(Address),
    /// A load of a vector of which only the lanes that the mask names are read; the others are zero.
    LoadMasked(Address, Value),
    /// One load per lane.
    Gather(Gather),
    /// The scalar in every lane.
    Splat(Value),
    /// The numbers of the lanes: 0, 1, 2 and so on.
    Lanes,
    /// One lane of a vector.
    Extract(Value, u16),
    /// The low (0) or the high (1) 32 bits of each lane of a vector of 64-bit integers.
    Word(Value, u16),
    /// Each lane of a vector of integers cut into narrower ones, those of its lowest bits first.
    Cut(Value),
    /// The lanes of one vector or scalar, then those of another of the same type.
    Concat(Value, Value),
    /// Of two vectors in blocks of so many lanes: the even (0) or the odd (1) blocks of both, taken in turns. It swaps
    /// halves of a square that lies in two registers, which is a step of transposing it.
    Alternate(Value, Value, u16, u16),
    /// The lanes of a vector of integers, each moved down by so many places; the highest ones are 0.
    Slide(Value, u16),
    /// `table[index mod length]` for each lane of an integer vector. The table is a vector whose length is a power of
    /// two; the result has as many lanes as the index. Elements of an integer table are widened with zeros to the
    /// index's element, others keep their type.
    Lookup(Value, Value),
    /// Whether any lane of a mask holds, an `i1`.
    Any(Value),
    /// How many bits of an `i64` are set, an `i64`.
    Ones(Value),
    /// The lanes of a mask, at most 64, as the bits of an `i64`: lane 0 is the lowest bit, those above the last are 0.
    MaskBits(Value),
    /// A child of a node of a complete tree, whose root is 1: `2 * node` + bit `node mod 64` of a word, all of them `i64`.
    Child(Value, Value),
}

/// One load per lane: byte `(base + index) * stride + offset` of a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gather {
    /// The buffer.
    pub buffer: BufferId,
    /// Element number that all lanes start from, a scalar `i64`.
    pub base: Value,
    /// Each lane's distance from there in elements, a vector of `i32`, signed.
    pub index: Value,
    /// Bytes between elements.
    pub stride: u32,
    /// Bytes from the element's start.
    pub offset: u32,
    /// Which lanes are read; the others are zero. All, if there is none.
    pub mask: Option<Value>,
}

/// One statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// Defines a value.
    Let(Value, Op),
    /// Writes a value; a vector goes to consecutive bytes.
    Store(Address, Value),
    /// Writes those lanes of a vector that the mask (the last operand) names.
    StoreMasked(Address, Value, Value),
    /// Adds a scalar float to memory in one indivisible step.
    AtomicAdd(Address, Value),
    /// A hint that the cache line at the address will be read soon. Never faults.
    Prefetch(Address),
    /// A hint that loads after it read memory anew, even what was read before: registers are for other values. Of the
    /// model's tables, numbers of less than 32 bits are meant, too.
    Forget,
    /// A counted loop.
    For(Box<For>),
    /// A loop with a test before each iteration.
    While(Box<While>),
    /// A choice.
    If(Box<If>),
    /// Independent iterations.
    Parallel(Box<Parallel>),
    /// Temporary memory.
    Alloc(Box<Alloc>),
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// A value that a loop carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// The value inside an iteration.
    pub inside: Value,
    /// Before the first iteration.
    pub first: Value,
    /// For the next iteration; defined in the body.
    pub next: Value,
    /// After the loop: what the last iteration passed on, or `first`.
    pub after: Value,
}

/// `for iv = lo; iv < hi; iv += step`, with `step` a positive constant.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The counter, an `i64`.
    pub iv: Value,
    /// First value.
    pub lo: Value,
    /// Exclusive end.
    pub hi: Value,
    /// Distance, at least 1.
    pub step: i64,
    /// Values carried from iteration to iteration.
    pub carried: Vec<Carried>,
    /// What is repeated.
    pub body: Block,
}

/// Repeats `body` while `cond` holds; `test` computes `cond` before each iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct While {
    /// Values carried; `inside` is visible in `test` and `body`, `after` equals `inside` of the failing test.
    pub carried: Vec<Carried>,
    /// Computes the condition.
    pub test: Block,
    /// The condition, an `i1` defined in `test`.
    pub cond: Value,
    /// What is repeated.
    pub body: Block,
}

/// A value that both arms of an [`If`] define.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joined {
    /// The value after the choice.
    pub after: Value,
    /// What it is if the condition holds.
    pub then: Value,
    /// What it is otherwise.
    pub otherwise: Value,
}

/// A choice.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// An `i1`.
    pub cond: Value,
    /// Run if it holds.
    pub then: Block,
    /// Run otherwise.
    pub otherwise: Block,
    /// Values defined by both.
    pub joined: Vec<Joined>,
}

/// `trip` iterations that may run at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Parallel {
    /// The iteration number, an `i64` from 0.
    pub iv: Value,
    /// Number of iterations; none if negative.
    pub trip: Value,
    /// One iteration.
    pub body: Block,
}

/// Temporary memory of `bytes` bytes for the body. When memory cannot be had the body is skipped and the call fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Alloc {
    /// The buffer made.
    pub buffer: BufferId,
    /// Its size, an `i64`.
    pub bytes: Value,
    /// Where it can be used.
    pub body: Block,
}

/// A function: one kernel of the compiled model.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, a C identifier.
    pub name: String,
    /// The type of each value, by number.
    pub types: Vec<Ty>,
    /// All buffers, by number.
    pub buffers: Vec<Buffer>,
    /// What it does.
    pub body: Block,
}

impl Function {
    /// The type of a value.
    pub fn ty(&self, value: Value) -> Ty {
        self.types[value.0 as usize]
    }

    /// A buffer's declaration.
    pub fn buffer(&self, id: BufferId) -> &Buffer {
        &self.buffers[id.0 as usize]
    }
}

/// One of the model's tables: constant bytes, aligned to 64.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// A name for printing, unique in the module.
    pub name: String,
    /// Its content, little-endian.
    pub bytes: Vec<u8>,
}

/// Which job a kernel does; the entry points of an artefact pick by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// Rows to margins.
    Raw,
    /// Margins to predictions.
    Value,
    /// Margins to class numbers.
    Class,
    /// Rows to leaf numbers.
    Leaf,
}

/// A compiled model before machine code: kernels and the tables they read.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// The kernels, at most one of each kind.
    pub kernels: Vec<(Kernel, Function)>,
    /// The model's tables, by the number in [`Space::Model`].
    pub tables: Vec<Table>,
    /// A call must be cut into runs of at most this many rows: there is no memory, or no code, for more.
    pub rows_per_run: Option<i64>,
}
