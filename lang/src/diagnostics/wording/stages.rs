//! Words for problems of stages.

use super::context::{MessageContext, Wording};
use crate::diagnostics::{Applicability, nearest};
use crate::illegal::{StageLanesFault, TensorFault, TermOrderFault};
use crate::resolve::quoted_list;
use sched_nest::{Axis, LoopId, StageKind};

/// Most stages whose loops a message lists.
const MOST_LISTED_STAGES: usize = 3;

pub(super) fn unknown_stage(context: &MessageContext, name: &str, stages: &[(String, StageKind)]) -> Wording {
    let known: Vec<&str> = stages.iter().map(|(name, _)| name.as_str()).collect();
    // A wrong number is likelier than another kind.
    let kind = StageKind::of_name(name);
    let alike = stages.iter().filter(|(_, known)| Some(*known) == kind).map(|(name, _)| name.as_str());
    let wording = Wording::new(format!("no stage and no loop has the name `{name}`"), "not a stage");
    if let Some(near) = nearest(name, alike).or_else(|| nearest(name, known.iter().copied())) {
        let written = context.argument_text();
        let fixed = written.strip_prefix(name).map(|rest| format!("{near}{rest}"));
        let fix = fixed.and_then(|fixed| context.replace(&fixed, Applicability::Unsure));
        return wording.help(format!("Did you mean `{near}`?")).fix(fix);
    }
    wording.help(match stages {
        [] => "The model has a single stage. Leave the name before the loop out.".to_owned(),
        [stage] => format!("The model has one stage, {}.", with_loops(stage)),
        few if few.len() <= MOST_LISTED_STAGES => {
            let few: Vec<String> = few.iter().map(with_loops).collect();
            format!("The stages of the model are {}.", few.join("; "))
        }
        _ => format!("The stages of the model are {}.", quoted_list(&known)),
    })
}

/// A stage and its loops.
fn with_loops((name, kind): &(String, StageKind)) -> String {
    let loops: Vec<&str> = ["batch"].into_iter().chain(kind.loops().iter().map(|(name, _)| *name)).collect();
    format!("`{name}` with the loops {}", quoted_list(&loops))
}

pub(super) fn two_stages(context: &MessageContext, [other, own]: &[(String, String); 2]) -> Wording {
    let directive = context.directive();
    Wording::new(
        format!("`{}` is a loop of `{}`, and `{}` is one of `{}`", other.0, other.1, own.0, own.1),
        "a loop of another stage",
    )
    .help(format!("Each stage has a separate loop nest. Write one `{directive}` for each stage."))
}

pub(super) fn not_in_stage(context: &MessageContext, stage: &str) -> Wording {
    let directive = context.directive();
    let help = match directive {
        "split" | "splitByDepth" | "specialize" => format!(
            "The loops of `{stage}` form one chain without copies. Divide them with `tile`. If no directive \
             names a loop of `{stage}`, the compiler arranges it."
        ),
        "gpuDimension" => format!(
            "Map loops of the last trees: `gpuDimension(batch, grid.x)`. The compiler maps the rows of \
             `{stage}` itself, in a separate launch."
        ),
        "cache" => "Only rows of such a stage are copied. Name a loop over rows.".to_owned(),
        "parallel" => {
            "On CPUs, threads share loops over rows, and loops over units outside of the loops over \
                       terms. On GPUs, each thread computes all units of a row."
                .to_owned()
        }
        _ => "It concerns the walks of the last trees. Name one of their loops, without a stage, such as \
              `tree`."
            .to_owned(),
    };
    Wording::new(
        format!("`{directive}` cannot be applied to this loop of `{stage}`, a stage that computes columns"),
        "not for columns",
    )
    .help(help)
}

