//! `tile(v, outer, inner, size)`
//!
//! ```text
//! for v in a..b step s      for outer in a..b step size
//!   BODY               -->    for inner in 0..size step s while outer + inner < b
//!                               BODY
//! ```

use smallvec::smallvec;

use super::checks::{check_depth, check_growth, check_new_names, check_reshapable};
use super::modifier::Modifier;
use super::{DirectiveIndex, LoopBody, LoopNode, LoopSelector, Loops, MAX_DEPTH, NestBuilder, RemarkKind};
use crate::illegal::{Illegal, Problem};
use crate::obligation::Obligation;
use sched_nest::LoopId;
use sched_nest::sym::Sym;

const V: usize = 0;
const OUTER: usize = 1;
const INNER: usize = 2;
const SIZE: usize = 3;

/// Blocks each copy of the loop into `outer`, which takes its place, and `inner`, which gets its body.
/// Refuses names that are unknown, consumed or taken; a size below 1 or off the loop's step; loops that
/// cannot be reshaped any more.
pub(crate) struct TileLoop<'a> {
    v: &'a LoopSelector,
    outer: &'a str,
    inner: &'a str,
    size: Option<&'a Sym>,
}

impl<'a> TileLoop<'a> {
    /// A `tile` with these arguments. Without a size, because it was refused, the loops are made and marked,
    /// so that later directives can name them.
    pub fn new(v: &'a LoopSelector, outer: &'a str, inner: &'a str, size: Option<&'a Sym>) -> Self {
        TileLoop { v, outer, inner, size }
    }
}

impl Modifier for TileLoop<'_> {
    type Rewrite = LoopId;

    fn plan(&self, nest: &mut NestBuilder, step: DirectiveIndex) -> Result<Vec<LoopId>, Illegal> {
        let loops = nest.select(step, V, self.v)?;
        check_new_names(nest, step, [(OUTER, self.outer), (INNER, self.inner)])?;
        for id in &loops {
            check_reshapable(nest, step, *id)?;
            if let Some(size) = self.size {
                check_size(nest, step, *id, size)?;
            }
            check_depth(nest, step, *id)?;
        }
        check_growth(nest, step, loops[0], loops.len(), loops.len() * 2 * MAX_DEPTH)?;
        if let Some((extent, size)) = self.size.and_then(|size| beyond(nest, &loops, size)) {
            nest.remarks.add(step, loops[0], RemarkKind::TileBeyond(extent, size));
        }
        Ok(loops)
    }

    fn rewrite(&self, nest: &mut NestBuilder, step: DirectiveIndex, v: LoopId) -> Result<(), Illegal> {
        nest.indices.node_mut(v).tainted |= self.size.is_none();
        let source = nest.node(v).clone();
        let size = self.size.unwrap_or(&source.step);
        let scope = nest.scope_of_successors(v);
        let part = |name: &str, inner: bool| LoopNode {
            name: name.into(),
            number: None,
            scope,
            made_by: Some(step),
            annotations: Vec::new(),
            split_by_depth: None,
            lineage_path: source.lineage_path.iter().copied().chain([inner]).collect(),
            ..source.clone()
        };
        let outer = nest.add(LoopNode { step: size.clone(), ..part(self.outer, false) });
        let inner = nest.add(LoopNode { start: Sym::Int(0), stop: size.clone(), ..part(self.inner, true) });
        let parts: Loops = smallvec![outer, inner];
        nest.tree.replace(v, &[outer]);
        nest.tree.set_inside(outer, LoopBody::Seq(smallvec![inner]));
        nest.tree.move_body(v, inner);
        nest.constraints.replace(v, &parts);
        let is_sum = |sum: &super::SumConstraint| sum.loops == parts && sum.bound == source.stop;
        if !divides(&source, size) && !nest.constraints.of(outer).any(is_sum) {
            nest.constraints.add(parts.clone(), source.stop.clone());
        }
        nest.consume(v, step, parts);
        if let Some(kind) = remark_on_size(&source, size) {
            nest.remarks.add(step, inner, kind);
        }
        Ok(())
    }
}

/// Largest size of a tile. It is far beyond useful ones, and the ends of loops stay within 32 bits.
const LARGEST_TILE: i64 = 1 << 28;

/// Refuses a size out of range, and one off the loop's step, as far as they are known.
fn check_size(nest: &mut NestBuilder, step: DirectiveIndex, v: LoopId, size: &Sym) -> Result<(), Illegal> {
    let node = nest.node(v);
    let refuse = |problem| Err(Illegal::argument(step, SIZE, problem, vec![v]));
    let stride = if node.tainted { size.as_int() } else { node.step.as_int() };
    let obligation = match (size.as_int(), stride) {
        (Some(size), _) if !(1..=LARGEST_TILE).contains(&size) => {
            return refuse(Problem::TileSize { size, largest: LARGEST_TILE });
        }
        (Some(size), Some(stride)) if size % stride != 0 => {
            return refuse(Problem::TileOffStep { size, stride });
        }
        (Some(_), Some(_)) => return Ok(()),
        _ if *size == node.step => return Ok(()),
        (Some(_), None) => Obligation::TileOnStep { size: size.clone(), step: node.step.clone() },
        (None, _) => {
            let stride = (stride != Some(1)).then(|| node.step.clone());
            Obligation::TileSize { size: size.clone(), step: stride }
        }
    };
    nest.remarks.add_unverified(step, v, obligation);
    Ok(())
}

/// Remark on a size that makes tiles of one iteration, or partial tiles.
fn remark_on_size(source: &LoopNode, size: &Sym) -> Option<RemarkKind> {
    if source.tainted {
        return None;
    }
    if *size == source.step {
        return Some(RemarkKind::TileOfOne);
    }
    let (extent, size) = (extent(source)?, size.as_int()?);
    (extent > size && extent % size != 0).then_some(RemarkKind::PartialTile(extent, size))
}

/// Extent of the largest of these loops and the size, if no tile of this size is ever full.
fn beyond(nest: &NestBuilder, loops: &[LoopId], size: &Sym) -> Option<(i64, i64)> {
    let size = size.as_int()?;
    let extents = loops.iter().map(|id| extent(nest.node(*id)).filter(|extent| (1..size).contains(extent)));
    let largest = extents.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
    Some((largest, size))
}

/// Whether `size` is known to divide the loop's extent.
fn divides(source: &LoopNode, size: &Sym) -> bool {
    let known = extent(source).zip(size.as_int());
    known.is_some_and(|(extent, size)| size >= 1 && extent % size == 0)
}

/// Distance between the bounds of a loop, if both are known.
fn extent(node: &LoopNode) -> Option<i64> {
    node.stop.as_int()?.checked_sub(node.start.as_int()?)
}
