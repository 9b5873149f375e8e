//! Kernels with 32-bit indices, for machines with narrow registers. In the interpreter, the same
//! schedules give the same results as with 64-bit indices.

use sched_forest::{Float, Forest};
use sched_ir::interp::{CallMemory, InterpreterOptions as Run, run_with};
use sched_ir::lir::{KernelKind, Module, OutputKind, Scalar};
use sched_ir::repr::NodeFormat;
use sched_ir::verify::verify;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, check};
use sched_testing::forests;
use std::collections::BTreeSet;

use crate::cases::{CASES, KERNELS, case};

/// Bytes that a kernel writes.
fn results(module: &Module, at: usize, forest: &Forest, rows: &[f64], seed: u64) -> Vec<u8> {
    let (kind, function) = &module.kernels[at];
    verify(function).unwrap_or_else(|problem| panic!("seed {seed}: {problem}\n{function}"));
    let count = rows.len() / forest.num_features;
    let margins = |rows: usize| rows * forest.num_margins;
    let bytes = |float: Float, values: Vec<f64>| -> Vec<u8> {
        match float {
            Float::F64 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Float::F32 => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
        }
    };
    let input = match kind {
        KernelKind::Output(OutputKind::Raw | OutputKind::Leaf) => bytes(forest.types.input, rows.to_vec()),
        // The output stage reads margins.
        _ => bytes(forest.types.accumulator, (0..margins(count)).map(|at| (at as f64).sin()).collect()),
    };
    // Largest number of results per row: leaves, margins, or predictions, which may be more than
    // margins.
    let widest = forest.trees.len().max(forest.num_margins).max(forest.value_columns()).max(1);
    let mut output = vec![0_u8; count * widest * 8];
    let memory =
        CallMemory { rows: count as i64, input: &input, output: &mut output, tables: &module.tables };
    let result = run_with(function, memory, &Run { seed, ..Run::default() });
    result.unwrap_or_else(|fault| panic!("seed {seed}: {fault}\n{function}"));
    output
}

#[test]
fn narrow_indices_give_the_same_results() {
    let (mut formats, mut traversals, mut ran) = (BTreeSet::new(), BTreeSet::new(), 0);
    for seed in 0..CASES {
        let Some((forest, rows, text, [wide, narrow])) = case(seed) else { continue };
        let kinds = |module: &Module| module.kernels.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
        assert_eq!(kinds(&wide.lir), kinds(&narrow.lir));
        for at in 0..wide.lir.kernels.len() {
            assert_eq!(wide.lir.kernels[at].1.index, Scalar::I64);
            assert_eq!(narrow.lir.kernels[at].1.index, Scalar::I32);
            let of = |compiled: &Compiled| results(&compiled.lir, at, &forest, &rows, seed);
            assert_eq!(of(&wide), of(&narrow), "seed {seed}: {:?}\n{text}", wide.lir.kernels[at].0);
        }
        formats.extend(narrow.variants.rest().plan.storages.keys().map(|storage| storage.format));
        let name = |debug: String| debug.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        traversals.extend(
            narrow.variants.rest().plan.walks.values().map(|walk| name(format!("{:?}", walk.traversal))),
        );
        ran += 1;
    }
    assert!(ran > 200, "only {ran} cases ran");
    assert_eq!(traversals.len(), 7, "{traversals:?}");
    // Only launches, whose indices always have 32 bits, use nodes of 16 bits.
    formats.extend(NodeFormat::all().map(NodeFormat::for_shared_rows));
    let unseen = NodeFormat::all().filter(|format| !formats.contains(format)).collect::<Vec<_>>();
    assert!(unseen.is_empty(), "no case is stored as {unseen:?}");
}

#[test]
fn runs_are_short_enough_for_narrow_indices() {
    let (forest, _) = forests::complete_with_rows(3, 7, 4);
    let options =
        CheckOptions { model: Some(forests::model_info(&forest).into()), ..CheckOptions::default() };
    let nests = check("", &options).nests.expect("nests");
    let budget = Budget { narrow_indices: true, ..Budget::default() };
    let most = forest.num_features.max(forest.trees.len()).max(forest.num_margins) as i64;
    let compiled = compile(forest, None, nests, &KERNELS, &budget).expect("a kernel");
    assert_eq!(compiled.lir.rows_per_run, Some((1 << 30) / most));
    let plan = compiled.variants.rest().plan.to_string();
    assert!(plan.contains("\nindices of i32\n"), "{plan}");
}
