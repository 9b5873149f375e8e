//! The candidates among which the cost model chooses.

use super::candidate::{Candidate, VectorForm};
use super::destination::CodeDestination;
use super::layers::{LayerTile, trees_beside_layers};
use sched_cost::Machine;
use sched_ir::quantize::QuantizedRows;
use sched_nest::{Layout, ModelInfo, Shapes};
use std::collections::HashSet;

/// Most rows of a block. Larger blocks share the tables of a tree among more rows, and leave longer
/// remainders.
const WIDE_BLOCK_ROWS: u32 = 256;
/// Deepest trees, in levels, whose scalar walks are straight-line code. Padding doubles nodes with each
/// level, and code grows by a step.
const MOST_UNROLLED: u32 = 10;
/// Candidates that cost at most this many times the cheapest one are tried with more shapes of vectors. The
/// cost model is off by a factor of 1.3 to 1.7 (docs/choice.md). A larger factor finds more, and compiles
/// more.
const NEAR_RATIO: f64 = 1.4;
/// Most walks of a group for which unroll-and-jam is tried when leaf values are added lane by lane. The
/// additions are written out for each lane of each shape of the group.
const MOST_LANES_ADDED_ONE_BY_ONE: u32 = 128;
/// Shortest registers, in bits, for which candidates look up 32-bit words in registers, or test node tiles.
const WORD_LOOKUP_BITS: u32 = 256;
/// Length, in bytes, of registers of which a processor has 32. Eight vectors of bins fit in these.
const MANY_REGISTERS_BYTES: u32 = 64;
/// Numbers of scalar walks that advance together. More hide more of the latency of loads, and spill more.
const WALKS_TOGETHER: [u32; 2] = [4, 8];
/// Block sizes, in rows, of candidates for small calls of a model with layers. A layer reads its constants
/// once for a block; calls with fewer rows than a vector would otherwise read them for each row.
const FEW_ROWS_BLOCKS: [u32; 2] = [2, 4];
/// Bytes of a value of a row, and of a sum, in the estimate of a block's size.
const VALUE_BYTES: u32 = 4;

/// Scalar walks of eight rows together over the plainest layout: legal for every model.
pub fn plain() -> Candidate {
    let form = VectorForm::Rows { block: 64, lanes: 1, together: 8, copied: false, tiled: false };
    Candidate::new(Layout::Array, form)
}

/// Properties of a compilation that its candidates depend on.
#[derive(Clone, Copy)]
pub struct CandidateContext<'a> {
    /// The model.
    pub model: &'a ModelInfo,
    /// The form of quantized rows. `None` if rows cannot be quantized.
    pub bins: Option<&'a QuantizedRows>,
    /// The processor.
    pub machine: &'a Machine,
    /// The destination of the code.
    pub destination: CodeDestination,
}

/// The candidates for a model.
pub struct Candidates<'a> {
    context: CandidateContext<'a>,
    /// Bytes that a register holds.
    bytes: u32,
    /// 32-bit words that a register holds.
    words: u32,
    /// Layouts that are walked with vectors, in the order in which they are tried.
    layouts: Vec<Layout>,
}

