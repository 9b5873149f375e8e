//! Words for annotations that do not fit the nest.

use super::context::{MessageContext, Wording, use_one_of};
use crate::diagnostics::Applicability;
use crate::illegal::{CodeSize, UnrollAndJamNeeds};
use crate::lineage::DirectiveIndex;
use crate::resolve::quoted_list;
use sched_nest::{Axis, GpuLevel, Layout, LoopId};

pub(super) fn contradiction(context: &MessageContext, earlier: DirectiveIndex) -> Wording {
    let first = context.first();
    let what = if first.is_empty() { "the model".to_owned() } else { format!("`{first}`") };
    let (this, other) = (context.quote(context.illegal.step), context.quote(earlier));
    Wording::new(format!("{this} contradicts {other}"), format!("applies to {what}"))
        .and(earlier, "also applies to it")
        .help("Keep one of them.")
        .fixes([context.remove(context.illegal.step), context.remove(earlier)])
}

pub(super) fn not_leaf(context: &MessageContext, leaves: &[String]) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let message = format!("`{directive}` needs an innermost loop, and `{first}` contains loops");
    let reorder = context.innermost_by_reorder();
    Wording::new(message, "not an innermost loop")
        .help("Only iterations that are single walks can run together.")
        .fixes(context.with_other_loops(leaves))
        .fix(reorder.map(|reorder| context.insert_before(context.illegal.step, &reorder)))
        .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn too_small(context: &MessageContext, value: i64) -> Wording {
    let directive = context.directive();
    Wording::new(format!("`{directive}` needs a number of at least 1, not {value}"), "below 1")
        .help("Write a larger number, or leave the directive out.")
        .fix(context.replace(if directive == "interleave" { "2" } else { "1" }, Applicability::Unsure))
}

pub(super) fn too_large(context: &MessageContext, value: i64, limit: i64) -> Wording {
    let directive = context.directive();
    Wording::new(format!("`{directive}` takes at most {limit}, not {value}"), format!("above {limit}"))
        .help(format!("Write a number from 1 to {limit}."))
        .fix(context.replace(&limit.to_string(), Applicability::Unsure))
}

pub(super) fn not_parallel(context: &MessageContext) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let message = format!("the iterations of `{first}` are not parallel, so there are no partial sums");
    let parallel = format!("parallel({first})");
    Wording::new(message, "not parallel")
        .help(format!("Make it parallel with `{parallel}`, or leave `{directive}` out."))
        .fixes([context.insert_before(context.illegal.step, &parallel), context.remove(context.illegal.step)])
}

/// Words for `unrollAndJam` on an unsuitable loop.
pub(super) fn cannot_unroll_and_jam(context: &MessageContext, need: &UnrollAndJamNeeds) -> Wording {
    let (first, step) = (context.first(), context.illegal.step);
    let wording = match need {
        UnrollAndJamNeeds::Rows { leaves } => {
            let message = format!("`{first}` must contain one innermost loop over rows and nothing else");
            let wording = Wording::new(message, "not directly around a row loop");
            match leaves.as_slice() {
                [] => wording.help(
                    "`unrollAndJam` needs a tree loop directly around a row loop. Reorder the loops, or \
                     leave `unrollAndJam` out.",
                ),
                leaves => wording.help(format!(
                    "Name the tree loop directly around {}, or leave `unrollAndJam` out.",
                    quoted_list(leaves)
                )),
            }
        }
        UnrollAndJamNeeds::Whole { leaf, by } => {
            let message = format!(
                "{} runs `{leaf}` in parts, so several trees cannot share its vectors",
                context.quote(*by)
            );
            Wording::new(message, "needs all rows at once")
                .and(*by, "divides the rows")
                .help("Leave one of the two directives out.")
                .fix(Some(context.remove(*by)))
        }
        UnrollAndJamNeeds::Adjacent { leaf, stride } => {
            let message = format!(
                "iterations of `{leaf}` walk rows {stride} apart, but `unrollAndJam` needs vectors of \
                 adjacent rows"
            );
            Wording::new(message, "rows are not adjacent").help(format!(
                "Make the inner loop of the tile the innermost one instead of `{leaf}`, or \
                               leave `unrollAndJam` out."
            ))
        }
        UnrollAndJamNeeds::Vectors { leaf, has_vectors, is_interleaved } => {
            let message =
                format!("`{leaf}` does not interleave vectors of rows, so there are no idle vectors to fill");
            let wanted = [
                (*has_vectors, format!("vectorize({leaf}, 16)")),
                (*is_interleaved, format!("interleave({leaf}, 4)")),
            ];
            let missing: Vec<String> =
                wanted.into_iter().filter(|(has, _)| !has).map(|(_, directive)| directive).collect();
            Wording::new(message, "no vectors to fill")
                .help(format!("Write `{}`, or leave `unrollAndJam` out.", missing.join("; ")))
                .fix(Some(context.insert_before(step, &missing.join("; "))))
        }
    };
    wording.fix(Some(context.remove(step)))
}

