//! Tests of the verifier: it finds every seeded fault, and no fault in correct code.

#![allow(clippy::unwrap_used, clippy::panic)]

use super::report::Report;
use super::verify;
use crate::args::{Cli, Color, Command, Format};
use crate::commands::load_job;
use crate::terminal::Terminal;
use clap::Parser;
use sched_forest::endings;
use sched_ir::fault::{Fault, with_fault};
use sched_llvm::Cpu;
use schedc_driver::CodeDestination;
use schedc_driver::Failure;
use schedc_driver::Source;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const EXAMPLE: &str = "examples/model/breast_cancer.json";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Verifies a model under the given schedule, or under the automatic one.
fn report(model: &Path, schedule: Option<&str>, options: &[&str]) -> Result<Report, Failure> {
    let text = model.display().to_string();
    let line = ["schedc", "verify", &text].into_iter().chain(options.iter().copied());
    let Command::Verify(args) = Cli::try_parse_from(line).unwrap().command else { panic!("it is `verify`") };
    let mut job = load_job(model, &args.schedule, &args.reading, (Cpu::Native, CodeDestination::Memory))?;
    if let Some(text) = schedule {
        job.source = Source { name: "schedule".into(), text: text.into(), is_chosen: false, path: None };
    }
    let terminal = Terminal::new(Color::Never, Format::Concise, false);
    let seconds = if options.contains(&"--seconds") { args.seconds } else { 600 };
    let until = Instant::now() + Duration::from_secs(seconds);
    verify(&args, &job, &[], until, &terminal).map(|done| done.report)
}

fn shown(failure: &Failure) -> String {
    match failure {
        Failure::Refused(diagnostic) => format!("{}: {}", diagnostic.code, diagnostic.message),
        other => format!("{other:?}"),
    }
}

const ROWS_IN_VECTORS: &str = "tile(batch, b0, b1, 16)\nreorder(b0, tree, b1)\n";

/// Faults of processor code, each with a schedule whose code contains it, and the model.
fn faults() -> Vec<(Fault, String, &'static str)> {
    let vectors = |more: &str| format!("{ROWS_IN_VECTORS}{more}");
    let groups = "tile(tree, group, member, num_trees/2)\nreorder(group, batch, member)\nparallel(group)\n";
    let catboost = "forest/tests/fixtures/catboost/rmse.json";
    let of_example = [
        (Fault::SortRepeatsTree, "sortTrees(depth)".to_string()),
        (Fault::PadLosesLeaf, "unrollWalk(tree, 4)".to_string()),
        (Fault::TileOverruns, "tile(tree, t0, t1, 7)".to_string()),
        (Fault::FoldForgetsSlot, groups.to_string()),
        (Fault::WalkStopsEarly, "unrollWalk(tree, 5)".to_string()),
        (Fault::DecisionsSwapped, "speculateWalk(tree, 2)".to_string()),
        (Fault::LaneReadsWrongRow, vectors("interleave(b1, 4)")),
        (Fault::RemainderDropped, vectors("interleave(b1, 3)")),
        (Fault::TogetherRepeatsTree, vectors("vectorize(b1, 8)\ninterleave(b1, 2)\nunrollAndJam(tree)")),
        (Fault::ArrayFlipsTies, "representation(array)".to_string()),
        (Fault::SparseForgetsMissing, "representation(sparse)".to_string()),
        (Fault::TileReversesOutcomes, "tileTrees(4)".to_string()),
        (Fault::BinsFlipTies, "representation(quantized)".to_string()),
        (Fault::SweepForgetsPlace, vectors("representation(preorder)\nvectorize(b1, 16)")),
        (Fault::ReachFallsShort, "representation(preorder)".to_string()),
        (Fault::CompareUnordered, "representation(array)".to_string()),
    ];
    let mut faults: Vec<_> = of_example.into_iter().map(|(fault, text)| (fault, text, EXAMPLE)).collect();
    faults.push((Fault::RowsPackedAsSums, "representation(array)".to_string(), catboost));
    faults
}

/// Faults of GPU code, which the simulator runs. `BankSwapped` is missing: it makes code slow but not wrong.
fn faults_of_launches() -> Vec<(Fault, String)> {
    let direct = "target gpu\ntile(batch, b0, b1, 4)\nreorder(b0, b1, tree)\n\
                  gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n";
    let rows = format!("{direct}cache(b0)\n");
    let groups = "target gpu\ntile(batch, b0, b1, 4)\ntile(tree, t0, t1, 7)\nreorder(b0, t0, b1, t1)\n\
                  gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n\
                  gpuDimension(t1, block.y)\n";
    let packed = "target gpu\ntile(batch, b0, r, 8)\ntile(r, b1, b2, 4)\nreorder(b0, b1, tree, b2)\n\
                  cache(b0)\ngpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n\
                  representation(quantized)\nvectorize(b2, 4)\n";
    [
        (Fault::SlotShared, groups),
        (Fault::FoldForgetsSlot, groups),
        (Fault::EmptySlotFolded, groups),
        (Fault::GuardDropped, rows.as_str()),
        (Fault::BarrierDropped, rows.as_str()),
        (Fault::CopyStopsShort, rows.as_str()),
        (Fault::PairsSwapSides, packed),
        (Fault::WordReversesRows, packed),
    ]
    .map(|(fault, text)| (fault, text.to_string()))
    .to_vec()
}

