//! The directives of the language: their names, parameters and what becomes of them.

use sched_nest::Layout;

/// What a directive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names are the language's own; `Signature::summary` describes each")]
pub enum Op {
    Tile,
    Split,
    SplitByDepth,
    Reorder,
    Specialize,
    Unroll,
    SortTrees,
    Parallel,
    GpuDimension,
    Cache,
    Interleave,
    Vectorize,
    UnrollWalk,
    PeelWalk,
    SpeculateWalk,
    AtomicReduce,
    SharedReduce,
    VectorReduce,
    Representation,
    TileTrees,
}

/// What an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// An index that exists.
    Index,
    /// A name for an index to be made.
    NewIndex,
    /// An integer expression.
    Number,
    /// One of these words.
    Keyword(&'static [&'static str]),
}

/// One parameter of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in documentation.
    pub name: &'static str,
    /// What it must be.
    pub role: Role,
}

/// How a directive is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Which one it is.
    pub op: Op,
    /// Its name in the text.
    pub name: &'static str,
    /// Parameters in order. A directive with `repeats` takes the last one any number of times.
    pub parameters: &'static [Parameter],
    /// How many of them must be given.
    pub required: usize,
    /// Whether the last parameter may be repeated.
    pub repeats: bool,
    /// Whether it shapes the nest, in the order written; others are facts about the final nest.
    pub shapes: bool,
    /// Whether a code generator lowers it.
    pub lowered: bool,
    /// What it does, in one line.
    pub summary: &'static str,
}

impl Signature {
    /// How to call it: `tile(v, outer, inner, size)`.
    pub fn usage(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (at, parameter) in self.parameters.iter().enumerate() {
            // `representation` leaves out its first parameter, all others their last.
            let optional =
                if self.op == Op::Representation { at < self.required } else { at >= self.required };
            parts.push(if optional { format!("[{}]", parameter.name) } else { parameter.name.to_owned() });
        }
        if self.repeats {
            parts.push("...".to_owned());
        }
        format!("{}({})", self.name, parts.join(", "))
    }
}

/// Words for `gpuDimension`.
pub const DIMENSIONS: &[&str] = &["grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"];
/// Words for `sortTrees`.
pub const SORT_KEYS: &[&str] = &["depth"];
/// Words for the second argument of `tileTrees`.
pub const TILINGS: &[&str] = &["uniform", "probability"];

const V: Parameter = Parameter { name: "v", role: Role::Index };
const LAYOUT: Parameter = Parameter { name: "layout", role: Role::Keyword(Layout::WORDS) };

const fn new(name: &'static str) -> Parameter {
    Parameter { name, role: Role::NewIndex }
}

const fn number(name: &'static str) -> Parameter {
    Parameter { name, role: Role::Number }
}

const fn word(name: &'static str, words: &'static [&'static str]) -> Parameter {
    Parameter { name, role: Role::Keyword(words) }
}

const fn modifier(
    op: Op,
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
) -> Signature {
    let required = parameters.len();
    Signature { op, name, parameters, required, repeats: false, shapes: true, lowered: true, summary }
}

const fn annotation(
    op: Op,
    name: &'static str,
    parameters: &'static [Parameter],
    summary: &'static str,
) -> Signature {
    Signature { shapes: false, ..modifier(op, name, parameters, summary) }
}

const fn later(signature: Signature) -> Signature {
    Signature { lowered: false, ..signature }
}

const fn required(signature: Signature, required: usize) -> Signature {
    Signature { required, ..signature }
}

/// All directives.
pub const SIGNATURES: &[Signature] = &[
    modifier(
        Op::Tile,
        "tile",
        &[V, new("outer"), new("inner"), number("size")],
        "Block the loop: `outer` takes its place, `inner` adopts what is inside.",
    ),
    modifier(
        Op::Split,
        "split",
        &[V, new("first"), new("second"), number("at")],
        "Cut the loop at a value; each half has a copy of what is inside.",
    ),
    modifier(
        Op::SplitByDepth,
        "splitByDepth",
        &[V],
        "Cut the tree loop into runs of equally deep trees: `v[0]`, `v[1]`, and so on.",
    ),
    Signature {
        repeats: true,
        ..modifier(Op::Reorder, "reorder", &[V], "Permute loops of one perfectly nested chain.")
    },
    modifier(
        Op::Specialize,
        "specialize",
        &[V],
        "Give each iteration its own copy of what is inside: `v[k].name`.",
    ),
    modifier(Op::Unroll, "unroll", &[V], "Expand the loop completely."),
    modifier(
        Op::SortTrees,
        "sortTrees",
        &[word("key", SORT_KEYS)],
        "Axis the trees stably, shallowest first.",
    ),
    annotation(Op::Parallel, "parallel", &[V], "Run the iterations in parallel on CPU threads."),
    later(annotation(
        Op::GpuDimension,
        "gpuDimension",
        &[V, word("dimension", DIMENSIONS)],
        "Map the loop to a dimension of the GPU launch.",
    )),
    annotation(Op::Cache, "cache", &[V], "Keep near what one iteration works on: rows or trees."),
    required(
        annotation(
            Op::Interleave,
            "interleave",
            &[V, number("n")],
            "Walk n iterations of the leaf loop together, instruction by instruction.",
        ),
        1,
    ),
    required(
        annotation(
            Op::Vectorize,
            "vectorize",
            &[V, number("width")],
            "Walk iterations of the leaf loop in the lanes of a vector.",
        ),
        1,
    ),
    annotation(
        Op::UnrollWalk,
        "unrollWalk",
        &[V, number("depth")],
        "Walk the first steps as straight-line code, without looking for leaves.",
    ),
    annotation(
        Op::PeelWalk,
        "peelWalk",
        &[V, number("n")],
        "Walk the first steps without looking for leaves as far as no tree has one there.",
    ),
    annotation(
        Op::SpeculateWalk,
        "speculateWalk",
        &[V, number("levels")],
        "Evaluate all nodes of the top levels and let the bits choose the path.",
    ),
    annotation(Op::AtomicReduce, "atomicReduce", &[V], "Add the parallel iterations' values atomically."),
    later(annotation(
        Op::SharedReduce,
        "sharedReduce",
        &[V],
        "Keep partial sums in a GPU block's shared memory.",
    )),
    annotation(
        Op::VectorReduce,
        "vectorReduce",
        &[V, number("width")],
        "Fold the parallel iterations' partial sums with vectors.",
    ),
    required(
        annotation(
            Op::Representation,
            "representation",
            &[V, LAYOUT],
            "Choose the memory layout of the trees.",
        ),
        1,
    ),
    required(
        annotation(
            Op::TileTrees,
            "tileTrees",
            &[number("n"), word("how", TILINGS)],
            "Group nodes of a tree into tiles that are passed in one step.",
        ),
        1,
    ),
];

/// The directive of this name.
pub fn find(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name == name)
}

/// How a directive is called.
pub fn of(op: Op) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.op == op)
}

/// Words that begin a header line or are kept for later editions; an index cannot have such a name.
pub const KEYWORDS: &[&str] =
    &["sched", "model", "target", "param", "const", "use", "def", "when", "require", "tune", "in"];
