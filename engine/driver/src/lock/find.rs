//! The search for the schedule of a job in a lock.

use super::compose::composed;
use super::remedy::LockRemedies;
use super::{CODE_EPOCH, EntryKey, LockEntry, LockFile, ThisMachine, nest_digest, structure_digest};
use crate::compile::gpu_of;
use crate::failure::Failure;
use crate::model::Model;
use crate::schedule::ScheduleSource;
use sched_diagnostics::{Code, Diagnostic, Place, usage};
use sched_lang::Target;
use sched_llvm::Cpu;
use std::path::Path;

/// The job for which a schedule is looked up.
#[derive(Clone, Copy)]
pub struct LockQuery<'a> {
    /// The model, with the path of its file.
    pub model: &'a Model,
    /// The target, if the user or the schedule names one.
    pub target: Option<&'a Target>,
    /// The processors.
    pub cpus: &'a [Cpu],
    /// Threads of a call, 0 for all threads of the machine. `None` if each call chooses them.
    pub threads: Option<u32>,
}

/// The answer of a lock: a schedule, or the reason why its entries cannot be used. Both are `None` if the
/// lock has no entry for the model.
#[derive(Default)]
pub struct LockAnswer {
    /// The schedule.
    pub source: Option<ScheduleSource>,
    /// A message about the first entry that cannot be used.
    pub miss: Option<Diagnostic>,
}

impl LockAnswer {
    fn miss(diagnostic: Diagnostic) -> LockAnswer {
        LockAnswer { source: None, miss: Some(diagnostic) }
    }
}

/// The name of a target in entries.
///
/// # Errors
/// When there is no such GPU.
pub fn target_name(target: Option<&Target>, cpu: Cpu) -> Result<String, Failure> {
    Ok(match target {
        Some(target) if target.is_gpu() => format!("gpu({})", gpu_of(target)?),
        _ if cpu == Cpu::Native => "cpu".to_string(),
        _ => cpu.name().to_string(),
    })
}

/// Looks up the schedule of a job in the lock at `path`. Composes it of the entries for its model and target,
/// if all of them can be used.
///
/// # Errors
/// When the model or the GPU cannot be named.
pub fn find(lock: &LockFile, path: &Path, wanted: &LockQuery<'_>) -> Result<LockAnswer, Failure> {
    let (file, remedies) = (path.display().to_string(), LockRemedies::of(path));
    let Some(first) = wanted.cpus.first() else { return Ok(LockAnswer::default()) };
    let target = target_name(wanted.target, *first)?;
    let key = EntryKey::new(&target, &wanted.model.path, path, 1, 0)?;
    let of_model: Vec<&LockEntry> =
        lock.entries().iter().filter(|entry| entry.key.model == key.model).collect();
    if of_model.is_empty() {
        return Ok(LockAnswer {
            source: None,
            miss: renamed(lock, &key, wanted.model, remedies).map(|miss| miss.file(file)),
        });
    }
    let missed = |diagnostic: Diagnostic| Ok(LockAnswer::miss(diagnostic.file(file.clone())));
    if !target.starts_with("gpu") && wanted.cpus.iter().any(|cpu| cpu != first) {
        return missed(several_processors(&key));
    }
    let mut entries: Vec<&LockEntry> =
        of_model.iter().copied().filter(|entry| entry.key.target == target).collect();
    if entries.is_empty() {
        return missed(other_target(&of_model, &key, remedies));
    }
    let threads = wanted.threads.unwrap_or_else(|| most_threads(&entries));
    let with_others = std::mem::take(&mut entries);
    entries.extend(with_others.iter().filter(|entry| entry.key.threads == threads));
    if entries.is_empty() {
        return missed(other_threads(&with_others, threads, remedies));
    }
    // Calls of the library have host rows, unless its caller decides otherwise. So an entry of whole calls
    // comes before one of kernels for the same number of rows.
    entries.sort_by_key(|entry| (entry.key.rows, entry.key.rows_in));
    entries.dedup_by_key(|entry| entry.key.rows);
    // If some entries did not fit, the others would serve calls for which they were not measured.
    if let Some(miss) = first_misfit(&entries, *first, wanted.model, remedies) {
        return missed(miss);
    }
    let Some(text) = composed(&entries) else { return missed(not_together(&entries)) };
    let source = ScheduleSource { name: file, text, is_chosen: false, path: None };
    Ok(LockAnswer { source: Some(source), miss: None })
}