pub(super) fn not_power_of_two(context: &MessageContext, width: i64) -> Wording {
    let above = u64::try_from(width).ok().and_then(u64::checked_next_power_of_two).unwrap_or(8);
    let near = [above / 2, above].map(|n| n.max(1).to_string());
    Wording::new(format!("a vector width of {width} is not a power of two"), "not a power of two")
        .help(use_one_of(&near))
        .fixes(context.replace_by_any(&near))
}

pub(super) fn run_depth_unknown() -> Wording {
    Wording::new("`run_depth` has no value here", "not in a run of `splitByDepth`").help(
        "It is the depth of the deepest tree in a run that `splitByDepth` made. Use it in a directive for \
         such a run, or for a loop inside one.",
    )
}

pub(super) fn layout_needs_single_nodes(
    context: &MessageContext,
    layout: Layout,
    tiles: DirectiveIndex,
) -> Wording {
    let message = format!("the layout `{}` holds single nodes, not tiles of nodes", layout.word());
    Wording::new(message, "cannot hold tiles")
        .and(tiles, "makes tiles")
        .help("Use `sparse`, which holds tiles, or leave the tiles out.")
        .fix(Some(context.rewrite(sparse(context))))
        .fix(Some(context.remove(tiles)))
}

pub(super) fn walk_needs_single_nodes(context: &MessageContext, tiles: DirectiveIndex) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let message = format!("`{directive}` needs walks that step through single nodes, not through tiles");
    let wording = Wording::new(message, "needs single nodes").and(tiles, "makes tiles");
    let wording = match directive {
        "vectorize" => wording
            .help("Use `interleave`, which walks several trees or rows tile by tile, or leave the tiles out.")
            .fix(Some(context.rewrite(format!("interleave({first})")))),
        _ => wording
            .help("Leave one of the two directives out.")
            .fix(Some(context.remove(context.illegal.step))),
    };
    wording.fix(Some(context.remove(tiles)))
}

pub(super) fn no_profile() -> Wording {
    Wording::new("`probability` needs a profile of how often rows reach each leaf", "no profile").help(
        "Make one with `schedc profile MODEL -i ROWS -o FILE` and give it with `--profile FILE`, or use \
         `tileTrees` without `probability`.",
    )
}

pub(super) fn code_too_large(context: &MessageContext, size: &CodeSize) -> Wording {
    let directive = context.directive();
    let message = format!("{}, too much to compile in reasonable time", code(size));
    Wording::new(message, "multiplies the code the most")
        .help("Unroll or interleave less; specialize and unroll loops with fewer iterations.")
        .fix((directive == "unroll").then(|| context.expand_a_tile()).flatten())
}

