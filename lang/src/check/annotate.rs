//! Attaches the annotations of a text to the loops of the final nest.

use crate::directives::DirectiveOp;
use crate::illegal::{Illegal, Problem};
use crate::lineage::{Annotation, NestBuilder, TileTrees};
use crate::listener::Listener;
use crate::obligation::Obligation;
use crate::resolve::{Arg, DirectiveCall};
use sched_nest::sym::{Property, Sym};
use sched_nest::{GpuAxis, GpuDimension, GpuLevel, Layout, LoopId};

/// Attaches all annotations to the final nest. Their order does not matter.
pub(super) fn attach<'c>(
    calls: impl Iterator<Item = &'c DirectiveCall>,
    builder: &mut NestBuilder,
    report: &mut dyn Listener,
) {
    for call in calls.filter(|call| !call.is_modifier && !call.has_wrong_count) {
        if report.has_enough() {
            return;
        }
        match call.op {
            DirectiveOp::TileTrees => whole_trees(call, builder, report),
            DirectiveOp::Representation if call.args.len() == 1 => {
                if let Some(layout) = layout(call.args.first()) {
                    let result = builder.forest_mut().set_layout(call.step, layout);
                    report_result(result, builder, report);
                }
            }
            _ => loops(call, builder, report),
        }
    }
}

fn report_result(result: Result<(), Illegal>, builder: &NestBuilder, report: &mut dyn Listener) {
    if let Err(illegal) = result {
        report.illegal(builder, &illegal);
    }
}

/// The layout of an argument, whose words are those of [`Layout`].
fn layout(argument: Option<&Arg>) -> Option<Layout> {
    match argument {
        Some(Arg::Word(word)) => word.parse().ok(),
        _ => None,
    }
}

fn dimension(word: &str) -> GpuDimension {
    let (level, axis) = word.split_once('.').unwrap_or((word, "x"));
    let level = if level == "grid" { GpuLevel::Grid } else { GpuLevel::Block };
    let axis = match axis {
        "y" => GpuAxis::Y,
        "z" => GpuAxis::Z,
        _ => GpuAxis::X,
    };
    GpuDimension { level, axis }
}

fn whole_trees(call: &DirectiveCall, builder: &mut NestBuilder, report: &mut dyn Listener) {
    if call.is_bad() {
        return;
    }
    let by_probability = matches!(call.args.get(1), Some(Arg::Word("probability")));
    if by_probability && !builder.model().is_some_and(|model| model.has_profile) {
        let illegal = Illegal::argument(call.step, 1, Problem::NoProfile, Vec::new());
        report.illegal(builder, &illegal);
    }
    let Some(sym) = call.number(0) else { return };
    match number(sym) {
        Ok(Some(nodes)) => {
            let result = builder.forest_mut().set_tile_trees(call.step, TileTrees { nodes, by_probability });
            report_result(result, builder, report);
        }
        Ok(None) => unverified(call, 0, sym, Vec::new(), builder, report),
        Err(problem) => {
            report.illegal(builder, &Illegal::argument(call.step, 0, problem, Vec::new()));
        }
    }
}

/// Annotates each copy of the named loop.
fn loops(call: &DirectiveCall, builder: &mut NestBuilder, report: &mut dyn Listener) {
    let Some((at, select)) = call.selects().next() else { return };
    let ids = match builder.select(call.step, at, select) {
        Ok(ids) => ids,
        Err(mut illegal) => {
            if let Problem::Consumed { by, .. } = illegal.problem {
                illegal.problem = Problem::AnnotationLost { consumer: by };
            }
            report.illegal(builder, &illegal);
            return;
        }
    };
    if call.is_bad() {
        return;
    }
    // Several copies of a loop make one duplicate.
    let mut repeated = None;
    for id in ids {
        match annotation(call, id, builder) {
            Ok(Some(annotation)) => match builder.annotate(call.step, id, annotation) {
                Err(illegal) if matches!(illegal.problem, Problem::Repeated { .. }) => {
                    repeated = repeated.or(Some(illegal));
                }
                result => report_result(result, builder, report),
            },
            Ok(None) => {
                // The directive that makes the runs has reported unknown depths.
                if let Some(sym) =
                    call.number(1).filter(|sym| !sym.mentions(&|property| property == Property::RunDepth))
                {
                    unverified(call, 1, sym, vec![id], builder, report);
                }
            }
            Err(problem) => {
                report.illegal(builder, &Illegal::argument(call.step, 1, problem, vec![id]));
            }
        }
    }
    if let Some(illegal) = repeated {
        report.illegal(builder, &illegal);
    }
}

fn unverified(
    call: &DirectiveCall,
    at: usize,
    sym: &Sym,
    ids: Vec<LoopId>,
    builder: &NestBuilder,
    report: &mut dyn Listener,
) {
    let what = Obligation::NumberInRange { number: sym.clone() }.into();
    report.illegal(builder, &Illegal::argument(call.step, at, Problem::Unverified { what }, ids));
}

/// The annotation of one loop by a directive; `None` if its number is unknown.
fn annotation(
    call: &DirectiveCall,
    id: LoopId,
    builder: &NestBuilder,
) -> Result<Option<Annotation>, Problem> {
    let count = |op: DirectiveOp| -> Result<Option<Annotation>, Problem> {
        let Some(sym) = call.number(1) else { return Ok(None) };
        let known = with_run_depth(sym, id, builder)?;
        if known != *sym && known == Sym::Int(0) {
            // Trees of a single leaf have no steps.
            return Ok(None);
        }
        Ok(number(&known)?.and_then(|n| Annotation::of(op, Some(n))))
    };
    match call.op {
        DirectiveOp::GpuDimension => Ok(match call.args.get(1) {
            Some(Arg::Word(word)) => Some(Annotation::Gpu(dimension(word))),
            _ => None,
        }),
        DirectiveOp::Representation => Ok(layout(call.args.get(1)).map(Annotation::Layout)),
        op if call.args.len() > 1 => count(op),
        op => Ok(Annotation::of(op, None)),
    }
}

/// The number with `run_depth` filled in for this loop.
fn with_run_depth(sym: &Sym, id: LoopId, builder: &NestBuilder) -> Result<Sym, Problem> {
    if !sym.mentions(&|property| property == Property::RunDepth) {
        return Ok(sym.clone());
    }
    let around = builder.tree().path(id).into_iter().rev();
    // Depth of the trees at a loop inside a copy of a `splitByDepth`.
    let depth = around.filter_map(|on| builder.node(on).run_depth).next();
    if depth.is_none() && !builder.names().has_uncounted_copies() {
        return Err(Problem::RunDepthUnknown);
    }
    let known = |property| depth.filter(|_| property == Property::RunDepth).map(i64::from);
    sym.substitute(&known).map_err(|_| Problem::RunDepthUnknown)
}

/// A number of an annotation; `None` if it is unknown.
fn number(sym: &Sym) -> Result<Option<u32>, Problem> {
    let Some(value) = sym.as_int() else { return Ok(None) };
    match u32::try_from(value) {
        Ok(number) => Ok(Some(number)),
        Err(_) if value < 0 => Err(Problem::TooSmall { value }),
        Err(_) => Err(Problem::TooLarge { value, limit: crate::lineage::MAX_STEPS.into() }),
    }
}
