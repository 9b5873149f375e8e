//! Operations worth trying on a nest: what is legal of them is left to a trial.

use super::Operation;
use crate::directives::{LayoutName, Op};
use crate::lineage::{Builder, Select, Stated};
use crate::nest::{GpuAxis, GpuDimension, GpuLevel, LoopId, Sort};
use crate::sym::{Fact, Sym, SymOp};

/// Copies of one name that are offered one by one beside all of them together.
const MOST_COPIES: usize = 16;
/// Loops of a chain up to which every order is tried.
const SMALL_CHAIN: usize = 3;

/// Loops that a name means: how it is written, and one of them.
type Named = (Select, LoopId);

/// Forms of one directive about the same loops that differ in a number, the most likely one first.
pub(crate) type Forms = Vec<Operation>;

/// Everything to try of one directive.
pub(crate) fn of(op: Op, builder: &Builder, is_taken: &dyn Fn(&str) -> bool) -> Vec<Forms> {
    let named = names(builder);
    let each = |forms: &dyn Fn(&Select, LoopId) -> Forms| -> Vec<Forms> {
        named.iter().map(|(select, id)| forms(select, *id)).collect()
    };
    let state = |facts: &dyn Fn(LoopId) -> Vec<Stated>| -> Vec<Forms> {
        each(&|v, id| facts(id).into_iter().map(|fact| Operation::State(v.clone(), fact)).collect())
    };
    // Without numbers, or with one of several words, every form stands for itself.
    let words = |facts: &[Stated]| -> Vec<Forms> {
        let pairs = named.iter().flat_map(|(v, _)| facts.iter().map(move |fact| (v, fact)));
        pairs.map(|(v, fact)| vec![Operation::State(v.clone(), *fact)]).collect()
    };
    let deepest = builder.deepest;
    match op {
        Op::Tile => each(&|v, id| tiles(builder, v, id, is_taken)),
        Op::Split => each(&|v, id| splits(builder, v, id, is_taken)),
        Op::SplitByDepth => each(&|v, _| vec![Operation::SplitByDepth(v.clone())]),
        Op::Reorder => reorders(builder),
        Op::Specialize => each(&|v, _| vec![Operation::Specialize(v.clone())]),
        Op::Unroll => each(&|v, _| vec![Operation::Unroll(v.clone())]),
        Op::SortTrees => vec![vec![Operation::SortTrees]],
        Op::Parallel => words(&[Stated::Parallel]),
        Op::GpuDimension => words(&dimensions().map(Stated::Gpu)),
        Op::Cache => words(&[Stated::Cache]),
        Op::Interleave => {
            let mut all = state(&|_| [8, 4, 2, 16].map(|n| Stated::Interleave(Some(n))).to_vec());
            all.extend(words(&[Stated::Interleave(None)]));
            all
        }
        Op::Vectorize => {
            let mut all = state(&|_| [8, 16, 4].map(|n| Stated::Vectorize(Some(n))).to_vec());
            all.extend(words(&[Stated::Vectorize(None)]));
            all
        }
        Op::UnrollWalk => state(&|_| hops(deepest).into_iter().rev().map(Stated::UnrollWalk).collect()),
        Op::PeelWalk => state(&|_| hops(deepest).into_iter().map(Stated::PeelWalk).collect()),
        Op::SpeculateWalk => state(&|_| [2, 3, 4, 1].map(Stated::SpeculateWalk).to_vec()),
        Op::AtomicReduce => words(&[Stated::AtomicReduce]),
        Op::SharedReduce => words(&[Stated::SharedReduce]),
        Op::VectorReduce => state(&|_| [8, 16, 4, 2].map(Stated::VectorReduce).to_vec()),
        Op::Representation => {
            let all = [LayoutName::Array, LayoutName::Sparse, LayoutName::Reorg];
            let mut forms: Vec<Forms> = all.iter().map(|layout| vec![Operation::Layout(*layout)]).collect();
            forms.extend(words(&all.map(Stated::Layout)));
            forms
        }
        Op::TileTrees => vec![[4, 8, 2].map(Operation::TileTrees).to_vec()],
    }
}

/// Every live name, and where it has several copies each of them.
fn names(builder: &Builder) -> Vec<Named> {
    let mut all: Vec<Named> = Vec::new();
    let loops = builder.loops();
    let mut seen = std::collections::HashMap::new();
    for id in &loops {
        let bare = &*builder.node(*id).name;
        let copies = seen.entry(bare).or_insert(0_usize);
        *copies += 1;
        if *copies == 1 {
            all.push((Select::all(bare), *id));
        }
    }
    for id in &loops {
        let copies = seen.get(&*builder.node(*id).name).copied().unwrap_or(0);
        if (2..=MOST_COPIES).contains(&copies) {
            all.push((builder.select_of(*id), *id));
        }
    }
    all
}

