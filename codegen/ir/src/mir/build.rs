//! HIR to MIR: loops of the nest become loops over variables, leaf loops become walks.

use super::window::{ScratchBytes, difference_range, window_of};
use super::{
    Accumulator, Affine, Bound, CacheId, CacheRows, CacheTrees, Fill, GpuMapping, Iter, LeafUse, LeafUses,
    LoopMode, Minuend, Mir, MirLoop, MirStmt, SumDestination, Var, VarInfo, WalkRange, WalkedRows, Walks,
    Window,
};
use crate::budget::Budget;
use crate::error::CompileError;
use crate::fault::{Fault, seeded};
use crate::hir::{Hir, LeafLoop, number_of};
use crate::repr::traverse::StepCounts;
use sched_nest::sym::{Property, Sym};
use sched_nest::{Annotations, Axis, Body, Constraint, LoopId, Nest};
use std::collections::BTreeMap;

/// Builds the loop nest of a kernel, in which every walk adds to the output.
///
/// # Errors
///
/// If a bound of a loop, except for the number of rows, is not a constant, or if cached rows exceed the
/// budget.
pub fn build(hir: &Hir, budget: &Budget) -> Result<Mir, CompileError> {
    let mut builder = MirBuilder {
        hir,
        limits: hir.nest.limits(),
        vars: Vec::new(),
        caches: 0,
        uses: LeafUses::default(),
        on_gpu: hir.nest.loops.iter().any(|this| this.annotations.gpu_dimension.is_some()),
        case_values: Vec::new(),
        scratch: ScratchBytes::new(budget),
    };
    let quantized = hir.bins.is_some().then(|| builder.cache());
    let computed = builder.computes_columns().then(|| builder.cache());
    let scope = NestScope { quantized, cached: computed, ..NestScope::default() };
    let body = builder.sequence(&hir.nest.roots, &scope)?;
    let all = builder.uses.since(0);
    let body = builder.copied((quantized, Fill::Bins), &Affine::default(), &all, body)?;
    let mut body = builder.copied((computed, Fill::Columns), &Affine::default(), &all, body)?;
    if !budget.base_is_given {
        body.insert(0, MirStmt::Base(Window::all_rows()));
    }
    let batch = hir.nest.batch_size.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let rows_per_run = [batch, builder.scratch.rows_per_run()].into_iter().flatten().min();
    Ok(Mir { vars: builder.vars, body, uses: builder.uses, rows_per_run })
}

/// Largest number of values of a loop outside of a partial tile that does not check for the end of the tiled
/// loop. Its iterations beyond that end do nothing, in a few cycles each. In return, the number of iterations
/// is a constant.
const MOST_UNCHECKED_VALUES: i64 = 4096;

/// Value of a loop's variable inside the loop.
#[derive(Clone, Copy)]
enum LoopValue {
    Var(Var),
    /// The value of the current case of a specialised loop.
    Const(i64),
}

/// Enclosing loops and copies of rows of a part of the nest.
#[derive(Clone, Default)]
struct NestScope {
    loops: BTreeMap<LoopId, LoopValue>,
    row: Affine,
    tree: Affine,
    /// The innermost enclosing copy of values.
    cached: Option<CacheId>,
    /// The innermost enclosing copy of bins.
    quantized: Option<CacheId>,
}

impl NestScope {
    fn enter(&self, id: LoopId, axis: Axis, at: LoopValue) -> NestScope {
        let mut inner = self.clone();
        inner.loops.insert(id, at);
        let sum = match axis {
            Axis::Row => &mut inner.row,
            Axis::Tree | Axis::Unit | Axis::Feature => &mut inner.tree,
        };
        match at {
            LoopValue::Var(var) => sum.vars.push(var),
            LoopValue::Const(value) => sum.plus += value,
        }
        inner
    }
}

struct MirBuilder<'a> {
    hir: &'a Hir,
    /// Constraints that limit each loop, by loop number.
    limits: Vec<Vec<&'a Constraint>>,
    vars: Vec<VarInfo>,
    caches: u32,
    uses: LeafUses,
    /// Whether some loop is mapped to the blocks or threads of a GPU.
    on_gpu: bool,
    /// Variables of the enclosing specialised loops, with their values in the current case.
    case_values: Vec<(Var, i64)>,
    scratch: ScratchBytes,
}

