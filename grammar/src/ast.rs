//! The syntax tree of a `.sched` file: the written text with spans, without meaning.
//!
//! Arguments of directives are plain expressions. The checker decides whether `t0` is an index or a number.
//! This keeps the grammar small, and one place resolves all names.

pub use sched_diagnostics::Span;

/// A name as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The text of the name.
    pub text: String,
    /// Span of the name.
    pub span: Span,
}

/// One segment of a path: `v` or `v[3]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The name before the brackets.
    pub name: Ident,
    /// The expression in brackets: the number of one copy of the loop.
    pub index: Option<Box<ScheduleExpr>>,
}

/// A possibly qualified name: `b0`, `first.b1`, `v[3].t1`, `grid.x`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// At least one segment, outermost first.
    pub segments: Vec<Segment>,
    /// The whole path.
    pub span: Span,
}

impl Path {
    /// The name, if the path is a single one without brackets.
    pub fn as_ident(&self) -> Option<&Ident> {
        match self.segments.as_slice() {
            [Segment { name, index: None }] => Some(name),
            _ => None,
        }
    }
}

/// Binary operators of integer expressions; `/` truncates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
}

/// An expression with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleExpr {
    /// Kind of the expression.
    pub kind: ExprKind,
    /// Span, parentheses included.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer literal. A literal that does not fit `i64` is a syntax error and becomes
    /// [`ExprKind::Error`].
    Int(i64),
    /// A name: an index, a param, a const, a property, or a keyword argument such as `sparse` or `grid.x`.
    Path(Path),
    /// `-e`
    Neg(Box<ScheduleExpr>),
    /// `a op b`
    Binary(BinOp, Box<ScheduleExpr>, Box<ScheduleExpr>),
    /// `min(a, b)`, `max(a, b)`, `ceildiv(a, b)`, `trees_to_depth(d)`, or an unknown function.
    Call(Ident, Vec<ScheduleExpr>),
    /// Text that did not parse. The parser reported an error.
    Error,
}

/// A string literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Str {
    /// The text between the quotes, escapes resolved.
    pub value: String,
    /// Span, quotes included.
    pub span: Span,
}

/// One statement with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleStmt {
    /// Kind of the statement.
    pub kind: StmtKind,
    /// Span, without a closing `;`.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `sched 1`: the language edition.
    Edition(ScheduleExpr),
    /// `model "file" ["fingerprint"]`
    Model {
        /// Path of the model, relative to the schedule.
        path: Str,
        /// Expected fingerprint of the model's content.
        fingerprint: Option<Str>,
    },
    /// `target cpu`, `target cpu(avx512)`, `target gpu(sm_90)`
    Target {
        /// `cpu` or `gpu`, unchecked.
        kind: Ident,
        /// Words in the parentheses, for example `sm_90`.
        options: Vec<Ident>,
    },
    /// `param NAME = default in {a, b, c}`
    Param {
        /// The name declared.
        name: Ident,
        /// Value unless overridden.
        default: ScheduleExpr,
        /// The choices to try; empty without `in`.
        choices: Vec<ScheduleExpr>,
    },
    /// `const NAME = value`
    Const {
        /// The name declared.
        name: Ident,
        /// The value.
        value: ScheduleExpr,
    },
    /// `tile(batch, b0, b1, 64)`: any call; the checker knows the directives.
    Directive(Directive),
    /// `when n_rows <= 8 { ... }`: the schedule for some calls.
    When(When),
    /// A reserved word (`use`, `def`, `require`, `tune`) and what followed it.
    Reserved(Ident),
    /// Text that did not parse. The parser reported an error.
    Error,
}

/// A directive as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Directive {
    /// Name of the directive.
    pub name: Ident,
    /// Arguments in order.
    pub args: Vec<ScheduleExpr>,
    /// The argument list, parentheses included.
    pub args_span: Span,
}

/// A block of statements for some calls, as written. The checker knows which conditions are supported.
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// Left side of the comparison.
    pub left: ScheduleExpr,
    /// The comparison.
    pub comparison: Relation,
    /// Right side of the comparison.
    pub right: ScheduleExpr,
    /// Statements of the block; blocks do not nest.
    pub body: Vec<ScheduleStmt>,
    /// The block, braces included.
    pub block: Span,
}

/// Comparisons of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
    /// `=` or `==`
    Equal,
}

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScheduleFile {
    /// Statements in order.
    pub stmts: Vec<ScheduleStmt>,
}

impl ScheduleFile {
    /// All statements in order. Statements of a block follow the statement of the block.
    pub fn all_stmts(&self) -> impl Iterator<Item = &ScheduleStmt> {
        self.stmts.iter().flat_map(|stmt| std::iter::once(stmt).chain(stmt.body()))
    }
}

impl ScheduleStmt {
    /// Statements inside the block; empty if the statement is no block.
    pub fn body(&self) -> &[ScheduleStmt] {
        match &self.kind {
            StmtKind::When(when) => &when.body,
            _ => &[],
        }
    }
}

/// A comment, `//` or `#` to the end of the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The comment with its marker, without the line end.
    pub text: String,
    /// Span of the comment.
    pub span: Span,
}