/// A message about the first entry that does not fit.
fn first_misfit(
    entries: &[&LockEntry],
    cpu: Cpu,
    model: &Model,
    remedies: LockRemedies<'_>,
) -> Option<Diagnostic> {
    let (here, structure) = (ThisMachine::of(cpu), structure_digest(model.forest()));
    entries.iter().find_map(|entry| misfit(entry, (&here, cpu), (&structure, model), remedies))
}

/// A message about an entry that no machine can use: another version of schedc wrote it, it was edited, or
/// `model` has another structure. `lock` is the lock's path.
pub fn staleness(entry: &LockEntry, model: Option<&Model>, lock: &Path) -> Option<Diagnostic> {
    let remedies = LockRemedies::of(lock);
    let other = model.and_then(|model| other_model(entry, &structure_digest(model.forest()), remedies));
    other.or_else(|| other_epoch(entry, remedies)).or_else(|| check_edits(entry, model, remedies))
}

fn misfit(
    entry: &LockEntry,
    (here, cpu): (&ThisMachine, Cpu),
    (structure, model): (&str, &Model),
    remedies: LockRemedies<'_>,
) -> Option<Diagnostic> {
    other_model(entry, structure, remedies)
        .or_else(|| {
            let message = other_machine(entry, here, cpu)?;
            let help = format!(
                "{}, or keep a lock for each processor and name it with --lock",
                again(entry, remedies)
            );
            Some(of_entry(usage::LOCK_PROCESSOR, entry, &message, &help))
        })
        .or_else(|| other_epoch(entry, remedies))
        .or_else(|| check_edits(entry, Some(model), remedies))
}

fn again(entry: &LockEntry, remedies: LockRemedies<'_>) -> String {
    format!("measure it again here with {}", remedies.upgrade(&entry.key))
}

fn other_model(entry: &LockEntry, structure: &str, remedies: LockRemedies<'_>) -> Option<Diagnostic> {
    let message = "the model's structure has changed since this was measured: it was trained again, or \
                   another file now has its name";
    let help = format!(
        "find a new schedule with {}, or {}",
        remedies.tune(&entry.key.model, ""),
        again(entry, remedies)
    );
    (entry.structure != structure).then(|| of_entry(usage::LOCK_MODEL, entry, message, &help))
}

fn other_epoch(entry: &LockEntry, remedies: LockRemedies<'_>) -> Option<Diagnostic> {
    let message = format!(
        "it was measured with schedc {}, code epoch {}, and this is schedc {}, code epoch {CODE_EPOCH}, \
         whose code has another speed",
        entry.schedc,
        entry.epoch,
        env!("CARGO_PKG_VERSION")
    );
    (entry.epoch != CODE_EPOCH).then(|| of_entry(usage::LOCK_EPOCH, entry, &message, &again(entry, remedies)))
}

fn check_edits(entry: &LockEntry, model: Option<&Model>, remedies: LockRemedies<'_>) -> Option<Diagnostic> {
    let is_other = |model: &Model| nest_digest(&entry.schedule, model).as_ref() != Some(&entry.nest);
    let message = if model.is_some_and(is_other) {
        "its schedule was edited: its nest is not the measured one"
    } else if entry.is_edited {
        "it was edited: its text differs from the one that schedc wrote"
    } else {
        return None;
    };
    let help = "keep a schedule of your own in a file for -s, or take the entry back from git";
    Some(of_entry(usage::LOCK_EDITED, entry, message, &format!("{help}, or {}", again(entry, remedies))))
}

/// The difference between this machine and the one of an entry's measurement.
fn other_machine(entry: &LockEntry, here: &ThisMachine, cpu: Cpu) -> Option<String> {
    if entry.triple != here.triple {
        return Some(format!("it was measured on {}, and this is {}", entry.triple, here.triple));
    }
    if entry.key.target.starts_with("gpu") {
        return None;
    }
    let without = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|one| !those.contains(one)).cloned().collect()
    };
    let lacks = without(&entry.features, &here.features);
    let has = without(&here.features, &entry.features);
    let mut message = String::new();
    if cpu == Cpu::Native && entry.processor != here.processor {
        message =
            format!("it was measured on the processor {}, and this is {}", entry.processor, here.processor);
    } else if !lacks.is_empty() || !has.is_empty() {
        message = "it was measured with other instruction sets".to_string();
    }
    if !lacks.is_empty() {
        message += &format!("; here there is no {}", lacks.join(", "));
    }
    if !has.is_empty() {
        message += &format!("; there was no {}", has.join(", "));
    }
    (!message.is_empty()).then_some(message)
}

