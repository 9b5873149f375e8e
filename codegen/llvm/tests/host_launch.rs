//! Kernels of launches on this machine's processor, thread by thread, compared with the interpreter.

use crate::launches::host::Host;
use crate::launches::{DIRECT, WALKS, compiled, examples, model};
use sched_forest::{Float, Forest, Predicate};
use sched_ir::fault::{Fault, with_fault};
use sched_ir::interp::{CallMemory, run};
use sched_ir::lir::{KernelKind, Module, OutputKind};
use sched_llvm::host_launch_object;
use sched_testing::schedules::Rng;
use sched_testing::{forests, wide};

fn as_bytes(values: &[f64], float: Float) -> Vec<u8> {
    let each = |x: &f64| match float {
        Float::F32 => (*x as f32).to_le_bytes().to_vec(),
        Float::F64 => x.to_le_bytes().to_vec(),
    };
    values.iter().flat_map(each).collect()
}

/// Compares the results of the kernels that walk trees, on this machine and in the interpreter.
fn compare(forest: &Forest, module: &Module, host: &mut Host, rows: &[f64], what: &str) {
    let count = rows.len() / forest.num_features;
    let input = as_bytes(rows, forest.types.input);
    for (kind, function) in
        WALKS.iter().flat_map(|walk| module.kernels.iter().find(|(kind, _)| *kind == (*walk).into()))
    {
        let bytes = match *kind {
            KernelKind::RAW => count * forest.num_margins * forest.types.accumulator.bytes(),
            _ => count * forest.trees.len() * 4,
        };
        let mut expected = vec![0; bytes];
        let memory =
            CallMemory { rows: count as i64, input: &input, output: &mut expected, tables: &module.tables };
        run(function, memory).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        let mut found = vec![0x5a; bytes];
        host.run(*kind, count, &input, &mut found);
        assert!(found == expected, "{what}, {kind:?}, {count} rows: {function}");
    }
}

/// Schedules of small blocks.
const SMALL: [&str; 13] = [
    // Rows and their bins in shared memory.
    "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n\
     interleave(tree, 2)\nrepresentation(sparse)\n",
    "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n\
     representation(quantized)\n",
    "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ncache(b0)\n\
     representation(preorder)\n",
    // Partial tiles in two directions of blocks and threads.
    "tile(batch, g0, a, 12)\ntile(a, g1, b, 6)\ntile(b, x, y, 2)\n\
     gpuDimension(g0, grid.y)\ngpuDimension(g1, grid.x)\ngpuDimension(x, block.y)\n\
     gpuDimension(y, block.x)\n",
    // Trees in blocks and threads.
    "gpuDimension(batch, grid.x)\ncache(batch)\ntile(tree, t0, t1, 4)\ntile(t1, t2, t3, 2)\n\
     gpuDimension(t0, grid.y)\ngpuDimension(t2, block.y)\n",
    // Trees in blocks whose last one adds up the sums; blocks of threads over rows.
    "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, t0, b1, t1)\n\
     gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n",
    // Trees outermost, and groups of blocks in two directions.
    "tile(batch, g0, a, 6)\ntile(a, g1, b1, 3)\ntile(tree, t0, t1, 2)\nreorder(t0, g0, g1, b1, t1)\n\
     gpuDimension(t0, grid.x)\ngpuDimension(g0, grid.y)\ngpuDimension(g1, grid.z)\n\
     gpuDimension(b1, block.x)\n",
    // Groups of blocks in launches of a loop of the host.
    "tile(tree, h, t, 4)\ntile(t, t0, t1, 2)\ntile(batch, b0, b1, 4)\nreorder(h, b0, t0, b1, t1)\n\
     gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n",
    // Trees in threads alone: each block adds up its own sums.
    "tile(batch, b0, b1, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, t0, b1, t1)\n\
     gpuDimension(b0, grid.x)\ngpuDimension(t0, block.y)\ngpuDimension(b1, block.x)\n",
    // Two runs of trees, one of which is divided among threads of a dimension that the other run does not
    // use.
    "tile(batch, b0, b1, 4)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
     split(tree, ta, tb, 1)\ntile(tb, t0, t1, 2)\ngpuDimension(t0, block.y)\n",
    // A loop of the host around launches.
    "tile(tree, t0, t1, 2)\ntile(batch, b0, b1, 4)\nreorder(t0, b0, b1, t1)\n\
     gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n",
    // Several rows for each thread, tree by tree.
    "tile(batch, b0, rest, 6)\ntile(rest, b1, b2, 2)\nreorder(b0, b1, tree, b2)\n\
     gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\ninterleave(b2, 2)\n",
    // Two launches, of blocks of different sizes.
    "split(batch, ba, bb, 6)\ntile(ba, a0, a1, 2)\ntile(bb, c0, c1, 4)\n\
     gpuDimension(a0, grid.x)\ngpuDimension(a1, block.x)\n\
     gpuDimension(c0, grid.x)\ngpuDimension(c1, block.x)\n",
];

