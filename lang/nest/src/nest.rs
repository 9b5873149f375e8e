//! The checked loop nest: the meaning of a schedule, as plain data for code generation and pictures.
//!
//! # Semantics
//!
//! The row (tree) number at a point is the **sum** of the values of the enclosing row (tree) loops. Each tile
//! adds the constraint *outer + inner < stop of the tiled loop*. If a loop of a constraint is tiled or split
//! later, its parts replace it there. So partial tiles never leave the range of the loop, over rows or trees,
//! with which the nest started.
//!
//! A loop runs from `start` in steps of `step`. Its value stays below `stop` **and** below the bound of every
//! constraint that *limits* it. For a constraint `a + b + c < bound` and the loop `b` inside `a` and around
//! `c`, that bound is `bound - a - start(c)`. A constraint limits the innermost of its loops, and those
//! around it that contain nothing else, see [`Nest::limits`]. One copy's constraint does not limit a loop
//! around several copies, since the other copies may have work left.

use crate::sym::Sym;
use crate::{Layout, StageNest};

/// Index of a loop in [`Nest::loops`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoopId(pub u32);

/// Dimension over which a loop ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// Rows of the call.
    Row,
    /// Trees of the forest, in the order of the nest.
    Tree,
    /// Sums of a stage.
    Unit,
    /// Terms of the sums of a stage.
    Feature,
}

/// `sum(loops) < bound`. All loops are on one path of the nest and have one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The loops whose values are added.
    pub loops: Vec<LoopId>,
    /// The exclusive bound.
    pub bound: Sym,
}

/// Content of a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A walk: the loop is a leaf loop.
    Walk,
    /// Loops run one after the other.
    Seq(Vec<LoopId>),
    /// One body for each iteration of a specialised loop, in iteration order.
    Cases(Vec<Vec<LoopId>>),
}

/// Way of combining the partial sums of a parallel tree loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// Atomic adds into the target.
    Atomic,
    /// Private slots folded with vectors of this width.
    Vector(u32),
    /// Private slots in the memory that a GPU's block shares, folded by its threads.
    Shared,
}

/// Annotations of one loop. Annotations about walks apply to all walks below the loop unless an inner loop
/// has another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    /// Iterations run in parallel.
    pub parallel: bool,
    /// The loop is expanded completely.
    pub unroll: bool,
    /// If few rows remain in the leaf loop inside, their walks in several iterations are interleaved.
    pub unroll_and_jam: bool,
    /// The code copies the working set of one iteration into a buffer.
    pub cache: bool,
    /// Walks advanced together in a leaf loop. The checker chose the number if the schedule has none.
    pub interleave: Option<u32>,
    /// Straight-line steps at the start of the walks below.
    pub unroll_walk: Option<u32>,
    /// Straight-line steps at the start of the walks below, without leaf tests down to the shallowest leaf.
    pub peel_walk: Option<u32>,
    /// Way of combining partial sums after this loop.
    pub reduce: Option<Reduce>,
    /// The layout of the trees walked below.
    pub representation: Option<Layout>,
    /// The loop is a dimension of a GPU launch.
    pub gpu_dimension: Option<GpuDimension>,
    /// Walks advanced in the lanes of one vector in a leaf loop. The checker chose the number if the schedule
    /// has none.
    pub vectorize: Option<u32>,
    /// Number of top levels whose nodes are all tested at the start of the walks below.
    pub speculate_walk: Option<u32>,
}

/// The value of an annotation.
#[derive(Clone, Debug, PartialEq)]
pub enum AnnotationValue {
    /// The annotation has no number.
    Flag,
    /// A number.
    Number(u32),
    /// A word of the language.
    Word(String),
}

impl Annotations {
    /// All annotations by the names of their directives, in the order of display.
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

/// Grouping of the nodes of trees into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileTrees {
    /// Largest number of nodes of a tile.
    pub nodes: u32,
    /// Whether tiles follow the frequency of leaves instead of being uniform.
    pub by_probability: bool,
}

/// One loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// The name of this copy as the user can write it: `b0`, `first.b1`, `v[3].t1`.
    pub name: String,
    /// Rows or trees; units or features in a stage of columns.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values, at least 1.
    pub step: Sym,
    /// Content of the loop.
    pub body: Body,
    /// Annotations of the schedule.
    pub annotations: Annotations,
}

/// Order in which each row's sum adds the trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accumulation {
    /// The model's order, starting from the base value: margins are bit-identical to the trainer's.
    Exact,
    /// Another order, and the reason in one sentence.
    Reassociated(String),
}

/// The order of trees in the nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeOrder {
    /// The model's own order.
    Model,
    /// Stably sorted by depth, shallowest first.
    ByDepth,
}

/// A checked loop nest. With a model, every [`Sym`] in it is an integer or the number of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Nest {
    /// All loops of the nest.
    pub loops: Vec<Loop>,
    /// The outermost loops, run one after the other.
    pub roots: Vec<LoopId>,
    /// Constraints that keep partial tiles in range.
    pub constraints: Vec<Constraint>,
    /// Number of columns that are computed for each row before its walks.
    pub computed_columns: u32,
    /// The order of trees.
    pub tree_order: TreeOrder,
    /// Layout of trees for loops without a `representation`.
    pub representation: Option<Layout>,
    /// Tiles of nodes that walks step through; `None` for single nodes.
    pub tile_trees: Option<TileTrees>,
    /// The order in which each row's sum is added up.
    pub accumulation: Accumulation,
    /// Largest number of rows that the loops process at once, if the schedule depends on it.
    pub batch_size: Option<u64>,
    /// Bytes of memory that the threads of a block may share, if the nest is for GPUs.
    pub shared_memory: Option<u64>,
    /// The loops of stages of columns that the schedule arranges. The compiler arranges those of other
    /// stages.
    pub stages: Vec<StageNest>,
}

impl Nest {
    /// The nest with the loops of stages whose results are columns. Its order of accumulation is exact if
    /// those of all stages are.
    #[must_use]
    pub fn with_stages(self, stages: Vec<StageNest>) -> Nest {
        let of_stages = stages.iter().map(|stage| &stage.nest.accumulation);
        let all = std::iter::once(&self.accumulation).chain(of_stages);
        let other = all.into_iter().find(|order| **order != Accumulation::Exact).cloned();
        Nest { accumulation: other.unwrap_or(Accumulation::Exact), stages, ..self }
    }

    /// The loop with this id.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.0 as usize]
    }

    /// Tiles of nodes that walks step through, if they have more than one node.
    pub fn tiles(&self) -> Option<TileTrees> {
        self.tile_trees.filter(|tiles| tiles.nodes > 1)
    }

    /// Constraints that limit each loop, by loop number. A constraint limits its innermost loop, and each of
    /// its loops whose walks all pass through that innermost loop.
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
