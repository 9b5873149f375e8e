//! Words for problems of stages.

use super::context::{MessageContext, Wording};
use crate::diagnostics::{Applicability, nearest};
use crate::illegal::StageLanesFault;
use crate::resolve::quoted_list;
use sched_nest::StageKind;

/// Most stages whose loops a message lists.
const MOST_LISTED_STAGES: usize = 3;

pub(super) fn unknown_stage(context: &MessageContext, name: &str, stages: &[(String, StageKind)]) -> Wording {
    let known: Vec<&str> = stages.iter().map(|(name, _)| name.as_str()).collect();
    let wording = Wording::new(format!("no stage and no loop has the name `{name}`"), "not a stage");
    if let Some(near) = nearest(name, known.iter().copied()) {
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
    Wording::new(
        format!("`{directive}` cannot be applied to this loop of `{stage}`, a stage that computes columns"),
        "not for columns",
    )
    .help(
        "`tile`, `reorder`, `unroll`, `vectorize` and `interleave` arrange the loops of such a stage. \
         On CPUs, `parallel` applies to loops over units outside of the loops over terms. A loop \
         over rows cannot be divided into copies here.",
    )
}

pub(super) fn terms_out_of_order(context: &MessageContext, outer: Option<&str>) -> Wording {
    let order = "Each sum adds its terms in order, so that it is the same under every schedule.";
    match outer {
        Some(outer) => Wording::new(
            format!("`{outer}` must stay outside of the other loops that its `tile` made"),
            "adds terms in another order",
        )
        .help(order),
        None => {
            let directive = context.directive();
            Wording::new(
                format!("`{directive}` would add the terms of a sum in another order"),
                "a loop over the terms of sums",
            )
            .help(format!("{order} Name a loop over rows instead, or one over the units of a layer."))
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
            "Only one loop of a stage can be vectorized, over rows or over units. To vectorize a loop in one \
             stage only, write the stage's name before it: `layer1.unit`.",
        ),
        StageLanesFault::Strided => Wording::new("lanes hold adjacent rows or units", "has a step")
            .help("Vectorize the innermost loop that `tile` makes of the rows or units."),
        StageLanesFault::Unaligned { outer, step, lanes } => Wording::new(
            format!("vectors of {lanes} units do not fit the step {step} of `{outer}`"),
            "too wide",
        )
        .help(format!("Make the tile a multiple of {lanes}, or the vector narrower.")),
    }
}

pub(super) fn stage_rows(rows: Option<i64>, limit: i64) -> Wording {
    let wording = match rows {
        Some(rows) => Wording::new(
            format!("a stage computes {rows} rows together, and at most {limit} fit"),
            "too many rows",
        ),
        None => Wording::new(
            "a stage would compute all rows of a call together",
            "the number of rows of a call is known only at run time",
        ),
    };
    wording.help(format!(
        "Tile the rows: `tile(batch, b0, b1, 64)`. Put `b0` outside of the loops over units and terms with \
         `reorder`. At most {limit} rows may be inside of them."
    ))
}
