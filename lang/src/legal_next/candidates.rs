//! Operations to try on a nest. A trial decides which are legal.

use crate::directives::{self, DirectiveOp, Role};
use crate::lineage::{Annotation, LoopSelector, NestBuilder};
use crate::operation::Operation;
use crate::resolve::Arg;
use sched_nest::sym::{Property, Sym, SymOp};
use sched_nest::{Axis, GpuAxis, GpuDimension, GpuLevel, Layout, LoopId};

/// Largest number of copies of a name that are offered separately.
const MOST_COPIES: usize = 16;
/// Longest chain for which all orders are tried.
const SMALL_CHAIN: usize = 3;

/// Numbers to try for an unspecific parameter.
const NUMBERS: [i64; 3] = [4, 2, 8];

/// A name as written, and one of its loops.
pub type NamedLoop = (LoopSelector, LoopId);

/// Forms of one directive for the same loops with different numbers, the most likely one first.
pub type Forms = Vec<Operation>;

/// All candidates of one directive.
pub fn of(op: DirectiveOp, builder: &NestBuilder, is_taken: &dyn Fn(&str) -> bool) -> Vec<Forms> {
    candidates_among(op, builder, &live_names(builder), is_taken)
}

/// All candidates of one directive whose loops are among `names`.
pub fn candidates_among(
    op: DirectiveOp,
    builder: &NestBuilder,
    names: &[NamedLoop],
    is_taken: &dyn Fn(&str) -> bool,
) -> Vec<Forms> {
    match op {
        DirectiveOp::Reorder => reorders(builder),
        DirectiveOp::TileTrees => vec![[4, 8, 2].map(Operation::TileTrees).to_vec()],
        _ if !is_about_a_loop(op) => modifier_forms(op, builder, None, is_taken).into_iter().collect(),
        _ => {
            let each = names.iter().map(|(v, id)| about(op, builder, v, *id, is_taken));
            let each: Vec<Vec<Forms>> = each.collect();
            match op {
                // With a number for all loops first, then without.
                DirectiveOp::Interleave | DirectiveOp::Vectorize => {
                    let round = |at: usize| each.iter().filter_map(move |all| all.get(at)).cloned();
                    round(0).chain(round(1)).collect()
                }
                DirectiveOp::Representation => {
                    let general = Layout::ALL.iter().copied().map(|layout| vec![Operation::Layout(layout)]);
                    general.into_iter().chain(each.into_iter().flatten()).collect()
                }
                _ => each.into_iter().flatten().collect(),
            }
        }
    }
}

/// All candidates of one directive for the loops of `v`, one of which is `id`.
pub fn about(
    op: DirectiveOp,
    builder: &NestBuilder,
    v: &LoopSelector,
    id: LoopId,
    is_taken: &dyn Fn(&str) -> bool,
) -> Vec<Forms> {
    let state = |annotation: Annotation| Operation::Annotate(v.clone(), annotation);
    let deepest = builder.deepest();
    match op {
        DirectiveOp::Tile => vec![tiles(builder, v, id, is_taken)],
        DirectiveOp::Split => vec![splits(builder, v, id, is_taken)],
        // Forms with different words are separate.
        DirectiveOp::GpuDimension => {
            dimensions().map(|dimension| vec![state(Annotation::Gpu(dimension))]).to_vec()
        }
        DirectiveOp::Representation => {
            Layout::ALL.iter().copied().map(|layout| vec![state(Annotation::Layout(layout))]).collect()
        }
        DirectiveOp::UnrollWalk => {
            vec![step_counts(deepest).into_iter().rev().map(|n| state(Annotation::UnrollWalk(n))).collect()]
        }
        DirectiveOp::PeelWalk => {
            vec![step_counts(deepest).into_iter().map(|n| state(Annotation::PeelWalk(n))).collect()]
        }
        DirectiveOp::Reorder | DirectiveOp::TileTrees => Vec::new(),
        op if directives::of(op).is_some_and(|signature| signature.is_modifier) => {
            modifier_forms(op, builder, Some((v, id)), is_taken).into_iter().collect()
        }
        // With a number first, then without.
        op => {
            let with = |n: &u32| Annotation::of(op, Some(*n)).map(state);
            let numbers: Forms = Annotation::proposals(op).iter().filter_map(with).collect();
            let without = Annotation::of(op, None).map(|annotation| vec![state(annotation)]);
            (!numbers.is_empty()).then_some(numbers).into_iter().chain(without).collect()
        }
    }
}

