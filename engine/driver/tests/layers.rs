//! Tests of candidates with tiles of layers of sums, for the models of the readers' tests.

use sched_cost::{Level, Machine};
use sched_lang::{CheckOptions, check, format};
use sched_nest::{StageInfo, StageKind};
use schedc_driver::choice::{
    Candidate, ChosenSchedules, CodeDestination, Evaluator, LayerLanes, LayerTile, PricedCandidate, SIZES,
};
use schedc_driver::{Model, ScheduleSource, ScheduleValues};
use std::error::Error;
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Machines with 16 registers and with 32.
const MACHINES: [(&str, Level); 2] = [("", Level::V3), ("znver4", Level::Vbmi)];

fn model(name: &str) -> Result<Model> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../forest/pipeline/tests/fixtures");
    let path = folder.join(name).with_extension("onnx");
    Ok(Model::read(&path, &Default::default()).map_err(|_| format!("{} is no model", path.display()))?)
}

fn priced_candidates(evaluator: &Evaluator<'_>, destination: CodeDestination) -> Vec<PricedCandidate> {
    ChosenSchedules::priced_candidates(evaluator, destination, &[])
}

/// A model with layers has candidates with tiles of them, which compile, and whose texts are legal. Neither
/// fast choices nor models without layers have any.
#[test]
fn layers_have_tiles_if_time_allows() -> Result<()> {
    let cases =
        [("net", true), ("net-f32", true), ("vectors", true), ("kernels-logistic", true), ("ridge", false)];
    for (name, has_layers) in cases {
        let model = model(name)?;
        for (processor, level) in MACHINES {
            let machine = Machine::like(processor, level);
            let evaluator = Evaluator::new(&model, &machine);
            let tiled = |destination| {
                let all = priced_candidates(&evaluator, destination).into_iter().map(|one| one.candidate);
                all.filter(|candidate| candidate.layers.is_some()).collect::<Vec<Candidate>>()
            };
            let full = tiled(CodeDestination::Artefact);
            let is_narrow = name.starts_with("net") && level == Level::Vbmi;
            assert_eq!(!full.is_empty(), has_layers && !is_narrow, "{name} {level:?}: {full:?}");
            assert!(tiled(CodeDestination::Memory).is_empty(), "{name} {level:?}");
            let options: CheckOptions = ScheduleSource::options(Some(&model), &ScheduleValues::default());
            for candidate in full {
                let text = evaluator.text(&candidate);
                assert_eq!(format(&text).ok().as_ref(), Some(&text), "{name}");
                let checked = check(&text, &options);
                assert!(checked.nests.is_some(), "{name}: {:?}\n{text}", checked.diagnostics);
            }
        }
    }
    Ok(())
}

/// The neighbours of a candidate have tiles of all kinds, the candidate is among their neighbours, and their
/// code compiles.
#[test]
fn neighbours_differ_in_the_tile() -> Result<()> {
    let model = model("vectors")?;
    let machine = Machine::like("znver4", Level::Vbmi);
    let evaluator = Evaluator::new(&model, &machine);
    let all = priced_candidates(&evaluator, CodeDestination::Memory);
    let start = all.iter().map(|one| one.candidate).find(|one| evaluator.text(one).contains("vectorize(b1"));
    let start = start.ok_or("a candidate with vectors of rows")?;
    let around: Vec<Candidate> =
        evaluator.neighbours(&start).into_iter().filter(|one| one.layers.is_some()).collect();
    for of in [LayerLanes::Rows, LayerLanes::Sums] {
        let tile = around.iter().copied().find(|one| one.layers.is_some_and(|tile| tile.lanes_hold == of));
        let tile = tile.ok_or_else(|| format!("no tile with {of:?} in lanes"))?;
        assert!(evaluator.compile(&tile).is_some(), "{}", evaluator.text(&tile));
        let further = evaluator.neighbours(&tile);
        assert!(further.contains(&start));
        assert!(further.iter().any(|one| one.layers.is_some() && one.layers != tile.layers));
    }
    Ok(())
}

/// Vectors of few rows are priced at their own rows: interpolation between 1 row and 16 rows would not see
/// that a whole vector costs as much as one row.
#[test]
fn short_vectors_are_priced_at_their_rows() -> Result<()> {
    let model = model("vectors")?;
    let machine = Machine::like("znver4", Level::Vbmi);
    let evaluator = Evaluator::new(&model, &machine);
    let all = priced_candidates(&evaluator, CodeDestination::Artefact);
    for rows in [4, 8] {
        let vector = all.iter().find(|one| one.candidate.vector_rows() == Some(rows)).ok_or("a vector")?;
        let cost = |rows: usize| SIZES.iter().position(|size| *size == rows).map(|size| vector.cost(size));
        let (one, all) = (cost(1).ok_or("1 row")?, cost(rows).ok_or("a whole vector")?);
        assert!((0.9..1.1).contains(&(all / one)), "{rows}: {one} {all}");
    }
    Ok(())
}

/// Layers of one or two sums that lead to scores have a tile with terms in lanes; others have none.
#[test]
fn layers_of_few_sums_have_terms_in_lanes() {
    let tile = LayerTile { lanes_hold: LayerLanes::Terms, lanes: 8, rows: 1, sums: 8 };
    let stage = |units, terms, is_ordered| StageInfo {
        name: "layer1".to_owned(),
        steps: Vec::new(),
        kind: StageKind::Products,
        units,
        terms,
        is_ordered,
        in_doubles: true,
    };
    let lines = ["reorder(layer1.feature, layer1.unit)", "vectorize(layer1.feature, 8)"];
    assert_eq!(tile.directives(&stage(2, 20, false)), lines);
    for other in [stage(2, 20, true), stage(3, 20, false), stage(2, 7, false)] {
        assert!(tile.directives(&other).is_empty(), "{other:?}");
    }
    let neighbours = tile.neighbours();
    assert!(neighbours.iter().all(|other| other.lanes_hold == LayerLanes::Terms), "{neighbours:?}");
}