/// The number of threads of the entries: all threads if some entry has that, otherwise the largest number.
fn most_threads(entries: &[&LockEntry]) -> u32 {
    let threads = || entries.iter().map(|entry| entry.key.threads);
    if threads().any(|threads| threads == 0) { 0 } else { threads().max().unwrap_or(0) }
}

/// An entry of a model of the same structure whose file has another name.
fn renamed(lock: &LockFile, key: &EntryKey, model: &Model, remedies: LockRemedies<'_>) -> Option<Diagnostic> {
    if lock.entries().is_empty() {
        return None;
    }
    let structure = structure_digest(model.forest());
    let entry = lock.entries().iter().find(|entry| entry.structure == structure)?;
    let message =
        format!("there is no entry for {}; this one is of a model with the same structure", key.model);
    let help = format!("give the model its old name, or tune it with {}", remedies.tune(&key.model, ""));
    Some(of_entry(usage::LOCK_MISSING, entry, &message, &help))
}

fn several_processors(key: &EntryKey) -> Diagnostic {
    let message = format!("each entry of {} is for one processor level, and --cpu names several", key.model);
    let help = "name one level with --cpu, or a schedule for all with -s, or ignore the lock with --frozen";
    Diagnostic::new(usage::LOCK_TARGET, Place::Whole, message).help(help)
}

fn other_target(of_model: &[&LockEntry], key: &EntryKey, remedies: LockRemedies<'_>) -> Diagnostic {
    let mut targets: Vec<&str> = of_model.iter().map(|entry| entry.key.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let message = format!(
        "the entries of {} are for the target {}, not for {}",
        key.model,
        targets.join(" and "),
        key.target
    );
    let option = match key.target.as_str() {
        "cpu" => String::new(),
        gpu if gpu.starts_with("gpu") => format!(" --target '{gpu}'"),
        level => format!(" --cpu {level}"),
    };
    let help = format!(
        "tune the model for this target with {}, or ignore the lock with --frozen",
        remedies.tune(&key.model, &option)
    );
    Diagnostic::new(usage::LOCK_TARGET, Place::Whole, message).help(help)
}

fn other_threads(entries: &[&LockEntry], threads: u32, remedies: LockRemedies<'_>) -> Diagnostic {
    let mut known: Vec<u32> = entries.iter().map(|entry| entry.key.threads).collect();
    known.sort_unstable();
    known.dedup();
    let known: Vec<String> =
        known.iter().map(|known| if *known == 0 { "all".to_string() } else { known.to_string() }).collect();
    let model = entries.first().map_or("", |entry| entry.key.model.as_str());
    let message = format!(
        "the entries of {model} are for calls on {} threads, not on {}",
        known.join(" and "),
        if threads == 0 { "all".to_string() } else { threads.to_string() }
    );
    let help = format!(
        "tune the model for this number with {}, or leave --threads out",
        remedies.tune(model, &format!(" --threads {threads}"))
    );
    Diagnostic::new(usage::LOCK_MISSING, Place::Whole, message).help(help)
}

fn not_together(entries: &[&LockEntry]) -> Diagnostic {
    let names: Vec<String> = entries.iter().map(|entry| entry.key.to_string()).collect();
    let message = format!(
        "the schedules of {} cannot be combined: one has a block whose bound is not a plain number",
        names.join(", ")
    );
    let help = "write the bound as in `when n_rows <= 8`, or tune the model again for all these numbers of \
                rows at once";
    Diagnostic::new(usage::LOCK_MISSING, Place::Whole, message).help(help)
}

fn of_entry(code: Code, entry: &LockEntry, message: &str, help: &str) -> Diagnostic {
    Diagnostic::new(code, Place::Element(entry.key.to_string()), message).help(help)
}
