//! The checked loop nest: what a schedule means, as plain data for code generation and pictures.
//!
//! # Semantics
//!
//! The row (tree) number at a point is the **sum** of the enclosing row (tree) loops' values. Each tile adds the
//! constraint *outer + inner < stop of the loop it tiled*; a constraint's loop that is tiled or split later is replaced
//! in it by its parts. So partial tiles, nested or inside out, never leave the root's range.
//!
//! A loop runs from `start` in steps of `step` while its value is below `stop` **and** below what every constraint that
//! *limits* it leaves: for a constraint `a + b + c < bound` and the loop `b` inside `a` and around `c`,
//! `b < bound - a - start(c)`. A constraint limits the innermost of its loops, and of those around it the ones that
//! contain nothing else, see [`Nest::limits`]. A loop around several copies is not limited by one copy's constraint:
//! the other copies may have work left.

use crate::Layout;
use crate::sym::Sym;

/// Index of a loop in [`Nest::loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// What a loop ranges over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Rows of the call.
    Row,
    /// Trees of the forest, in the order of the nest.
    Tree,
}

/// `sum(loops) < bound`, where all loops lie on one path of the nest and have one sort.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The loops whose values are added.
    pub loops: Vec<LoopId>,
    /// The exclusive bound.
    pub bound: Sym,
}

/// What a loop contains.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing: a leaf loop, here the walk happens.
    Walk,
    /// Loops run one after the other.
    Seq(Vec<LoopId>),
    /// One body for each iteration of a specialised loop, in iteration order.
    Cases(Vec<Vec<LoopId>>),
}

/// How partial sums of a parallel tree loop are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Atomic adds into the target.
    Atomic,
    /// Private slots folded with vectors of this width.
    Vector(u32),
    /// Private slots in the memory that a GPU's block shares, folded by its threads.
    Shared,
}

/// What the schedule says about one loop, besides its place. Annotations about walks hold for all walks below the
/// loop unless a loop further in says otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Iterations run in parallel.
    pub parallel: bool,
    /// The loop is expanded completely.
    pub unroll: bool,
    /// Where few rows are left for the leaf loop inside, several iterations walk them together.
    pub unroll_and_jam: bool,
    /// The working set of one iteration is kept near.
    pub cache: bool,
    /// Walks advanced together in a leaf loop; the checker has chosen a number where the schedule gave none.
    pub interleave: Option<u32>,
    /// Straight-line steps at the start of the walks below.
    pub unroll_walk: Option<u32>,
    /// Steps without leaf test at the start of the walks below, as far as every leaf is deeper.
    pub peel_walk: Option<u32>,
    /// How partial sums are combined after this loop.
    pub reduce: Option<Reduce>,
    /// The layout of the trees walked below.
    pub representation: Option<Layout>,
    /// The loop is a dimension of a GPU launch.
    pub gpu_dimension: Option<GpuDimension>,
    /// Walks advanced in the lanes of one vector in a leaf loop; the checker has chosen a number where the schedule
    /// gave none.
    pub vectorize: Option<u32>,
    /// Levels whose nodes are all evaluated at the start of the walks below.
    pub speculate_walk: Option<u32>,
}

/// The value of a fact about a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum AnnotationValue {
    /// It holds.
    Flag,
    /// A number.
    Number(u32),
    /// A word of the language.
    Word(String),
}

impl Annotations {
    /// All that is stated, by the names of the directives, in the order in which it is shown.
    pub fn by_directive(&self) -> Vec<(&'static str, AnnotationValue)> {
        let flag = |name, on: bool| on.then_some((name, AnnotationValue::Flag));
        let number = |name, n: Option<u32>| n.map(|n| (name, AnnotationValue::Number(n)));
        let word = |name, text: Option<String>| text.map(|text| (name, AnnotationValue::Word(text)));
        let all = [
            flag("parallel", self.parallel),
            flag("unroll", self.unroll),
            flag("unrollAndJam", self.unroll_and_jam),
            flag("cache", self.cache),
            word("gpuDimension", self.gpu_dimension.map(|dimension| dimension.to_string())),
            number("interleave", self.interleave),
            number("vectorize", self.vectorize),
            number("unrollWalk", self.unroll_walk),
            number("peelWalk", self.peel_walk),
            number("speculateWalk", self.speculate_walk),
            self.reduce.map(|reduce| match reduce {
                Reduce::Atomic => ("atomicReduce", AnnotationValue::Flag),
                Reduce::Shared => ("sharedReduce", AnnotationValue::Flag),
                Reduce::Vector(width) => ("vectorReduce", AnnotationValue::Number(width)),
            }),
            word("representation", self.representation.map(|layout| layout.word().to_owned())),
        ];
        all.into_iter().flatten().collect()
    }
}