impl MirBuilder<'_> {
    fn sequence(&mut self, ids: &[LoopId], scope: &NestScope) -> Result<Vec<MirStmt>, CompileError> {
        ids.iter().map(|id| self.nest_loop(*id, scope)).collect()
    }

    fn nest_loop(&mut self, id: LoopId, scope: &NestScope) -> Result<MirStmt, CompileError> {
        let this = self.hir.nest.get(id);
        let iter = self.iter(id, scope)?;
        let first_walk = self.uses.count();
        let mode = mode_of(&this.annotations);
        let reduce = this.annotations.reduce;
        let body = match &this.body {
            Body::Walk => return self.leaf(id, iter, mode, scope),
            Body::Seq(children) => {
                self.cached(id, iter.var, scope, |build, inner| build.sequence(children, inner))?
            }
            Body::Cases(cases) => {
                let var = iter.var;
                let first = iter.start;
                let step = iter.step;
                self.cached(id, var, scope, |build, inner| {
                    let mut arms = Vec::new();
                    for (k, case) in cases.iter().enumerate() {
                        let value = first + step * k as i64;
                        let mut at = scope.enter(id, this.axis, LoopValue::Const(value));
                        (at.cached, at.quantized) = (inner.cached, inner.quantized);
                        build.case_values.push((var, value));
                        arms.push((value, build.sequence(case, &at)?));
                        build.case_values.pop();
                    }
                    Ok(vec![MirStmt::Case(var, arms)])
                })?
            }
        };
        let walks = self.uses.since(first_walk);
        Ok(MirStmt::Loop(MirLoop { iter, mode, reduce, walks, body }))
    }

    /// Builds a leaf loop. A parallel, unrolled, mapped or cached leaf loop becomes a loop over groups of
    /// interleaved walks, with a leaf loop over one group inside.
    fn leaf(
        &mut self,
        id: LoopId,
        iter: Iter,
        mode: LoopMode,
        scope: &NestScope,
    ) -> Result<MirStmt, CompileError> {
        let hir = self.hir;
        let this = hir.nest.get(id);
        let Some(leaf_loop) = hir.leaf_loops.get(&id) else { return Err(unknown_leaf()) };
        if mode == LoopMode::Serial && !this.annotations.cache {
            return Ok(MirStmt::Walks(self.walks(this.axis, iter, leaf_loop, scope)));
        }
        let group = i64::from(leaf_loop.group) * i64::from(self.lanes(leaf_loop, iter.step));
        let first_walk = self.uses.count();
        let outer = Iter { step: iter.step * group, ..iter.clone() };
        let body = self.cached(id, outer.var, scope, |build, inner| {
            let mut stops = vec![Bound { limit: Minuend::Const(iter.step * group), less: Affine::default() }];
            // If groups have one iteration, the end of the outer loop suffices.
            if group > 1 {
                let rest = |stop: &Bound| Bound { less: stop.less.with(outer.var), ..stop.clone() };
                stops.extend(iter.stops.iter().map(rest));
            }
            let name = format!("{}.lane", this.name);
            let most = Some(iter.step * (group - 1));
            let var = build.variable(VarInfo { name, axis: this.axis, least: 0, most, step: iter.step });
            let lanes = Iter { var, start: 0, step: iter.step, stops };
            Ok(vec![MirStmt::Walks(build.walks(this.axis, lanes, leaf_loop, inner))])
        })?;
        let walks = self.uses.since(first_walk);
        Ok(MirStmt::Loop(MirLoop { iter: outer, mode, reduce: this.annotations.reduce, walks, body }))
    }

    fn walks(&mut self, over: Axis, iter: Iter, leaf_loop: &LeafLoop, scope: &NestScope) -> Walks {
        let (row, tree) = match over {
            Axis::Row => (scope.row.with(iter.var), scope.tree.clone()),
            Axis::Tree | Axis::Unit | Axis::Feature => (scope.row.clone(), scope.tree.with(iter.var)),
        };
        let lanes = self.lanes(leaf_loop, iter.step);
        let (lanes, group, packed_rows) = match self.on_gpu {
            // GPU threads have no vectors: the rows of a vector are interleaved as a group. Bins of
            // neighbouring rows share a word.
            true => {
                let shares = iter.step == 1 && self.multiple(&row, iter.var, i64::from(lanes));
                (1, leaf_loop.group * lanes, if shares { lanes } else { 1 })
            }
            false => (lanes, leaf_loop.group, 1),
        };
        let rows = self.rows(leaf_loop, scope);
        let id = self.uses.add(LeafUse {
            over,
            var: iter.var,
            start: iter.start,
            step: iter.step,
            lanes,
            group,
            packed_rows,
            row: row.clone(),
            tree: tree.clone(),
            rows,
            case_values: self.case_values.clone(),
        });
        Walks {
            id,
            aligned: iter.step == 1 && self.multiple(&tree, iter.var, i64::from(lanes)),
            lanes,
            packed_rows,
            iter,
            over,
            group,
            row,
            tree,
            trees: leaf_loop.trees.clone(),
            steps: steps(leaf_loop, &self.hir.depths[leaf_loop.trees.clone()]),
            layout: leaf_loop.layout,
            tile_nodes: leaf_loop.tile_nodes,
            rows,
            target: SumDestination { accumulator: Accumulator::Output, atomic: false },
        }
    }

    /// Lanes of a leaf loop's vectors. Offsets between the rows of a vector must fit 32 bits; for
    /// larger steps the walks stay scalar.
    fn lanes(&self, leaf_loop: &LeafLoop, step: i64) -> u32 {
        let distance = step
            .saturating_mul(i64::from(leaf_loop.lanes))
            .saturating_mul(self.hir.row_features().max(self.hir.forest.num_features) as i64);
        if distance > i64::from(i32::MAX) { 1 } else { leaf_loop.lanes }
    }

    /// Whether the sum is a multiple of `lanes` at the first iteration of each vector of the leaf loop.
    fn multiple(&self, sum: &Affine, leaf: Var, lanes: i64) -> bool {
        let even = |var: &Var| {
            let VarInfo { least, step, .. } = self.vars[var.0 as usize];
            least % lanes == 0 && (*var == leaf || step % lanes == 0)
        };
        sum.plus % lanes == 0 && sum.vars.iter().all(even)
    }

    /// Builds the body of a loop, inside a copy of its rows or behind a prefetch of its trees if the
    /// schedule caches them.
    fn cached(
        &mut self,
        id: LoopId,
        var: Var,
        scope: &NestScope,
        body: impl FnOnce(&mut Self, &NestScope) -> Result<Vec<MirStmt>, CompileError>,
    ) -> Result<Vec<MirStmt>, CompileError> {
        let this = self.hir.nest.get(id);
        let first_walk = self.uses.count();
        let mut inner = scope.enter(id, this.axis, LoopValue::Var(var));
        let is_cached = this.annotations.cache;
        let copies = this.axis == Axis::Row && (is_cached || self.copies_here(id, scope));
        let quantized = (copies && self.hir.bins.is_some()).then(|| self.cache());
        inner.quantized = quantized.or(inner.quantized);
        let computed = (copies && !is_cached && self.computes_columns()).then(|| self.cache());
        inner.cached = computed.or(inner.cached);
        match (this.annotations.cache, this.axis) {
            (false, _) => {
                let body = body(self, &inner)?;
                let walks = self.uses.since(first_walk);
                let body = self.copied((quantized, Fill::Bins), &inner.row, &walks, body)?;
                self.copied((computed, Fill::Columns), &inner.row, &walks, body)
            }
            (true, Axis::Tree | Axis::Unit | Axis::Feature) => {
                let mut stmts = body(self, &inner)?;
                let walks = self.uses.since(first_walk);
                stmts.insert(0, MirStmt::CacheTrees(self.trees_of(walks, &inner.tree)));
                Ok(stmts)
            }
            (true, Axis::Row) => {
                let cache = self.cache();
                inner.cached = Some(cache);
                let mut body = body(self, &inner)?;
                let walks = self.uses.since(first_walk);
                body = self.copied((quantized, Fill::Bins), &inner.row, &walks, body)?;
                if quantized.is_some() && !self.is_read(&walks, cache) {
                    return Ok(body);
                }
                let fill = if self.computes_columns() { Fill::Columns } else { Fill::Values };
                self.copy((cache, fill), &inner.row, &walks, body)
            }
        }
    }

    fn cache(&mut self) -> CacheId {
        self.caches += 1;
        CacheId(self.caches - 1)
    }

    /// Source of the rows that a leaf loop reads.
    fn rows(&self, leaf_loop: &LeafLoop, scope: &NestScope) -> WalkedRows {
        let copy = if leaf_loop.layout.compares_bins() { scope.quantized } else { scope.cached };
        copy.map_or(WalkedRows::Input, WalkedRows::Cached)
    }

    /// Whether a row loop copies the rows of each iteration as bins or computed columns, although the
    /// schedule does not cache them there. On CPUs, parallel loops and loops over blocks of rows do, unless
    /// they are inside a loop over trees. Walks read the innermost copy; copies that no walk reads are
    /// dropped. On GPUs the threads of a block share copies, so only `cache` makes them.
    fn copies_here(&self, id: LoopId, scope: &NestScope) -> bool {
        let nest = &self.hir.nest;
        let this = nest.get(id);
        let below_trees = scope.loops.keys().any(|around| nest.get(*around).axis == Axis::Tree);
        !self.on_gpu && !below_trees && (this.annotations.parallel || is_block(nest, id))
    }

    /// Whether copies of rows hold columns that are computed from features. On GPUs a separate launch
    /// computes all columns before (`columns.rs`).
    fn computes_columns(&self) -> bool {
        self.hir.columns.is_some() && !self.on_gpu
    }

    /// Wraps a body in a copy of its rows, if a walk in it reads the copy.
    fn copied(
        &mut self,
        (id, fill): (Option<CacheId>, Fill),
        base: &Affine,
        walks: &WalkRange,
        body: Vec<MirStmt>,
    ) -> Result<Vec<MirStmt>, CompileError> {
        match id.filter(|id| self.is_read(walks, *id)) {
            Some(id) => self.copy((id, fill), base, walks, body),
            None => Ok(body),
        }
    }

    /// Wraps a body in a copy of its rows.
    fn copy(
        &mut self,
        (id, fill): (CacheId, Fill),
        base: &Affine,
        walks: &WalkRange,
        body: Vec<MirStmt>,
    ) -> Result<Vec<MirStmt>, CompileError> {
        let window = window_of(self.uses.of(walks), base, &self.vars);
        let forest = &self.hir.forest;
        let row_bytes = match (fill, &self.hir.bins) {
            (Fill::Bins, Some(bins)) => bins.row_bytes(),
            _ => forest.num_features as u64 * forest.types.input.bytes() as u64,
        };
        self.scratch.add(&window, row_bytes)?;
        let walks = walks.clone();
        Ok(vec![MirStmt::CacheRows(CacheRows { id, window, fill, shared: None, walks, body })])
    }

    /// Whether some leaf loop reads a copy of rows.
    fn is_read(&self, walks: &WalkRange, cache: CacheId) -> bool {
        self.uses.of(walks).iter().any(|leaf| leaf.rows == WalkedRows::Cached(cache))
    }

    /// The trees that leaf loops walk, relative to the tree loops around them.
    fn trees_of(&self, walks: WalkRange, base: &Affine) -> CacheTrees {
        let most = self
            .uses
            .of(&walks)
            .iter()
            .map(|leaf| difference_range(&leaf.tree, &leaf.in_case(base), &self.vars).1);
        let count = most.map(|most| most.map_or(i64::MAX, |most| most + 1)).max().unwrap_or(0).max(0);
        CacheTrees { from: base.clone(), count, walks }
    }

    fn variable(&mut self, info: VarInfo) -> Var {
        self.vars.push(info);
        Var(self.vars.len() as u32 - 1)
    }

    /// Builds the variable and the bounds of a loop: its start, step and end, and the constraints that limit
    /// it.
    fn iter(&mut self, id: LoopId, scope: &NestScope) -> Result<Iter, CompileError> {
        let this = self.hir.nest.get(id);
        let (start, step) = (number_of(&this.start)?, number_of(&this.step)?);
        let mut stops = vec![Bound { limit: limit(&this.stop)?, less: Affine::default() }];
        let is_long =
            this.stop.as_int().is_some_and(|stop| stop.saturating_sub(start) > MOST_UNCHECKED_VALUES);
        for constraint in &self.limits[id.0 as usize] {
            let others = || constraint.loops.iter().filter(|other| **other != id);
            let innermost = others().all(|other| scope.loops.contains_key(other));
            if !innermost && !is_long || seeded(Fault::TileOverruns) && constraint.loops.len() == 2 {
                continue;
            }
            let mut less = Affine::default();
            for other in others() {
                match scope.loops.get(other) {
                    Some(LoopValue::Var(var)) => less.vars.push(*var),
                    Some(LoopValue::Const(value)) => less.plus += value,
                    // Loops inside begin at their start.
                    None => less.plus += number_of(&self.hir.nest.get(*other).start)?,
                }
            }
            let bound = Bound { limit: limit(&constraint.bound)?, less };
            if !stops.contains(&bound) {
                stops.push(bound);
            }
        }
        let stops = tightest(stops);
        let most = stops.iter().filter_map(|stop| stop.most(&self.vars, None)).min();
        let most = most.map(|stop| start + (stop - 1 - start).max(0) / step * step);
        let name = this.name.clone();
        let var = self.variable(VarInfo { name, axis: this.axis, least: start, most, step });
        Ok(Iter { var, start, step, stops })
    }
}

