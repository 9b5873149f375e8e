//! Words of the header: `sched`, `model`, `target`, `param`, `const`; blocks, and reserved words.

use sched_grammar::ast::{ScheduleStmt, Span, StmtKind, When};

use super::answer::{Hover, touches};
use crate::ScheduleAnalysis;
use sched_lang::device::CpuClass;
use sched_lang::options::ModelInfo;
use sched_machines::GpuKind;
use sched_nest::show::show_nest;

/// Most lines of a nest that is shown.
const MOST_LINES: usize = 20;

/// Hover of a header line.
pub(super) fn hover(analysis: ScheduleAnalysis, stmt: &ScheduleStmt, offset: usize) -> Option<Hover> {
    if let Some(hover) = keyword(analysis, stmt, offset) {
        return Some(hover);
    }
    match &stmt.kind {
        StmtKind::Model { path, .. } if touches(path.span, offset) => {
            Some(Hover::new(path.span, model(analysis)).page("language/files"))
        }
        StmtKind::Model { fingerprint: Some(print), .. } if touches(print.span, offset) => {
            let text = "The fingerprint that the model's content must have; another model is an error.";
            Some(Hover::new(print.span, text).page("language/files"))
        }
        StmtKind::Target { kind, .. } if touches(kind.span, offset) => {
            Some(Hover::new(kind.span, target(&kind.text)?).page("language/targets"))
        }
        StmtKind::Target { options, .. } => {
            let option = options.iter().find(|option| touches(option.span, offset))?;
            Some(Hover::new(option.span, device(&option.text)?).page("language/targets"))
        }
        _ => None,
    }
}

/// The meaning of the line's first word.
pub(super) fn keyword(analysis: ScheduleAnalysis, stmt: &ScheduleStmt, offset: usize) -> Option<Hover> {
    let start = stmt.span.start as usize;
    let text = analysis.text(stmt.span);
    let len = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let span = Span::new(start, start + len);
    if !touches(span, offset) {
        return None;
    }
    let word = text.get(..len)?;
    let (what, page) = meaning(word)?;
    let mut markdown = what.to_owned();
    match &stmt.kind {
        StmtKind::Model { .. } => markdown = format!("{markdown}\n\n{}", model(analysis)),
        StmtKind::Target { .. } => {
            let kind = if analysis.verdict().target.is_gpu() { "a GPU" } else { "a CPU" };
            markdown.push_str(&format!("\n\nThis schedule is for {kind}."));
        }
        _ => {}
    }
    Some(Hover::new(span, markdown).page(page))
}

/// Hover of a `when` block: its calls and its nest.
pub(super) fn block(
    analysis: ScheduleAnalysis,
    stmt: &ScheduleStmt,
    when: &When,
    offset: usize,
) -> Option<Hover> {
    let mut hover = keyword(analysis, stmt, offset)?;
    let Some(max_rows) = analysis.max_rows(stmt) else { return Some(hover) };
    let bounds = analysis.schedules().filter_map(|here| here.variant().max_rows);
    let fewer = bounds.filter(|other| *other < max_rows).max();
    let calls = match fewer {
        Some(fewer) if fewer + 1 == max_rows => {
            format!("calls of {max_rows} rows; another block is for smaller calls")
        }
        Some(fewer) => {
            format!("calls of {} to {max_rows} rows; another block is for smaller calls", fewer + 1)
        }
        None if max_rows == 1 => "calls of one row".to_owned(),
        None => format!("calls of at most {max_rows} rows"),
    };
    hover.markdown.push_str(&format!("\n\nThis block is for {calls}."));
    let nest = analysis.schedule_at(when.block.start as usize + 1).nest().map(show_nest);
    if let Some(nest) = nest.filter(|nest| nest.lines().count() <= MOST_LINES) {
        hover.markdown.push_str(&format!("\n\n```text\n{nest}```"));
    }
    Some(hover)
}

/// The meaning of a header's keyword, and the page about it.
pub(crate) fn meaning(word: &str) -> Option<(&'static str, &'static str)> {
    Some(match word {
        "sched" => ("`sched 1`: the edition of the language that the file is written in.", "language/files"),
        "model" => (
            "`model \"file.json\"`: the model that the schedule is for. It makes ranges concrete. The path \
             is \
             relative to this file; a fingerprint of the content may follow.",
            "language/files",
        ),
        "target" => (
            "`target cpu` or `target gpu(sm_90)`: the machine that the schedule is for. Without this line it \
             is for a GPU if it maps a loop with `gpuDimension`, else for a CPU.",
            "language/targets",
        ),
        "param" => (
            "`param ROWS = 64 in {16, 64}`: a named number that options such as `--set` can change, with the \
             values that are worth trying.",
            "language/params",
        ),
        "const" => ("`const HALF = num_trees / 2`: a named number.", "language/params"),
        "when" => (
            "`when n_rows <= 8 { ... }`: a separate schedule for calls of at most 8 rows. It starts from the \
             nest of `batch` and `tree`. If several blocks cover a call, the one with the smallest bound \
             applies.",
            "language/when",
        ),
        "use" | "def" | "require" | "tune" => {
            ("This word is reserved for a later edition of the language.", "language/files")
        }
        _ => return None,
    })
}

/// The meaning of a word for a kind of target.
pub(crate) fn target(word: &str) -> Option<&'static str> {
    Some(match word {
        "cpu" => "`cpu`: loops run on the CPU, where `parallel` spreads them over its threads.",
        "gpu" => "`gpu`: loops that `gpuDimension` maps run as blocks and threads of a GPU.",
        _ => return None,
    })
}

/// Text about the model, in Markdown.
fn model(analysis: ScheduleAnalysis) -> String {
    match &analysis.options().model {
        None => "No model has been read, so ranges are symbolic.".to_owned(),
        Some(model) => summary(model),
    }
}

fn summary(model: &ModelInfo) -> String {
    let count = |n: u32, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let least = model.depths.iter().copied().min().unwrap_or(0);
    let most = model.max_depth();
    let depth = if least == most { format!("depth {most}") } else { format!("depths {least} to {most}") };
    let leaves: u64 = model.leaves.iter().flatten().map(|n| u64::from(*n)).sum();
    let mut parts = vec![count(model.num_trees, "tree"), depth];
    if leaves > 0 {
        parts.push(format!("{leaves} leaves"));
    }
    parts.push(count(model.num_features, "feature"));
    parts.push(count(model.num_classes, "output"));
    format!("**The model**: {}.", parts.join(", "))
}

/// The limits of a named device.
pub(crate) fn device(name: &str) -> Option<String> {
    const KIB: u64 = 1024;
    if let Some(gpu) = GpuKind::named(name) {
        return Some(format!(
            "**{name}**, a GPU: up to {} threads in a block, {} KiB of shared memory for a block.",
            gpu.limits.threads,
            gpu.limits.shared_bytes / KIB
        ));
    }
    let cpu = CpuClass::named(name)?;
    let what = if cpu.level.is_none() { "the CPU that compiles" } else { "a class of CPUs" };
    Some(format!("**{name}**, {what}: about {} KiB of second-level cache for a core.", cpu.l2() / KIB))
}
