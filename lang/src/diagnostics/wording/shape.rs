//! Words for refused names and loop modifiers.

use super::context::{MessageContext, Wording, use_one_of};
use crate::diagnostics::{Applicability, Edit, Fix, nearest};
use crate::lineage::{DirectiveIndex, MAX_DEPTH, MAX_LOOPS};
use crate::resolve::quoted_list;
use sched_nest::sym::Sym;
use sched_nest::{StageInfo, StageKind};

pub(super) fn no_such_copy(context: &MessageContext, path: &str) -> Wording {
    let names = context.names();
    Wording::new(format!("no loop is called `{path}`"), "no such copy")
        .help(use_one_of(&names))
        .fixes(context.replace_by_any(&names))
}

pub(super) fn name_taken(context: &MessageContext, name: &str) -> Wording {
    let other = fresh_name(context, name);
    let (owner, help) = match stage_of_name(context, name) {
        Some(_) => ("a stage", "A name before a loop selects a stage, so loops need other names.".to_owned()),
        None if context.is_of_another_stage(name) => (
            "a loop of another stage",
            format!("Without a stage before it, `{name}` would mean both loops. Choose another name."),
        ),
        None => ("another loop", "Each loop needs a different name.".to_owned()),
    };
    Wording::new(format!("`{name}` is the name of {owner}"), "taken")
        .help(help)
        .fix(context.replace(&other, Applicability::Unsure))
}

pub(super) fn tile_size(size: i64, largest: i64) -> Wording {
    let (limit, label, help) = if size < 1 {
        (
            "at least 1".to_owned(),
            "below 1",
            "The size is a number of rows, trees, units or features, at least 1.",
        )
    } else {
        (
            format!("at most {largest}"),
            "too large",
            "A tile that holds all iterations changes nothing: leave it out.",
        )
    };
    Wording::new(format!("a tile must have a size of {limit}, not {size}"), label).help(help)
}

pub(super) fn tile_off_step(context: &MessageContext, size: i64, stride: i64) -> Wording {
    let first = context.first();
    let message = format!("a tile of {size} does not fit `{first}`, which counts in steps of {stride}");
    let near = multiples(size, stride);
    Wording::new(message, format!("not a multiple of {stride}"))
        .help("Sizes count rows, trees, units or features, not iterations.")
        .fixes(context.replace_by_any(&near))
}

pub(super) fn split_off_step(context: &MessageContext, offset: i64, stride: i64) -> Wording {
    let first = context.first();
    let at = context.report_value();
    let near: Vec<String> = match at {
        Some(at) => {
            let below = at.saturating_sub(offset.rem_euclid(stride));
            vec![below.to_string(), below.saturating_add(stride).to_string()]
        }
        None => Vec::new(),
    };
    Wording::new(
        format!("`{first}` has no iteration at this value"),
        format!(
            "`{first}` counts in steps of \
        {stride}"
        ),
    )
    .help("Split points are values of the loop, not numbers of iterations.")
    .fixes(context.replace_by_any(&near))
}

pub(super) fn specialize_leaf(context: &MessageContext) -> Wording {
    let first = context.first();
    Wording::new(format!("there is no loop inside `{first}` to specialize"), "a leaf loop")
        .help(format!("To expand the walks of a leaf loop, use `unroll({first})`."))
}

pub(super) fn trips_unknown(context: &MessageContext) -> Wording {
    let first = context.first();
    let message = format!("the number of iterations of `{first}` is known only at run time");
    Wording::new(message, "unknown number of iterations")
        .help(format!("Tile `{first}` first: the inner loop of a tile has a known number of iterations."))
}

pub(super) fn trips_huge(context: &MessageContext, trips: i64, limit: i64) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let message = format!("`{directive}` would make {trips} copies");
    let wording = Wording::new(message, format!("more than {limit}"));
    if directive == "splitByDepth" {
        return wording
            .help("Write `sortTrees(depth)` above it: adjacent trees of equal depth share a part.");
    }
    wording
        .help(format!("Tile `{first}` first and expand the inner loop of the tile."))
        .fix(context.expand_a_tile())
}

pub(super) fn specialized(context: &MessageContext, by: DirectiveIndex) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let message = format!("`{first}` is specialized, so it cannot be reshaped any more");
    Wording::new(message, "each iteration has its own body").and(by, "specialized here").help(match directive
    {
        "specialize" => "Leave it out, or name only copies that are not specialized yet.".to_owned(),
        _ => format!("Move this directive before {}.", context.quote(by)),
    })
}