/// Whether each iteration of a row loop covers several rows and has a tree loop around some of them.
fn is_block(nest: &Nest, id: LoopId) -> bool {
    let rows = |id: &LoopId| nest.get(*id).axis == Axis::Row;
    let inside = children(nest, id);
    let mut below = inside.clone();
    let mut several = false;
    while let (false, Some(next)) = (several, below.pop()) {
        several = rows(&next);
        below.extend(children(nest, next));
    }
    several && !inside.iter().all(rows)
}

fn children(nest: &Nest, id: LoopId) -> Vec<LoopId> {
    match &nest.get(id).body {
        Body::Walk => Vec::new(),
        Body::Seq(list) => list.clone(),
        Body::Cases(cases) => cases.concat(),
    }
}

fn mode_of(annotations: &Annotations) -> LoopMode {
    match annotations {
        Annotations { gpu_dimension: Some(dimension), .. } => {
            LoopMode::Mapped(GpuMapping { dimension: *dimension, needs_guard: true })
        }
        Annotations { unroll: true, .. } => LoopMode::Unrolled,
        Annotations { parallel: true, .. } => LoopMode::Parallel,
        Annotations { unroll_and_jam: true, .. } => LoopMode::UnrollAndJam,
        _ => LoopMode::Serial,
    }
}

