//! Tests of the choice of schedules, by the shape of trees, the processor and the number of rows.

use sched_cost::{Level, Machine};
use sched_forest::Forest;
use sched_ir::lir::OutputKind;
use sched_lang::CheckPurpose;
use sched_nest::Layout;
use sched_testing::{in_turn, shapes};
use schedc_driver::choice::{ChosenSchedules, CodeDestination, Evaluator, SIZES, VectorForm};
use schedc_driver::compile::compile;
use schedc_driver::{Model, ScheduleSource, ScheduleValues};
use std::error::Error;
use std::sync::Arc;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Machines without long registers, with long registers, and with slow gathers.
const MACHINES: [(&str, Level); 4] =
    [("", Level::V2), ("", Level::V3), ("znver4", Level::Vbmi), ("skylake-avx512", Level::V4)];

/// Highest cost of a call relative to the cheapest call of at least as many rows. The cost model lets no loop
/// overlap with the one before it, so that it overestimates remainders.
const STAIRS: f64 = 1.35;

/// A model of `trees` complete trees.
fn complete(trees: u32, depth: u32, features: u32) -> Model {
    Model::of_forest(Arc::new(shapes::complete(trees, depth, features)))
}

fn layout_of(text: &str) -> &str {
    text.split_once("representation(")
        .map_or("array", |(_, after)| after.split(')').next().unwrap_or_default())
}

#[test]
fn calls_of_few_rows_put_trees_in_lanes_and_others_rows() {
    let model = complete(100, 6, 20);
    for (name, level) in MACHINES {
        let chosen = ChosenSchedules::on(&model, &Machine::like(name, level), CodeDestination::Artefact);
        let rest = chosen.variants.rest();
        assert!(
            rest.contains("vectorize(b1, ") && layout_of(rest) == "quantized",
            "{name} {level:?}:\n{rest}"
        );
        let few = chosen.variants.bounded().first().map(|few| (few.max_rows, few.value.as_str()));
        assert!(
            few.is_some_and(|(rows, text)| rows < 32 && text.contains("tree")),
            "{name} {level:?}: {few:?}"
        );
    }
}

#[test]
fn trees_that_would_be_far_from_full_are_not_padded() {
    let model = Model::of_forest(Arc::new(shapes::chains(40, 14, 20)));
    for (name, level) in MACHINES {
        let chosen = ChosenSchedules::on(&model, &Machine::like(name, level), CodeDestination::Memory);
        for (_, text) in chosen.variants.iter() {
            assert!(!["quantized", "levels"].contains(&layout_of(text)), "{name} {level:?}:\n{text}");
        }
    }
}

#[test]
fn column_major_rows_have_their_own_costs() {
    let model = complete(50, 4, 500);
    let machine = Machine::like("znver4", Level::Vbmi);
    let costs = |model: &Model| {
        let priced_candidates = ChosenSchedules::priced_candidates(
            &Evaluator::new(model, &machine),
            CodeDestination::Memory,
            &[],
        );
        let all = priced_candidates.into_iter().map(|one| (one.candidate.text(&[]), one.costs));
        all.collect::<std::collections::BTreeMap<_, _>>()
    };
    let (rows, columns) = (costs(&model), costs(&model.for_columns()));
    let both = rows.iter().filter_map(|(text, costs)| Some((costs, columns.get(text)?)));
    assert!(both.clone().count() > 0 && both.clone().any(|(rows, columns)| rows != columns));
}

#[test]
fn code_that_compiles_slowly_is_only_for_artefacts() {
    let model = complete(50, 4, 20);
    let machine = Machine::like("znver4", Level::Vbmi);
    let evaluator = Evaluator::new(&model, &machine);
    assert!(!ChosenSchedules::by(&evaluator, CodeDestination::Memory).text().contains("unrollAndJam"));
    let priced_candidates = ChosenSchedules::priced_candidates(&evaluator, CodeDestination::Artefact, &[]);
    assert!(priced_candidates.iter().any(|one| one.candidate.unroll_and_jam));
}

/// A call never costs much more than a call of more rows.
#[test]
fn costs_of_calls_have_no_high_steps() -> Result<()> {
    let machines = [("", Level::V3), ("znver4", Level::Vbmi)];
    for (number, (trees, depth, features)) in
        [(100, 8, 28), (300, 5, 8), (20, 10, 40)].into_iter().enumerate()
    {
        let model = complete(trees, depth, features);
        for &(name, level) in in_turn(number, &machines) {
            let machine = Machine::like(name, level);
            let evaluator = Evaluator::new(&model, &machine);
            let priced_candidates =
                ChosenSchedules::priced_candidates(&evaluator, CodeDestination::Artefact, &[]);
            let chosen = ChosenSchedules::among(&priced_candidates, &evaluator);
            let code = |text: &String| {
                let priced = priced_candidates.iter().find(|one| one.candidate.text(&[]) == *text);
                let candidate = priced.ok_or("an unknown schedule is chosen")?.candidate;
                evaluator.compile(&candidate).ok_or("a schedule that does not compile is chosen")
            };
            let codes = chosen.variants.as_ref().try_map(|_, text| code(text))?;
            let mut least = f64::INFINITY;
            for rows in (1..=520).rev().step_by(3) {
                let this = evaluator.costs(Some(codes.for_rows(rows)))(rows);
                least = least.min(this);
                assert!(
                    this <= STAIRS * least,
                    "{trees} trees, {name}: {rows} rows cost {this}, more cost {least}\n{}",
                    chosen.text()
                );
            }
        }
    }
    Ok(())
}

