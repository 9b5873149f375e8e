//! What cases of schedules for GPUs cover.

use crate::case::Case;
use crate::cover::Cover;
use crate::launches::{has_code, launches};
use sched_forest::Profile;
use sched_lang::directives::{Lowered, SIGNATURES};
use sched_lang::{Options, Supported, Target, check};
use sched_nest::{Axis, Body, GpuAxis, GpuDimension, GpuLevel, Loop, LoopId, Nest, Reduce};
use sched_testing::forests;

/// Something that a case may have.
struct Kind {
    name: &'static str,
    is_in: fn(&Case) -> bool,
    /// Lines that ask for it, where there may be no code for it yet: in a schedule whose blocks `b0` have
    /// rows `b1` in threads, each of which adds pieces `t0` of trees `t1`.
    asked: Option<&'static str>,
}

const fn kind(name: &'static str, is_in: fn(&Case) -> bool) -> Kind {
    Kind { name, is_in, asked: None }
}

/// Everything that must occur in at least one case of twenty, as soon as there is code for it.
const KINDS: &[Kind] = &[
    kind("launches", Case::has_launches),
    kind("grid.x", |case| maps(case, GpuLevel::Grid, GpuAxis::X)),
    kind("grid.y", |case| maps(case, GpuLevel::Grid, GpuAxis::Y)),
    kind("grid.z", |case| maps(case, GpuLevel::Grid, GpuAxis::Z)),
    kind("block.x", |case| maps(case, GpuLevel::Block, GpuAxis::X)),
    kind("block.y", |case| maps(case, GpuLevel::Block, GpuAxis::Y)),
    kind("block.z", |case| maps(case, GpuLevel::Block, GpuAxis::Z)),
    kind("rows in blocks", |case| any(case, |this| on(this, GpuLevel::Grid, Axis::Row))),
    kind("trees in blocks", |case| any(case, |this| on(this, GpuLevel::Grid, Axis::Tree))),
    kind("rows in threads", |case| any(case, |this| on(this, GpuLevel::Block, Axis::Row))),
    kind("trees in threads", |case| any(case, |this| on(this, GpuLevel::Block, Axis::Tree))),
    kind("several loops over trees mapped", |case| {
        let trees = |this: &&Loop| this.axis == Axis::Tree && this.annotations.gpu_dimension.is_some();
        case.nests.iter().any(|(_, nest)| nest.loops.iter().filter(trees).count() > 1)
    }),
    kind("trees in blocks and in their threads", |case| {
        let trees = |nest: &Nest, level| nest.loops.iter().any(|this| on(this, level, Axis::Tree));
        case.nests.iter().any(|(_, nest)| trees(nest, GpuLevel::Grid) && trees(nest, GpuLevel::Block))
    }),
    kind("loop of the host around launches", |case| {
        in_nests(case, |nest, _, above| {
            let mapped = |id: &LoopId| nest.get(*id).annotations.gpu_dimension.is_some();
            above.iter().any(mapped) && above.first().is_some_and(|first| !mapped(first))
        })
    }),
    kind("several launches", |case| {
        case.nests.iter().any(|(_, nest)| launches(nest) && nest.roots.len() > 1)
    }),
    kind("cached rows", |case| in_launches(case, |this| this.axis == Axis::Row && this.annotations.cache)),
    Kind {
        name: "cached trees",
        is_in: |case| in_launches(case, |this| this.axis == Axis::Tree && this.annotations.cache),
        asked: Some("cache(t0)"),
    },
    kind("cached rows with a bank for each lane", |case| {
        case.reads_bank_by_lane()
            && in_launches(case, |this| this.axis == Axis::Row && this.annotations.cache)
    }),
    kind("atomicReduce", |case| in_launches(case, |this| this.annotations.reduce == Some(Reduce::Atomic))),
    Kind {
        name: "sharedReduce",
        is_in: |case| says(case, "sharedReduce("),
        asked: Some("gpuDimension(t0, block.y)\nsharedReduce(t0)"),
    },
    Kind {
        name: "four rows of a thread in a vector",
        is_in: |case| in_launches(case, |this| this.annotations.vectorize == Some(4)),
        asked: Some("cache(b0)\nrepresentation(quantized)\nvectorize(b2, 4)"),
    },
    kind("interleave", |case| in_launches(case, |this| this.annotations.interleave.is_some())),
    kind("unrollWalk", |case| says(case, "unrollWalk(")),
    kind("specialize", |case| says(case, "specialize(")),
    kind("splitByDepth", |case| says(case, "splitByDepth(")),
    kind("tileTrees", |case| says(case, "tileTrees(")),
    kind("array", |case| says(case, "array)")),
    kind("sparse", |case| says(case, "sparse)")),
    kind("levels", |case| says(case, "levels)")),
    kind("quantized", |case| says(case, "quantized)")),
    kind("preorder", |case| says(case, "preorder)")),
    kind("param", |case| says(case, "param ")),
    kind("schedules for GPUs and processors", |case| {
        case.has_launches() && case.nests.iter().any(|(_, nest)| !launches(nest))
    }),
    kind("several schedules for GPUs", |case| {
        case.nests.iter().filter(|(_, nest)| launches(nest)).count() > 1
    }),
    kind("bit-equal margins", |case| case.exact() && case.num_rows() > 0),
    kind("no rows", |case| case.num_rows() == 0),
    kind("one row", |case| case.num_rows() == 1),
    kind("fewer rows than a block has", |case| {
        let rows = case.num_rows();
        launched(case).is_some_and(|nest| {
            nest.loops.iter().any(|this| on(this, GpuLevel::Grid, Axis::Row) && step(this) > rows)
        })
    }),
    kind("rows that fill no tile", |case| {
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

fn says(case: &Case, what: &str) -> bool {
    case.schedule.contains(what)
}

/// The step of a loop, as far as it is known.
fn step(this: &Loop) -> usize {
    this.step.as_int().and_then(|step| usize::try_from(step).ok()).unwrap_or(1)
}

/// The nest that runs, if it has launches.
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

/// Whether some loop has a property, which sees the loops from the outermost one to this.
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

/// Everything of which there must be enough: what there is code for.
pub fn wanted_on_gpu() -> Vec<&'static str> {
    // A schedule asks for what a directive is about; directives that only GPUs have are found in the table.
    let told: Vec<&str> = SIGNATURES
        .iter()
        .filter(|signature| signature.lowered == Lowered::OnGpus)
        .map(|signature| signature.name)
        .collect();
    for name in told {
        let known = name == "gpuDimension" || KINDS.iter().any(|kind| kind.name == name);
        assert!(known, "no kind of cases is about `{name}`");
    }
    KINDS.iter().filter(|kind| kind.asked.is_none_or(there_is_code)).map(|kind| kind.name).collect()
}

/// Whether code can be made of a schedule with these lines.
fn there_is_code(lines: &str) -> bool {
    let (forest, _) = forests::complete(3, 4, 4);
    let options = Options {
        model: Some(forests::info(&forest).into()),
        supported: Supported::Compilable,
        target: Some(Target::gpu()),
        ..Options::default()
    };
    let schedule = format!(
        "tile(batch, b0, rest, 32)\ntile(rest, b1, b2, 4)\ntile(tree, t0, t1, 2)\nreorder(b0, b1, t0, t1, b2)\n\
         gpuDimension(b0, grid.x)\ngpuDimension(b1, block.x)\n{lines}\n"
    );
    check(&schedule, &options).nest().is_some_and(|nest| has_code(&forest, &Profile::default(), nest))
}

impl Cover {
    /// Counts a case of a schedule for GPUs.
    pub fn add_on_gpu(&mut self, case: &Case) {
        self.cases += 1;
        for kind in KINDS {
            self.count(kind.name, (kind.is_in)(case));
        }
    }
}