/// Merges constant bounds into the least one.
fn tightest(stops: Vec<Bound>) -> Vec<Bound> {
    let constant = |stop: &Bound| match stop.limit {
        Minuend::Const(n) if stop.less.vars.is_empty() => Some(n - stop.less.plus),
        _ => None,
    };
    let least = stops.iter().filter_map(constant).min();
    let constants = least.map(|n| Bound { limit: Minuend::Const(n), less: Affine::default() });
    constants.into_iter().chain(stops.into_iter().filter(|stop| constant(stop).is_none())).collect()
}

/// Steps of the walks, in their order. First come straight-line steps without leaf tests: those of `unroll`,
/// or those of `peel` down to the shallowest leaf. The rest of `peel` has leaf tests. Deeper trees end with a
/// loop.
fn steps(leaf_loop: &LeafLoop, depths: &[(u32, u32)]) -> StepCounts {
    let deepest = depths.iter().map(|depth| depth.0).max().unwrap_or(0);
    let shallowest = depths.iter().map(|depth| depth.1).min().unwrap_or(0);
    let straight = leaf_loop.unrolled_steps.max(leaf_loop.peeled_steps.min(shallowest));
    let masked = leaf_loop.peeled_steps.saturating_sub(straight);
    let speculated = leaf_loop.speculated_levels.min(straight);
    StepCounts { straight, speculated, masked, has_loop: deepest > straight + masked }
}

fn limit(sym: &Sym) -> Result<Minuend, CompileError> {
    match sym {
        Sym::Property(Property::Rows) => Ok(Minuend::Rows),
        sym => number_of(sym).map(Minuend::Const),
    }
}

fn unknown_leaf() -> CompileError {
    CompileError::ill_formed("a leaf loop has no walk")
}
