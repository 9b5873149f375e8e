//! The table of index variables: name, range, lineage and annotations of each, in the nest or consumed.

use std::sync::Arc;

use sched_nest::sym::Sym;
use sched_nest::{Annotations, Axis, GpuDimension, GpuLevel, Layout, LoopId};

use super::scopes::ScopeId;
use super::tree::Loops;
use super::{Annotation, DirectiveIndex};
use crate::illegal::{Illegal, Problem};

/// An index variable: one copy of one name.
#[derive(Clone, Debug)]
pub struct LoopNode {
    /// Declared name.
    pub name: Arc<str>,
    /// Number among the copies of `splitByDepth`.
    pub number: Option<u32>,
    /// Scope of the loop: the copies that contain it.
    pub(crate) scope: ScopeId,
    /// Rows or trees.
    pub axis: Axis,
    /// First value.
    pub start: Sym,
    /// Exclusive end, before constraints.
    pub stop: Sym,
    /// Distance between values.
    pub step: Sym,
    /// Operation that made the loop; `None` for the roots.
    pub made_by: Option<DirectiveIndex>,
    /// Last operation that changed which loops are around this one, or around the loop from which it comes.
    pub(crate) moved_by: Option<DirectiveIndex>,
    /// Operation that replaced the loop by others; `None` while the loop is in the nest.
    pub consumed_by: Option<DirectiveIndex>,
    /// Loops that replaced this one.
    pub successors: Loops,
    /// Path in the lineage. Loops in lexicographic order of their paths add the trees in the model's order.
    pub lineage_path: Vec<bool>,
    /// Depth of the deepest tree of each iteration, if a `splitByDepth` made the loop or one that it comes
    /// from.
    pub run_depth: Option<u32>,
    /// The `splitByDepth` of which the loop is a run; `None` for tiles and halves of a run.
    pub split_by_depth: Option<DirectiveIndex>,
    /// Whether the loop is, or comes from, a part of a split loop.
    pub is_part: bool,
    /// The `specialize` that gave the loop's iterations separate bodies.
    pub specialized_by: Option<DirectiveIndex>,
    /// Annotations of the loop, with their operations.
    pub annotations: Vec<(Annotation, DirectiveIndex)>,
    /// Whether a refused operation named the loop. Further problems of its shape or range are consequences.
    pub(crate) tainted: bool,
}

impl LoopNode {
    /// The loop `0..stop` with which a nest starts.
    pub(super) fn root(name: &str, axis: Axis, stop: Sym) -> Self {
        LoopNode {
            name: name.into(),
            number: None,
            scope: ScopeId::default(),
            axis,
            start: Sym::Int(0),
            stop,
            step: Sym::Int(1),
            made_by: None,
            moved_by: None,
            consumed_by: None,
            successors: Loops::new(),
            lineage_path: Vec::new(),
            run_depth: None,
            split_by_depth: None,
            is_part: false,
            specialized_by: None,
            annotations: Vec::new(),
            tainted: false,
        }
    }

    /// Whether the loop is in the nest.
    pub fn is_live(&self) -> bool {
        self.consumed_by.is_none()
    }

    /// First value, exclusive end and distance between values, if all are known.
    pub(super) fn range(&self) -> Option<(i64, i64, i64)> {
        Some((self.start.as_int()?, self.stop.as_int()?, self.step.as_int()?))
    }

    /// Number of iterations by the loop's range, without constraints; `None` if a bound is unknown.
    pub fn trips(&self) -> Option<i64> {
        let (start, stop, step) = self.range()?;
        trips(start, stop, step)
    }

    /// The first annotation for which `test` has a value: this value and the directive.
    pub fn find<T>(&self, test: impl Fn(&Annotation) -> Option<T>) -> Option<(T, DirectiveIndex)> {
        self.annotations.iter().find_map(|(annotation, step)| test(annotation).map(|value| (value, *step)))
    }

