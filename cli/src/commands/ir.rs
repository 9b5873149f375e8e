//! `schedc ir`: the stages of the compiler as text.

use super::{Job, print};
use crate::args::{Ir, ScheduleOptions, Stage};
use crate::compile::compile;
use crate::defaults::CodeDestination;
use crate::failure::Failure;
use crate::terminal::Terminal;
use sched_ir::lir::KernelKind;
use sched_ir::{Compiled, Smaller};
use sched_llvm::{asm_text, llvm_text};
use std::fmt::Display;

/// Runs the command.
pub fn run(args: &Ir, terminal: &Terminal) -> Result<(), Failure> {
    let schedule = ScheduleOptions { schedule: args.schedule.clone(), values: args.values.clone() };
    let what = args.model.as_ref().or(args.schedule.as_ref()).ok_or_else(|| {
        Failure::usage("neither a schedule nor a model is named", "try `schedc ir --model model.json`")
    })?;
    let schedule =
        if args.model.is_some() { schedule } else { ScheduleOptions { schedule: None, ..schedule } };
    let job = Job::load(what, &schedule, &args.reading, (args.cpu, CodeDestination::Artefact))?;
    let nest = job.nest(&args.values, terminal)?;
    let compiled = compile(&job.model, nest, &[KernelKind::Raw, KernelKind::Value, KernelKind::Class])?;
    print(&match args.stage {
        Stage::Hir => of_all(&compiled, &compiled.hir, |smaller| &smaller.hir),
        Stage::Mir => of_all(&compiled, &compiled.mir, |smaller| &smaller.mir),
        Stage::Plan => of_all(&compiled, &compiled.plan, |smaller| &smaller.plan),
        Stage::Lir => compiled.lir.to_string(),
        Stage::Llvm => llvm_text(&compiled.lir, args.cpu, true)?,
        Stage::Asm => asm_text(&compiled.lir, args.cpu)?,
    })
}

/// A stage of all schedules, those for small calls first.
fn of_all<S: Display>(compiled: &Compiled, main: &S, stage: impl Fn(&Smaller) -> &S) -> String {
    let smaller = compiled.smaller.iter();
    let few = smaller.map(|smaller| {
        format!("for calls of at most {} rows:\n{}\nfor all others:\n", smaller.most_rows, stage(smaller))
    });
    few.collect::<String>() + &main.to_string()
}