/// Whether the first argument of a directive is a loop.
fn is_about_a_loop(op: DirectiveOp) -> bool {
    let first = directives::of(op).and_then(|signature| signature.parameters.first());
    first.is_some_and(|parameter| parameter.role == Role::Index)
}

/// Forms of a modifier by its parameters: unused new names, small numbers and all words.
fn modifier_forms(
    op: DirectiveOp,
    builder: &NestBuilder,
    about: Option<(&LoopSelector, LoopId)>,
    is_taken: &dyn Fn(&str) -> bool,
) -> Option<Forms> {
    let axis = about.map_or(Axis::Tree, |(_, id)| builder.node(id).axis);
    let mut new = <[String; 2]>::from(fresh_names(builder, axis, is_taken)).map(Arg::New).into_iter();
    let mut all: Vec<Vec<Arg>> = vec![Vec::new()];
    for parameter in directives::of(op)?.parameters {
        let choices: Vec<Arg> = match parameter.role {
            Role::Index => vec![Arg::Index(about?.0.clone())],
            Role::NewIndex => vec![new.next()?],
            Role::Number => NUMBERS.map(|n| Arg::Number(Sym::Int(n))).to_vec(),
            Role::Keyword(words) => words.iter().map(|word| Arg::Word(word)).collect(),
        };
        let with = |args: &Vec<Arg>| {
            let args = args.clone();
            choices.iter().map(move |choice| args.iter().chain([choice]).cloned().collect())
        };
        all = all.iter().flat_map(with).collect();
    }
    all.iter().map(|args| Operation::modifier(op, args)).collect()
}

/// All live names, and their copies if there are several.
pub fn live_names(builder: &NestBuilder) -> Vec<NamedLoop> {
    let mut all: Vec<NamedLoop> = Vec::new();
    let loops = builder.tree().loops();
    let mut seen = std::collections::HashMap::new();
    for id in &loops {
        let bare = &*builder.node(*id).name;
        let copies = seen.entry(bare).or_insert(0_usize);
        *copies += 1;
        if *copies == 1 {
            all.push((LoopSelector::all(bare), *id));
        }
    }
    for id in &loops {
        let copies = seen.get(&*builder.node(*id).name).copied().unwrap_or(0);
        if (2..=MOST_COPIES).contains(&copies) {
            all.push((builder.names().select_of(*id), *id));
        }
    }
    all
}

/// Two unused neighbouring names: `b2` and `b3`.
pub fn fresh_names(builder: &NestBuilder, axis: Axis, is_taken: &dyn Fn(&str) -> bool) -> (String, String) {
    let letter = if axis == Axis::Row { 'b' } else { 't' };
    let is_free = |name: &String| !builder.names().is_declared(name) && !is_taken(name);
    let pairs = (0..100_000).map(|n| (format!("{letter}{n}"), format!("{letter}{}", n + 1)));
    let free = pairs.into_iter().find(|(a, b)| is_free(a) && is_free(b));
    free.unwrap_or_else(|| (format!("{letter}_outer"), format!("{letter}_inner")))
}

