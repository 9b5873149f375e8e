//! The text form of MIR.

use super::*;
use std::fmt::{self, Display, Formatter};

impl Display for Mir {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        if let Some(rows) = self.rows_per_run {
            writeln!(f, "at most {rows} rows per run")?;
        }
        MirPrinter { vars: &self.vars, depth: 0 }.block(f, &self.body)
    }
}

struct MirPrinter<'a> {
    vars: &'a [VarInfo],
    depth: usize,
}

impl MirPrinter<'_> {
    fn name(&self, var: Var) -> &str {
        &self.vars[var.0 as usize].name
    }

    fn affine(&self, sum: &Affine) -> String {
        let mut terms: Vec<String> = sum.vars.iter().map(|var| self.name(*var).to_string()).collect();
        if sum.plus != 0 || terms.is_empty() {
            terms.push(sum.plus.to_string());
        }
        terms.join(" + ")
    }

    fn bound(&self, bound: &Bound) -> String {
        let mut text = match bound.limit {
            Minuend::Const(n) => n.to_string(),
            Minuend::Rows => "n_rows".to_string(),
        };
        for var in &bound.less.vars {
            text += &format!(" - {}", self.name(*var));
        }
        if bound.less.plus != 0 {
            text += &format!(" - {}", bound.less.plus);
        }
        text
    }

    fn iter(&self, iter: &Iter) -> String {
        let stops: Vec<String> = iter.stops.iter().map(|stop| self.bound(stop)).collect();
        let stop = match stops.as_slice() {
            [one] => one.clone(),
            some => format!("min({})", some.join(", ")),
        };
        let step = if iter.step == 1 { String::new() } else { format!(" step {}", iter.step) };
        format!("{} in {}..{stop}{step}", self.name(iter.var), iter.start)
    }

    /// Extent of a grid in one dimension: the number of iterations of the longest of some loops.
    fn extent(&self, loops: &[Iter]) -> String {
        let counts: Vec<String> = loops.iter().map(|iter| format!("#({})", self.iter(iter))).collect();
        match counts.as_slice() {
            [] => "1".to_string(),
            [one] => one.clone(),
            some => format!("max({})", some.join(", ")),
        }
    }

    fn window(&self, window: &Window) -> String {
        let base = self.affine(&window.base);
        let high = window.high.map_or("n_rows".to_string(), |high| format!("min({base} + {high}, n_rows)"));
        format!("{base} + {}..{high}", window.low)
    }

    fn target(&self, target: &SumDestination) -> String {
        match target.accumulator {
            Accumulator::Output => "result".to_string(),
            Accumulator::Slot(id, var) => format!("private{}[{}]", id.0, self.name(var)),
        }
    }

    /// Suffix of sums that begin with a start value; empty if they begin with the value in memory.
    fn start_suffix(&self, start: &SumStart) -> String {
        let SumStart::Value(value, first) = start else { return String::new() };
        let value = match value {
            StartValue::Base => "base",
            StartValue::NegativeZero => "-0",
        };
        let firsts: Vec<String> =
            first.iter().map(|iter| format!("{} = {}", self.name(iter.var), iter.start)).collect();
        let when = if firsts.is_empty() { String::new() } else { format!(" where {}", firsts.join(", ")) };
        format!(" from {value}{when}")
    }

    fn guards(&self, guards: &[Guard]) -> String {
        let each = |guard: &Guard| match guard {
            Guard::Exists(iter) => format!("{} exists", self.iter(iter)),
            Guard::Is(var, value) => format!("{} = {value}", self.name(*var)),
            Guard::First(dimension) => format!("first of {dimension}"),
        };
        guards.iter().map(each).collect::<Vec<_>>().join(", ")
    }

    fn line(&self, f: &mut Formatter, text: impl Display) -> fmt::Result {
        writeln!(f, "{:1$}{text}", "", self.depth * 2)
    }

    fn block(&mut self, f: &mut Formatter, stmts: &[MirStmt]) -> fmt::Result {
        stmts.iter().try_for_each(|stmt| self.stmt(f, stmt))
    }

    fn braced(&mut self, f: &mut Formatter, head: String, body: &[MirStmt]) -> fmt::Result {
        self.line(f, format!("{head} {{"))?;
        self.depth += 1;
        self.block(f, body)?;
        self.depth -= 1;
        self.line(f, "}")
    }

    fn stmt(&mut self, f: &mut Formatter, stmt: &MirStmt) -> fmt::Result {
        match stmt {
            MirStmt::Loop(this) => {
                let head = match this.mode {
                    LoopMode::Serial => "for",
                    LoopMode::Parallel => "parallel",
                    LoopMode::Unrolled => "unrolled",
                    LoopMode::Mapped(_) => "each",
                    LoopMode::UnrollAndJam => "unroll-and-jam",
                };
                let range = self.iter(&this.iter);
                let mapping = match this.mode {
                    LoopMode::Mapped(GpuMapping { dimension, needs_guard: true }) => {
                        format!(" as {dimension}, if in range")
                    }
                    LoopMode::Mapped(GpuMapping { dimension, needs_guard: false }) => {
                        format!(" as {dimension}")
                    }
                    _ => String::new(),
                };
                self.braced(f, format!("{head} {range}{mapping}"), &this.body)
            }
            MirStmt::Walks(walks) => self.walks(f, walks),
            MirStmt::Base(window) => {
                let rows = if window.is_whole() { "..".to_string() } else { self.window(window) };
                self.line(f, format!("result[{rows}] = base"))
            }
            MirStmt::When(guards, body) => {
                let head = format!("if {}", self.guards(guards));
                self.braced(f, head, body)
            }
            MirStmt::ThreadSums(sums) => {
                let loops: String = sums.loops.iter().map(|iter| format!(", {}", self.iter(iter))).collect();
                let place = format!("{}[{}]", self.target(&sums.target), self.affine(&sums.row));
                let mut head = format!("sum of {place}{loops}{}", self.start_suffix(&sums.start));
                if !sums.guards.is_empty() {
                    head += &format!(", if {}", self.guards(&sums.guards));
                }
                self.braced(f, head, &sums.body)
            }
            MirStmt::Launch(launch) => {
                let grid = launch.grid.each_ref().map(|loops| self.extent(loops)).join(" x ");
                let block = launch.block.map(|extent| extent.to_string()).join(" x ");
                let head = format!("launch {} of {grid} blocks of {block} threads", launch.name);
                self.line(f, format!("{head} {{"))?;
                self.depth += 1;
                self.block(f, &launch.body)?;
                launch.last_block.iter().try_for_each(|last| self.last_block(f, last))?;
                self.depth -= 1;
                self.line(f, "}")
            }
            MirStmt::Case(var, arms) => arms.iter().try_for_each(|(value, body)| {
                self.braced(f, format!("if {} = {value}", self.name(*var)), body)
            }),
            MirStmt::CacheRows(cache) => {
                let rows = self.window(&cache.window);
                let what = match cache.fill {
                    Fill::Values => "",
                    Fill::Columns => "columns of ",
                    Fill::Bins => "bins of ",
                };
                let shared = if cache.shared.is_some() { "shared " } else { "" };
                let head = format!("{shared}cache{} = {what}rows[{rows}]", cache.id.0);
                self.braced(f, head, &cache.body)
            }
            MirStmt::CacheTrees(cache) => {
                self.line(f, format!("prefetch trees[{} + 0..{}]", self.affine(&cache.from), cache.count))
            }
            MirStmt::ShareTrees(copy) => {
                let CacheTrees { from, count, .. } = &copy.trees;
                self.braced(f, format!("shared trees[{} + 0..{count}]", self.affine(from)), &copy.body)
            }
            MirStmt::Private(private) => {
                let slots: Vec<String> = private.slots.iter().map(|iter| self.iter(iter)).collect();
                let (slots, rows) = (slots.join("]["), self.window(&private.window));
                let shared = if private.shared { "shared " } else { "" };
                let first = private
                    .filled_slots
                    .map_or_else(String::new, |count| format!(", the first {count} slots"));
                let margins = match private.margins {
                    SlotMargins::All => "",
                    SlotMargins::InTurn => ", margins in turn",
                };
                self.braced(
                    f,
                    format!("{shared}private{}[{slots}][{rows}]{first}{margins}", private.id.0),
                    &private.body,
                )
            }
            MirStmt::Zero(id, var) => self.line(f, format!("private{}[{}][..] = -0", id.0, self.name(*var))),
            MirStmt::ZeroAll(id) => self.line(f, format!("private{}[*][..] = -0", id.0)),
            MirStmt::Fold(fold) => self.fold(f, fold),
        }
    }

    fn fold(&self, f: &mut Formatter, fold: &Fold) -> fmt::Result {
        let (how, width) = (if fold.into.atomic { "atomic " } else { "" }, fold.width);
        let vector = if width > 1 { format!(", {width} at a time") } else { String::new() };
        let into = self.target(&fold.into);
        let start = self.start_suffix(&fold.start);
        self.line(f, format!("{how}{into}[..] += private{}[*][..]{vector}{start}", fold.from.0))
    }

    fn last_block(&mut self, f: &mut Formatter, last: &LastBlock) -> fmt::Result {
        let members: Vec<String> = last.members.iter().map(GpuDimension::to_string).collect();
        let which = match members.as_slice() {
            [] => "each block".to_string(),
            some => format!("last block of {}", some.join(" x ")),
        };
        self.line(f, format!("{which}, rows {} {{", self.window(&last.window)))?;
        self.depth += 1;
        last.folds.iter().try_for_each(|fold| self.fold(f, fold))?;
        if last.completes_rows {
            self.line(f, "all margins are complete")?;
        }
        self.depth -= 1;
        self.line(f, "}")
    }

    fn walks(&mut self, f: &mut Formatter, walks: &Walks) -> fmt::Result {
        let group = match (walks.group, walks.lanes) {
            (1, 1) => String::new(),
            (group, 1) => format!(" by {group}"),
            (group, lanes) => format!(" by {group} x {lanes} lanes"),
        };
        self.line(f, format!("for {}{group} {{", self.iter(&walks.iter)))?;
        self.depth += 1;
        let rows = match walks.rows {
            WalkedRows::Input => "rows".to_string(),
            WalkedRows::Cached(id) => format!("cache{}", id.0),
        };
        let (tree, row) = (self.affine(&walks.tree), self.affine(&walks.row));
        let tiles =
            if walks.tile_nodes > 1 { format!(" tiles of {}", walks.tile_nodes) } else { String::new() };
        let layout = format!("{:?}{tiles}", walks.layout).to_lowercase();
        let steps = self.steps(&walks.steps);
        self.line(f, format!("v = walk {layout} trees[{tree}], {rows}[{row}]: {steps}"))?;
        let how = if walks.target.atomic { "atomic " } else { "" };
        self.line(f, format!("{how}{}[{row}] += v", self.target(&walks.target)))?;
        self.depth -= 1;
        self.line(f, "}")
    }

    fn steps(&self, steps: &StepCounts) -> String {
        let mut parts = Vec::new();
        if steps.speculated > 0 {
            parts.push(format!("{} levels at once", steps.speculated));
        }
        if steps.straight > steps.speculated {
            parts.push(format!("{} straight steps", steps.straight - steps.speculated));
        }
        if steps.masked > 0 {
            parts.push(format!("{} steps with early exit", steps.masked));
        }
        if steps.has_loop {
            parts.push("steps to the leaf".to_string());
        }
        if parts.is_empty() { "root is a leaf".to_string() } else { parts.join(", ") }
    }
}
