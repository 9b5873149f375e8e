//! The walker's kernels: functions that the runtime calls as it calls compiled ones. The only table of such a
//! model is its [`Trees`].

use super::trees::Trees;
use sched_forest::{Float, Forest, Real, Target};
use sched_ir::lower::class_columns;
use sched_llvm::runtime::{Ctx, KernelFn, LoopBodyFn, OutputKind, schedc_rt_parallel};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::slice;

/// Rows of a block, which all walk a tree before the next tree, while its nodes are in the cache. A larger
/// block reads trees less often, but its rows may leave the cache.
const BLOCK_ROWS: usize = 64;

/// A kernel: the computation of a block of rows.
trait Kernel {
    /// Type of an element of the input.
    type From;
    /// Type of an element of the output.
    type To;

    /// The numbers of elements of a row of the input and of the output.
    fn from_to_widths(forest: &Forest) -> (usize, usize);

    /// Computes rows.
    fn compute(trees: &Trees, from: &[Self::From], to: &mut [Self::To]);
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

fn typed<X: Real, A: Real>(kind: OutputKind, forest: &Forest, base_is_given: bool) -> Option<KernelFn> {
    let (is_there, kernel): (bool, KernelFn) = match (kind, forest.types.output) {
        (OutputKind::Raw, _) if base_is_given => (true, run::<Margins<X, A, true>>),
        (OutputKind::Raw, _) => (true, run::<Margins<X, A, false>>),
        (OutputKind::Value, Float::F32) => (has_value_steps(forest), run::<Values<A, f32>>),
        (OutputKind::Value, Float::F64) => (has_value_steps(forest), run::<Values<A, f64>>),
        (OutputKind::Class, _) => (class_columns(forest) > 0, run::<Class<A>>),
        (OutputKind::Leaf, _) => (true, run::<Leaves<X>>),
        (OutputKind::Tree, _) => (forest.num_tree_values() > 0, run::<TreeValues<X, A>>),
    };
    is_there.then_some(kernel)
}

/// Whether predictions differ from the margins.
fn has_value_steps(forest: &Forest) -> bool {
    !forest.output.value.is_empty() || forest.types.accumulator != forest.types.output
}

/// Kernel from rows to margins.
struct Margins<X, A, const BASE_IS_GIVEN: bool>(PhantomData<(X, A)>);

impl<X: Real, A: Real, const BASE_IS_GIVEN: bool> Kernel for Margins<X, A, BASE_IS_GIVEN> {
    type From = X;
    type To = A;

    fn from_to_widths(forest: &Forest) -> (usize, usize) {
        (forest.num_features, forest.num_margins)
    }

