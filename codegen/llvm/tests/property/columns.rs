//! Cases with calls on columns.

use super::case::{Case, doubles, function, same_bits};
use sched_forest::Float;
use sched_ir::Compiled;
use sched_ir::interp::{self, CallMemory};
use sched_llvm::column::{Column, ColumnValues};
use sched_llvm::runtime::OutputKind;
use sched_llvm::{Jit, PackedResults, PackedRows};

/// The columns of rows of `features` values.
fn transposed<T: Copy>(values: &[T], features: usize) -> Vec<Vec<T>> {
    (0..features).map(|feature| values.iter().skip(feature).step_by(features).copied().collect()).collect()
}

impl Case {
    /// Runs the kernels on columns, if they accept them, and compares the results with those of rows.
    pub(crate) fn interpret_columns(
        &self,
        compiled: &Compiled,
        margins: &[f64],
        leaves: &[u32],
    ) -> Result<(), String> {
        let n = self.num_rows();
        // Empty input does not show the interpreter how many columns there are.
        if n == 0 || compiled.lir.least_column_rows.is_none_or(|from| (n as i64) < from) {
            return Ok(());
        }
        let rows = self.kernel_rows();
        let size = self.row_type().bytes();
        // The interpreter takes columns in descending order.
        let input = match size {
            4 => transposed(rows.as_chunks::<4>().0, self.forest.num_features)
                .into_iter()
                .rev()
                .flatten()
                .flatten()
                .collect::<Vec<u8>>(),
            _ => transposed(rows.as_chunks::<8>().0, self.forest.num_features)
                .into_iter()
                .rev()
                .flatten()
                .flatten()
                .collect(),
        };
        let run = |kernel: OutputKind, size: usize| {
            let (mut output, adds_to_output) = self.output_before(kernel.into(), size);
            let memory = CallMemory {
                rows: n as i64,
                input: &input,
                output: &mut output,
                tables: &compiled.lir.tables,
            };
            let options = interp::InterpreterOptions {
                seed: self.seed,
                input_is_columns: true,
                adds_to_output,
                ..interp::InterpreterOptions::default()
            };
            interp::run_with(function(&compiled.lir, kernel.into())?, memory, &options)
                .map_err(|fault| format!("interpreter, on columns: {fault}"))?;
            Ok::<_, String>(output)
        };
        let sums = self.forest.types.accumulator;
        let found = doubles(&run(OutputKind::Raw, margins.len() * sums.bytes())?, sums);
        if !self.atomic() {
            same_bits("interpreted margin of columns", &found, margins)?;
        }
        let found = run(OutputKind::Leaf, leaves.len() * 4)?;
        let found: Vec<u32> = found.as_chunks::<4>().0.iter().map(|x| u32::from_le_bytes(*x)).collect();
        if found == leaves { Ok(()) } else { Err("leaves of columns differ".to_string()) }
    }

    /// Compares calls on columns with calls on rows: columns that kernels read in place, and columns that are
    /// converted.
    pub(crate) fn machine_on_columns(&self, jit: &Jit, raw: &[f64], leaves: &[i32]) -> Result<(), String> {
        let features = self.forest.num_features;
        let doubles = transposed(&self.rows, features);
        let narrow: Vec<f32> = self.rows.iter().map(|x| *x as f32).collect();
        let floats = transposed(&narrow, features);
        let n = self.num_rows();
        // No value is missing, so the validity bits only select another path of the code.
        let bits = vec![0xff; n.div_ceil(8)];
        for converted in [false, true] {
            let column = |feature: usize| {
                let values = if self.in_doubles() {
                    ColumnValues::F64(&doubles[feature])
                } else {
                    ColumnValues::F32(&floats[feature])
                };
                let missing = floats[feature].iter().all(|x| x.is_nan());
                let some = converted && (feature as u64 + self.seed).is_multiple_of(3);
                match () {
                    () if some && missing => Column::of(ColumnValues::Absent),
                    () if some => Column { validity: Some(&bits), ..Column::of(values) },
                    () => Column::of(values),
                }
            };
            let columns: Vec<Column> = (0..features).map(column).collect();
            let rows = PackedRows::Columns(&columns);
            let (mut single, mut double) = (vec![0f32; raw.len()], vec![0f64; raw.len()]);
            let output = match self.forest.types.output {
                Float::F32 => PackedResults::F32(&mut single),
                Float::F64 => PackedResults::F64(&mut double),
            };
            self.predict_rows(jit, (OutputKind::Raw, rows, n), output)?;
            let found: Vec<f64> = match self.forest.types.output {
                Float::F32 => single.into_iter().map(f64::from).collect(),
                Float::F64 => double,
            };
            if !self.atomic() {
                same_bits("margin of columns", &found, raw)?;
            }
            let mut found = vec![0i32; leaves.len()];
            let output = PackedResults::I32(&mut found);
            self.predict_rows(jit, (OutputKind::Leaf, rows, n), output)?;
            if found != leaves {
                return Err("leaves of columns differ in machine code".to_string());
            }
        }
        Ok(())
    }
}
