//! Code of expressions over the margins of a row.

use crate::columns::code::{BufferElements, ColumnCode};
use crate::columns::outputs::{OutputRun, OutputRuns, StepRuns};
use crate::columns::pools::PoolTables;
use crate::columns::stored::StoredColumns;
use crate::columns::value::FeatureSource;
use crate::lir::{BufferId, BuildStmts, Builder, OutputKind, ProcessorKind, Scalar, Table};
use sched_forest::Transform;

/// Numbers of the tables of each output step that is an expression, by the number of the output.
#[derive(Clone, Debug, Default)]
pub struct OutputTables([Vec<PoolTables<u32>>; OutputKind::ALL.len()]);

/// Code of an expression, and the steps on single values that precede it.
#[derive(Clone, Copy)]
pub(super) struct ExpressionCode<'a> {
    /// The steps.
    pub steps: &'a [Transform],
    /// Element type of the results.
    pub element: Scalar,
    code: ColumnCode<'a>,
}

/// Memory of an expression in a kernel.
#[derive(Clone, Copy)]
pub(super) struct ExpressionMemory {
    /// The values that the expression reads, if steps on single values compute them.
    pub values: Option<BufferId>,
    /// Intermediate values.
    pub stored: StoredColumns,
    /// The results.
    pub results: Option<BufferId>,
}

impl OutputTables {
    /// Adds the tables of expressions by `add`, which returns their numbers.
    pub fn new(outputs: &OutputRuns, mut add: impl FnMut(Table) -> u32) -> OutputTables {
        OutputTables(OutputKind::ALL.map(|kind| {
            let runs = outputs.steps(kind).into_iter().flat_map(|steps| &steps.runs);
            runs.map(|run| run.runs.tables(&mut add)).collect()
        }))
    }

    /// The code of an output's steps up to the last expression, and the steps after it.
    pub(super) fn code_of_steps<'a>(
        &self,
        (b, register_bytes): (&mut Builder, u32),
        kind: OutputKind,
        StepRuns { steps, runs }: &'a StepRuns,
    ) -> (Vec<ExpressionCode<'a>>, &'a [Transform]) {
        let (mut code, mut steps) = (Vec::new(), &**steps);
        for (run, tables) in runs.iter().zip(&self.0[kind as usize]) {
            let is_expression = |step: &Transform| matches!(step, Transform::Columns(_));
            let Some(at) = steps.iter().position(is_expression) else { break };
            code.push(ExpressionCode::new((b, register_bytes), run, *tables, &steps[..at]));
            steps = &steps[at + 1..];
        }
        (code, steps)
    }
}

impl<'a> ExpressionCode<'a> {
    fn new(
        (b, register_bytes): (&mut Builder, u32),
        run: &'a OutputRun,
        tables: PoolTables<u32>,
        steps: &'a [Transform],
    ) -> ExpressionCode<'a> {
        let (pools, register_bytes) = (tables.declare(b), Some(register_bytes));
        ExpressionCode {
            steps,
            element: run.element,
            code: ColumnCode { runs: &run.runs, pools, register_bytes, stages: None },
        }
    }

    /// Number of values of a row that the expression may read.
    pub fn n_values(&self) -> i64 {
        self.code.runs.features as i64
    }

    /// Number of results of a row.
    pub fn n_results(&self) -> i64 {
        self.code.runs.count as i64
    }

    /// Runs `body` with memory for intermediate values: of a row on the host, and of all rows on a device.
    pub fn with_stored<B: BuildStmts>(
        &self,
        b: &mut B,
        processor: ProcessorKind,
        body: impl FnOnce(&mut B, StoredColumns),
    ) {
        match processor {
            ProcessorKind::Host => self.code.with_row_memory(b, body),
            ProcessorKind::Device => {
                let rows = b.builder().n_rows();
                self.code.runs.stored.with_memory_of_call(b, rows, body);
            }
        }
    }

    /// Stores the results for the values of a row. Threads of a device compute them without vectors.
    pub fn row(
        &self,
        b: &mut Builder,
        processor: ProcessorKind,
        values: FeatureSource,
        (stored, to): (StoredColumns, BufferElements),
    ) {
        let register_bytes = self.code.register_bytes.filter(|_| processor == ProcessorKind::Host);
        ColumnCode { register_bytes, ..self.code }.store_row(b, values, stored, to);
    }
}
