//! Copies of rows in shared memory for models that test few of many features: bytes, accesses and registers.

use sched_forest::{Forest, ForestParts, Leaf, LinearLeaf, NodeRef, Tree, TreeTarget, predict_margins};
use sched_ir::interp::{AccessCost, CallMemory, InterpreterOptions, LaunchCost, count_launches, run};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::{Gpu, Ptxas, ptx_text};
use sched_nest::ModelInfo;
use sched_testing::forests;
use sched_testing::wide::with_features_at;

/// A schedule of blocks of `rows` rows, which `threads` threads copy and walk.
fn cached(rows: u32, threads: u32) -> String {
    let groups = match threads / rows {
        0 | 1 => String::new(),
        groups => format!(
            "tile(tree, t0, t1, max(1, num_trees / {groups}))\nreorder(b0, t0, b1, t1)\n\
             gpuDimension(t0, block.y)\nsharedReduce(t0)\n"
        ),
    };
    format!(
        "tile(batch, b0, b1, {rows})\n{groups}gpuDimension(b0, grid.x)\n\
         gpuDimension(b1, block.x)\ncache(b0)\nrepresentation(sparse)\n"
    )
}

/// A forest that tests `tested` features: one of each `distance`, in rows of `features` features.
fn forest(features: u32, tested: u32, distance: u32) -> Forest {
    with_features_at(forests::complete_with_rows(tested, 1, 5).0, features as usize, |n| n * distance)
}

/// Compiles a schedule for a forest that tests `tested` features.
fn compiled(forest: &Forest, tested: u32, schedule: &str) -> Compiled {
    let model = ModelInfo { tested_features: tested, ..forests::model_info(forest) };
    let options = CheckOptions {
        model: Some(model.into()),
        purpose: CheckPurpose::Compile,
        target: Some("gpu(sm_90)".parse().expect("a target")),
        ..CheckOptions::default()
    };
    let checked = check(schedule, &options);
    let nests = checked.nests.unwrap_or_else(|| panic!("{schedule}\n{:#?}", checked.diagnostics));
    compile(forest.clone(), None, nests, &[OutputKind::Raw], &Budget::default()).expect("it fits")
}

/// Costs of a block's copy of its rows.
#[derive(Debug, PartialEq)]
struct CopyCost {
    /// Bytes of the copy.
    bytes: u64,
    /// Values that are loaded.
    values: u64,
    /// Sectors of device memory with these values.
    sectors: u64,
    /// Sectors of the table of features.
    table_sectors: u64,
    /// Wavefronts of the stores to shared memory.
    wavefronts: u64,
}

fn cost(forest: &Forest, tested: u32, schedule: &str, rows: usize) -> CopyCost {
    let compiled = compiled(forest, tested, schedule);
    let kernel = &compiled.lir.kernels[0].1;
    let input = vec![0; rows * forest.num_features * 4];
    let mut output = vec![0; rows * 4];
    let tables = &compiled.lir.tables;
    let memory = CallMemory { rows: rows as i64, input: &input, output: &mut output, tables };
    let launches = count_launches(kernel, memory, &InterpreterOptions::default(), 32).expect("it runs");
    let [LaunchCost { accesses, shared_bytes, .. }] = &launches[..] else { panic!("one launch") };
    let of = |buffer: &str, word: &str, count: fn(&AccessCost) -> u64| -> u64 {
        accesses.iter().filter(|cost| cost.buffer == buffer && cost.statement.contains(word)).map(count).sum()
    };
    CopyCost {
        bytes: *shared_bytes,
        values: of("rows", "load", |cost| cost.active_lanes),
        sectors: of("rows", "load", |cost| cost.transfers),
        table_sectors: of("feature_pieces", "load", |cost| cost.transfers),
        wavefronts: of("shared_rows", "store", |cost| cost.transfers),
    }
}

