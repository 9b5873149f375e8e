//! The book's pages about directives, as far as a hover shows them.

use sched_lang::directives::Op;

macro_rules! page {
    ($name:literal) => {
        include_str!(concat!("../../../docs/book/src/directives/", $name, ".md"))
    };
}

/// The page of a directive.
fn page(op: Op) -> &'static str {
    match op {
        Op::Tile => page!("tile"),
        Op::Split => page!("split"),
        Op::SplitByDepth => page!("splitByDepth"),
        Op::Reorder => page!("reorder"),
        Op::Specialize => page!("specialize"),
        Op::Unroll => page!("unroll"),
        Op::SortTrees => page!("sortTrees"),
        Op::Parallel => page!("parallel"),
        Op::GpuDimension => page!("gpuDimension"),
        Op::Cache => page!("cache"),
        Op::Interleave => page!("interleave"),
        Op::Vectorize => page!("vectorize"),
        Op::UnrollAndJam => page!("unrollAndJam"),
        Op::UnrollWalk => page!("unrollWalk"),
        Op::PeelWalk => page!("peelWalk"),
        Op::SpeculateWalk => page!("speculateWalk"),
        Op::AtomicReduce => page!("atomicReduce"),
        Op::SharedReduce => page!("sharedReduce"),
        Op::VectorReduce => page!("vectorReduce"),
        Op::Representation => page!("representation"),
        Op::TileTrees => page!("tileTrees"),
    }
}

/// The first paragraph of the page's rule, with the texts of its links in their place.
pub(super) fn rule(op: Op) -> Option<String> {
    let text = page(op).replace("\r\n", "\n");
    let (_, rule) = text.split_once("\n## Rule\n")?;
    let paragraph = rule.trim_start().split("\n\n").next()?;
    Some(without_links(&paragraph.replace('\n', " ")))
}

/// `[text](target)` becomes `text`.
fn without_links(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        match link.split_once("](").and_then(|(text, after)| Some((text, after.split_once(')')?.1))) {
            Some((text, after)) if !text.contains('[') => {
                out.push_str(text);
                rest = after;
            }
            _ => {
                out.push('[');
                rest = link;
            }
        }
    }
    out.push_str(rest);
    out
}
