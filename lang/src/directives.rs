//! The directives of the language, as one table. Parsing, names, signatures, operations on a builder,
//! completion, proposals and the pages of editors derive from it.

use sched_nest::Layout;

/// Passes the table of directives to a macro.
///
/// Modifiers contain the operation on a [`crate::lineage::NestBuilder`] with their arguments. Annotations
/// annotate loops; parameters after `;` are optional. `on_cpus` and `on_gpus` restrict an
/// annotation to one kind of target.
///
/// A parameter is `Index` (a loop), `Indices` (one loop or more), `NewIndex` (a name for a new loop),
/// `Number`, or a keyword.
macro_rules! directives {
    ($then:ident) => {
        $then! {
            modifiers {
                Tile "tile" { v: Index, outer: NewIndex, inner: NewIndex, size: Number }
                    "Block the loop: `outer` takes its place, `inner` contains its body."
                    |builder, step| builder.modify(step, &TileLoop::new(v, outer, inner, Some(size)));
                Split "split" { v: Index, first: NewIndex, second: NewIndex, at: Number }
                    "Cut the loop at a value; each half has a copy of the body."
                    |builder, step| builder.modify(step, &SplitLoop::new(v, first, second, Some(at)));
                SplitByDepth "splitByDepth" { v: Index }
                    "Cut the tree loop into runs of iterations whose deepest trees have the same depth: \
`v[0]`, `v[1]`, and so on."
                    |builder, step| builder.modify(step, &SplitLoopByDepth::new(v));
                Reorder "reorder" { v: Indices }
                    "Permute loops of one perfectly nested chain."
                    |builder, step| builder.modify(step, &ReorderLoops::new(v));
                Specialize "specialize" { v: Index }
                    "Give each iteration its own copy of the body: `v[k].name`."
                    |builder, step| builder.modify(step, &SpecializeLoop::new(v));
                Unroll "unroll" { v: Index }
                    "Expand the loop completely."
                    |builder, step| builder.modify(step, &UnrollLoop::new(v));
                SortTrees "sortTrees" { key: Keyword(SORT_KEYS) }
                    "Sort the trees stably, shallowest first."
                    |builder, step| builder.modify(step, &SortTrees);
            }
            annotations {
                Parallel "parallel" on_cpus { v: Index }
                    "Run the iterations in parallel on CPU threads.";
                GpuDimension "gpuDimension" on_gpus { v: Index, dimension: Keyword(DIMENSIONS) }
                    "Map the loop to a dimension of the GPU launch.";
                Cache "cache" everywhere { v: Index }
                    "Copy what one iteration uses into a buffer: rows or trees.";
                Interleave "interleave" everywhere { v: Index; n: Number }
                    "Advance n walks of the leaf loop together, step by step.";
                Vectorize "vectorize" everywhere { v: Index; width: Number }
                    "Walk iterations of the leaf loop in the lanes of a vector.";
                UnrollAndJam "unrollAndJam" everywhere { v: Index }
                    "Walk several trees of the loop together if few rows remain.";
                UnrollWalk "unrollWalk" everywhere { v: Index, depth: Number }
                    "Walk the first steps as straight-line code without leaf tests; pad shallow leaves.";
                PeelWalk "peelWalk" everywhere { v: Index, n: Number }
                    "Walk the first steps as straight-line code, without leaf tests down to the shallowest \
leaf.";
                SpeculateWalk "speculateWalk" everywhere { v: Index, levels: Number }
                    "Test all nodes of the top levels, and select the path by the results.";
                AtomicReduce "atomicReduce" everywhere { v: Index }
                    "Add the values of parallel iterations with atomic instructions.";
                SharedReduce "sharedReduce" on_gpus { v: Index }
                    "Keep partial sums in the shared memory of a GPU block.";
                VectorReduce "vectorReduce" everywhere { v: Index, width: Number }
                    "Add up the partial sums of parallel iterations with vectors.";
                // With one argument, it takes the layout and applies to all loops.
                Representation "representation" everywhere { v: Index; layout: Keyword(Layout::WORDS) }
                    "Choose the memory layout of the trees.";
                TileTrees "tileTrees" everywhere { n: Number; how: Keyword(TILINGS) }
                    "Group nodes of a tree into tiles; each step of a walk passes one tile.";
            }
        }
    };
}
pub(crate) use directives;

/// Kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// An existing index.
    Index,
    /// A name for a new index.
    NewIndex,
    /// An integer expression.
    Number,
    /// One of these words.
    Keyword(&'static [&'static str]),
}

/// One parameter of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name in documentation.
    pub name: &'static str,
    /// Kind of the argument.
    pub role: Role,
}

