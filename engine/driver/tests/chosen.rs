//! Tests of chosen schedules as text: the text is formatted, and compiles to the code of the chosen variants,
//! for every model, kind of processor and destination.
//!
//! The models are those of the readers' tests, the example, and those below `SCHEDC_MODELS`.

use sched_cost::{Level, Machine};
use sched_forest::{Forest, Iterations, ReadOptions, TreeTarget};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, KernelForests, compile};
use sched_lang::diagnostics::codes;
use sched_lang::{CheckOptions, CheckPurpose, check, format};
use sched_nest::{Accumulation, ModelInfo, Nest, Variants};
use sched_pipeline::SetTests;
use sched_testing::{in_parallel, in_turn};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use schedc_driver::Model;
use schedc_driver::choice::{ChosenSchedules, CodeDestination, Evaluator, gpu};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// Fewest models that the repository has.
const FEWEST: usize = 20;

/// The models of these tests.
struct Models {
    all: Vec<(PathBuf, Arc<Forest>)>,
    /// The number of models of the repository, which come first.
    own: usize,
}

/// The models of these tests, which are read once.
fn models() -> &'static Models {
    static MODELS: OnceLock<Models> = OnceLock::new();
    MODELS.get_or_init(|| {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut all = Vec::new();
        for folder in ["forest/tests/fixtures", "examples/model"] {
            add_models(&repository.join(folder), &mut all).expect("a folder of models");
        }
        let own = all.len();
        assert!(own >= FEWEST, "only {own} models");
        if let Some(folder) = std::env::var_os("SCHEDC_MODELS") {
            add_models(Path::new(&folder), &mut all).expect("a folder of models");
        }
        Models { all, own }
    })
}

/// Adds all JSON files below a folder that are models.
fn add_models(folder: &Path, into: &mut Vec<(PathBuf, Arc<Forest>)>) -> Result<()> {
    let mut paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_models(&path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            let options = ReadOptions { iterations: Iterations::All, ..ReadOptions::default() };
            let loaded = sched_forest::load(&fs::read(&path)?, &options);
            into.extend(loaded.ok().map(|loaded| (path, Arc::new(loaded.forest))));
        }
    }
    Ok(())
}

/// The properties of a model that the checker reads.
fn info(forest: &Forest) -> ModelInfo {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let leaves = |tree: &sched_forest::Tree| {
        let mut counts = vec![0_u32; tree.depth() as usize + 1];
        tree.for_each_leaf(|_, depth| counts[depth as usize] += 1);
        counts
    };
    ModelInfo {
        num_trees: count(forest.trees.len()),
        num_features: count(forest.num_features),
        num_classes: count(forest.num_margins),
        depths: forest.trees.iter().map(sched_forest::Tree::depth).collect(),
        leaves: forest.trees.iter().map(leaves).collect(),
        oblivious: forest.trees.iter().map(sched_forest::Tree::is_oblivious).collect(),
        has_leaf_vectors: forest.trees.iter().any(|tree| tree.target == TreeTarget::All),
        ..ModelInfo::default()
    }
}

/// The nests of a text without errors.
fn nests(text: &str, options: &CheckOptions) -> Result<Variants<Nest>> {
    let checked = check(text, options);
    checked.nests.ok_or_else(|| format!("{:?}\n{text}", checked.diagnostics).into())
}

/// Asserts that the checker does not warn of a slow schedule on its processor.
fn is_not_called_slow(chosen: &ChosenSchedules, options: &CheckOptions, lookup_bits: u32, bin_bytes: u32) {
    let model = options.model.as_deref().map(|model| ModelInfo { bin_bytes, ..model.clone() });
    let options = CheckOptions {
        model: model.map(Arc::new),
        vector_bits: (lookup_bits > 0).then_some(lookup_bits),
        ..options.clone()
    };
    let text = chosen.text();
    let diagnostics = check(&text, &options).diagnostics;
    let slow = codes::NARROW_VECTOR..=codes::UNROLLED_FAR;
    let called_slow: Vec<_> = diagnostics.iter().filter(|found| slow.contains(&found.code)).collect();
    assert!(called_slow.is_empty(), "{called_slow:?}\n{text}");
}

/// The plans and the code of a model under a schedule.
fn code(forest: &Arc<Forest>, nests: Variants<Nest>) -> Result<(Vec<String>, String)> {
    let kernels = [OutputKind::Raw, OutputKind::Value];
    let compiled = compile(Arc::clone(forest), None, nests, &kernels, &Budget::default())?;
    // The plan of a block begins with the most rows of a run; that of its schedule alone does not.
    let plan = |plan: String| match plan.split_once('\n') {
        Some((first, rest)) if first.ends_with("rows per run") => rest.to_owned(),
        _ => plan,
    };
    let plans = compiled.variants.iter().map(|(_, stages)| plan(stages.plan.to_string())).collect();
    Ok((plans, compiled.lir.to_string()))
}

/// Asserts that the text of a chosen schedule compiles to the same plans and code as the chosen variants.
fn means_the_same(forest: &Arc<Forest>, chosen: &ChosenSchedules, options: &CheckOptions) -> Result<()> {
    let text = chosen.text();
    assert_eq!(format(&text).ok().as_deref(), Some(text.as_str()), "the formatter changes the text");
    let printed = nests(&text, options)?;
    let bounds = |variants: Variants<()>| variants.iter().map(|(rows, ())| rows).collect::<Vec<_>>();
    assert_eq!(bounds(printed.as_ref().map(|_, _| ())), bounds(chosen.variants.as_ref().map(|_, _| ())));
    let each = chosen
        .variants
        .as_ref()
        .try_map(|_, text| Ok::<_, Box<dyn Error + Send + Sync>>(nests(text, options)?.rest().clone()))?;
    let (found, wanted) = (code(forest, printed)?, code(forest, each)?);
    assert_eq!(found.0, wanted.0, "other plans:\n{text}");
    assert!(found.1 == wanted.1, "other code:\n{text}");
    Ok(())
}