/// A block copies and stores only the tested features of its rows.
#[test]
fn copies_hold_the_tested_features() {
    // Of 2000 features, 300 are tested, each in a sector of its own or in that of its neighbour. Whole rows
    // would have 512,000 bytes.
    let few = cost(&forest(2000, 300, 6), 300, &cached(64, 64), 64);
    let (bytes, values) = (64 * 300 * 4, 64 * 300);
    let wanted = CopyCost { bytes, values, sectors: 14_400, table_sectors: 600, wavefronts: 2_400 };
    assert_eq!(few, wanted);
    // Few rows: columns begin in different banks, so each store of a warp of 16 threads is one wavefront.
    let few = cost(&forest(2000, 300, 6), 300, &cached(16, 16), 16);
    let (bytes, values) = (17 * 300 * 4, 16 * 300);
    assert_eq!((few.bytes, few.values, few.sectors), (bytes, values, 3_600));
    assert_eq!((few.table_sectors, few.wavefronts), (756, 300));
    // Adjacent features: a sector has eight values, and some are read twice.
    let most = cost(&forest(692, 500, 1), 500, &cached(64, 64), 64);
    let (bytes, values) = (64 * 500 * 4, 64 * 500);
    let wanted = CopyCost { bytes, values, sectors: 8_000, table_sectors: 1_000, wavefronts: 4_000 };
    assert_eq!(most, wanted);
    // If all features are tested, whole rows are copied in the order of the input.
    let all = cost(&forest(500, 500, 1), 500, &cached(64, 64), 64);
    assert_eq!((all.bytes, all.values, all.sectors, all.table_sectors), (bytes, values, 4_000, 0));
}

/// Kernels that copy tested features keep their values in registers.
#[test]
fn copies_of_tested_features_assemble_without_spills() {
    let Some(ptxas) = Ptxas::find() else {
        println!("left out: ptxas is not in the search path, and PTXAS names none");
        return;
    };
    for (features, tested, distance) in [(2000, 300, 6), (692, 500, 1), (30, 27, 1)] {
        for (rows, threads) in [(16, 16), (16, 256), (64, 64), (64, 256)] {
            let forest = forest(features, tested, distance);
            let lir = compiled(&forest, tested, &cached(rows, threads)).lir;
            for gpu in ["sm_80", "sm_90"].map(|gpu| gpu.parse::<Gpu>().expect("a GPU")) {
                let cubin = ptxas.assemble(&ptx_text(&lir, gpu).expect("PTX"), gpu).expect("machine code");
                for kernel in &cubin.kernels {
                    let spills = kernel.spill_store_bytes + kernel.spill_load_bytes + kernel.stack_bytes;
                    assert_eq!(spills, 0, "{tested} of {features}, {rows} rows, {gpu}: {kernel:?}");
                }
            }
        }
    }
}

/// Linear leaves add features that no node tests, and blocks of one row have columns of one value.
#[test]
fn linear_models_copy_the_features_that_they_add() {
    let leaf = |tree: u32| LinearLeaf {
        constant: 0.5,
        terms: (0..3).map(|term| (tree % 2 * 90 + term * 7, f64::from(term) - 0.75)).collect(),
    };
    let trees = (0..3).map(|source| Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: vec![Leaf { values: vec![0.25].into(), source: 0 }],
        target: TreeTarget::One(0),
        source,
    });
    let parts = ForestParts {
        trees: trees.collect(),
        num_features: 120,
        linear: (0..3).map(|tree| vec![leaf(tree)]).collect(),
        ..ForestParts::default()
    };
    let forest = Forest::new(parts).expect("a valid forest");
    let rows: Vec<f64> =
        (0..40 * 120).map(|at| if at % 13 == 5 { f64::NAN } else { f64::from(at * 7 % 31) }).collect();
    let mut wanted = vec![0.0; 40];
    predict_margins(&forest, &rows, &mut wanted).expect("rows fit the forest");
    for block in [1, 5, 32] {
        let compiled = compiled(&forest, 6, &cached(block, block));
        let plan = &compiled.variants.rest().plan;
        assert_eq!(plan.subset.as_ref().map(|subset| subset.count()), Some(6), "{plan}");
        let input: Vec<u8> = rows.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        let mut output = vec![0; 40 * 4];
        let tables = &compiled.lir.tables;
        let memory = CallMemory { rows: 40, input: &input, output: &mut output, tables };
        run(&compiled.lir.kernels[0].1, memory).expect("it runs");
        let wanted: Vec<u8> = wanted.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect();
        assert_eq!(output, wanted, "blocks of {block} rows");
    }
}