    /// The directive of the first annotation for which `test` holds.
    pub fn directive_of(&self, test: impl Fn(&Annotation) -> bool) -> Option<DirectiveIndex> {
        self.find(|annotation| test(annotation).then_some(())).map(|((), step)| step)
    }

    /// The layout that annotates this loop, with the directive.
    pub fn layout(&self) -> Option<(Layout, DirectiveIndex)> {
        self.find(|annotation| match annotation {
            Annotation::Layout(layout) => Some(*layout),
            _ => None,
        })
    }

    /// The dimension of the GPU launch to which the loop is mapped, with the directive.
    pub fn gpu_dimension(&self) -> Option<(GpuDimension, DirectiveIndex)> {
        self.find(|annotation| match annotation {
            Annotation::Gpu(dimension) => Some(*dimension),
            _ => None,
        })
    }

    /// The level of that dimension.
    pub fn gpu_level(&self) -> Option<GpuLevel> {
        self.gpu_dimension().map(|(dimension, _)| dimension.level)
    }

    /// Annotations, with the checker's defaults.
    pub fn effective_annotations(&self) -> Annotations {
        let mut annotations = Annotations::default();
        for (annotation, _) in &self.annotations {
            annotation.export(|| self.trips(), &mut annotations);
        }
        annotations
    }
}

/// Number of iterations of `[start, stop)` by `step`; `None` if it does not fit.
fn trips(start: i64, stop: i64, step: i64) -> Option<i64> {
    if step < 1 {
        return None;
    }
    let extent = stop.checked_sub(start)?;
    if extent <= 0 { Some(0) } else { Some((extent - 1) / step + 1) }
}

/// All index variables in the order in which they were made. None is ever removed.
#[derive(Clone, Debug)]
pub struct IndexTable {
    nodes: Vec<LoopNode>,
}

impl IndexTable {
    /// An empty table with room for `indices` index variables.
    pub(super) fn with_room(indices: usize) -> Self {
        IndexTable { nodes: Vec::with_capacity(indices) }
    }

    /// The index variable with this id, in the nest or consumed; `None` if no operation has made it.
    pub fn get(&self, id: LoopId) -> Option<&LoopNode> {
        self.nodes.get(id.0 as usize)
    }

    /// The index variable with this id, which must exist.
    pub(super) fn node(&self, id: LoopId) -> &LoopNode {
        &self.nodes[id.0 as usize]
    }

    /// All index variables with their ids; the two roots come first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (LoopId, &LoopNode)> {
        self.nodes.iter().enumerate().map(|(at, node)| (LoopId(at as u32), node))
    }

    /// The index variable with this id, to be changed.
    pub(super) fn node_mut(&mut self, id: LoopId) -> &mut LoopNode {
        &mut self.nodes[id.0 as usize]
    }

    /// Adds an index variable. Its id is the number of those before it.
    pub(super) fn add(&mut self, node: LoopNode) {
        self.nodes.push(node);
    }

    /// Annotates a loop.
    ///
    /// # Errors
    /// If the loop has the annotation already, or one that contradicts it, or a number is out of range.
    pub(super) fn annotate(
        &mut self,
        step: DirectiveIndex,
        id: LoopId,
        annotation: Annotation,
    ) -> Result<(), Illegal> {
        annotation.check().map_err(|problem| Illegal::argument(step, 1, problem, vec![id]))?;
        let annotations = &mut self.node_mut(id).annotations;
        let refuse = |problem| Err(Illegal::at(step, problem, vec![id]));
        if let Some((_, earlier)) = annotations.iter().find(|(old, _)| old.contradicts(&annotation)) {
            return refuse(Problem::Contradiction { earlier: *earlier });
        }
        if let Some((_, earlier)) = annotations.iter().find(|(old, _)| *old == annotation) {
            return refuse(Problem::Repeated { earlier: *earlier });
        }
        annotations.push((annotation, step));
        Ok(())
    }

    /// Removes every annotation of an operation.
    pub(super) fn forget(&mut self, step: DirectiveIndex) {
        for node in &mut self.nodes {
            node.annotations.retain(|(_, by)| *by != step);
        }
    }
}