/// Checks the schedules that are chosen for a model on some machines. Returns their number, and the number of
/// their blocks.
fn chosen_schedules_are_right(
    (path, forest): &(PathBuf, Arc<Forest>),
    machines: &[(&str, Level)],
) -> Result<(usize, usize)> {
    let (mut schedules, mut blocks) = (0, 0);
    let options = CheckOptions {
        model: Some(Arc::new(info(forest))),
        purpose: CheckPurpose::Compile,
        ..CheckOptions::default()
    };
    let model = Model::of_forest(Arc::clone(forest));
    let bins = model.forests().with_set_tests(SetTests::OfColumns).quantized_rows();
    let bin_bytes = bins.as_ref().map_or(0, |bins| if bins.in_bytes { 1 } else { 2 });
    // Different destinations often have the same schedule, and the machine does not change its meaning.
    let mut compared = BTreeSet::new();
    for &(name, level) in machines {
        let machine = Machine::like(name, level);
        let evaluator = Evaluator::new(&model, &machine);
        for destination in [
            CodeDestination::OneCall(1),
            CodeDestination::OneCall(100_000),
            CodeDestination::Memory,
            CodeDestination::Artefact,
        ] {
            let chosen = ChosenSchedules::by(&evaluator, destination);
            is_not_called_slow(&chosen, &options, level.register_bits(), bin_bytes);
            if compared.insert(chosen.text()) {
                let same = means_the_same(forest, &chosen, &options);
                same.map_err(|error| format!("{}: {error}", path.display()))?;
            }
            schedules += 1;
            blocks += chosen.variants.bounded().len();
        }
    }
    Ok((schedules, blocks))
}

#[test]
fn printed_schedules_compile_to_the_code_that_was_chosen() -> Result<()> {
    let machines = [("", Level::V2), ("", Level::V3), ("znver4", Level::Vbmi), ("skylake-avx512", Level::V4)];
    let Models { all, own } = models();
    let jobs: Vec<_> = all.iter().enumerate().collect();
    let checked = in_parallel(&jobs, |&(number, model)| {
        // Each model has one of the machines; each night the fixtures have all of them.
        let one = number % machines.len();
        let machines = if number < *own { in_turn(number, &machines) } else { &machines[one..=one] };
        chosen_schedules_are_right(model, machines)
    });
    let (mut schedules, mut blocks) = (0, 0);
    for checked in checked {
        let (more_schedules, more_blocks) = checked?;
        schedules += more_schedules;
        blocks += more_blocks;
    }
    assert!(blocks > schedules / 2, "only {blocks} blocks in {schedules} schedules");
    Ok(())
}

/// Numbers of schedules for GPUs, and of their blocks.
#[derive(Default)]
struct Counts {
    words: usize,
    blocks: usize,
    groups: usize,
}

/// Checks the schedule for a model on one GPU.
fn gpu_schedule_is_right(
    (path, forest): &(PathBuf, Arc<Forest>),
    name: &str,
    counts: &mut Counts,
) -> Result<()> {
    let forests = KernelForests::from(Forest::clone(forest));
    let (info, bins) = (info(forest), forests.with_set_tests(SetTests::OfColumns).quantized_rows());
    let target: sched_lang::Target = name.parse().map_err(|()| "a target")?;
    let chosen = ChosenSchedules { variants: gpu::chosen(&info, bins.as_ref(), &target), one_call: None };
    let text = chosen.text_for(Some("gpu"));
    assert_eq!(format(&text).ok().as_deref(), Some(text.as_str()), "the formatter changes the text");
    let options = CheckOptions {
        model: Some(Arc::new(info)),
        purpose: CheckPurpose::Compile,
        target: Some(target),
        ..CheckOptions::default()
    };
    let nests = nests(&text, &options)?;
    assert!(nests.iter().all(|(_, nest)| nest.accumulation == Accumulation::Exact), "{text}");
    counts.words += usize::from(text.contains("vectorize"));
    counts.groups += usize::from(text.contains("block.y"));
    counts.blocks += nests.bounded().len();
    match code(forest, nests) {
        Err(error) => Err(format!("{}: {error}\n{text}", path.display()).into()),
        Ok(_) => Ok(()),
    }
}

#[test]
fn schedules_for_gpus_are_legal_and_add_in_the_order_of_the_model() -> Result<()> {
    let each = in_parallel(&models().all, |model| {
        let mut counts = Counts::default();
        ["gpu", "gpu(sm_80)", "gpu(sm_90)"]
            .into_iter()
            .try_for_each(|name| gpu_schedule_is_right(model, name, &mut counts))
            .map(|()| counts)
    });
    let each = each.into_iter().collect::<Result<Vec<Counts>>>()?;
    let sum = |count: fn(&Counts) -> usize| each.iter().map(count).sum::<usize>();
    let [words, blocks, groups] =
        [sum(|counts| counts.words), sum(|counts| counts.blocks), sum(|counts| counts.groups)];
    let found = format!("{words} schedules of words, {groups} of groups of trees, {blocks} blocks");
    assert!(words > 0 && groups > 0 && blocks > 0, "{found}");
    Ok(())
}