/// Rows whose values are thresholds of the forest or missing.
fn some_rows(rng: &mut Rng, forest: &Forest, count: usize) -> Vec<f64> {
    let inner = forest.trees.iter().flat_map(|tree| &tree.inner);
    let thresholds: Vec<f64> = inner
        .filter_map(|node| match &node.predicate {
            Predicate::Numeric { threshold } => Some(*threshold),
            _ => None,
        })
        .collect();
    let value = |_| match rng.one_in(5) {
        true => f64::NAN,
        false => rng.pick(&thresholds).copied().unwrap_or(0.5),
    };
    (0..count * forest.num_features).map(value).collect()
}

#[test]
fn examples_agree_with_the_interpreter() {
    let forest = model();
    let mut rng = Rng(17);
    for (name, schedule) in examples() {
        let module = compiled(&forest, &schedule, &WALKS).expect("the schedule is legal").lir;
        let mut host = Host::compile(&module);
        for count in [1, 150] {
            let rows = some_rows(&mut rng, &forest, count);
            compare(&forest, &module, &mut host, &rows, &name);
        }
    }
}

/// The object can be linked: it has a function for each launch, and refers only to the C library.
#[test]
fn launches_are_functions_of_an_object() {
    let module = compiled(&model(), DIRECT, &WALKS).expect("the schedule is legal").lir;
    let object = host_launch_object(&module).expect("an object");
    let file = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(&object).expect("an ELF file");
    let (symbols, names) = file.symbol_table().expect("a table").expect("symbols");
    let found: Vec<&str> = symbols
        .iter()
        .filter(|symbol| symbol.st_symtype() == elf::abi::STT_FUNC)
        .map(|symbol| names.get(symbol.st_name as usize).expect("a name"))
        .collect();
    assert_eq!(found, ["schedc_raw_b0", "schedc_leaf_b0", "schedc_pack_columns"]);
}

#[test]
fn random_forests_agree_with_the_interpreter() {
    let of_examples = examples().into_iter().map(|(_, text)| (text, 2, [0, 257]));
    let of_small = SMALL.iter().map(|text| (text.to_string(), 12, [1, 13]));
    for (schedule, seeds, counts) in of_examples.chain(of_small) {
        let mut compared = 0;
        for seed in 0..seeds {
            let mut rng = Rng(seed);
            let forest = wide::with_untested_features(seed, forests::forest(&mut rng));
            let Some(compiled) = compiled(&forest, &schedule, &WALKS) else { continue };
            let mut host = Host::compile(&compiled.lir);
            let rows = some_rows(&mut rng, &forest, counts[1]);
            for count in counts {
                let rows = &rows[..count * forest.num_features];
                compare(&forest, &compiled.lir, &mut host, rows, &format!("seed {seed}, {schedule}"));
            }
            compared += 1;
        }
        assert!(2 * compared >= seeds, "{schedule}: {compared} of {seeds} were legal");
    }
}

/// Seeded faults cause wrong margins here, too.
#[test]
fn seeded_faults_are_seen() {
    let forest = model();
    let rows = some_rows(&mut Rng(3), &forest, 9);
    let (input, bytes) = (as_bytes(&rows, forest.types.input), 9 * forest.types.accumulator.bytes());
    let margins = |fault: Option<Fault>| {
        let compiled = || compiled(&forest, SMALL[0], &[OutputKind::Raw]).expect("the schedule is legal");
        let module = fault.map_or_else(compiled, |fault| with_fault(fault, compiled)).lir;
        let mut found = vec![0; bytes];
        Host::compile(&module).run(OutputKind::Raw.into(), 9, &input, &mut found);
        found
    };
    for fault in [Fault::BarrierDropped, Fault::CopyStopsShort] {
        assert_ne!(margins(Some(fault)), margins(None), "{fault:?} is not seen");
    }
}
