//! Words for limits of GPUs and of memory.

use super::context::{MessageContext, Wording};
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::illegal::SharedMemoryUse;
use sched_nest::{GpuDimension, Layout};

pub(super) fn dimension_too_large(
    context: &MessageContext,
    dimension: GpuDimension,
    count: i64,
    limit: i64,
) -> Wording {
    let first = context.first();
    Wording::new(
        format!("`{first}` has {count} iterations, and `{dimension}` takes at most {limit}"),
        "too many",
    )
    .help(format!("Tile `{first}`, or map it to another dimension."))
}

pub(super) fn shared_memory(
    context: &MessageContext,
    total: u64,
    limit: u64,
    uses: &[SharedMemoryUse],
    layout: Option<Layout>,
) -> Wording {
    let step = context.illegal.step;
    let message = format!("a block would use {} of shared memory, but has only {}", size(total), size(limit));
    let own = uses.iter().find(|part| part.step == step).map_or(0, |part| part.bytes);
    let smaller = layout.map(|layout| format!(" Or {}.", layout.smaller_layouts())).unwrap_or_default();
    let mut wording = Wording::new(message, format!("takes {}", size(own)))
        .help(format!("Let a block work on fewer rows or trees: use smaller tiles, or cache less.{smaller}"));
    for part in uses.iter().filter(|part| part.step != step).take(4) {
        wording = wording.and(part.step, format!("takes {}", size(part.bytes)));
    }
    wording.fix(Some(context.remove(step)))
}

pub(super) fn shared_memory_unsure(total: u64, everywhere: u64) -> Wording {
    let message = format!("a block would use {} of shared memory, more than some GPUs have", size(total));
    Wording::new(message, format!("above {}", size(everywhere)))
        .help("Name the GPU to have it checked: `target gpu(sm_90)`.")
}

pub(super) fn cache_outside_launch(context: &MessageContext) -> Wording {
    let first = context.first();
    let message = format!("`{first}` is outside every loop over blocks, so no block can hold the copy");
    Wording::new(message, "no grid loop at or around it").help(
        "Cache a loop on a `grid` dimension, or one inside it. A cached loop over rows must be outside of \
             all loops over threads.",
    )
}

pub(super) fn padding(context: &MessageContext, bytes: u64, limit: u64, most: u32) -> Wording {
    let first = context.first();
    let step = context.illegal.step;
    let message = format!("padding the trees to this depth needs at least {}", size(bytes));
    let steps = context.report.argument_text(step, Some(1));
    let peel = format!("peelWalk({first}, {steps})");
    let span = context.report.place(step, None);
    let instead = Fix {
        title: format!("write `{peel}`, which pads nothing"),
        edits: vec![Edit { span, text: peel }],
        applicability: Applicability::Unsure,
    };
    let fewer = (most > 0).then(|| context.replace(&most.to_string(), Applicability::Unsure)).flatten();
    Wording::new(message, format!("above {}", size(limit)))
        .help("Unroll fewer steps, or peel them: `peelWalk` pads nothing.")
        .fix(fewer)
        .fix(Some(instead))
}

/// Bytes in the largest unit that keeps them readable.
pub(super) fn size(bytes: u64) -> String {
    let unit = |unit: u64, name: &str| match (bytes / unit, bytes % unit * 10 / unit) {
        (whole, 0) => format!("{whole} {name}"),
        (whole, tenths) => format!("{whole}.{tenths} {name}"),
    };
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => unit(1 << 10, "KiB"),
        1_048_576..1_073_741_824 => unit(1 << 20, "MiB"),
        _ => unit(1 << 30, "GiB"),
    }
}