pub(super) fn parallel_on_gpu(context: &MessageContext, gpu: DirectiveIndex) -> Wording {
    let first = context.first();
    let step = context.illegal.step;
    let (message, help) = match context.illegal.loops.get(1).map(|id| context.builder.name(*id)) {
        None => (
            format!("`{first}` runs on the GPU and cannot run on CPU threads too"),
            "Leave `parallel` out. Loops on a GPU dimension are parallel already.",
        ),
        Some(other) => (
            format!("`{first}` cannot run on CPU threads: `{other}` runs on the GPU"),
            "Leave one of the two directives out. GPU threads cannot start CPU threads, and launches run one \
             after the other.",
        ),
    };
    Wording::new(message, "on CPU threads")
        .and(gpu, "on the GPU")
        .help(help)
        .fixes([context.remove(step), context.remove(gpu)])
}

pub(super) fn gpu_on_cpu(context: &MessageContext) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let step = context.illegal.step;
    Wording::new(format!("`{directive}` needs a GPU, and the target is a CPU"), "needs a GPU")
        .help("Change the target to `gpu`, or use `parallel` for CPU threads.")
        .fix(Some(context.rewrite(format!("parallel({first})"))))
        .fix(Some(context.remove(step)))
}

pub(super) fn dimension_twice(outer: &str, earlier: DirectiveIndex) -> Wording {
    Wording::new(format!("`{outer}` around this loop already uses this dimension"), "used again")
        .and(earlier, format!("used here for `{outer}`"))
        .help("Loops that are nested in each other need different dimensions.")
}

pub(super) fn block_outside_grid() -> Wording {
    let message = "a loop on a `block` dimension must be inside a loop on a `grid` dimension";
    Wording::new(message, "no grid loop around it")
        .help("Map a loop around it to `grid.x`, or reorder the loops.")
}

pub(super) fn block_not_constant(context: &MessageContext) -> Wording {
    let first = context.first();
    let message = format!("the number of threads of `{first}` is known only at run time");
    Wording::new(message, "not constant")
        .help(format!("Tile `{first}` and map the inner loop: its number of iterations is the tile's size."))
}

pub(super) fn too_many_threads(threads: i64, limit: i64) -> Wording {
    Wording::new(format!("a block would have {threads} threads"), format!("more than {limit}"))
        .help("Tile the loop and map the inner loop of the tile, or use a smaller tile.")
}

pub(super) fn not_block_trees(context: &MessageContext) -> Wording {
    let directive = context.directive();
    let first = context.first();
    let step = context.illegal.step;
    if context.for_cpu {
        let message = format!("`{directive}` needs a GPU, and the target is a CPU");
        Wording::new(message, "needs a GPU")
            .help(
                "Leave it out: CPU threads add up partial sums without a directive. `atomicReduce` and \
                 `vectorReduce` change how they do it.",
            )
            .fixes([context.remove(step), context.rewrite(format!("atomicReduce({first})"))])
    } else {
        let message = format!("`{directive}` needs a tree loop over GPU threads, which `{first}` is not");
        Wording::new(message, "not a tree loop over threads")
            .help("Map a tree loop to `block.x`, `block.y` or `block.z`.")
            .fix(
                (context.axis() == Some(Axis::Tree))
                    .then(|| context.insert_before(step, &format!("gpuDimension({first}, block.x)"))),
            )
            .fix(Some(context.remove(step)))
    }
}

