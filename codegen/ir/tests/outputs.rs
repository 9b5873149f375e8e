//! Output steps with logarithms, on margins that random forests seldom have. Kernels in the interpreter are
//! bit-equal to the reference.

use sched_forest::{Float, Forest, ForestParts, Output, Sigmoid, Transform, Types};
use sched_ir::interp::{CallMemory, InterpreterOptions as Run, run_with};
use sched_ir::lir::OutputKind;
use sched_ir::verify::verify;
use sched_ir::{Budget, compile};
use sched_lang::{CheckOptions, check};
use sched_testing::forests;

const MARGINS: usize = 4;

fn bytes(float: Float, values: &[f64]) -> Vec<u8> {
    match float {
        Float::F64 => values.iter().flat_map(|x| x.to_le_bytes()).collect(),
        Float::F32 => values.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect(),
    }
}

const TYPES: [(Float, Float); 4] =
    [(Float::F32, Float::F32), (Float::F64, Float::F64), (Float::F64, Float::F32), (Float::F32, Float::F64)];

#[test]
fn logarithms_are_those_of_the_reference() {
    let sigmoid = Transform::Sigmoid(Sigmoid::Plain { slope: 1.0 });
    let outputs = [
        vec![Transform::Divide { by: 3.0 }, Transform::Ascending],
        vec![Transform::LogOnePlusExp],
        vec![sigmoid, Transform::Probit],
    ];
    for value in outputs {
        equals_reference(&value);
    }
}

/// Compares values with the reference, in all types.
fn equals_reference(value: &[Transform]) {
    for (accumulator, output) in TYPES {
        let parts = ForestParts {
            num_margins: MARGINS,
            base: vec![0.0; MARGINS],
            types: Types { accumulator, output, ..Types::all(Float::F32) },
            output: Output { value: value.to_vec(), ..Output::default() },
            ..ForestParts::default()
        };
        let forest = Forest::new(parts).expect("a forest");
        let options =
            CheckOptions { model: Some(forests::model_info(&forest).into()), ..CheckOptions::default() };
        let nests = check("", &options).nests.expect("nests");
        let compiled = compile(forest.clone(), None, nests, &[OutputKind::Value], &Budget::default());
        let module = compiled.expect("a kernel").lir;
        let (_, function) =
            module.kernels.iter().find(|(kind, _)| *kind == OutputKind::Value.into()).expect("values");
        verify(function).unwrap_or_else(|problem| panic!("{problem}\n{function}"));

        let mut margins: Vec<f64> =
            (0..40).map(|at| f64::from((f64::from(at) * 1.7).sin() as f32) * 9.0).collect();
        margins.extend([0.0, -0.0, -500.0, 500.0, 0.0, 1e-30, -1e-30, 88.0]);
        margins.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        let rows = margins.len() / MARGINS;
        let expected: Vec<f64> = margins
            .chunks(MARGINS)
            .flat_map(|row| {
                let mut values = row.to_vec();
                forest.output.prediction(accumulator, &mut values);
                values
            })
            .collect();
        let mut found = vec![0; margins.len() * output.bytes()];
        let memory = CallMemory {
            rows: rows as i64,
            input: &bytes(accumulator, &margins),
            output: &mut found,
            tables: &module.tables,
        };
        run_with(function, memory, &Run::default()).unwrap_or_else(|fault| panic!("{fault}\n{function}"));
        assert_eq!(found, bytes(output, &expected), "{value:?} {accumulator:?} {output:?}\n{function}");
    }
}