/// A dimension of a GPU launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GpuDimension {
    /// Blocks of the grid or threads of a block.
    pub level: GpuLevel,
    /// `x`, `y` or `z`.
    pub axis: GpuAxis,
}

/// The two levels of a GPU launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GpuLevel {
    /// Blocks of the grid.
    Grid,
    /// Threads of a block.
    Block,
}

/// The axes of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GpuAxis {
    /// `x`
    X,
    /// `y`
    Y,
    /// `z`
    Z,
}

impl std::fmt::Display for GpuDimension {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let level = match self.level {
            GpuLevel::Grid => "grid",
            GpuLevel::Block => "block",
        };
        let axis = match self.axis {
            GpuAxis::X => "x",
            GpuAxis::Y => "y",
            GpuAxis::Z => "z",
        };
        write!(f, "{level}.{axis}")
    }
}

/// How nodes of trees are grouped into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTrees {
    /// Most nodes of a tile.
    pub nodes: u32,
    /// Grouped by how often leaves are reached, not uniformly.
    pub by_probability: bool,
}

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The name of this copy as the user can write it: `b0`, `first.b1`, `v[3].t1`.
    pub name: String,
    /// Rows or trees.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values, at least 1.
    pub step: Sym,
    /// What is inside.
    pub body: Body,
    /// What the schedule says about it.
    pub annotations: Annotations,
}

/// Whether each row's sum adds the trees in the model's order, starting from the base value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accumulation {
    /// It does: margins are bit-equal to the trainer's.
    Exact,
    /// It does not, and why, in one sentence.
    Reassociated(String),
}

/// The order of trees in the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOrder {
    /// The model's own.
    Model,
    /// Stably sorted by depth, shallowest first.
    ByDepth,
}

/// A checked loop nest. With a model bound, every [`Sym`] in it is an integer or the number of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// All loops that are in the nest.
    pub loops: Vec<Loop>,
    /// The outermost loops, run one after the other.
    pub roots: Vec<LoopId>,
    /// What keeps partial tiles in range.
    pub constraints: Vec<Constraint>,
    /// The order of trees.
    pub tree_order: TreeOrder,
    /// The layout of trees where no loop says otherwise.
    pub representation: Option<Layout>,
    /// The tiles of nodes that walks go over; single nodes if there is none.
    pub tile_trees: Option<TileTrees>,
    /// The order in which each row's sum is added up.
    pub accumulation: Accumulation,
    /// Rows handled by one run of the nest, when the schedule depends on it.
    pub batch_size: Option<u64>,
    /// Bytes of memory that the threads of a block may share, if the nest is for GPUs.
    pub shared_memory: Option<u64>,
}

impl Nest {
    /// The loop with this id.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.0 as usize]
    }

    /// The tiles of nodes that walks go over, if they hold more than single nodes.
    pub fn tiles(&self) -> Option<TileTrees> {
        self.tile_trees.filter(|tiles| tiles.nodes > 1)
    }

    /// The constraints that limit each loop, by loop number: those whose innermost loop it is, and those whose innermost
    /// loop every walk inside it passes through. Other constraints that mention a loop do not concern it.
    pub fn limits(&self) -> Vec<Vec<&Constraint>> {
        let mut parents: Vec<Option<LoopId>> = vec![None; self.loops.len()];
        let mut depths = vec![0_usize; self.loops.len()];
        let mut stack: Vec<LoopId> = self.roots.clone();
        while let Some(id) = stack.pop() {
            for child in self.get(id).body.loops() {
                parents[child.0 as usize] = Some(id);
                depths[child.0 as usize] = depths[id.0 as usize] + 1;
                stack.push(child);
            }
        }
        let mut limits = vec![Vec::new(); self.loops.len()];
        for constraint in &self.constraints {
            let Some(innermost) = constraint.loops.iter().max_by_key(|id| depths[id.0 as usize]) else {
                continue;
            };
            let mut at = *innermost;
            limits[at.0 as usize].push(constraint);
            while let Some(parent) = parents[at.0 as usize] {
                if !matches!(&self.get(parent).body, Body::Seq(list) if list.len() == 1) {
                    break;
                }
                if constraint.loops.contains(&parent) {
                    limits[parent.0 as usize].push(constraint);
                }
                at = parent;
            }
        }
        limits
    }
}

impl Body {
    /// All loops directly inside.
    pub fn loops(&self) -> Vec<LoopId> {
        match self {
            Body::Walk => Vec::new(),
            Body::Seq(list) => list.clone(),
            Body::Cases(cases) => cases.iter().flatten().copied().collect(),
        }
    }
}
