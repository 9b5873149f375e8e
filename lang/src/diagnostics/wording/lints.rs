//! Words for legal schedules that are probably unintended.

use super::annotations::code;
use super::context::{MessageContext, Wording};
use super::device::size;
use crate::diagnostics::{Applicability, Fix};
use crate::illegal::CodeSize;
use crate::legality::stage::MOST_LANES;
use crate::lineage::DirectiveIndex;
use crate::obligation::Obligation;
use sched_nest::sym::Property;
use sched_nest::{Axis, Layout};

const NAME_MODEL_HELP: &str = "To check it, name a model in a `model` line or on the command line.";
const GIVE_BATCH_SIZE_HELP: &str = "Give the largest number of rows that the loops process at once: \
                                    `schedc check ... --batch-size 4096`. Or write a number instead of \
                                    `batch_size`.";
const NAME_MODEL_AND_BATCH_SIZE_HELP: &str = "Name a model in a `model` line or on the command line, and \
                                              give the batch size: `schedc check ... --batch-size 4096`.";

pub(super) fn repeated(context: &MessageContext, earlier: DirectiveIndex) -> Wording {
    let step = context.illegal.step;
    // A name may mean more copies than before, but the same text has the same meaning.
    let text = |step| context.report.argument_text(step, None);
    let is_same = text(step) == text(earlier);
    let applicability = if is_same { Applicability::Safe } else { Applicability::Unsure };
    Wording::new(format!("duplicate {}", context.quote(step)), "has no effect")
        .and(earlier, "first here")
        .fix(Some(Fix { applicability, ..context.remove(step) }))
}

pub(super) fn unverified(context: &MessageContext, what: &Obligation) -> Wording {
    let needs_model = what.mentions(&|property| property != Property::BatchSize);
    let (missing, help) = match (context.builder.model(), needs_model) {
        (None, true) if what.mentions(&|property| property == Property::BatchSize) => {
            ("a model and a batch size", NAME_MODEL_AND_BATCH_SIZE_HELP)
        }
        (None, true) => ("a model", NAME_MODEL_HELP),
        _ => ("a batch size", GIVE_BATCH_SIZE_HELP),
    };
    let written = context.argument_text();
    let number = written.contains("batch_size").then(|| written.replace("batch_size", "4096"));
    Wording::new(format!("without {missing}, it is unknown {what}"), "not verified")
        .help(help)
        .fix(number.and_then(|text| context.replace(&text, Applicability::Placeholder)))
}

pub(super) fn tile_of_one() -> Wording {
    Wording::new("the inner loop of this tile has one iteration, so the tile gains nothing", "a tile of one")
        .help("Use a larger size, or leave the tile out.")
}

pub(super) fn partial_tile(context: &MessageContext, extent: i64, size: i64) -> Wording {
    let last = extent % size;
    let sizes = nearest_divisors(extent, size);
    let is_useless = sizes.iter().all(|size| *size == extent);
    let sizes: Vec<String> = sizes.iter().filter(|_| !is_useless).map(i64::to_string).collect();
    let near = match sizes.as_slice() {
        [] => format!(
            " No tile near {size} divides {extent}: keep this one and write `// allow(S0095)`, or do \
             not tile the loop."
        ),
        [only] => format!(" The nearest size that divides it: {only}."),
        sizes => format!(" The nearest sizes that divide it: {}.", sizes.join(" and ")),
    };
    let fixes: Vec<_> =
        sizes.iter().filter_map(|size| context.replace(size, Applicability::Unsure)).collect();
    Wording::new(
        format!("{size} does not divide {extent}, so the last tile has only {last}"),
        "a partial tile",
    )
    .help(format!("This is correct, but full tiles run faster.{near}"))
    .fixes(fixes)
}

pub(super) fn interleave_of_one(context: &MessageContext) -> Wording {
    let step = context.illegal.step;
    Wording::new("interleaving a single walk changes nothing", "has no effect")
        .help("Use a larger number, or leave `interleave` out.")
        .fix(Some(context.remove(step)))
}

pub(super) fn empty_lanes(context: &MessageContext, lanes: u32, trips: i64) -> Wording {
    let first = context.first();
    let most = i64::from(MOST_LANES);
    let node = context.illegal.loops.first().map(|id| context.builder.node(*id));
    let axis = node.map(|node| node.axis);
    let is_tile = node.is_some_and(|node| node.made_by.is_some());
    let (message, full) = match axis {
        Some(Axis::Feature) if trips >= most => {
            (format!("vectors of terms have at most {most} lanes, not {lanes}"), most)
        }
        Some(Axis::Feature) => {
            let message = format!("`{first}` iterates {trips} times, so no vector of {lanes} terms is full");
            (message, trips)
        }
        _ => {
            let empty = i64::from(lanes) - trips;
            let message = format!("`{first}` iterates {trips} times, so {empty} of {lanes} lanes stay empty");
            // Constants of units are padded with zeros to whole vectors.
            let full = if axis == Some(Axis::Unit) { next_power_of_two(trips) } else { trips };
            (message, full)
        }
    };
    let help = match full < most && is_tile {
        true => "Use a larger tile or fewer lanes.",
        false => "Use fewer lanes.",
    };
    let fits = (full >= 2).then(|| 1_i64 << full.ilog2());
    Wording::new(message, format!("more than {full} lanes"))
        .help(help)
        .fix(fits.and_then(|lanes| context.replace(&lanes.to_string(), Applicability::Unsure)))
}