pub(super) fn terms_out_of_order(context: &MessageContext, fault: &TermOrderFault) -> Wording {
    let axis = context.illegal.loops.first().map(|id| context.builder.node(*id).axis);
    let (summands, kind, order, others) = match axis {
        Some(Axis::Tree) => (
            "the results of trees",
            "a loop over trees",
            "Each result of the stage adds its trees in order, so that it is the same under every schedule.",
            "a loop over rows instead",
        ),
        _ => (
            "the terms of a sum",
            "a loop over the terms of sums",
            "Each sum adds its terms in order, except in the lanes of `vectorize`.",
            "a loop over rows instead, or one over the sums of the stage",
        ),
    };
    let directive = context.directive();
    match fault {
        TermOrderFault::Tile { outer } => Wording::new(
            format!("`{outer}` must stay outside of the other loops that its `tile` made"),
            format!("adds {summands} in another order"),
        )
        .help(format!("Write `{outer}` before `{}` in this `reorder`. {order}", context.first())),
        TermOrderFault::Directive => {
            Wording::new(format!("`{directive}` would add {summands} in another order"), kind)
                .help(format!("{order} Name {others}."))
        }
        TermOrderFault::Ordered { stage } => {
            Wording::new(format!("`{directive}` would add {summands} of `{stage}` in another order"), kind)
                .help(format!(
                    "The sums of `{stage}` keep their order: a later step compares them or may enlarge \
                     differences, or they have more than 64 terms in single precision. Name {others}, or the \
                     loop of another stage. `schedc explain S0127` lists such steps."
                ))
        }
        TermOrderFault::OnGpu(fault) => {
            let help = match fault {
                TensorFault::Sums => {
                    "Tensor cores add products in double precision, in stages of five units or more. In \
                     other stages, a thread of a GPU adds the terms of a sum one after another. Leave the \
                     directive out."
                }
                TensorFault::Lanes => "Tensor cores add four terms in a step. Write 4, or no number.",
                TensorFault::Arranged { .. } => {
                    "Tensor cores compute tiles of eight rows and eight units, so the stage's loops over \
                     units and terms can have no other directives. Leave the others out."
                }
            };
            let message = format!("tensor cores cannot add {summands} of this stage in this way");
            let wording = Wording::new(message, kind).help(help);
            match fault {
                TensorFault::Arranged { other: Some(other) } => {
                    wording.and(*other, "would have no effect").fix(Some(context.remove(*other)))
                }
                _ => wording,
            }
        }
    }
}

pub(super) fn stage_lanes(fault: &StageLanesFault) -> Wording {
    match fault {
        StageLanesFault::Second { other } => Wording::new(
            format!("`{other}` of this stage is vectorized already"),
            "a second vectorized loop",
        )
        .help(
            "Only one loop of a stage can be vectorized: over rows, units or terms. Leave one `vectorize` \
             out. A name without a stage means the loop in every stage; `layer1.unit` means that of one \
             stage.",
        ),
        StageLanesFault::Strided => Wording::new("lanes hold adjacent rows, units or terms", "has a step")
            .help("Vectorize the innermost loop that `tile` makes of them."),
        StageLanesFault::Unaligned { outer, step, lanes } => Wording::new(
            format!("vectors of {lanes} units do not fit the step {step} of `{outer}`"),
            "too wide",
        )
        .help(format!("Make the tile a multiple of {lanes}, or the vector narrower.")),
    }
}

pub(super) fn stage_rows(
    context: &MessageContext,
    (stage, unlimited): (&str, Option<&str>),
    rows: Option<i64>,
    limit: i64,
) -> Wording {
    let is_tree = |id: &LoopId| context.builder.node(*id).axis == Axis::Tree;
    let has_trees = context.builder.tree().loops().iter().any(is_tree);
    let others = if has_trees { "trees" } else { "units and terms" };
    let tile = match unlimited {
        Some(unlimited) => format!("Tile `{unlimited}`, for example by 64"),
        None => "Use smaller tiles of rows".to_owned(),
    };
    let wording = match rows {
        Some(rows) => Wording::new(
            format!("`{stage}` would compute {rows} rows together, and at most {limit} fit"),
            "too many rows",
        ),
        None => Wording::new(
            format!("`{stage}` would compute all rows of a call together"),
            "the number of rows of a call is known only at run time",
        ),
    };
    wording.help(format!(
        "{tile}, and keep the outer loop of each tile outside of the loops over {others}. At most {limit} \
         rows may be inside of them."
    ))
}
