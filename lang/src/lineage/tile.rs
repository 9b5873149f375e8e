//! `tile(v, outer, inner, size)`
//!
//! ```text
//! for v in a..b step s      for outer in a..b step size
//!   BODY               -->    for inner in 0..size step s while outer + inner < b
//!                               BODY
//! ```

use smallvec::{SmallVec, smallvec};

use super::{DirectiveIndex, Inside, LoopNode, Loops, MAX_DEPTH, NestBuilder, RemarkKind, Select};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::LoopId;
use sched_nest::sym::Sym;

const V: usize = 0;
const OUTER: usize = 1;
const INNER: usize = 2;
const SIZE: usize = 3;

impl NestBuilder {
    /// Blocks each copy of the loop into `outer`, which takes its place, and `inner`, which gets its body.
    ///
    /// # Errors
    /// Names that are unknown, consumed or taken; a size below 1 or off the loop's step; loops that cannot be
    /// reshaped any more. Nothing has changed then.
    pub fn tile(
        &mut self,
        step: DirectiveIndex,
        v: &Select,
        outer: &str,
        inner: &str,
        size: &Sym,
    ) -> Result<(), Illegal> {
        self.tile_or_guess(step, v, outer, inner, Some(size))
    }

    /// [`NestBuilder::tile`]. Without a size, because it was refused, the loops are made and marked, so that
    /// later directives can name them.
    pub(crate) fn tile_or_guess(
        &mut self,
        step: DirectiveIndex,
        v: &Select,
        outer: &str,
        inner: &str,
        size: Option<&Sym>,
    ) -> Result<(), Illegal> {
        let loops = self.live(step, V, v)?;
        self.check_new(step, OUTER, outer)?;
        self.check_new(step, INNER, inner)?;
        if outer == inner {
            let problem = Problem::NameTaken { name: inner.to_owned() };
            return Err(Illegal { argument: Some(INNER), ..Illegal::at(step, problem, Vec::new()) });
        }
        for id in &loops {
            self.check_reshapable(step, *id)?;
            if let Some(size) = size {
                self.check_size(step, *id, size)?;
            }
            self.check_depth(step, *id, 1)?;
        }
        self.check_growth(step, loops[0], loops.len(), loops.len() * 2 * MAX_DEPTH)?;
        if let Some((extent, size)) = size.and_then(|size| self.beyond(&loops, size)) {
            self.remark(step, loops[0], RemarkKind::TileBeyond(extent, size));
        }
        for id in loops {
            match size {
                Some(size) => self.tile_one(step, id, outer, inner, size),
                None => {
                    self.node_mut(id).tainted = true;
                    let size = self.node(id).step.clone();
                    self.tile_one(step, id, outer, inner, &size);
                }
            }
        }
        Ok(())
    }

    fn tile_one(&mut self, step: DirectiveIndex, v: LoopId, outer: &str, inner: &str, size: &Sym) {
        let scope = self.scope_of_successors(v);
        let source = self.node(v).clone();
        let part = |name: &str, inner: bool| LoopNode {
            name: name.into(),
            number: None,
            scope,
            made_by: Some(step),
            annotations: Vec::new(),
            sums: SmallVec::new(),
            inside: Inside::Seq(Loops::new()),
            split_by_depth: None,
            place: source.place.iter().copied().chain([inner]).collect(),
            ..source.clone()
        };
        let o = self.add(LoopNode { step: size.clone(), ..part(outer, false) });
        let i = self.add(LoopNode { start: Sym::Int(0), stop: size.clone(), ..part(inner, true) });
        self.replace_in_nest(v, &[o]);
        self.node_mut(o).inside = Inside::Seq(smallvec![i]);
        self.node_mut(i).parent = Some(o);
        self.move_body(v, i);
        self.replace_in_sums(v, &[o, i]);
        if !divides(&source, size) && !self.has_sum(&[o, i], &source.stop) {
            self.add_sum(smallvec![o, i], source.stop.clone());
        }
        self.consume(v, step, smallvec![o, i]);
        self.remark_size(step, i, &source, size);
    }

