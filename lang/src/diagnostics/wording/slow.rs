//! Words for legal schedules that are unnecessarily slow.

use super::context::{MessageContext, Wording};
use crate::diagnostics::Applicability;
use crate::lineage::DirectiveIndex;

pub(super) fn narrow_vector(
    context: &MessageContext,
    (lanes, full): (u32, u32),
    bin_bytes: u32,
    chosen: DirectiveIndex,
) -> Wording {
    let bins = match bin_bytes {
        1 => "one-byte",
        _ => "two-byte",
    };
    let message = format!("{lanes} rows fill only part of a register, which holds {full} {bins} bins");
    Wording::new(message, format!("{full} rows fit a register"))
        .and(chosen, "rows are quantized for this layout")
        .help(format!("Use {full} lanes. For small calls, add a block `when n_rows <= {lanes}`."))
        .fix(context.replace(&full.to_string(), Applicability::Unsure))
}

pub(super) fn tile_beyond(context: &MessageContext, extent: i64, size: i64) -> Wording {
    let message = format!("the loop ends at {extent}, so a tile of {size} is never full");
    Wording::new(message, format!("more than {extent}"))
        .help(
            "The outer loop runs once, and the inner loop checks for the end in each iteration. Use a \
             smaller tile, or leave it out.",
        )
        .fix(context.replace(&extent.to_string(), Applicability::Unsure))
}

pub(super) fn one_block(context: &MessageContext, rows: Option<(u64, i64)>) -> Wording {
    let (first, step) = (context.first(), context.illegal.step);
    let (message, help) = match rows {
        None => (
            format!("`{first}` has one iteration, so one thread does all the work"),
            "Use a smaller tile, or make a loop with more iterations parallel.".to_owned(),
        ),
        Some((most, size)) => (
            format!(
                "one iteration of `{first}` covers {size} rows and calls have at most {most}, so one thread \
                 does all the work"
            ),
            format!("Use a smaller tile: size {} gives eight iterations.", (most / 8).max(1)),
        ),
    };
    Wording::new(message, "one iteration").help(help).fix(Some(context.remove(step)))
}

pub(super) fn unrolled_far(context: &MessageContext, copies: i64) -> Wording {
    let (first, step) = (context.first(), context.illegal.step);
    let message = format!("`unroll` makes {copies} copies of the code inside `{first}`");
    Wording::new(message, "more code, but no faster")
        .help(format!(
            "This compiles slowly and runs no faster. Leave `unroll` out, or tile `{first}` and \
             unroll the inner loop. `interleave` and `unrollAndJam` overlap walks without it."
        ))
        .fix(Some(context.remove(step)))
}