fn tiles(builder: &NestBuilder, v: &LoopSelector, id: LoopId, is_taken: &dyn Fn(&str) -> bool) -> Forms {
    let node = builder.node(id);
    let (outer, inner) = fresh_names(builder, node.axis, is_taken);
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

fn splits(builder: &NestBuilder, v: &LoopSelector, id: LoopId, is_taken: &dyn Fn(&str) -> bool) -> Forms {
    let node = builder.node(id);
    let (first, second) = fresh_names(builder, node.axis, is_taken);
    split_points(&node.start, &node.stop, &node.step)
        .into_iter()
        .map(|at| Operation::Split(v.clone(), first.clone(), second.clone(), at))
        .collect()
}

/// Values inside a range: near its middle, the first and the last one.
fn split_points(start: &Sym, stop: &Sym, step: &Sym) -> Vec<Sym> {
    let stride = step.as_int().unwrap_or(1).max(1);
    let at = |from: i64, steps: i64| from.checked_add(stride.checked_mul(steps)?).map(Sym::Int);
    match (start.as_int(), stop.as_int()) {
        (Some(from), Some(to)) => {
            let trips = (to.saturating_sub(from)).saturating_add(stride - 1) / stride;
            let mut steps = vec![trips / 2, 1, trips - 1];
            steps.dedup();
            steps.into_iter().filter(|n| *n > 0 && *n < trips).filter_map(|n| at(from, n)).collect()
        }
        (Some(from), None) if stop.mentions(&|property| property == Property::Rows) => {
            [1024, 64].into_iter().filter_map(|n| at(from, n)).collect()
        }
        _ if stop.mentions(&|property| property == Property::Rows) => Vec::new(),
        _ => {
            let sum = Sym::apply(SymOp::Add, start, stop);
            let middle = sum.and_then(|sum| Sym::apply(SymOp::Div, &sum, &Sym::Int(2)));
            middle.into_iter().collect()
        }
    }
}

/// Orders of chains of two or three loops. Orders that move a loop of the other axis between the two loops of
/// a tile come first, since most tiles are made for that.
fn reorders(builder: &NestBuilder) -> Vec<Forms> {
    let mut all: Vec<Forms> = Vec::new();
    let mut add = |order: Vec<LoopSelector>| {
        let form = vec![Operation::Reorder(order)];
        if !all.contains(&form) {
            all.push(form);
        }
    };
    let chains: Vec<Vec<LoopId>> =
        builder.tree().loops().into_iter().map(|id| chain_from(builder, id)).collect();
    for chain in &chains {
        if let [outer, inner, other] = chain[..]
            && builder.node(outer).axis == builder.node(inner).axis
            && builder.node(inner).axis != builder.node(other).axis
        {
            let order = [outer, other, inner];
            add(order.iter().map(|id| LoopSelector::all(&builder.node(*id).name)).collect());
            add(order.iter().map(|id| builder.names().select_of(*id)).collect());
        }
    }
    for chain in chains {
        for length in 2..=chain.len() {
            for order in orders(&chain[..length]) {
                add(order.iter().map(|id| LoopSelector::all(&builder.node(*id).name)).collect());
                add(order.iter().map(|id| builder.names().select_of(*id)).collect());
            }
        }
    }
    all
}

/// The loop and its inner loops, as long as each contains only one.
fn chain_from(builder: &NestBuilder, id: LoopId) -> Vec<LoopId> {
    let mut chain = vec![id];
    let mut last = id;
    while chain.len() < SMALL_CHAIN
        && let Some(only) = builder.tree().inside(last).only()
    {
        chain.push(only);
        last = only;
    }
    chain
}

/// Other orders of a chain. For two loops, the reverse. For three, the orders in which neither the outermost
/// nor the innermost loop keeps its place.
fn orders(chain: &[LoopId]) -> Vec<Vec<LoopId>> {
    match *chain {
        [a, b] => vec![vec![b, a]],
        [a, b, c] => vec![vec![c, b, a], vec![b, c, a], vec![c, a, b]],
        _ => Vec::new(),
    }
}

fn step_counts(deepest: Option<u32>) -> Vec<u32> {
    let most = deepest.unwrap_or(8).clamp(1, 16);
    (1..=most).collect()
}

fn dimensions() -> [GpuDimension; 6] {
    let at = |level, axis| GpuDimension { level, axis };
    let (grid, block) = (GpuLevel::Grid, GpuLevel::Block);
    let (x, y, z) = (GpuAxis::X, GpuAxis::Y, GpuAxis::Z);
    [at(grid, x), at(grid, y), at(grid, z), at(block, x), at(block, y), at(block, z)]
}