impl<'a> Candidates<'a> {
    /// The candidates that suit the shape of the model's trees.
    pub fn of(context: CandidateContext<'a>) -> Candidates<'a> {
        let CandidateContext { model, bins, machine, .. } = context;
        let bits = machine.register_bits;
        let suits = |layout: &Layout| {
            let fits_registers = match bins {
                _ if !layout.compares_bins() => bits >= WORD_LOOKUP_BITS,
                Some(bins) => bins.in_bytes || layout.shapes() != Shapes::Oblivious,
                None => false,
            };
            layout.has_cpu_vectors() && fits_registers && layout.suits(model)
        };
        let layouts = Layout::in_trial_order().into_iter().filter(suits).collect();
        Candidates { context, bytes: bits / 8, words: bits / 32, layouts }
    }

    /// The first candidates: each layout with vectors as wide as a register, and scalar walks.
    pub fn initial(&self) -> Vec<Candidate> {
        let CandidateContext { model, machine, .. } = self.context;
        let depth = model.max_depth();
        if depth == 0 {
            return self.of_sums();
        }
        let mut all = Vec::new();
        for layout in self.layouts.iter().copied() {
            for block in self.blocks(layout) {
                let shape = if layout.compares_bins() { (self.bytes, 2) } else { (self.words, 4) };
                all.push(self.rows(layout, block, shape, true));
                // Copying values pays if many of them are read again.
                all.extend((!layout.compares_bins()).then(|| self.rows(layout, block, shape, false)));
            }
            let lanes = if layout.compares_bins() { 1 } else { self.words };
            all.push(trees(layout, lanes, 4));
        }
        let scalar = plain();
        let unrolled = if (1..=MOST_UNROLLED).contains(&depth) { depth } else { 0 };
        all.push(Candidate { unrolled, ..scalar });
        if depth > 0 && machine.register_bits >= WORD_LOOKUP_BITS {
            let form = VectorForm::Rows {
                block: WIDE_BLOCK_ROWS,
                lanes: 1,
                together: 4,
                copied: false,
                tiled: true,
            };
            all.push(Candidate { layout: Layout::Sparse, form, ..scalar });
        }
        all
    }

    /// Candidates for trees of one leaf each, such as those of linear models: vectors of rows that add the
    /// same terms, and vectors of trees or scalar sums for single rows.
    fn of_sums(&self) -> Vec<Candidate> {
        let mut all = vec![plain()];
        // Each addition to a sum waits for the one before. Additions of several trees or rows overlap.
        let shapes = [(1, 1), (1, 4), (self.words / 2, 1), (self.words, 1), (self.words, 4)];
        all.extend(shapes.map(|(lanes, together)| trees(Layout::Array, lanes, together)));
        for block in self.blocks(Layout::Array) {
            for (part, together) in [(2, 1), (2, 4), (1, 1), (1, 2), (1, 4), (1, 8)] {
                let shape = ((self.words / part).max(2), together);
                all.extend([false, true].map(|copied| self.rows(Layout::Array, block, shape, copied)));
            }
        }
        if !self.must_compile_fast() {
            all.extend(self.with_layers());
        }
        all
    }

    /// Candidates that arrange the layers of sums before a linear model's scores.
    fn with_layers(&self) -> Vec<Candidate> {
        let CandidateContext { model, machine, .. } = self.context;
        if trees_beside_layers(&model.stages).is_none() {
            return Vec::new();
        }
        let few = FEW_ROWS_BLOCKS.into_iter().flat_map(|rows| {
            let candidate = self.rows(Layout::Array, rows, (rows, 1), false);
            let tile = LayerTile::of_few_rows(rows, model, machine);
            [None, Some(tile)].map(|layers| Candidate { layers, ..candidate })
        });
        let tile = LayerTile::of_many_rows(self.words, model, machine);
        let many = tile.into_iter().flat_map(|tile| {
            let blocks = self.blocks(Layout::Array).into_iter();
            blocks.map(move |block| {
                let candidate = self.rows(Layout::Array, block, (self.words, 1), false);
                Candidate { layers: Some(tile), ..candidate }
            })
        });
        few.chain(many).filter(|one| one.layers.is_none_or(|tile| tile.suits(&model.stages))).collect()
    }

    /// Further candidates: other shapes of vectors for those of `priced` that are nearly the cheapest at some
    /// size. `priced` are candidates with their costs for calls of each size; the result omits them.
    pub fn further(&self, priced: &[(&Candidate, &[f64])]) -> Vec<Candidate> {
        let mut known: HashSet<Candidate> = priced.iter().map(|(known, _)| **known).collect();
        let near = self.near_the_cheapest(priced);
        let all = near.iter().flat_map(|candidate| self.shapes(candidate));
        all.filter(|candidate| known.insert(*candidate)).collect()
    }

    /// The candidates that are nearly the cheapest at some size, by size. Of candidates that differ only in
    /// the size of their blocks, only the one with the lowest costs over all sizes.
    fn near_the_cheapest(&self, priced: &[(&Candidate, &[f64])]) -> Vec<Candidate> {
        let mut best: Vec<Candidate> = Vec::new();
        let priced: Vec<_> = priced.iter().filter(|one| !has_better_block(one, priced)).collect();
        let sizes = priced.first().map_or(0, |(_, costs)| costs.len());
        for size in 0..sizes {
            let cost = |costs: &[f64]| costs.get(size).copied().unwrap_or(f64::INFINITY);
            let least = priced.iter().map(|(_, costs)| cost(costs)).fold(f64::INFINITY, f64::min);
            let near = priced.iter().filter(|(_, costs)| cost(costs) <= self.near() * least);
            for (candidate, _) in near {
                if !best.contains(candidate) {
                    best.push(**candidate);
                }
            }
        }
        best
    }

    /// A candidate with other widths of vectors, and other numbers of vectors that advance together.
    fn shapes(&self, candidate: &Candidate) -> Vec<Candidate> {
        let Candidate { layout, form, .. } = *candidate;
        match form {
            VectorForm::Rows { block, lanes, copied, .. } if lanes > 1 => {
                // Each pair: the register's width over the vector's, and the vectors that advance together.
                let shapes: &[(u32, u32)] = match (layout.compares_bins(), self.must_compile_fast()) {
                    (true, false) => &[(1, 1), (1, 4), (2, 1), (2, 2), (2, 4), (4, 1), (4, 2), (4, 4)],
                    (true, true) => &[(1, 1), (2, 1), (4, 2)],
                    (false, false) => &[(1, 2), (1, 8), (2, 4), (2, 8)],
                    (false, true) => &[(1, 2)],
                };
                let eight =
                    layout.compares_bins() && !self.must_compile_fast() && self.bytes >= MANY_REGISTERS_BYTES;
                let shapes = shapes.iter().chain(if eight { &[(1, 8)][..] } else { &[] });
                let widest = if layout.compares_bins() { self.bytes } else { self.words };
                shapes
                    .map(|(part, together)| self.rows(layout, block, (widest / part, *together), copied))
                    .collect()
            }
            VectorForm::Trees { lanes, .. } => {
                let mut all: Vec<Candidate> = [2, 8].map(|together| trees(layout, lanes, together)).into();
                if layout == Layout::Preorder {
                    all.extend([2, 4].map(|together| trees(layout, self.words, together)));
                }
                all
            }
            VectorForm::Rows { block, lanes, copied, tiled, .. } => {
                let form =
                    |together: &u32| VectorForm::Rows { block, lanes, together: *together, copied, tiled };
                WALKS_TOGETHER
                    .iter()
                    .map(|together| Candidate { form: form(together), ..*candidate })
                    .collect()
            }
        }
    }

    /// Whether the code stays in memory and may run only once, so that it must compile fast.
    fn must_compile_fast(&self) -> bool {
        self.context.destination != CodeDestination::Artefact
    }

    /// The factor over the cheapest candidate's cost up to which a candidate is tried with more shapes of
    /// vectors.
    fn near(&self) -> f64 {
        if self.must_compile_fast() { 1.0 } else { NEAR_RATIO }
    }

    /// Block sizes to try, in rows: the largest power of two whose rows fit the first cache, and
    /// `WIDE_BLOCK_ROWS` if that is larger.
    fn blocks(&self, layout: Layout) -> Vec<u32> {
        let CandidateContext { model, bins, machine, .. } = self.context;
        let sums = if model.num_classes > 1 { VALUE_BYTES * model.num_classes } else { 0 };
        let row = match bins.filter(|_| layout.compares_bins()) {
            Some(bins) => bins.columns,
            None => VALUE_BYTES * model.num_features,
        };
        let first = machine.caches.first().map_or(0.0, |cache| cache.bytes) as u32;
        let fitting = (first / row.saturating_add(sums).max(1)).clamp(1, WIDE_BLOCK_ROWS);
        let fitting = 1 << fitting.ilog2();
        let long = (fitting < WIDE_BLOCK_ROWS && !self.must_compile_fast()).then_some(WIDE_BLOCK_ROWS);
        std::iter::once(fitting).chain(long).collect()
    }

    /// A candidate with one row in each lane, in blocks of `block` rows, or of `lanes * together` if that is
    /// larger.
    fn rows(&self, layout: Layout, block: u32, (lanes, together): (u32, u32), copied: bool) -> Candidate {
        let model = self.context.model;
        let block = block.max(lanes * together);
        let form = VectorForm::Rows { block, lanes, together, copied, tiled: false };
        // Leaf vectors are added lane by lane, and so are leaf values of several margins whose sums are not
        // copied.
        let one_by_one = model.has_leaf_vectors || (!copied && model.num_classes > 1);
        let unroll_and_jam = !self.must_compile_fast()
            && together > 1
            && (!one_by_one || lanes * together <= MOST_LANES_ADDED_ONE_BY_ONE);
        Candidate { unroll_and_jam, ..Candidate::new(layout, form) }
    }
}

/// Whether another candidate differs only in the size of its blocks, and costs less over all sizes.
fn has_better_block(of: &(&Candidate, &[f64]), all: &[(&Candidate, &[f64])]) -> bool {
    let without_block = |candidate: &Candidate| match candidate.form {
        VectorForm::Rows { lanes, together, copied, tiled, .. } => {
            let form = VectorForm::Rows { block: 0, lanes, together, copied, tiled };
            Candidate { form, ..*candidate }
        }
        VectorForm::Trees { .. } => *candidate,
    };
    let total =
        |costs: &[f64]| costs.iter().filter(|cost| cost.is_finite()).map(|cost| cost.ln()).sum::<f64>();
    all.iter().any(|other| {
        other.0 != of.0 && without_block(other.0) == without_block(of.0) && total(other.1) < total(of.1)
    })
}

/// A candidate that walks one row, with one tree in each lane.
fn trees(layout: Layout, lanes: u32, together: u32) -> Candidate {
    Candidate::new(layout, VectorForm::Trees { lanes, together })
}