/// The smallest power of two that is at least `count`.
fn next_power_of_two(count: i64) -> i64 {
    u64::try_from(count).ok().and_then(u64::checked_next_power_of_two).map_or(count, |power| power as i64)
}

pub(super) fn no_steps(context: &MessageContext, layout: Layout, chosen: DirectiveIndex) -> Wording {
    let step = context.illegal.step;
    let message = format!(
        "in the layout `{}`, vectors of rows test all nodes of a tree and take no steps",
        layout.word()
    );
    Wording::new(message, "has no effect")
        .and(chosen, "chosen here")
        .help(format!("Leave `{}` out, or choose a layout that is walked in steps.", context.directive()))
        .fix(Some(context.remove(step)))
}

pub(super) fn no_nodes(context: &MessageContext) -> Wording {
    Wording::new("this model has no nodes: each of its trees is a single leaf", "has no effect")
        .help(format!("Leave `{}` out: it affects only nodes.", context.directive()))
        .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn unroll_beyond(context: &MessageContext, depth: u32, deepest: u32) -> Wording {
    let message = format!("no tree is {depth} deep: the deepest has a depth of {deepest}");
    Wording::new(message, format!("beyond {deepest}"))
        .help(format!("Write {deepest}, or `max_depth` to follow the model."))
        .fix(context.replace(&deepest.to_string(), Applicability::Unsure))
}

pub(super) fn peel_pointless(context: &MessageContext, unroll: DirectiveIndex) -> Wording {
    let step = context.illegal.step;
    Wording::new("these steps are already straight-line code", "peels nothing")
        .and(unroll, "unrolled here")
        .help("Peel more steps than are unrolled, or leave `peelWalk` out.")
        .fix(Some(context.remove(step)))
}

pub(super) fn cache_too_large(context: &MessageContext, bytes: u64, limit: u64) -> Wording {
    let first = context.first();
    let step = context.illegal.step;
    let message = format!(
        "one iteration of `{first}` uses {}, more than the {} of a core's second-level cache",
        size(bytes),
        size(limit)
    );
    Wording::new(message, "does not fit the cache")
        .help("Use a smaller tile, or cache a loop further in.")
        .fix(Some(context.remove(step)))
}

pub(super) fn divergent_warp(context: &MessageContext, together: i64, warp: i64) -> Wording {
    let first = context.first();
    let message = format!(
        "the {warp} threads of a warp run different iterations of `{first}`, which have different code"
    );
    let label = match together {
        1 => "each thread runs different code".to_owned(),
        _ => format!("only {together} threads run the same code"),
    };
    Wording::new(message, label).help(format!(
        "If threads of a warp run different code, the GPU runs one version after the other. Map the \
         loop to `block.y`, and give the loop on `block.x` a multiple of {warp} iterations."
    ))
}

pub(super) fn code_large(size: &CodeSize) -> Wording {
    let message = format!("{}, which compiles slowly", code(size));
    Wording::new(message, "multiplies the code the most").help(
        "This is legal. To compile faster, unroll or interleave less, and specialize and unroll loops with \
         fewer iterations.",
    )
}

pub(super) fn nested_parallel(context: &MessageContext, outer: &str, earlier: DirectiveIndex) -> Wording {
    let first = context.first();
    let step = context.illegal.step;
    let inner = context.illegal.loops.last().map(|id| context.builder.name(*id)).unwrap_or(first);
    let message = format!("`{inner}` is parallel inside `{outer}`, which already keeps all threads busy");
    Wording::new(message, "adds overhead, not speed")
        .and(earlier, "outer parallel loop")
        .fix(Some(context.remove(step)))
}

/// The largest divisor of `extent` below `size` and the smallest one above.
fn nearest_divisors(extent: i64, size: i64) -> Vec<i64> {
    /// Number of sizes searched in each direction.
    const REACH: i64 = 1_000;
    let divides = |n: &i64| extent % n == 0;
    let below = (size.saturating_sub(REACH).max(2)..size).rev().find(divides);
    let above = (size + 1..=extent.min(size.saturating_add(REACH))).find(divides);
    below.into_iter().chain(above).collect()
}
