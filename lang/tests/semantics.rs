//! In random schedules, every row walks every tree exactly once.

use sched_lang::device::Limits;
use sched_lang::diagnostics::codes;
use sched_lang::directives::{SIGNATURES, SupportedTargets};
use sched_lang::illegal::Problem;
use sched_lang::lineage::{Annotation, DirectiveIndex, LoopSelector, NestBuilder};
use sched_lang::operation::Operation;
use sched_lang::{CheckOptions, CheckPurpose, ModelInfo, Target, check, legality};
use sched_nest::visit::visit;
use sched_nest::{Accumulation, TreeOrder};
use sched_testing::schedules::{Rng, gpu_schedule, schedule, schedule_with_blocks};

fn model(rng: &mut Rng) -> ModelInfo {
    let num_trees = 1 + rng.below(40) as u32;
    let depths = (0..num_trees).map(|_| 1 + rng.below(6) as u32).collect();
    ModelInfo { num_trees, num_features: 7, num_classes: 1, depths, ..ModelInfo::default() }
}

#[test]
fn every_row_walks_every_tree_once() {
    all_rows_walk_all_trees(|targets, _| targets != SupportedTargets::OnGpus, schedule);
}

/// GPU schedules, including those without code generation.
#[test]
fn every_row_walks_every_tree_once_in_launches() {
    let on_processors = ["parallel", "vectorize", "vectorReduce", "speculateWalk", "unrollAndJam"];
    all_rows_walk_all_trees(
        |_, name| !on_processors.contains(&name),
        |seed, model| format!("target gpu\n{}", gpu_schedule(seed, model, &|_| true)),
    );
}

/// Checks random schedules. `wanted` selects directives that must occur in them.
fn all_rows_walk_all_trees(
    wanted: impl Fn(SupportedTargets, &str) -> bool,
    schedule: impl Fn(u64, &ModelInfo) -> String,
) {
    let purpose = CheckPurpose::Compile;
    let mut seen = std::collections::HashMap::new();
    let seeds = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(600);
    for seed in 0..seeds {
        let mut rng = Rng(seed);
        let model = model(&mut rng);
        let text = schedule(seed, &model);
        let options = CheckOptions { model: Some(model.clone().into()), purpose, ..CheckOptions::default() };
        let checked = check(&text, &options);
        let nest = checked
            .nest()
            .cloned()
            .unwrap_or_else(|| panic!("seed {seed}: {:?}\n{text}", checked.diagnostics));
        for directive in SIGNATURES {
            if text.contains(&format!("{}(", directive.name)) {
                *seen.entry(directive.name).or_insert(0) += 1;
            }
        }
        for rows in [0, 1, 5, 33, 130] {
            let mut trees = vec![Vec::new(); rows as usize];
            visit(&nest, rows, &mut |row, tree| trees[row as usize].push(tree)).expect("everything is known");
            let in_order: Vec<i64> = (0..i64::from(model.num_trees)).collect();
            let is_exact = nest.accumulation == Accumulation::Exact;
            for met in &mut trees {
                if is_exact {
                    assert_eq!(nest.tree_order, TreeOrder::Model);
                    assert_eq!(*met, in_order, "seed {seed}, {rows} rows\n{text}");
                }
                met.sort_unstable();
                assert_eq!(*met, in_order, "seed {seed}, {rows} rows\n{text}");
            }
        }
    }
    for directive in SIGNATURES.iter().filter(|directive| wanted(directive.targets, directive.name)) {
        assert!(
            seen.get(directive.name).is_some_and(|count| *count >= 5),
            "{} is never made: {seen:?}",
            directive.name
        );
    }
}

#[test]
fn typed_operations_mean_what_text_means() {
    let model = sched_testing::options("trees=100 depth=6").model.expect("a model");
    let mut builder = NestBuilder::new(Some(model.clone()));
    let b1 = LoopSelector::all("b1");
    let tile = |v: &str, outer: &str, inner: &str, size: i64| {
        Operation::Tile(LoopSelector::all(v), outer.to_owned(), inner.to_owned(), size.into())
    };
    let reorder = |order: &[&str]| Operation::Reorder(order.iter().copied().map(LoopSelector::all).collect());
    tile("batch", "b0", "b1", 64).apply(DirectiveIndex(0), &mut builder).expect("legal");
    reorder(&["b0", "tree", "b1"]).apply(DirectiveIndex(1), &mut builder).expect("legal");
    let id = builder.select(DirectiveIndex(2), 0, &b1).expect("known")[0];
    builder.annotate(DirectiveIndex(2), id, Annotation::Interleave(Some(8))).expect("no contradiction");
    assert!(legality::check(&builder, &Limits::of(&Target::cpu())).is_empty());
    let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ninterleave(b1, 8)";
    let checked = check(text, &CheckOptions { model: Some(model), ..CheckOptions::default() });
    assert_eq!(Some(&builder.nest().0), checked.nest());

    let before = builder.nest();
    let illegal = reorder(&["b0", "b1"]).apply(DirectiveIndex(3), &mut builder).expect_err("not contiguous");
    assert_eq!(illegal.problem.code(), Some(codes::REORDER_GAP));
    let illegal = tile("b1", "x", "y", 0).apply(DirectiveIndex(4), &mut builder).expect_err("lost");
    assert_eq!(
        (illegal.step, illegal.problem),
        (DirectiveIndex(2), Problem::AnnotationLost { consumer: DirectiveIndex(4) })
    );
    assert_eq!(builder.nest(), before, "a refused operation changes nothing");
}

/// The schedule of a block has the meaning of its directives alone, and so does the one outside. The meaning
/// does not depend on spacing.
#[test]
fn blocks_are_schedules_of_their_own() {
    let mut blocks = 0;
    for seed in 0..150 {
        let model = model(&mut Rng(seed));
        let options = CheckOptions {
            model: Some(model.clone().into()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let drawn = schedule_with_blocks(seed, &model);
        let nests = |text: &str, options: &CheckOptions| {
            let checked = check(text, options);
            checked.nests.unwrap_or_else(|| panic!("seed {seed}: {:?}\n{text}", checked.diagnostics))
        };
        let all = nests(&drawn.text, &options);
        assert_eq!(all.rest(), nests(&drawn.rest, &options).rest(), "seed {seed}\n{}", drawn.text);
        assert_eq!(all.bounded().len(), drawn.blocks.len());
        for (max_rows, directives) in &drawn.blocks {
            let options = CheckOptions { batch_size: Some((*max_rows).into()), ..options.clone() };
            let alone = nests(directives, &options);
            assert_eq!(all.for_rows(*max_rows as usize), alone.rest(), "seed {seed}\n{}", drawn.text);
            blocks += 1;
        }
        let formatted = sched_lang::format(&drawn.text).expect("no syntax errors");
        assert_eq!(nests(&formatted, &options), all, "seed {seed}\n{formatted}");
        assert_eq!(sched_lang::format(&formatted).as_ref(), Ok(&formatted));
    }
    assert!(blocks > 100, "only {blocks} blocks");
}