pub(super) fn vector_on_gpu(context: &MessageContext, lanes: Option<u32>) -> Wording {
    let first = context.first();
    let step = context.illegal.step;
    if let Some(lanes) = lanes {
        let message = format!("on a GPU, a vector has {lanes} rows, whose bins share a register");
        return Wording::new(message, format!("not {lanes} rows"))
            .help(format!(
                "Write `vectorize({first}, {lanes})`. To walk more rows together, add \
                           `interleave`."
            ))
            .fix(Some(context.rewrite(format!("vectorize({first}, {lanes})"))))
            .fix(Some(context.remove(step)));
    }
    let packed = |layout: &&Layout| layout.gpu_lanes() > 1;
    let packed: Vec<&Layout> = Layout::ALL.iter().filter(packed).collect();
    let (lanes, word) = packed.first().map_or((1, ""), |layout| (layout.gpu_lanes(), layout.word()));
    let all: Vec<String> =
        packed.iter().map(|layout| format!("`representation({})`", layout.word())).collect();
    let message = format!("on a GPU, only row loops with {} can be vectorized", all.join(" or "));
    let wording = Wording::new(message, "no vector on a GPU");
    let level = context.illegal.loops.first().and_then(|id| context.builder.node(*id).gpu_level());
    if let Some(level) = level {
        let own = if level == GpuLevel::Grid { "a block" } else { "a thread" };
        return wording
            .help(format!("Remove `vectorize`: each iteration of `{first}` already has {own} of its own."))
            .fix(Some(context.remove(step)));
    }
    let help = match context.axis() {
        Some(Axis::Row) => format!(
            "Map `{first}` to a block dimension, or interleave it. With `representation({word})`, write \
             `vectorize({first}, {lanes})`."
        ),
        _ => format!(
            "Interleave `{first}`, or map it to a block dimension. Only loops over rows can be vectorized on \
             a GPU."
        ),
    };
    wording.help(help).fix(Some(context.rewrite(interleave(context)))).fix(Some(context.remove(step)))
}

/// The start of a message about the code that a schedule expands to.
pub(super) fn code(CodeSize { walks, instructions, loops }: &CodeSize) -> String {
    format!("this schedule expands to {walks} walks, about {instructions} instructions with {loops} loops")
}

/// The directive with the layout that holds tiles.
fn sparse(context: &MessageContext) -> String {
    let mut texts = context.report.argument_texts(context.illegal.step);
    texts.pop();
    texts.push("sparse");
    format!("representation({})", texts.join(", "))
}

/// The directive as an `interleave`.
fn interleave(context: &MessageContext) -> String {
    format!("interleave({})", context.report.argument_texts(context.illegal.step).join(", "))
}

impl MessageContext<'_> {
    /// Axis of the first loop.
    fn axis(&self) -> Option<Axis> {
        self.illegal.loops.first().map(|id| self.builder.node(*id).axis)
    }

    /// Names of the first four loops over trees.
    pub(super) fn tree_loops(&self) -> Vec<String> {
        let loops = self.builder.tree().loops();
        let trees = loops.into_iter().filter(|id| self.builder.node(*id).axis == Axis::Tree);
        trees.take(4).map(|id| self.builder.name(id)).collect()
    }

    /// Names of the first four loops over trees that are in no other loop over trees.
    pub(super) fn outer_tree_loops(&self) -> Vec<String> {
        let tree = self.builder.tree();
        let is_tree = |id: &LoopId| self.builder.node(*id).axis == Axis::Tree;
        let is_outer =
            |id: &LoopId| is_tree(id) && tree.path(*id).iter().filter(|on| is_tree(on)).count() == 1;
        tree.loops().into_iter().filter(is_outer).take(4).map(|id| self.builder.name(id)).collect()
    }

    /// The directive with `text` instead of the argument at fault.
    pub(super) fn with_argument(&self, text: &str) -> String {
        let mut texts = self.report.argument_texts(self.illegal.step);
        if let Some(argument) = self.illegal.argument.and_then(|at| texts.get_mut(at)) {
            *argument = text;
        }
        format!("{}({})", self.directive(), texts.join(", "))
    }

    /// The argument at fault as written.
    pub(super) fn argument_text(&self) -> String {
        self.report.argument_text(self.illegal.step, self.illegal.argument)
    }

    /// The argument at fault, if it is a plain number.
    pub(super) fn report_value(&self) -> Option<i64> {
        self.argument_text().replace('_', "").parse().ok()
    }
}
