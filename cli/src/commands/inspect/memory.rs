//! Memory of the trees in each representation. The trees are compiled, so the sizes are those of the code's
//! tables.

use sched_ir::lir::OutputKind;
use sched_lang::{CheckOptions, CheckPurpose, check};
use sched_llvm::Cpu;
use sched_nest::Layout;
use schedc_driver::Failure;
use schedc_driver::Model;
use schedc_driver::compile::compile;
use schedc_driver::machines;
use serde_json::{Value, json};
use std::fmt::Write;

/// Processor for which the trees are compiled, the same on each machine.
const MACHINE: Cpu = Cpu::X86_64V3;

/// A representation, and the bytes of its tables or the reason why it is refused.
pub type LayoutSize = (&'static str, Result<usize, String>);

/// The size of each representation for walks row by row.
pub fn of_each_layout(model: &Model) -> Vec<LayoutSize> {
    Layout::WORDS.iter().map(|word| (*word, size(model, word))).collect()
}

fn size(model: &Model, word: &str) -> Result<usize, String> {
    let options =
        CheckOptions { model: Some(model.info()), purpose: CheckPurpose::Compile, ..CheckOptions::default() };
    let checked = check(&format!("representation({word})\n"), &options);
    let message = checked.diagnostics.first().map(|diagnostic| diagnostic.message.clone());
    let nests = checked.nests.ok_or_else(|| message.unwrap_or_else(|| "it is not legal".to_string()))?;
    let compiled =
        compile(model, nests, &[OutputKind::Raw], &machines::of(MACHINE)).map_err(
            |failure| match failure {
                Failure::Refused(diagnostic) => diagnostic.message,
                Failure::Findings | Failure::Reported(_) => "it does not compile".to_string(),
            },
        )?;
    Ok(compiled.lir.tables.iter().map(|table| table.bytes.len()).sum())
}

/// Writes the sizes as text.
pub fn describe(out: &mut String, sizes: &[LayoutSize]) -> std::fmt::Result {
    writeln!(out, "memory of trees")?;
    for (word, size) in sizes {
        match size {
            Ok(bytes) => writeln!(out, "  {word:<10}  {:>8} KiB", bytes.div_ceil(1024))?,
            Err(why) => writeln!(out, "  {word:<10}  {why}")?,
        }
    }
    Ok(())
}

/// The sizes as JSON.
pub fn to_json(sizes: &[LayoutSize]) -> Value {
    let entries = sizes.iter().map(|(word, size)| match size {
        Ok(bytes) => ((*word).to_string(), json!({ "bytes": bytes })),
        Err(why) => ((*word).to_string(), json!({ "refused": why })),
    });
    Value::Object(entries.collect())
}