/// Two names next to each other that nothing has: `b2` and `b3`.
fn fresh(builder: &Builder, sort: Sort, is_taken: &dyn Fn(&str) -> bool) -> (String, String) {
    let letter = if sort == Sort::Row { 'b' } else { 't' };
    let is_free = |name: &String| !builder.is_declared(name) && !is_taken(name);
    let pairs = (0..100_000).map(|n| (format!("{letter}{n}"), format!("{letter}{}", n + 1)));
    let free = pairs.into_iter().find(|(a, b)| is_free(a) && is_free(b));
    free.unwrap_or_else(|| (format!("{letter}_outer"), format!("{letter}_inner")))
}

fn tiles(builder: &Builder, v: &Select, id: LoopId, is_taken: &dyn Fn(&str) -> bool) -> Forms {
    let node = builder.node(id);
    let (outer, inner) = fresh(builder, node.sort, is_taken);
    let stride = node.step.as_int().unwrap_or(1);
    let extent = match (node.start.as_int(), node.stop.as_int()) {
        (Some(start), Some(stop)) => stop.checked_sub(start),
        _ => None,
    };
    let usual = [64, 32, 16, 8, 4, 2, 128, 256, 512, 1024].map(|n: i64| n.saturating_mul(stride));
    let cuts = |size: &i64| extent.is_none_or(|extent| *size < extent);
    let divides = |size: &i64| extent.is_none_or(|extent| extent % size == 0);
    let mut sizes: Vec<i64> = usual.into_iter().filter(|size| cuts(size) && divides(size)).collect();
    if sizes.is_empty() {
        sizes = usual.into_iter().filter(cuts).collect();
    }
    if sizes.is_empty() {
        sizes.push(stride.saturating_mul(2));
    }
    sizes
        .into_iter()
        .map(|size| Operation::Tile(v.clone(), outer.clone(), inner.clone(), Sym::Int(size)))
        .collect()
}

fn splits(builder: &Builder, v: &Select, id: LoopId, is_taken: &dyn Fn(&str) -> bool) -> Forms {
    let node = builder.node(id);
    let (first, second) = fresh(builder, node.sort, is_taken);
    points(&node.start, &node.stop, &node.step)
        .into_iter()
        .map(|at| Operation::Split(v.clone(), first.clone(), second.clone(), at))
        .collect()
}

/// Values inside a range: about its middle, the first and the last one.
fn points(start: &Sym, stop: &Sym, step: &Sym) -> Vec<Sym> {
    let stride = step.as_int().unwrap_or(1).max(1);
    let at = |from: i64, steps: i64| from.checked_add(stride.checked_mul(steps)?).map(Sym::Int);
    match (start.as_int(), stop.as_int()) {
        (Some(from), Some(to)) => {
            let trips = (to.saturating_sub(from)).saturating_add(stride - 1) / stride;
            let mut steps = vec![trips / 2, 1, trips - 1];
            steps.dedup();
            steps.into_iter().filter(|n| *n > 0 && *n < trips).filter_map(|n| at(from, n)).collect()
        }
        (Some(from), None) if stop.mentions(&|fact| fact == Fact::Rows) => {
            [1024, 64].into_iter().filter_map(|n| at(from, n)).collect()
        }
        _ if stop.mentions(&|fact| fact == Fact::Rows) => Vec::new(),
        _ => {
            let sum = Sym::apply(SymOp::Add, start, stop);
            let middle = sum.and_then(|sum| Sym::apply(SymOp::Div, &sum, &Sym::Int(2)));
            middle.into_iter().collect()
        }
    }
}

/// Orders of neighbours in a chain: all of two or three loops.
fn reorders(builder: &Builder) -> Vec<Forms> {
    let mut all: Vec<Forms> = Vec::new();
    let mut add = |order: Vec<Select>| {
        let form = vec![Operation::Reorder(order)];
        if !all.contains(&form) {
            all.push(form);
        }
    };
    for id in builder.loops() {
        let mut chain = vec![id];
        while chain.len() < SMALL_CHAIN
            && let [only] = builder.node(chain[chain.len() - 1]).inside.children().as_slice()
        {
            chain.push(*only);
        }
        for length in 2..=chain.len() {
            for order in orders(&chain[..length]) {
                add(order.iter().map(|id| Select::all(&builder.node(*id).name)).collect());
                add(order.iter().map(|id| builder.select_of(*id)).collect());
            }
        }
    }
    all
}

/// All orders of two or three loops but their own, and of three those that move the outermost and the innermost one.
fn orders(chain: &[LoopId]) -> Vec<Vec<LoopId>> {
    match *chain {
        [a, b] => vec![vec![b, a]],
        [a, b, c] => vec![vec![c, b, a], vec![b, c, a], vec![c, a, b]],
        _ => Vec::new(),
    }
}

fn hops(deepest: Option<u32>) -> Vec<u32> {
    let most = deepest.unwrap_or(8).clamp(1, 16);
    (1..=most).collect()
}

fn dimensions() -> [GpuDimension; 6] {
    let at = |level, axis| GpuDimension { level, axis };
    let (grid, block) = (GpuLevel::Grid, GpuLevel::Block);
    let (x, y, z) = (GpuAxis::X, GpuAxis::Y, GpuAxis::Z);
    [at(grid, x), at(grid, y), at(grid, z), at(block, x), at(block, y), at(block, z)]
}