    fn compute(trees: &Trees, from: &[X], to: &mut [A]) {
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
                    Target::One(margin) => add(margin as usize, trees.value(number, *leaf, row)),
                    Target::All => {
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

/// Kernel from margins to predictions.
struct Values<A, Y>(PhantomData<(A, Y)>);

impl<A: Real, Y: Real> Kernel for Values<A, Y> {
    type From = A;
    type To = Y;

    fn from_to_widths(forest: &Forest) -> (usize, usize) {
        (forest.num_margins, forest.value_columns())
    }

    fn compute(trees: &Trees, from: &[A], to: &mut [Y]) {
        let forest = trees.forest();
        let (margins, outputs) = Self::from_to_widths(forest);
        let mut values = Vec::new();
        for (sums, out) in from.chunks_exact(margins).zip(to.chunks_exact_mut(outputs)) {
            widen(sums, &mut values);
            forest.output.prediction_of_margins(forest.types.accumulator, &mut values);
            narrow(&values, out);
        }
    }
}

/// Kernel from margins to the predicted class.
struct Class<A>(PhantomData<A>);

impl<A: Real> Kernel for Class<A> {
    type From = A;
    type To = f32;

    fn from_to_widths(forest: &Forest) -> (usize, usize) {
        (forest.num_margins, class_columns(forest))
    }

    fn compute(trees: &Trees, from: &[A], to: &mut [f32]) {
        let forest = trees.forest();
        let mut values = Vec::new();
        let mut classes = vec![0; class_columns(forest)];
        for (sums, out) in from.chunks_exact(forest.num_margins).zip(to.chunks_exact_mut(classes.len())) {
            widen(sums, &mut values);
            forest.output.classes_of_margins(forest.types.accumulator, &mut values, &mut classes);
            out.iter_mut().zip(&classes).for_each(|(out, class)| *out = *class as f32);
        }
    }
}

/// Kernel from rows to leaf indices.
struct Leaves<X>(PhantomData<X>);

impl<X: Real> Kernel for Leaves<X> {
    type From = X;
    type To = i32;

    fn from_to_widths(forest: &Forest) -> (usize, usize) {
        (forest.num_features, forest.trees.len())
    }

    fn compute(trees: &Trees, from: &[X], to: &mut [i32]) {
        let forest = trees.forest();
        let rows = forest.rows_with_columns(from);
        let rows = rows.chunks_exact(forest.num_values());
        for (row, out) in rows.zip(to.chunks_exact_mut(forest.trees.len())) {
            for ((number, tree), out) in forest.trees.iter().enumerate().zip(out) {
                *out = tree.leaves[trees.leaf(number, row) as usize].source as i32;
            }
        }
    }
}

/// Kernel from rows to leaf values.
struct TreeValues<X, A>(PhantomData<(X, A)>);

impl<X: Real, A: Real> Kernel for TreeValues<X, A> {
    type From = X;
    type To = A;

    fn from_to_widths(forest: &Forest) -> (usize, usize) {
        (forest.num_features, forest.trees.len())
    }

    fn compute(trees: &Trees, from: &[X], to: &mut [A]) {
        let forest = trees.forest();
        let rows = forest.rows_with_columns(from);
        let rows = rows.chunks_exact(forest.num_values());
        for (row, out) in rows.zip(to.chunks_exact_mut(forest.trees.len())) {
            for (tree, out) in out.iter_mut().enumerate() {
                *out = A::narrow(trees.value(tree, trees.leaf(tree, row), row));
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
fn narrow<Y: Real>(from: &[f64], to: &mut [Y]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to = Y::narrow(*from));
}

/// The input and the output of one run.
struct Run<'a, K: Kernel> {
    trees: &'a Trees,
    rows: usize,
    from: *const K::From,
    to: *mut K::To,
}

/// Runs a kernel.
unsafe extern "C" fn run<K: Kernel>(ctx: *mut Ctx) {
    // SAFETY: the runtime passes the context of a run of a model whose only table is its trees.
    let (trees, rows, from, to) = unsafe {
        let Ctx { tables, n_rows, rows, out, .. } = &*ctx;
        (&*(**tables).cast::<Trees>(), *n_rows, rows.cast(), out.cast())
    };
    let rows = usize::try_from(rows).unwrap_or(0);
    let run = Run::<K> { trees, rows, from, to };
    let blocks = i64::try_from(rows.div_ceil(BLOCK_ROWS)).unwrap_or(i64::MAX);
    let body: LoopBodyFn = run_block::<K>;
    // SAFETY: the run lives until the loop is done, and its blocks have different rows.
    unsafe { schedc_rt_parallel(ctx, body, (&raw const run).cast_mut().cast(), blocks) };
}

/// Runs a kernel on one block of rows.
unsafe extern "C" fn run_block<K: Kernel>(run: *mut c_void, block: i64) {
    // SAFETY: `run` passes its run, which no thread changes.
    let run = unsafe { &*run.cast_const().cast::<Run<K>>() };
    let first = usize::try_from(block).map_or(run.rows, |block| block * BLOCK_ROWS);
    let rows = run.rows.saturating_sub(first).min(BLOCK_ROWS);
    let (from_width, to_width) = K::from_to_widths(run.trees.forest());
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
