//! The kernels of launches on this machine's processor, thread by thread: their results are those of the interpreter.

#![allow(clippy::panic, clippy::expect_used)]
#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod launches;

use launches::host::Host;
use launches::{WALKS, compiled, examples, model};
use sched_forest::{Float, Forest, Predicate};
use sched_ir::interp::{Memory, run};
use sched_ir::lir::{KernelKind, Module};
use sched_llvm::host_launch_object;
use sched_testing::forests;
use sched_testing::schedules::Rng;

fn as_bytes(values: &[f64], float: Float) -> Vec<u8> {
    let each = |x: &f64| match float {
        Float::F32 => (*x as f32).to_le_bytes().to_vec(),
        Float::F64 => x.to_le_bytes().to_vec(),
    };
    values.iter().flat_map(each).collect()
}

/// Runs the kernels that walk trees in both ways.
fn compare(forest: &Forest, module: &Module, host: &mut Host, rows: &[f64], what: &str) {
    let count = rows.len() / forest.num_features;
    let input = as_bytes(rows, forest.types.input);
    for (kind, function) in module.kernels.iter().filter(|(kind, _)| WALKS.contains(kind)) {
        let bytes = match kind {
            KernelKind::Raw => count * forest.num_margins * forest.types.accumulator.bytes(),
            _ => count * forest.trees.len() * 4,
        };
        let mut expected = vec![0; bytes];
        let memory =
            Memory { rows: count as i64, input: &input, output: &mut expected, tables: &module.tables };
        run(function, memory).unwrap_or_else(|fault| panic!("{what}: {fault}"));
        let mut found = vec![0x5a; bytes];
        host.run(*kind, count, &input, &mut found);
        assert!(found == expected, "{what}, {kind:?}, {count} rows: {function}");
    }
}

/// Numbers of rows for blocks of up to 256: no row, one, partial blocks and several blocks.
const ROWS: [usize; 4] = [0, 1, 128, 300];

/// Rows of values that are thresholds of the forest, and of missing ones.
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

/// The object can be linked: it has a function for each launch, and needs none but of the C library.
#[test]
fn launches_are_functions_of_an_object() {
    let (_, schedule) = examples().swap_remove(0);
    let module = compiled(&model(), &schedule, &WALKS).expect("the schedule is legal").lir;
    let object = host_launch_object(&module).expect("an object");
    let file = elf::ElfBytes::<elf::endian::LittleEndian>::minimal_parse(&object).expect("an ELF file");
    let (symbols, names) = file.symbol_table().expect("a table").expect("symbols");
    let found: Vec<&str> = symbols
        .iter()
        .filter(|symbol| symbol.st_symtype() == elf::abi::STT_FUNC)
        .map(|symbol| names.get(symbol.st_name as usize).expect("a name"))
        .collect();
    assert_eq!(found, ["schedc_raw_b0", "schedc_leaf_b0"]);
}

#[test]
fn random_forests_agree_with_the_interpreter() {
    let mut compared = 0;
    for seed in 0..4 {
        let mut rng = Rng(seed);
        let forest = forests::forest(&mut rng);
        for (name, schedule) in examples() {
            let Some(compiled) = compiled(&forest, &schedule, &WALKS) else { continue };
            let mut host = Host::compile(&compiled.lir);
            let rows = some_rows(&mut rng, &forest, ROWS[3]);
            for count in ROWS {
                let rows = &rows[..count * forest.num_features];
                compare(&forest, &compiled.lir, &mut host, rows, &format!("seed {seed}, {name}"));
            }
            compared += 1;
        }
    }
    assert!(compared >= 20, "only {compared} were legal");
}
