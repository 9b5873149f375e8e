//! The walker's kernels: functions that the runtime calls as it calls compiled ones. The only table of such a
//! model is its [`WalkerTrees`].

use super::trees::WalkerTrees;
use sched_forest::{Float, Forest, LeafResult, OutputDefinition, Real, TreeTarget, apply_steps};
use sched_llvm::runtime::{
    Ctx, Element, KernelFn, LoopBodyFn, Needs, OutputKind, OutputVisitor, schedc_rt_parallel,
};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::slice;

/// Rows of a block, which all walk a tree before the next tree, while its nodes are in the cache. A larger
/// block reads trees less often, but its rows may leave the cache.
const BLOCK_ROWS: usize = 64;

/// A kernel: the computation of a block of rows.
trait WalkerKernel {
    /// Type of an element of the input.
    type From;
    /// Type of an element of the output.
    type To;

    /// The numbers of elements of a row of the input and of the output.
    fn from_to_widths(trees: &WalkerTrees) -> (usize, usize);

    /// Computes rows.
    fn compute(trees: &WalkerTrees, from: &[Self::From], to: &mut [Self::To]);
}

/// The kernel of an output, for the types of a forest; none if the forest has none. With `base_is_given`, the
/// output of the kernel of margins already has the initial sums.
pub fn kernel(kind: OutputKind, forest: &Forest, base_is_given: bool) -> Option<KernelFn> {
    match (forest.types.input, forest.types.accumulator) {
        (Float::F32, Float::F32) => typed::<f32, f32>(kind, forest, base_is_given),
        (Float::F32, Float::F64) => typed::<f32, f64>(kind, forest, base_is_given),
        (Float::F64, Float::F32) => typed::<f64, f32>(kind, forest, base_is_given),
        (Float::F64, Float::F64) => typed::<f64, f64>(kind, forest, base_is_given),
    }
}

fn typed<X: Real, A: Real + ResultElement>(
    kind: OutputKind,
    forest: &Forest,
    base_is_given: bool,
) -> Option<KernelFn> {
    let exists = match (kind.needs(), OutputDefinition::of(kind)) {
        (Needs::Margins, _) if base_is_given => return Some(run::<Margins<X, A, true>>),
        (Needs::Margins, _) => return Some(run::<Margins<X, A, false>>),
        (_, OutputDefinition::Trees(_)) => forest.columns_of_output(kind) > 0,
        (_, OutputDefinition::Margins(_)) => forest.steps_after_margins(kind).is_some(),
    };
    let kernel = match (kind.element(), forest.types.output) {
        (Element::Leaf, _) => kind.accept(OwnKernel::<X, A, i32>(PhantomData)),
        (Element::Sum, _) => kind.accept(OwnKernel::<X, A, A>(PhantomData)),
        (Element::Class, _) | (Element::Result, Float::F32) => {
            kind.accept(OwnKernel::<X, A, f32>(PhantomData))
        }
        (Element::Result, Float::F64) => kind.accept(OwnKernel::<X, A, f64>(PhantomData)),
    };
    exists.then_some(kernel)
}

/// An element of results.
trait ResultElement {
    /// The nearest element.
    fn of(value: f64) -> Self;
}

impl ResultElement for f32 {
    fn of(value: f64) -> f32 {
        value as f32
    }
}

impl ResultElement for f64 {
    fn of(value: f64) -> f64 {
        value
    }
}

impl ResultElement for i32 {
    fn of(value: f64) -> i32 {
        value as i64 as i32
    }
}

/// Finds the kernel of an output of `Y`, for rows of `X` and margins of `A`.
struct OwnKernel<X, A, Y>(PhantomData<(X, A, Y)>);

impl<X: Real, A: Real, Y: ResultElement> OutputVisitor for OwnKernel<X, A, Y> {
    type Result = KernelFn;

    fn visit<const NUMBER: usize>(self) -> KernelFn {
        match OutputDefinition::of(OutputKind::ALL[NUMBER]) {
            OutputDefinition::Trees(LeafResult::Index) => run::<ByTree<X, Y, false>>,
            OutputDefinition::Trees(LeafResult::Value) => run::<ByTree<X, Y, true>>,
            OutputDefinition::Margins(_) => run::<AfterMargins<A, Y, NUMBER>>,
        }
    }
}

/// Kernel from rows to margins.
struct Margins<X, A, const BASE_IS_GIVEN: bool>(PhantomData<(X, A)>);

impl<X: Real, A: Real + ResultElement, const BASE_IS_GIVEN: bool> WalkerKernel
    for Margins<X, A, BASE_IS_GIVEN>
{
    type From = X;
    type To = A;

    fn from_to_widths(trees: &WalkerTrees) -> (usize, usize) {
        (trees.forest().num_features, trees.forest().num_margins)
    }

    fn compute(trees: &WalkerTrees, from: &[X], to: &mut [A]) {
        let forest = trees.forest();
        let (margins, from) = (forest.num_margins, &*forest.rows_with_columns(from));
        if !BASE_IS_GIVEN {
            for sums in to.chunks_exact_mut(margins) {
                sums.iter_mut().zip(&forest.base).for_each(|(sum, base)| *sum = A::narrow(*base));
            }
        }
        let mut leaves = [0; BLOCK_ROWS];
        for (number, tree) in forest.trees.iter().enumerate() {
            let leaves = &mut leaves[..to.len() / margins];
            trees.leaves(number, from, leaves);
            let rows = from.chunks_exact(forest.num_values()).zip(to.chunks_exact_mut(margins));
            for ((row, sums), leaf) in rows.zip(&*leaves) {
                let mut add = |margin: usize, value| {
                    sums[margin] = A::narrow(forest.rounded_sum(margin, sums[margin].widen(), value));
                };
                match tree.target {
                    TreeTarget::One(margin) => add(margin as usize, trees.value(number, *leaf, row)),
                    TreeTarget::All => {
                        let values = trees.vector(number, *leaf).iter();
                        values.enumerate().for_each(|(margin, value)| add(margin, *value));
                    }
                }
            }
        }
        if !forest.output.raw.is_empty() {
            let mut values = Vec::new();
            for sums in to.chunks_exact_mut(margins) {
                widen(sums, &mut values);
                forest.output.margins(forest.types.accumulator, &mut values);
                narrow(&values, sums);
            }
        }
    }
}

