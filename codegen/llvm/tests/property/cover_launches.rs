//! Features that cases of schedules for GPUs cover.

use super::case::Case;
use super::cover::Cover;
use super::launches::{has_code, launches};
use sched_forest::{Profile, Transform};
use sched_lang::directives::{SIGNATURES, SupportedTargets};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_nest::{Axis, Body, GpuAxis, GpuDimension, GpuLevel, Loop, LoopId, Nest, Reduce};
use sched_testing::forests;

/// A feature that a case may have.
struct CoveredFeature {
    name: &'static str,
    is_in: fn(&Case) -> bool,
    /// Lines that add the feature to a schedule, if there may be no code for it yet. In the schedule, blocks
    /// are the loop `b0` and rows of a block the loop `b1` over threads. Each thread has a loop `t0` over
    /// groups of trees, and a loop `t1` over the trees of a group.
    lines: Option<&'static str>,
}

const fn feature(name: &'static str, is_in: fn(&Case) -> bool) -> CoveredFeature {
    CoveredFeature { name, is_in, lines: None }
}

/// Features that must occur in at least one of twenty cases, if there is code for them.
const FEATURES: &[CoveredFeature] = &[
    feature("launches", Case::has_launches),
    feature("grid.x", |case| maps(case, GpuLevel::Grid, GpuAxis::X)),
    feature("grid.y", |case| maps(case, GpuLevel::Grid, GpuAxis::Y)),
    feature("grid.z", |case| maps(case, GpuLevel::Grid, GpuAxis::Z)),
    feature("block.x", |case| maps(case, GpuLevel::Block, GpuAxis::X)),
    feature("block.y", |case| maps(case, GpuLevel::Block, GpuAxis::Y)),
    feature("block.z", |case| maps(case, GpuLevel::Block, GpuAxis::Z)),
    feature("rows in blocks", |case| any(case, |this| on(this, GpuLevel::Grid, Axis::Row))),
    feature("trees in blocks", |case| any(case, |this| on(this, GpuLevel::Grid, Axis::Tree))),
    feature("rows in threads", |case| any(case, |this| on(this, GpuLevel::Block, Axis::Row))),
    feature("trees in threads", |case| any(case, |this| on(this, GpuLevel::Block, Axis::Tree))),
    feature("several loops over trees mapped", |case| {
        let trees = |this: &&Loop| this.axis == Axis::Tree && this.annotations.gpu_dimension.is_some();
        case.nests.iter().any(|(_, nest)| nest.loops.iter().filter(trees).count() > 1)
    }),
    feature("trees in blocks and in their threads", |case| {
        let trees = |nest: &Nest, level| nest.loops.iter().any(|this| on(this, level, Axis::Tree));
        case.nests.iter().any(|(_, nest)| trees(nest, GpuLevel::Grid) && trees(nest, GpuLevel::Block))
    }),
    feature("fold by the last block", |case| case.folds().0),
    feature("fold in each block", |case| case.folds().1),
    feature("fold by a second launch", |case| case.folds().2),
    feature("slots of one margin", Case::has_slots_of_one_margin),
    feature("predictions of rows in each block or the last one", |case| case.row_predictions().0),
    feature("predictions of rows by a second launch", |case| case.row_predictions().1),
    feature("loop of the host around launches", |case| {
        in_nests(case, |nest, _, above| {
            let mapped = |id: &LoopId| nest.get(*id).annotations.gpu_dimension.is_some();
            above.iter().any(mapped) && above.first().is_some_and(|first| !mapped(first))
        })
    }),
    feature("several launches", |case| {
        case.nests.iter().any(|(_, nest)| launches(nest) && nest.roots.len() > 1)
    }),
    feature("cached rows", |case| in_launches(case, |this| this.axis == Axis::Row && this.annotations.cache)),
    feature("cached values of tested features", Case::copies_tested_features),
    CoveredFeature { name: "cached trees", is_in: caches_trees, lines: Some("cache(t0)") },
    CoveredFeature {
        name: "cached trees side by side",
        is_in: |case| caches_trees(case) && says(case, "representation(reorg)"),
        lines: Some("cache(t0)\nrepresentation(reorg)"),
    },
    feature("cached oblivious trees", |case| caches_trees(case) && says(case, "representation(oblivious)")),
    feature("cached rows with a bank for each lane", |case| {
        case.reads_bank_by_lane()
            && in_launches(case, |this| this.axis == Axis::Row && this.annotations.cache)
    }),
    feature("atomicReduce", |case| in_launches(case, |this| this.annotations.reduce == Some(Reduce::Atomic))),
    CoveredFeature {
        name: "sharedReduce",
        is_in: |case| says(case, "sharedReduce("),
        lines: Some("gpuDimension(t0, block.y)\nsharedReduce(t0)"),
    },
    CoveredFeature {
        name: "four rows of a thread in a vector",
        is_in: |case| in_launches(case, |this| this.annotations.vectorize == Some(4)),
        lines: Some("cache(b0)\nrepresentation(quantized)\nvectorize(b2, 4)"),
    },
    feature("interleave", |case| in_launches(case, |this| this.annotations.interleave.is_some())),
    feature("unrollWalk", |case| says(case, "unrollWalk(")),
    feature("specialize", |case| says(case, "specialize(")),
    feature("splitByDepth", |case| says(case, "splitByDepth(")),
    feature("tileTrees", |case| says(case, "tileTrees(")),
    feature("array", |case| says(case, "array)")),
    feature("sparse", |case| says(case, "sparse)")),
    feature("levels", |case| says(case, "levels)")),
    feature("quantized", |case| says(case, "quantized)")),
    feature("preorder", |case| says(case, "preorder)")),
    feature("hybrid", |case| says(case, "hybrid)")),
    feature("param", |case| says(case, "param ")),
    feature("schedules for GPUs and processors", |case| {
        case.has_launches() && case.nests.iter().any(|(_, nest)| !launches(nest))
    }),
    feature("several schedules for GPUs", |case| {
        case.nests.iter().filter(|(_, nest)| launches(nest)).count() > 1
    }),
    feature("base margin of rows", Case::base_is_given),
    feature("columns computed in blocks", |case| case.places_of_columns().0),
    feature("columns computed in a launch", |case| case.places_of_columns().1),
    feature("powers of two", |case| {
        case.forest.output.value.iter().any(|step| matches!(step, Transform::PowerOfTwo { .. }))
    }),
    feature("logarithms", |case| {
        let needs = |step: &Transform| {
            matches!(step, Transform::Ascending | Transform::LogOnePlusExp | Transform::Probit)
        };
        case.forest.output.value.iter().any(needs)
    }),
    feature("bit-equal margins", |case| case.exact() && case.num_rows() > 0),
    feature("no rows", |case| case.num_rows() == 0),
    feature("one row", |case| case.num_rows() == 1),
    feature("fewer rows than a block has", |case| {
        let rows = case.num_rows();
        launched(case).is_some_and(|nest| {
            nest.loops.iter().any(|this| on(this, GpuLevel::Grid, Axis::Row) && step(this) > rows)
        })
    }),
    feature("rows that fill no tile", |case| {
        let rows = case.num_rows();
        launched(case).is_some_and(|nest| {
            nest.loops.iter().any(|this| {
                on(this, GpuLevel::Grid, Axis::Row)
                    && step(this) > 1
                    && rows > step(this)
                    && rows % step(this) > 0
            })
        })
    }),
];

