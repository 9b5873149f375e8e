//! Words for problems of stages.

use super::context::{MessageContext, Wording};
use crate::diagnostics::{Applicability, Fix, nearest};
use crate::illegal::{StageLanesFault, TensorFault, TermOrderFault};
use crate::resolve::quoted_list;
use sched_nest::{Axis, LoopId, MOST_FREE_SINGLES, StageKind};

/// Most stages whose loops a message lists.
const MOST_LISTED_STAGES: usize = 3;

pub(super) fn unknown_stage(context: &MessageContext, name: &str, stages: &[(String, StageKind)]) -> Wording {
    let known: Vec<&str> = stages.iter().map(|(name, _)| name.as_str()).collect();
    // A wrong number is likelier than another kind.
    let kind = StageKind::of_name(name);
    let alike = stages.iter().filter(|(_, known)| Some(*known) == kind).map(|(name, _)| name.as_str());
    let wording = Wording::new(format!("no stage and no loop has the name `{name}`"), "not a stage");
    let by_number = nearest_number(name, &known);
    if let Some(near) =
        by_number.or_else(|| nearest(name, alike)).or_else(|| nearest(name, known.iter().copied()))
    {
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

/// The name that differs from `name` only in its number, which is the nearest one.
fn nearest_number<'n>(name: &str, known: &[&'n str]) -> Option<&'n str> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |name: &str| name.strip_prefix(stem)?.parse::<u32>().ok();
    let wanted = number(name)?;
    let alike = known.iter().filter_map(|other| Some((number(other)?.abs_diff(wanted), *other)));
    alike.min_by_key(|(distance, _)| *distance).map(|(_, other)| other)
}

