//! Words for copies and sums that the threads of a launch cannot share.

use super::context::{MessageContext, Wording};
use crate::lineage::DirectiveIndex;
use sched_nest::Layout;

pub(super) fn bins_not_cached(context: &MessageContext, layout: Layout) -> Wording {
    let first = context.first();
    let word = layout.word();
    let message = format!(
        "the walks of `{first}` compare bins, and a block computes bins only for rows that it caches"
    );
    let wording = Wording::new(message, format!("`{word}` compares bins"));
    match context.mapping() {
        Some((grid, mapping)) => wording
            .help(format!(
                "Write `cache({grid})`, so that each block computes the bins of its rows, or use a layout \
                 that compares values: `sparse`."
            ))
            .fix(Some(context.insert_before(mapping, &format!("cache({grid})")))),
        None => wording.help(
            "Map a loop over blocks of rows to the grid and cache it, or use a layout that compares values: \
             `sparse`.",
        ),
    }
}

pub(super) fn thread_cache(context: &MessageContext) -> Wording {
    let thread = context.second();
    Wording::new(
        format!(
            "`cache` cannot be on or inside `{thread}`, a loop over threads: all threads of a block copy \
             rows together"
        ),
        "on or inside a loop over threads",
    )
    .help("Cache a loop over rows outside of all loops over threads.")
    .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn unlimited_cache(context: &MessageContext) -> Wording {
    let (first, inner) = (context.first(), context.second());
    Wording::new(
        format!(
            "an iteration of `{first}` uses all rows of `{inner}`, whose number has no limit, so no block \
             can hold them"
        ),
        "copies any number of rows",
    )
    .help(format!(
        "Tile the loop over rows, and cache the loop around the inner loop of the tile, or leave \
         `cache({first})` out."
    ))
    .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn walks_outside(context: &MessageContext) -> Wording {
    let first = context.first();
    Wording::new(
        format!("the walks of `{first}` are outside all GPU launches, and other walks are inside one"),
        "makes a GPU launch",
    )
    .help("Map a loop around these walks with `gpuDimension` too, or map no loop.")
}

pub(super) fn several_tree_loops(context: &MessageContext) -> Wording {
    let outer = context.second();
    Wording::new(
        format!(
            "`{outer}` and several loops inside it map trees to GPU dimensions: their sums have no order"
        ),
        "one of the mapped loops",
    )
    .help(format!("Map only one loop over trees: one of these, or `{outer}`."))
    .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn same_sums(context: &MessageContext) -> Wording {
    let (one, other) = (context.first(), context.second());
    Wording::new(
        format!("`{one}` and `{other}` add to the sums of the same rows in different threads"),
        "maps its rows to other threads",
    )
    .help(
        "Map the row loops of both to the same dimensions, or use `atomicReduce` on a mapped loop over \
         trees.",
    )
}

pub(super) fn unlimited_sums(context: &MessageContext) -> Wording {
    let thread = context.second();
    Wording::new(
        format!("the threads of `{thread}` walk any number of rows, whose sums do not fit shared memory"),
        "sums of all these rows",
    )
    .help("Tile the loop over rows and map the outer loop to the grid, or leave `sharedReduce` out.")
    .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn rows_not_consecutive(context: &MessageContext) -> Wording {
    let first = context.first();
    Wording::new(
        format!(
            "with `sharedReduce({first})`, a block needs consecutive rows, but other blocks may have rows \
             between its rows"
        ),
        "sums of rows that are not adjacent",
    )
    .help(
        "Give each block consecutive rows, by tiles whose sizes divide each other, or leave \
         `sharedReduce` out.",
    )
    .fix(Some(context.remove(context.illegal.step)))
}

impl MessageContext<'_> {
    /// The name of the second loop concerned and the directive that maps it, if there are two.
    fn mapping(&self) -> Option<(String, DirectiveIndex)> {
        let second = *self.illegal.loops.get(1)?;
        let (_, mapping) = self.builder.node(second).gpu_dimension()?;
        Some((self.builder.name(second), mapping))
    }

    /// The name of the last loop concerned.
    fn second(&self) -> String {
        self.illegal.loops.last().map(|id| self.builder.name(*id)).unwrap_or_default()
    }
}