fn caches_trees(case: &Case) -> bool {
    in_launches(case, |this| this.axis == Axis::Tree && this.annotations.cache)
}

fn says(case: &Case, what: &str) -> bool {
    case.schedule.contains(what)
}

/// The step of a loop, if it is known.
fn step(this: &Loop) -> usize {
    this.step.as_int().and_then(|step| usize::try_from(step).ok()).unwrap_or(1)
}

/// The nest that runs for the case's rows, if it has launches.
fn launched(case: &Case) -> Option<&Nest> {
    let nest = case.nests.for_rows(case.num_rows());
    (case.num_rows() > 0 && launches(nest)).then_some(nest)
}

fn on(this: &Loop, level: GpuLevel, axis: Axis) -> bool {
    this.axis == axis && this.annotations.gpu_dimension.is_some_and(|dimension| dimension.level == level)
}

fn any(case: &Case, test: impl Fn(&Loop) -> bool) -> bool {
    case.nests.iter().any(|(_, nest)| nest.loops.iter().any(&test))
}

fn in_launches(case: &Case, test: impl Fn(&Loop) -> bool) -> bool {
    case.nests.iter().any(|(_, nest)| launches(nest) && nest.loops.iter().any(&test))
}

fn maps(case: &Case, level: GpuLevel, axis: GpuAxis) -> bool {
    any(case, |this| this.annotations.gpu_dimension == Some(GpuDimension { level, axis }))
}

/// Whether some loop satisfies `test`, which gets the nest, the loop, and the loops around it with the
/// outermost first.
fn in_nests(case: &Case, test: impl Fn(&Nest, LoopId, &[LoopId]) -> bool) -> bool {
    fn below(
        nest: &Nest,
        id: LoopId,
        above: &mut Vec<LoopId>,
        test: &dyn Fn(&Nest, LoopId, &[LoopId]) -> bool,
    ) -> bool {
        above.push(id);
        let children: Vec<LoopId> = match &nest.get(id).body {
            Body::Walk => Vec::new(),
            Body::Seq(list) => list.clone(),
            Body::Cases(cases) => cases.concat(),
        };
        let found =
            test(nest, id, above) || children.into_iter().any(|child| below(nest, child, above, test));
        above.pop();
        found
    }
    case.nests
        .iter()
        .any(|(_, nest)| nest.roots.iter().any(|root| below(nest, *root, &mut Vec::new(), &test)))
}

/// Features for which there is code, and which must be covered.
pub fn wanted_on_gpu() -> Vec<&'static str> {
    // Features that are directives for GPUs only are added from the table of directives.
    let seen: Vec<&str> = SIGNATURES
        .iter()
        .filter(|signature| signature.targets == SupportedTargets::OnGpus)
        .map(|signature| signature.name)
        .collect();
    for name in seen {
        let known = name == "gpuDimension" || FEATURES.iter().any(|feature| feature.name == name);
        assert!(known, "no kind of cases is about `{name}`");
    }
    FEATURES
        .iter()
        .filter(|feature| feature.lines.is_none_or(there_is_code))
        .map(|feature| feature.name)
        .collect()
}

/// Whether schedules with these lines have code.
fn there_is_code(lines: &str) -> bool {
    let (forest, _) = forests::complete_with_rows(3, 4, 4);
    let options = CheckOptions {
        model: Some(forests::model_info(&forest).into()),
        purpose: CheckPurpose::Compile,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let schedule = format!(
        "tile(batch, b0, rest, 32)\ntile(rest, b1, b2, 4)\ntile(tree, t0, t1, 2)\n\
         reorder(b0, b1, t0, t1, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n{lines}\n"
    );
    check(&schedule, &options).nest().is_some_and(|nest| has_code(&forest, &Profile::default(), nest))
}

impl Cover {
    /// Counts a case of a schedule for GPUs.
    pub fn add_on_gpu(&mut self, case: &Case) {
        self.cases += 1;
        for feature in FEATURES {
            self.count(feature.name, (feature.is_in)(case));
        }
    }
}