pub(super) fn copy_in_stage(context: &MessageContext, stage: &str, path: &str) -> Wording {
    let last = path.rsplit('.').next().unwrap_or(path);
    let name = last.split('[').next().unwrap_or(last);
    let instead = match path.split('.').any(|qualifier| qualifier == stage) {
        true => format!("{stage}.{name}"),
        false => name.to_owned(),
    };
    Wording::new(format!("no loop is called `{path}`: `{stage}` has no copies of loops"), "no such copy")
        .help(format!(
            "`split`, `splitByDepth` and `specialize` copy loops of the last trees, not those of other \
             stages. Write `{instead}`."
        ))
        .fix(context.replace(&instead, Applicability::Unsure))
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

/// Most loops that a message proposes, and most of them that are of the last trees.
const MOST_PROPOSED_LOOPS: usize = 4;
const MOST_LOOPS_OF_TREES: usize = 2;

pub(super) fn not_in_stage(context: &MessageContext, stage: &str, of_trees: &[String]) -> Wording {
    let directive = context.directive();
    let arguments = context.report.argument_texts(context.illegal.step).join(", ");
    let (help, fixes) = match directive {
        "split" | "splitByDepth" | "specialize" => {
            let instead = match directive {
                "split" => Some(context.rewrite(format!("tile({arguments})"))),
                "specialize" => Some(context.rewrite(format!("unroll({arguments})"))),
                _ => None,
            };
            let help = format!(
                "The loops of `{stage}` form one chain without copies. If no directive names a loop of \
                 `{stage}`, the compiler arranges it."
            );
            (help, instead.into_iter().collect())
        }
        "gpuDimension" => {
            let help = format!(
                "Only loops of the last trees can be mapped: blocks and threads share those over rows and \
                 those over trees. The compiler maps the rows of `{stage}` itself, in the launch of the last \
                 trees or in a separate one."
            );
            (help, context.with_other_loops(of_trees.first()))
        }
        "cache" => {
            let rows = context.loops_over(&[Axis::Row]);
            ("Only rows of such a stage are copied.".to_owned(), context.with_other_loops(&rows))
        }
        "parallel" => {
            let help = "On CPUs, threads share loops over rows, and loops over units outside of the loops \
                        over terms. On GPUs, the threads of blocks compute the columns of their rows."
                .to_owned();
            (help, context.with_other_loops(&context.loops_over(&[Axis::Row, Axis::Unit])))
        }
        _ => {
            let help = format!("`{directive}` concerns the walks of the last trees.");
            (help, context.with_other_loops(of_trees.iter().rev().take(MOST_LOOPS_OF_TREES)))
        }
    };
    Wording::new(
        format!("`{directive}` cannot be applied to this loop of `{stage}`, a stage that computes columns"),
        "not for columns",
    )
    .help(help)
    .fixes(fixes.into_iter().take(MOST_PROPOSED_LOOPS))
    .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn terms_out_of_order(context: &MessageContext, fault: &TermOrderFault) -> Wording {
    let axis = context.illegal.loops.first().map(|id| context.builder.node(*id).axis);
    let (summands, kind, order) = match axis {
        Some(Axis::Tree) => (
            "the results of trees",
            "a loop over trees",
            "Each result of the stage adds its trees in order, so that it is the same under every schedule.",
        ),
        _ => (
            "the terms of a sum",
            "a loop over the terms of sums",
            "Each sum adds its terms in order, except in the lanes of `vectorize`.",
        ),
    };
    let directive = context.directive();
    let others = || {
        let loops = context.loops_over(&[Axis::Row, Axis::Unit]);
        context.with_other_loops(&loops).into_iter().take(MOST_PROPOSED_LOOPS)
    };
    let wording = match fault {
        TermOrderFault::Tile { outer } => Wording::new(
            format!("`{outer}` must stay outside of the other loops that its `tile` made"),
            format!("adds {summands} in another order"),
        )
        .help(order)
        .fix(outer_first(context, outer)),
        TermOrderFault::Directive => {
            Wording::new(format!("`{directive}` would add {summands} in another order"), kind)
                .help(order)
                .fixes(others())
        }
        TermOrderFault::Ordered { stage, long_sum } => {
            let reason = match long_sum {
                Some(terms) => format!(
                    "they have {terms} terms in single precision. Up to {MOST_FREE_SINGLES} terms may \
                     change their order."
                ),
                None if context.builder.sums_singles() => {
                    "a later step compares them or may enlarge differences, or the rounding of single \
                     precision is too large beside their constants. `schedc explain S0127` lists such cases."
                        .to_owned()
                }
                None => "a later step compares them or may enlarge differences. `schedc explain S0127` \
                         lists such steps."
                    .to_owned(),
            };
            Wording::new(format!("`{directive}` would add {summands} of `{stage}` in another order"), kind)
                .help(format!("The sums of `{stage}` keep their order: {reason}"))
                .fixes(others())
        }
        TermOrderFault::OnGpu(fault) => on_gpu(context, *fault, (summands, kind)),
    };
    wording.fix(Some(context.remove(context.illegal.step)))
}

/// A fix that writes the outer loop of a tile before the other one in the `reorder` at fault.
fn outer_first(context: &MessageContext, outer: &str) -> Option<Fix> {
    let mut arguments = context.report.argument_texts(context.illegal.step);
    let inner = context.first();
    let place = |name: &str| arguments.iter().position(|argument| *argument == name);
    let (outer, inner) = (place(outer)?, place(&inner)?);
    arguments.swap(outer, inner);
    (context.directive() == "reorder").then(|| context.rewrite(format!("reorder({})", arguments.join(", "))))
}

/// Words for a vector of terms that tensor cores cannot compute.
fn on_gpu(context: &MessageContext, fault: TensorFault, (summands, kind): (&str, &str)) -> Wording {
    let message = format!("tensor cores cannot add {summands} of this stage in this way");
    let wording = Wording::new(message, kind);
    match fault {
        TensorFault::Sums => wording.help(
            "Tensor cores add products in double precision, in stages of five units or more. In other \
             stages, a thread of a GPU adds the terms of a sum one after another.",
        ),
        TensorFault::Lanes => {
            let four = format!("vectorize({}, 4)", context.first());
            wording.help("Tensor cores add four terms in a step.").fix(Some(context.rewrite(four)))
        }
        TensorFault::Arranged { other } => {
            let wording = wording.help(
                "Tensor cores compute tiles of eight rows and eight units, so the stage's loops over units \
                 and terms can have no other directives.",
            );
            match other {
                Some(other) => wording.and(other, "would have no effect").fix(Some(context.remove(other))),
                None => wording,
            }
        }
    }
}

pub(super) fn stage_lanes(context: &MessageContext, fault: &StageLanesFault) -> Wording {
    match fault {
        StageLanesFault::Second { other } => Wording::new(
            format!("`{other}` of this stage is vectorized already"),
            "a second vectorized loop",
        )
        .help({
            let only = "Only one loop of a stage can be vectorized: over rows, units or terms. Leave one \
                        `vectorize` out.";
            let first = context.first();
            match context.argument_text().contains('.') || !first.contains('.') {
                true => only.to_owned(),
                false => format!(
                    "{only} A name without a stage means the loop in every stage; `{first}` means that of \
                     one stage."
                ),
            }
        }),
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
    let is_tile = context.illegal.loops.iter().any(|id| {
        Some(&*context.builder.name(*id)) == unlimited && context.builder.node(*id).made_by.is_some()
    });
    let help = match unlimited {
        Some(outer) if is_tile => format!(
            "`{outer}` is the outer loop of a tile: keep it outside of the loops over {others}, and at most \
             {limit} rows inside of them."
        ),
        _ => {
            let tile = match unlimited {
                Some(unlimited) => format!("Tile `{unlimited}`, for example by 64"),
                None => "Use smaller tiles of rows".to_owned(),
            };
            format!(
                "{tile}, and keep the outer loop of each tile outside of the loops over {others}. At most \
                 {limit} rows may be inside of them."
            )
        }
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
    wording.help(help).fixes(limited_rows(context, unlimited, is_tile))
}

/// Fixes of a `reorder` that moved a loop over all rows of a call inside: its outer loop comes first, after a
/// tile if it is none yet, or the `reorder` goes.
fn limited_rows(context: &MessageContext, unlimited: Option<&str>, is_tile: bool) -> Vec<Fix> {
    let Some(loop_name) = unlimited.filter(|_| context.directive() == "reorder") else { return Vec::new() };
    let mut arguments: Vec<String> =
        context.report.argument_texts(context.illegal.step).into_iter().map(str::to_owned).collect();
    let is_meant = |text: &String| text == loop_name || context.builder.with_stage(text) == loop_name;
    let mut fixes = Vec::new();
    if let Some(at) = arguments.iter().position(is_meant) {
        if is_tile {
            let outer = arguments.remove(at);
            arguments.insert(0, outer);
            fixes.push(context.rewrite(format!("reorder({})", arguments.join(", "))));
        } else if let Some((outer, inner)) = context.free_names('b') {
            let stage = arguments[at].strip_suffix("batch").unwrap_or_default().to_owned();
            let tile = format!("tile({}, {outer}, {inner}, 64)", arguments[at]);
            arguments[at] = format!("{stage}{inner}");
            fixes.push(context.rewrite(format!("{tile}\nreorder({})", arguments.join(", "))));
        }
    }
    fixes.push(context.remove(context.illegal.step));
    fixes
}
