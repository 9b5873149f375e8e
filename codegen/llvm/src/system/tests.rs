use super::*;
use crate::aot::{self, ArtefactForm, ModelVersion};
use crate::entry_info::EntryInfo;
use crate::runtime::{Dtype, OutputCounts, RUNTIME_OBJECT};
use crate::target::Cpu;
use sched_columns::{ColumnType, Columns, Expr, Unary};
use sched_forest::{Float, Forest, ForestParts, Output, OutputColumns, Sigmoid, Softmax, Transform, Types};
use sched_ir::lir::*;
use sched_ir::{Budget, compile};
use sched_nest::Variants;
use sched_testing::forests;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Options under which a C compiler calls other functions of the C library for the same runtime: without
/// built-in code for them, or with checked copies.
const OPTIONS: [&[&str]; 3] =
    [&["-O0", "-fno-builtin"], &["-O2", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong"], &["-Os"]];

/// The linked runtime, and the runtime as other compilers may compile it.
fn runtimes() -> Result<Vec<Vec<u8>>> {
    let folder = tempfile::tempdir()?;
    let object = folder.path().join("runtime.o");
    let mut all = vec![RUNTIME_OBJECT.to_vec()];
    for options in OPTIONS {
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-fPIC", "-w", "-c", "-o"]).arg(&object).args(options);
        cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/runtime.c"));
        assert!(cc.status()?.success(), "{options:?}");
        all.push(std::fs::read(&object)?);
    }
    Ok(all)
}

#[test]
fn the_table_has_what_the_runtime_calls() -> Result<()> {
    // The linker adds `start.c`, which defines a function that the system's shared libraries lack.
    let start = include_str!("../../linker/start.c");
    for runtime in runtimes()? {
        let missing: Vec<String> = unlisted_symbols(&runtime)?
            .into_iter()
            .filter(|name| !start.contains(&format!(" {name}(")))
            .collect();
        assert!(missing.is_empty(), "linker/system.txt lacks {missing:?}");
    }
    Ok(())
}

/// Processors that code is compiled for, on any machine.
const CPUS: [Cpu; 3] = [Cpu::X86_64V2, Cpu::X86_64V3, Cpu::X86_64V4];

/// Checks that the objects of a module for all processors call only functions of the table; returns all their
/// undefined symbols.
fn symbols_of_all_cpus(module: &Module) -> Result<BTreeSet<String>> {
    let entry = EntryInfo {
        num_features: 1,
        counts: OutputCounts { values: 1, margins: 1, classes: 1, trees: 1, tree_values: 1 },
        trainer_row_type: Dtype::F32,
        ns_per_row: 1.0,
        info: "{}".to_string(),
        ..EntryInfo::default()
    };
    let mut all = BTreeSet::new();
    for cpu in CPUS {
        let version = ModelVersion { module, cpu, entry: &entry, launches: None };
        let object = aot::compile(&[version], "m", ArtefactForm::Object)?;
        check_undefined_symbols(&object)?;
        all.extend(undefined_symbols(&object)?);
    }
    Ok(all)
}

/// A module of one kernel.
fn module(function: Function, scalar: Scalar) -> Module {
    Module {
        types: Interface { rows: scalar, margins: scalar, results: Scalar::F32 },
        kernels: vec![(OutputKind::Raw.into(), function)],
        tables: Vec::new(),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    }
}

/// A kernel that stores the results of `results` on two vectors for each row.
fn of_pairs(ty: Ty, results: impl FnOnce(&mut Builder, Value, Value) -> Vec<Value>) -> Function {
    let mut b = Builder::new("pairs");
    let (input, output) =
        (b.buffer("in", Space::Input, ty.scalar), b.buffer("out", Space::Output, ty.scalar));
    let (zero, n) = (b.int(0), b.n_rows());
    b.for_loop((zero, n, 1), &[], |b, i, _| {
        let pair = Address { buffer: input, index: i, stride: 2 * ty.bytes(), offset: 0 };
        let (x, y) = (b.load(ty, pair), b.load(ty, Address { offset: ty.bytes(), ..pair }));
        let mut offset = 0;
        for value in results(b, x, y) {
            b.store(Address { buffer: output, index: i, stride: 4096, offset }, value);
            offset += b.ty(value).bytes();
        }
        Vec::new()
    });
    b.finish()
}

/// The next function in the order of all functions of the C library.
fn after(math: Math) -> Option<Math> {
    match math {
        Math::Exp => Some(Math::PowerOfTwo),
        Math::PowerOfTwo => None,
    }
}

#[test]
fn the_table_has_the_functions_of_the_library() -> Result<()> {
    for scalar in [Scalar::F32, Scalar::F64] {
        for math in std::iter::successors(Some(Math::Exp), |math| after(*math)) {
            for lanes in [1, 4] {
                let function = of_pairs(Ty::vector(scalar, lanes), |b, x, _| vec![b.math(math, x)]);
                let symbols = symbols_of_all_cpus(&module(function, scalar))?;
                assert!(symbols.iter().any(|name| listed_functions().contains(name.as_str())), "{math:?}");
            }
        }
    }
    Ok(())
}

/// The results of all operations on `x` and `y` that are defined for all operands.
fn operations(b: &mut Builder, x: Value, y: Value) -> Vec<Value> {
    let ty = b.ty(x);
    let seven = |b: &mut Builder| b.int_of(ty, 7);
    let mut all = Vec::new();
    let (arithmetic, comparisons): (&[Bin], &[Cmp]) = match ty.scalar.is_float() {
        true => (
            &[Bin::Add, Bin::Sub, Bin::Mul, Bin::Div, Bin::Min, Bin::Max],
            &[Cmp::OLt, Cmp::OLe, Cmp::ULt, Cmp::ULe, Cmp::Uno],
        ),
        false => (
            &[Bin::Add, Bin::Sub, Bin::Mul, Bin::And, Bin::Or, Bin::Xor, Bin::Shr, Bin::Min, Bin::Max],
            &[Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::UnsignedLt],
        ),
    };
    all.extend(arithmetic.iter().map(|op| b.bin(*op, x, y)));
    for cmp in comparisons {
        let truth = b.cmp(*cmp, x, y);
        all.push(b.select(truth, x, y));
    }
    let floats = [Scalar::F32, Scalar::F64];
    if ty.scalar.is_float() {
        let others = floats.into_iter().filter(|to| *to != ty.scalar);
        all.extend(others.map(|to| b.cast(Cast::Float, x, ty.with(to))));
        all.extend([b.fma(x, y, x), b.square_root(x)]);
        all.extend([Rounding::Down, Rounding::Up, Rounding::Nearest].map(|rounding| b.round(rounding, x)));
    } else {
        let seven = seven(b);
        all.push(b.bin(Bin::IDiv, x, seven));
        all.extend(floats.map(|to| b.cast(Cast::IntToFloat, x, ty.with(to))));
        for to in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64] {
            match to.bytes().cmp(&ty.scalar.bytes()) {
                std::cmp::Ordering::Less => all.push(b.cast(Cast::Trunc, x, ty.with(to))),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => {
                    all.push(b.cast(Cast::ZExt, x, ty.with(to)));
                    all.push(b.cast(Cast::SExt, x, ty.with(to)));
                }
            }
        }
    }
    if ty == Ty::I64 {
        let count = b.pop_count(x);
        all.push(count);
    }
    all
}

/// Operations that a processor has no instruction for may become calls of functions.
#[test]
fn operations_call_no_other_function() -> Result<()> {
    for scalar in [Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I64, Scalar::F32, Scalar::F64] {
        let ty = |lanes| if lanes == 1 { Ty::of(scalar) } else { Ty::vector(scalar, lanes) };
        for lanes in [1, 3, 16] {
            symbols_of_all_cpus(&module(of_pairs(ty(lanes), operations), scalar))?;
        }
    }
    Ok(())
}

/// Every step from margins to results, in every form, with the number of margins.
fn steps(float: Float) -> Vec<(Transform, usize)> {
    use Transform as T;
    let mut columns = Columns::default();
    let margin = columns.input(2, float);
    let exponential = columns.insert(Expr::Unary(Unary::Exp, margin), ColumnType::from(float));
    let all = vec![
        (T::Scale { factor: 0.5, bias: vec![1.0, 2.0] }, 2),
        (T::Divide { by: 3.0 }, 2),
        (T::Sigmoid(Sigmoid::Bounded), 1),
        (T::Sigmoid(Sigmoid::Plain { slope: 2.0 }), 1),
        (T::Sigmoid(Sigmoid::Mirrored), 1),
        (T::Hinge, 1),
        (T::Exp, 1),
        (T::LogOnePlusExp, 1),
        (T::SignedSquare, 1),
        (T::Probit, 1),
        (T::PowerOfTwo { by: 3.0 }, 1),
        (T::Softmax(Softmax::Doubled), 3),
        (T::Softmax(Softmax::Plain), 3),
        (T::Softmax(Softmax::ZeroAside), 3),
        (T::Ascending, 3),
        (T::Complement, 1),
        (T::ArgMax, 3),
        (T::Columns(Arc::new(OutputColumns { columns: Arc::new(columns), results: vec![exponential] })), 3),
        (T::Above(0.5), 3),
    ];
    // A new step does not compile before it has a number here and is in the list.
    let number = |step: &Transform| match step {
        T::Scale { .. } => 0,
        T::Divide { .. } => 1,
        T::Sigmoid(Sigmoid::Bounded) => 2,
        T::Sigmoid(Sigmoid::Plain { .. }) => 3,
        T::Sigmoid(Sigmoid::Mirrored) => 4,
        T::Hinge => 5,
        T::Exp => 6,
        T::LogOnePlusExp => 7,
        T::SignedSquare => 8,
        T::Probit => 9,
        T::PowerOfTwo { .. } => 10,
        T::Softmax(Softmax::Doubled) => 11,
        T::Softmax(Softmax::Plain) => 12,
        T::Softmax(Softmax::ZeroAside) => 13,
        T::Ascending => 14,
        T::Complement => 15,
        T::ArgMax => 16,
        T::Columns(_) => 17,
        T::Above(_) => 18,
    };
    assert!(all.iter().map(|(step, _)| number(step)).eq(0..=18), "a step is missing in the list");
    all
}

#[test]
fn the_table_has_what_steps_of_output_call() -> Result<()> {
    for float in [Float::F32, Float::F64] {
        for (step, margins) in steps(float) {
            let parts = ForestParts {
                num_margins: margins,
                base: vec![0.5; margins],
                types: Types { input: Float::F32, ..Types::all(float) },
                output: Output::of(step),
                ..ForestParts::default()
            };
            let forest = Forest::new(parts)?;
            let options = sched_lang::CheckOptions {
                model: Some(forests::model_info(&forest).into()),
                ..sched_lang::CheckOptions::default()
            };
            let nests = sched_lang::check("", &options).nests.ok_or("the plain nest")?;
            let kinds = [OutputKind::Raw, OutputKind::Value];
            symbols_of_all_cpus(&compile(forest, None, nests, &kinds, &Budget::default())?.lir)?;
        }
    }
    Ok(())
}