#[test]
fn every_seeded_fault_is_found() {
    let mut missed = Vec::new();
    for (fault, schedule, model) in faults() {
        let model = repository().join(model);
        let verify = || report(&model, Some(&schedule), &[]);
        let right = verify().unwrap_or_else(|failure| panic!("{fault:?}: {}\n{schedule}", shown(&failure)));
        assert!(right.is_equal(), "{schedule}\n{}", right.to_text());
        // Some faults make code read foreign memory. The simulator stops there, and the processor does not
        // run such code.
        let simulated = with_fault(fault, || report(&model, Some(&schedule), &["--simulate"]));
        let found = simulated.is_err() || with_fault(fault, verify).map_or(true, |report| !report.is_equal());
        println!("{fault:?}: {}", if simulated.is_err() { "the simulator stops" } else { "run" });
        if !found {
            missed.push(format!("{fault:?} in {schedule}"));
        }
    }
    assert!(missed.is_empty(), "not found: {}", missed.join("\n"));
}

#[test]
fn every_seeded_fault_of_launches_is_found() {
    let mut missed = Vec::new();
    for (fault, schedule) in faults_of_launches() {
        let model = repository().join(EXAMPLE);
        let verify = || report(&model, Some(&schedule), &["--simulate"]);
        let right = verify().unwrap_or_else(|failure| panic!("{fault:?}: {}\n{schedule}", shown(&failure)));
        assert!(right.is_equal(), "{schedule}\n{}", right.to_text());
        let found = with_fault(fault, verify).map_or(true, |report| !report.is_equal());
        if !found {
            missed.push(format!("{fault:?} in {schedule}"));
        }
    }
    assert!(missed.is_empty(), "not found: {}", missed.join("\n"));
}

#[test]
fn a_difference_becomes_a_row_and_a_node() {
    let model = repository().join(EXAMPLE);
    let schedule = Some("representation(array)");
    let report = with_fault(Fault::ArrayFlipsTies, || report(&model, schedule, &[])).unwrap();
    let found = report.found.as_ref().unwrap();
    let turn = found.turn.as_ref().unwrap();
    assert_ne!(turn.expected, turn.found);
    let node = turn.node.as_ref().unwrap();
    // A value that is equal to the threshold goes right.
    assert!(node.test.starts_with(&format!("x < {:?} ", node.value)) && !node.left, "{}", node.test);
    assert!(found.alone);
    let json = report.to_json();
    assert_eq!(json["equal"], false);
    assert_eq!(json["difference"]["walk"]["found_leaf"], turn.found);
    assert_eq!(json["difference"]["values"].as_array().unwrap().len(), 30);
    assert!(report.to_text().contains(&node.test));
}

/// The models of a folder.
fn models(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        let is_model = path.extension().is_some_and(|ending| endings().iter().any(|known| ending == *known));
        if path.is_dir() && !name.ends_with("refused") {
            models(&path, into);
        } else if is_model && !name.ends_with(".expected.json") && !name.ends_with("damaged.json") {
            into.push(path);
        }
    }
}

/// Verifies models in two threads. Panics on differences, and on unfinished models unless options limit the
/// time.
fn all_equal(paths: &[PathBuf], options: &[&str]) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut problems = Vec::new();
        while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
            match report(path, None, options) {
                Ok(report) if report.is_equal() && report.outcome.stopped <= !options.is_empty() => {}
                Ok(report) => problems.push(report.to_text()),
                // These models do not compile: linear leaves, or categories far above all others.
                Err(failure) if ["C0016", "C0014"].iter().any(|code| shown(&failure).contains(code)) => {}
                // These models need another release than the one that saved them.
                Err(failure) if path.parent().is_some_and(|folder| folder.ends_with("releases")) => {
                    if !["M0008", "M0010"].iter().any(|code| shown(&failure).contains(code)) {
                        problems.push(format!("{}: {}", path.display(), shown(&failure)));
                    }
                }
                Err(failure) => problems.push(format!("{}: {}", path.display(), shown(&failure))),
            }
        }
        problems
    };
    let problems: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn fixtures_are_predicted_as_the_model_says() {
    let mut paths = Vec::new();
    models(&repository().join("forest/tests/fixtures"), &mut paths);
    paths.sort();
    assert!(paths.len() > 200, "{}", paths.len());
    all_equal(&paths, &[]);
}

/// Real models, if `SCHEDC_MODELS` names a folder of them.
#[test]
fn real_models_are_predicted_as_they_say() {
    let Some(folder) = std::env::var_os("SCHEDC_MODELS").map(PathBuf::from) else {
        println!("skipped: SCHEDC_MODELS is not set");
        return;
    };
    let mut paths = Vec::new();
    models(&folder, &mut paths);
    paths.retain(|path| path.file_stem().is_some_and(|stem| stem == "model"));
    // Large models would take minutes, so the time is limited.
    all_equal(&paths, &["--seconds", "2"]);
}
