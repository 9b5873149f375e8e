//! Words for legal schedules that are slower than need be.

use super::context::{Context, Wording};
use crate::diagnostics::Applicability;
use crate::lineage::DirectiveIndex;

pub(super) fn narrow_vector(
    context: &Context,
    (lanes, full): (u32, u32),
    bin_bytes: u32,
    chosen: DirectiveIndex,
) -> Wording {
    let bins = match bin_bytes {
        1 => "of a byte",
        _ => "of two bytes",
    };
    let message = format!("{lanes} rows fill a part of a register, which holds {full} bins {bins}");
    Wording::new(message, format!("{full} rows take the same time"))
        .and(chosen, "rows are quantized for this layout")
        .help(format!(
            "Write {full} lanes. A call of few rows can have a block of its own: `when n_rows <= {lanes}`."
        ))
        .fix(context.replace(&full.to_string(), Applicability::Unsure))
}

pub(super) fn tile_beyond(context: &Context, extent: i64, size: i64) -> Wording {
    let message = format!("the loop ends at {extent}, so a tile of {size} is never full");
    Wording::new(message, format!("more than {extent}"))
        .help("The outer loop has one iteration, and each of the inner one is tested for the end. Use a smaller tile, or leave it out.")
        .fix(context.replace(&extent.to_string(), Applicability::Unsure))
}

pub(super) fn one_block(context: &Context, rows: Option<(u64, i64)>) -> Wording {
    let (first, step) = (context.first(), context.illegal.step);
    let (message, help) = match rows {
        None => (
            format!("`{first}` has one iteration, so one thread does all the work"),
            "Use a smaller tile, or say `parallel` of a loop with more iterations.".to_owned(),
        ),
        Some((most, size)) => (
            format!(
                "an iteration of `{first}` has {size} rows and no call more than {most}, so one thread does all the work"
            ),
            format!("Use a smaller tile: one of {} makes eight iterations.", (most / 8).max(1)),
        ),
    };
    Wording::new(message, "one iteration").help(help).fix(Some(context.remove(step)))
}

pub(super) fn unrolled_far(context: &Context, copies: i64) -> Wording {
    let (first, step) = (context.first(), context.illegal.step);
    let message = format!("all iterations of `{first}` are written out: {copies} copies of the code inside");
    Wording::new(message, "much code, which is no faster")
        .help(format!("It takes long to compile and gains nothing. Leave `unroll` out, or tile `{first}` and unroll a loop of a few iterations; `interleave` and `unrollAndJam` let walks overlap without it."))
        .fix(Some(context.remove(step)))
}