pub(super) fn not_trees(context: &MessageContext) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let trees = match directive {
        // The trees of an inner loop depend on the loop around it.
        "splitByDepth" => context.outer_tree_loops(),
        _ => context.tree_loops(),
    };
    Wording::new(
        format!("`{directive}` needs a loop over trees, and `{first}` is over rows"),
        "a loop over rows",
    )
    .help(use_one_of(&trees))
    .fixes(context.replace_by_any(&trees))
}

pub(super) fn depth_twice(context: &MessageContext, by: DirectiveIndex) -> Wording {
    let first = context.first();
    Wording::new(format!("`{first}` is already a run of `splitByDepth`"), "already split by depth")
        .and(by, "split here")
        .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn trees_unknown(context: &MessageContext) -> Wording {
    let first = context.first();
    Wording::new(
        format!("it would take too long to find out which trees one iteration of `{first}` covers"),
        "too many copies inside",
    )
    .help("Split by depth before other directives copy the loops inside.")
    .fix(
        context
            .specialized_inside()
            .map(|by| context.move_before(by, context.report.text(context.illegal.step))),
    )
}

pub(super) fn position_unknown(context: &MessageContext, outer: &str) -> Wording {
    let first = context.first();
    let message = format!("which trees one iteration of `{first}` covers depends on `{outer}` around it");
    Wording::new(message, "trees unknown")
        .help(format!("Specialize `{outer}` first, or split `{outer}` by depth instead."))
}

pub(super) fn too_many_loops() -> Wording {
    Wording::new(format!("the nest would have more than {MAX_LOOPS} loops"), "too many copies")
        .help("Specialize or split fewer loops, or loops that contain fewer loops.")
}

pub(super) fn too_deep() -> Wording {
    Wording::new(format!("the nest would be more than {MAX_DEPTH} loops deep"), "too deep")
        .help("Tile less often.")
}

pub(super) fn unknown_index(context: &MessageContext, name: &str) -> Wording {
    let mut known = context.builder.names().live();
    known.sort_unstable();
    let wording = Wording::new(format!("no loop is called `{name}`"), "unknown");
    let step = context.illegal.step;
    if let Some(maker) = context.report.maker_after(step, name) {
        let line = context.report.line(maker);
        let how = context.report.directive_name(maker);
        return Wording::new(format!("no loop is called `{name}` yet"), "made later")
            .and(maker, format!("`{name}` is made here"))
            .help(format!("Move this directive below line {line}, where `{how}` makes the loop."))
            .fix(Some(context.move_after(maker)));
    }
    if let Some(kind) = stage_of_name(context, name) {
        let loops: Vec<String> = ["batch"]
            .into_iter()
            .chain(kind.loops().iter().map(|(own, _)| *own))
            .map(|own| format!("{name}.{own}"))
            .collect();
        return Wording::new(format!("`{name}` is a stage, not a loop"), "a stage")
            .help(format!("Name a loop of it. Without directives, they are {}.", quoted_list(&loops)));
    }
    // A directive names each loop once.
    let written = context.report.argument_texts(step);
    let is_written =
        |name: &str| written.contains(&name) || written.contains(&&*context.builder.with_stage(name));
    let others = context.other_loops.iter().map(String::as_str);
    match nearest(name, known.iter().copied().chain(others).filter(|name| !is_written(name))) {
        Some(near) => {
            // A bare name means the loop in every stage that has one.
            let is_bare = !context.argument_text().contains('.');
            let near = if is_bare { near.to_owned() } else { context.builder.with_stage(near) };
            let fix = context.replace(&near, Applicability::Unsure);
            wording.help(format!("Did you mean `{near}`?")).fix(fix)
        }
        None => {
            known.truncate(MOST_LISTED_LOOPS);
            let known: Vec<String> = known.into_iter().map(|name| context.builder.with_stage(name)).collect();
            let loops = format!("The loops at this point are {}.", quoted_list(&known));
            wording
                .help([loops].into_iter().chain(loops_elsewhere(context, name)).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Most loops that a message lists.
const MOST_LISTED_LOOPS: usize = 12;

/// Sentences about loops of other stages, for a message of an unknown loop.
fn loops_elsewhere(context: &MessageContext, name: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    match context.other_loops {
        [] => {}
        [only] => sentences.push(format!("Other stages have the loop `{only}`.")),
        all => {
            let listed = &all[..all.len().min(MOST_LISTED_LOOPS)];
            sentences.push(format!("Other stages have the loops {}.", quoted_list(listed)));
        }
    }
    if let Some(stages) = stages_with_loop(name) {
        let lack = match context.argument_text().contains('.') || context.builder.is_of_stage() {
            true => "this stage has none",
            false => "the model has no such stage",
        };
        sentences.push(format!("{stages} have the loop `{name}`; {lack}."));
    }
    sentences
}

/// The kind of the model's stage of columns of this name.
fn stage_of_name(context: &MessageContext, name: &str) -> Option<StageKind> {
    let stages = context.builder.model().map_or(&[][..], |model| &model.stages);
    let is_meant = |stage: &&StageInfo| stage.kind != StageKind::Trees && stage.has_name(name);
    stages.iter().find(is_meant).map(|stage| stage.kind)
}

/// The stages of sums that have a loop of this name, in words.
fn stages_with_loop(name: &str) -> Option<&'static str> {
    let has = |kind: StageKind| kind.loops().iter().any(|(own, _)| *own == name);
    match (has(StageKind::Products), has(StageKind::Distances)) {
        (true, true) => Some("Layers and stages of distances"),
        (true, false) => Some("Layers"),
        (false, true) => Some("Stages of distances"),
        (false, false) => None,
    }
}

/// An unused name that resembles `name`.
fn fresh_name(context: &MessageContext, name: &str) -> String {
    let is_free = |candidate: &String| !context.builder.names().is_declared(candidate);
    (1..100).map(|n| format!("{name}_{n}")).find(is_free).unwrap_or_else(|| format!("{name}_new"))
}

pub(super) fn consumed(context: &MessageContext, name: &str, by: DirectiveIndex) -> Wording {
    let successors = context.names();
    let consumer = context.report.directive_name(by);
    Wording::new(format!("`{name}` no longer exists"), format!("replaced by `{consumer}`"))
        .and(by, format!("`{name}` was replaced here"))
        .help(use_one_of(&successors))
        .fixes(context.replace_by_any(&successors))
}

pub(super) fn annotation_lost(context: &MessageContext, consumer: DirectiveIndex) -> Wording {
    let name = context.argument_text();
    let successors: Vec<String> =
        context.names().into_iter().filter(|successor| *successor != name).collect();
    let how = context.report.directive_name(consumer);
    let by = if successors.is_empty() { String::new() } else { format!(" by {}", quoted_list(&successors)) };
    let message = format!("{}: `{how}` replaced `{name}`{by}", context.quote(context.illegal.step));
    // Leaf loops are innermost, so an annotation of them fits the last successor.
    let is_for_leaves = matches!(context.directive(), "interleave" | "vectorize");
    let successor = if is_for_leaves { successors.last() } else { successors.first() };
    let help = match successor {
        Some(successor) => format!("Write `{}`.", context.with_argument(successor)),
        None => "Name a loop of the final nest.".to_owned(),
    };
    Wording::new(message, "no longer exists")
        .and(consumer, format!("`{name}` is replaced here"))
        .help(help)
        .fixes(context.replace_by_any(&successors))
}

pub(super) fn split_outside(context: &MessageContext, at: &Sym, start: &Sym, stop: &Sym) -> Wording {
    let first = context.first();
    let inside = match (start.as_int(), stop.as_int()) {
        (Some(start), Some(stop)) if stop.saturating_sub(start) > 1 => {
            format!("Choose a value between {} and {}.", start.saturating_add(1), stop - 1)
        }
        (Some(_), Some(_)) => format!("`{first}` has only one iteration and cannot be split."),
        _ => format!("Choose a value above {start} and below {stop}."),
    };
    Wording::new(
        format!("splitting `{first}` at {at} leaves one half empty"),
        format!("not inside {start}..{stop}"),
    )
    .help(inside)
}

pub(super) fn sort_too_late(context: &MessageContext, by: DirectiveIndex) -> Wording {
    let here = context.report.place(context.illegal.step, None);
    let there = context.report.place(by, None).start;
    let text = context.report.text(context.illegal.step);
    let there = sched_grammar::ast::Span { start: there, end: there };
    let insert = Edit { span: there, text: context.report.line_before(there, text) };
    let edits = vec![insert, Edit { span: here, text: String::new() }];
    let fix = Fix { title: "sort the trees first".to_owned(), edits, applicability: Applicability::Unsure };
    Wording::new("the trees can no longer be sorted", "too late")
        .and(by, "this depends on the order of the trees")
        .help(format!("Sort before {}.", context.quote(by)))
        .fix(Some(fix))
}

/// The multiples of `stride` around `size`, from 1 multiple on.
fn multiples(size: i64, stride: i64) -> Vec<String> {
    let below = size - size.rem_euclid(stride);
    let near = [below, below.saturating_add(stride)];
    near.iter().filter(|n| **n >= stride).map(i64::to_string).collect()
}