    fn has_sum(&self, loops: &[LoopId], bound: &Sym) -> bool {
        self.node(loops[0]).sums.iter().any(|index| {
            let sum = &self.sums[*index as usize];
            *sum.loops == *loops && sum.bound == *bound
        })
    }

    fn remark_size(&mut self, step: DirectiveIndex, at: LoopId, source: &LoopNode, size: &Sym) {
        if source.tainted {
            return;
        }
        if *size == source.step {
            self.remark(step, at, RemarkKind::TileOfOne);
            return;
        }
        if let (Some(start), Some(stop), Some(size)) =
            (source.start.as_int(), source.stop.as_int(), size.as_int())
            && let Some(extent) = stop.checked_sub(start)
            && extent > size
            && extent % size != 0
        {
            self.remark(step, at, RemarkKind::PartialTile(extent, size));
        }
    }

    /// Extent of the largest of these loops and the size, if no tile of this size is ever full.
    fn beyond(&self, loops: &[LoopId], size: &Sym) -> Option<(i64, i64)> {
        let size = size.as_int()?;
        let extents = loops.iter().map(|id| {
            let node = self.node(*id);
            node.stop.as_int()?.checked_sub(node.start.as_int()?).filter(|extent| (1..size).contains(extent))
        });
        let largest = extents.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
        Some((largest, size))
    }

    fn check_size(&mut self, step: DirectiveIndex, v: LoopId, size: &Sym) -> Result<(), Illegal> {
        let node = self.node(v);
        let stride = node.step.as_int();
        let refuse = |problem| Err(Illegal { argument: Some(SIZE), ..Illegal::at(step, problem, vec![v]) });
        let stride = if node.tainted { size.as_int() } else { stride };
        match (size.as_int(), stride) {
            (Some(size), _) if size < 1 => refuse(Problem::TileSize { size }),
            (Some(size), Some(stride)) if size % stride != 0 => refuse(Problem::TileOffStep { size, stride }),
            (Some(_), Some(_)) => Ok(()),
            _ if *size == node.step => Ok(()),
            (Some(_), None) => {
                let obligation = Obligation::Multiple { size: size.clone(), step: node.step.clone() };
                self.remark(step, v, RemarkKind::Unverified(obligation));
                Ok(())
            }
            (None, _) => {
                let step_of_loop = (stride != Some(1)).then(|| node.step.clone());
                let obligation = Obligation::Size { size: size.clone(), step: step_of_loop };
                self.remark(step, v, RemarkKind::Unverified(obligation));
                Ok(())
            }
        }
    }

    /// Refuses loops whose body depends on their iterations, and loops with annotations, which would have no
    /// effect.
    pub(super) fn check_reshapable(&self, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
        let node = self.node(v);
        if let Some(by) = node.specialized_by {
            let illegal = Illegal::at(step, Problem::Specialized { by }, vec![v]);
            return Err(Illegal { argument: Some(0), ..illegal });
        }
        if let Some((_, annotation)) = node.annotations.first() {
            let illegal = Illegal::at(*annotation, Problem::AnnotationLost { consumer: step }, vec![v]);
            return Err(Illegal { argument: Some(0), ..illegal });
        }
        Ok(())
    }

    /// Refuses a nest deeper than [`MAX_DEPTH`].
    pub(super) fn check_depth(&self, step: DirectiveIndex, v: LoopId, more: usize) -> Result<(), Illegal> {
        let mut deepest = self.path(v).len();
        let base = deepest;
        // Height below `v`. Only long chains matter, and those are short lists.
        let mut stack = vec![(v, base)];
        while let Some((id, depth)) = stack.pop() {
            deepest = deepest.max(depth);
            stack.extend(self.node(id).inside.children().map(|child| (child, depth + 1)));
        }
        if deepest + more > MAX_DEPTH {
            return Err(Illegal::at(step, Problem::TooDeep, vec![v]));
        }
        Ok(())
    }
}

/// Whether `size` is known to divide the loop's extent.
fn divides(source: &LoopNode, size: &Sym) -> bool {
    let (Some(start), Some(stop), Some(size)) = (source.start.as_int(), source.stop.as_int(), size.as_int())
    else {
        return false;
    };
    size >= 1 && stop.checked_sub(start).is_some_and(|extent| extent % size == 0)
}