/// Chosen schedules cost as much as the cheapest candidates, up to the gain that justifies a further
/// schedule.
#[test]
fn the_cheapest_candidates_are_chosen() {
    let model = complete(100, 8, 28);
    let machine = Machine::like("znver4", Level::Vbmi);
    let evaluator = Evaluator::new(&model, &machine);
    let priced_candidates = ChosenSchedules::priced_candidates(&evaluator, CodeDestination::Artefact, &[]);
    let chosen = ChosenSchedules::among(&priced_candidates, &evaluator);
    let mut total = 0.0;
    for (number, rows) in SIZES.iter().enumerate() {
        let text = chosen.variants.for_rows(*rows);
        let cost = |one: &schedc_driver::choice::PricedCandidate| one.costs[number];
        let least = priced_candidates.iter().map(cost).fold(f64::INFINITY, f64::min);
        let own =
            priced_candidates.iter().find(|one| one.candidate.text(&[]) == *text).map_or(f64::INFINITY, cost);
        total += (own / least).ln();
    }
    assert!(total / (SIZES.len() as f64) < 0.05, "{total}");
}

#[test]
fn oblivious_trees_have_their_layout() {
    let model = Model::of_forest(Arc::new(shapes::oblivious(100, 6, 20)));
    for (name, level) in MACHINES {
        let chosen = ChosenSchedules::on(&model, &Machine::like(name, level), CodeDestination::Memory);
        assert_eq!(layout_of(chosen.variants.rest()), "oblivious", "{name} {level:?}:\n{}", chosen.text());
    }
    let (model, machine) = (complete(20, 6, 20), Machine::like("", Level::V3));
    let priced_candidates =
        ChosenSchedules::priced_candidates(&Evaluator::new(&model, &machine), CodeDestination::Memory, &[]);
    assert!(priced_candidates.iter().all(|one| one.candidate.layout != Layout::Oblivious));
    assert!(priced_candidates.iter().any(|one| matches!(one.candidate.form, VectorForm::Trees { .. })));
}

/// Forests without trees, and of single leaves, have a schedule too.
#[test]
fn forests_without_tests_are_walked_one_by_one() -> Result<()> {
    for forest in [shapes::complete(0, 0, 3), shapes::complete(5, 0, 3)] {
        let forest: Forest = forest;
        let chosen = ChosenSchedules::on(
            &Model::of_forest(Arc::new(forest)),
            &Machine::like("", Level::Vbmi),
            CodeDestination::Artefact,
        );
        assert_eq!(layout_of(chosen.variants.rest()), "array", "{}", chosen.text());
    }
    Ok(())
}

/// Code for a single call is chosen by its compile time and its run time together.
#[test]
fn one_call_of_few_rows_gets_little_code() {
    let model = complete(30, 6, 20);
    let machine = Machine::like("znver4", Level::Vbmi);
    let text = |rows| ChosenSchedules::on(&model, &machine, CodeDestination::OneCall(rows)).text();
    let (few, many) = (text(1), text(10_000_000));
    assert!(few.starts_with("// chosen by schedc for one call of 1 row\n"), "{few}");
    assert!(!few.contains("vectorize") && many.contains("vectorize(b1, "), "{few}\n{many}");
}

/// The fetch strategies of vectors depend on the machine.
#[test]
fn plans_are_for_a_machine() -> Result<()> {
    let model = complete(50, 7, 600);
    let text = "tile(batch, b0, b1, 64)\nreorder(b0, tree, b1)\ncache(b0)\nrepresentation(quantized)\n\
                vectorize(b1, 64)\n";
    let source = ScheduleSource { name: String::new(), text: text.to_string(), is_chosen: false, path: None };
    let plan = |name| -> Result<String> {
        let checked = source.check_for(CheckPurpose::Compile, &model, &ScheduleValues::default());
        let nests = checked.nests.ok_or("a legal schedule")?;
        let machine = Machine::like(name, Level::Vbmi);
        let compiled = compile(&model, nests, &[OutputKind::Raw], &machine).map_err(|_| "it compiles")?;
        Ok(compiled.variants.rest().plan.to_string())
    };
    let gathered = |plan: String| plan.matches("gather").count();
    assert!(gathered(plan("sapphirerapids")?) > gathered(plan("skylake-avx512")?));
    Ok(())
}

/// Editors propose directives in the order in which the chooser writes them. Taking the first proposal again
/// and again writes a schedule that the chooser considers.
#[test]
fn first_proposals_of_editors_write_a_candidate() {
    let model = complete(100, 6, 20);
    let options = sched_lang::CheckOptions {
        vector_bits: Some(512),
        ..ScheduleSource::options(Some(&model), &ScheduleValues::default())
    };
    let machine = Machine::like("", Level::Vbmi);
    let priced_candidates =
        ChosenSchedules::priced_candidates(&Evaluator::new(&model, &machine), CodeDestination::Artefact, &[]);
    let mut text = String::new();
    for _ in 0..8 {
        let analysis = sched_ide::Analysis::new(text.as_str(), options.clone());
        let proposals = sched_ide::completion(&analysis, text.len());
        let Some(first) = proposals.iter().find(|one| one.is_next) else { break };
        text += &format!("{}\n", first.label);
    }
    assert!(priced_candidates.iter().any(|one| one.candidate.text(&[]) == text), "{text}");
}