/// Kernel from margins to the output of this number.
struct AfterMargins<A, Y, const NUMBER: usize>(PhantomData<(A, Y)>);

impl<A: Real, Y: ResultElement, const NUMBER: usize> WalkerKernel for AfterMargins<A, Y, NUMBER> {
    type From = A;
    type To = Y;

    fn from_to_widths(trees: &WalkerTrees) -> (usize, usize) {
        (trees.forest().num_margins, trees.after_margins[NUMBER].columns)
    }

    fn compute(trees: &WalkerTrees, from: &[A], to: &mut [Y]) {
        let (margins, columns) = Self::from_to_widths(trees);
        let mut values = Vec::new();
        for (sums, out) in from.chunks_exact(margins).zip(to.chunks_exact_mut(columns)) {
            widen(sums, &mut values);
            let accumulator = trees.forest().types.accumulator;
            apply_steps(&trees.after_margins[NUMBER].steps, accumulator, &mut values);
            narrow(&values, out);
        }
    }
}

/// Kernel from rows to the results of leaves: values, or else indices.
struct ByTree<X, Y, const VALUES: bool>(PhantomData<(X, Y)>);

impl<X: Real, Y: ResultElement, const VALUES: bool> WalkerKernel for ByTree<X, Y, VALUES> {
    type From = X;
    type To = Y;

    fn from_to_widths(trees: &WalkerTrees) -> (usize, usize) {
        (trees.forest().num_features, trees.forest().trees.len())
    }

    fn compute(trees: &WalkerTrees, from: &[X], to: &mut [Y]) {
        let forest = trees.forest();
        let rows = forest.rows_with_columns(from);
        let rows = rows.chunks_exact(forest.num_values());
        for (row, out) in rows.zip(to.chunks_exact_mut(forest.trees.len())) {
            for ((number, tree), out) in forest.trees.iter().enumerate().zip(out) {
                let leaf = trees.leaf(number, row);
                *out = Y::of(match VALUES {
                    true => trees.value(number, leaf, row),
                    false => tree.leaves[leaf as usize].source.into(),
                });
            }
        }
    }
}

/// Replaces the content of `to` by the numbers, widened.
fn widen<A: Real>(from: &[A], to: &mut Vec<f64>) {
    to.clear();
    to.extend(from.iter().map(|value| value.widen()));
}

/// Rounds numbers to the type of `to`, and stores them there.
fn narrow<Y: ResultElement>(from: &[f64], to: &mut [Y]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = Y::of(*from));
}

/// The input and the output of one run.
struct Run<'a, K: WalkerKernel> {
    trees: &'a WalkerTrees,
    rows: usize,
    from: *const K::From,
    to: *mut K::To,
}

/// Runs a kernel.
unsafe extern "C" fn run<K: WalkerKernel>(ctx: *mut Ctx) {
    // SAFETY: the runtime passes the context of a run of a model whose only table is its trees.
    let (trees, rows, from, to) = unsafe {
        let Ctx { tables, n_rows, rows, out, .. } = &*ctx;
        (&*(**tables).cast::<WalkerTrees>(), *n_rows, rows.cast(), out.cast())
    };
    let rows = usize::try_from(rows).unwrap_or(0);
    let run = Run::<K> { trees, rows, from, to };
    let blocks = i64::try_from(rows.div_ceil(BLOCK_ROWS)).unwrap_or(i64::MAX);
    let body: LoopBodyFn = run_block::<K>;
    // SAFETY: the run lives until the loop is done, and its blocks have different rows.
    unsafe { schedc_rt_parallel(ctx, body, (&raw const run).cast_mut().cast(), blocks) };
}

/// Runs a kernel on one block of rows.
unsafe extern "C" fn run_block<K: WalkerKernel>(run: *mut c_void, block: i64) {
    // SAFETY: `run` passes its run, which no thread changes.
    let run = unsafe { &*run.cast_const().cast::<Run<K>>() };
    let first = usize::try_from(block).map_or(run.rows, |block| block * BLOCK_ROWS);
    let rows = run.rows.saturating_sub(first).min(BLOCK_ROWS);
    let (from_width, to_width) = K::from_to_widths(run.trees);
    if rows == 0 || from_width == 0 || to_width == 0 {
        return;
    }
    // SAFETY: the runtime passes packed input and output of all rows, aligned to their elements. Blocks do
    // not overlap. Output is of plain numbers, for which any content of the memory is valid.
    let (from, to) = unsafe {
        (
            slice::from_raw_parts(run.from.add(first * from_width), rows * from_width),
            slice::from_raw_parts_mut(run.to.add(first * to_width), rows * to_width),
        )
    };
    K::compute(run.trees, from, to);
}