/// Signature of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The directive.
    pub op: DirectiveOp,
    /// Name in the text.
    pub name: &'static str,
    /// Parameters in order. A directive with `repeats` takes the last one any number of times.
    pub parameters: &'static [Parameter],
    /// Number of required parameters.
    pub required: usize,
    /// Whether the last parameter may be repeated.
    pub repeats: bool,
    /// Whether the directive changes the nest, in the order written. Others annotate the final nest.
    pub is_modifier: bool,
    /// Targets that support the directive.
    pub targets: SupportedTargets,
    /// Effect of the directive, in one line.
    pub summary: &'static str,
    /// Page of the directive in the book.
    pub page: &'static str,
}

impl Signature {
    /// Usage: `tile(v, outer, inner, size)`.
    pub fn usage(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        for (at, parameter) in self.parameters.iter().enumerate() {
            parts.push(if self.is_optional(at) {
                format!("[{}]", parameter.name)
            } else {
                parameter.name.to_owned()
            });
        }
        if self.repeats {
            parts.push("...".to_owned());
        }
        format!("{}({})", self.name, parts.join(", "))
    }

    /// Whether the directive may be written without the parameter at a position.
    pub fn is_optional(&self, at: usize) -> bool {
        // `representation` has an optional first parameter, all others an optional last one.
        if self.op == DirectiveOp::Representation { at < self.required } else { at >= self.required }
    }

    /// The position of the directive's first parameter of this kind.
    pub fn position(&self, test: impl Fn(Role) -> bool) -> Option<usize> {
        self.parameters.iter().position(|parameter| test(parameter.role))
    }

    /// Number of loops that the directive makes.
    pub fn new_loops(&self) -> usize {
        self.parameters.iter().filter(|parameter| parameter.role == Role::NewIndex).count()
    }
}

/// Words for `gpuDimension`.
pub const DIMENSIONS: &[&str] = &["grid.x", "grid.y", "grid.z", "block.x", "block.y", "block.z"];
/// Words for `sortTrees`.
pub const SORT_KEYS: &[&str] = &["depth"];
/// Words for the second argument of `tileTrees`.
pub const TILINGS: &[&str] = &["uniform", "probability"];

macro_rules! role {
    (Indices) => {
        Role::Index
    };
    (Keyword $words:expr) => {
        Role::Keyword($words)
    };
    ($role:ident) => {
        Role::$role
    };
}

macro_rules! repeats {
    (Indices) => {
        true
    };
    ($role:ident) => {
        false
    };
}

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../../docs/book/src/directives/", $name, ".md"))
    };
}

macro_rules! signatures {
    (
        modifiers { $(
            $shape:ident $shape_name:literal { $($part:ident: $part_role:ident $(($part_words:expr))?),* }
            $shape_summary:literal |$builder:ident, $step:ident| $apply:expr;
        )* }
        annotations { $(
            $note:ident $note_name:literal $state:ident
            { $($given:ident: $given_role:ident $(($given_words:expr))?),*
              $(; $may:ident: $may_role:ident $(($may_words:expr))?)? }
            $note_summary:literal;
        )* }
    ) => {
        /// Directives.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names are the language's own; `Signature::summary` describes \
                                        each")]
        pub enum DirectiveOp {
            $($shape,)*
            $($note,)*
        }

        /// All directives.
        pub const SIGNATURES: &[Signature] = &[
            $(Signature {
                op: DirectiveOp::$shape,
                name: $shape_name,
                parameters: &[
                    $(Parameter { name: stringify!($part), role: role!($part_role $($part_words)?) }),*
                ],
                required: [$(stringify!($part)),*].len(),
                repeats: false $(|| repeats!($part_role))*,
                is_modifier: true,
                targets: SupportedTargets::Everywhere,
                summary: $shape_summary,
                page: page!($shape_name),
            },)*
            $(Signature {
                op: DirectiveOp::$note,
                name: $note_name,
                parameters: &[
                    $(Parameter { name: stringify!($given), role: role!($given_role $($given_words)?) },)*
                    $(Parameter { name: stringify!($may), role: role!($may_role $($may_words)?) },)?
                ],
                required: [$(stringify!($given)),*].len(),
                repeats: false,
                is_modifier: false,
                targets: supported_targets!($state),
                summary: $note_summary,
                page: page!($note_name),
            },)*
        ];
    };
}

macro_rules! supported_targets {
    (everywhere) => {
        SupportedTargets::Everywhere
    };
    (on_cpus) => {
        SupportedTargets::OnCpus
    };
    (on_gpus) => {
        SupportedTargets::OnGpus
    };
}

/// Targets that support a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupportedTargets {
    /// On CPUs only.
    OnCpus,
    /// On GPUs only, and in the simulator.
    OnGpus,
    /// On CPUs and GPUs.
    Everywhere,
}

impl SupportedTargets {
    /// The targets as a short list.
    pub fn word(self) -> &'static str {
        match self {
            SupportedTargets::OnCpus => "CPU",
            SupportedTargets::OnGpus => "GPU",
            SupportedTargets::Everywhere => "CPU, GPU",
        }
    }
}

directives!(signatures);

/// The directive of this name.
pub fn find(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name == name)
}

/// Signature of a directive.
pub fn of(op: DirectiveOp) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.op == op)
}
