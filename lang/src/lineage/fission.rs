//! Fission: a loop cut into parts that run one after the other, as by `split` and `splitByDepth`.

use std::sync::Arc;

use super::copies::BodyTemplate;
use super::{DirectiveIndex, LoopBody, LoopNode, Loops, NestBuilder, Qualifier, ScopeId};
use sched_nest::LoopId;
use sched_nest::sym::Sym;

/// One part of a loop that is being cut.
pub(crate) struct SplitPart {
    pub name: Arc<str>,
    pub number: Option<u32>,
    pub start: Sym,
    pub stop: Sym,
    pub run_depth: Option<u32>,
}

impl SplitPart {
    /// The part as a loop, of which `whole` is cut.
    fn node(&self, whole: &LoopNode, scope: ScopeId, step: DirectiveIndex) -> LoopNode {
        LoopNode {
            name: Arc::clone(&self.name),
            number: self.number,
            scope,
            start: self.start.clone(),
            stop: self.stop.clone(),
            made_by: Some(step),
            run_depth: self.run_depth,
            split_by_depth: self.number.map(|_| step),
            is_part: true,
            // Runs keep the annotations of the loop, halves do not.
            annotations: if self.number.is_some() { whole.annotations.clone() } else { Vec::new() },
            ..whole.clone()
        }
    }
}

/// Replaces `v` by parts that run one after the other, each around a copy of its body. The first part keeps
/// the existing loops.
pub(super) fn cut(nest: &mut NestBuilder, step: DirectiveIndex, v: LoopId, parts: &[SplitPart]) {
    let scope = nest.scope_of_successors(v);
    let template = BodyTemplate::of_loop(nest, v);
    // Copies first: qualifiers and replacements below change the originals.
    let mut ids = Loops::new();
    let mut bodies = vec![template.original()];
    for part in parts {
        let id = nest.add(part.node(nest.node(v), scope, step));
        if !ids.is_empty() {
            let body = template.copy(nest, id);
            nest.tree.set_inside(id, LoopBody::Seq(body.children.clone()));
            bodies.push(body);
        }
        ids.push(id);
    }
    nest.tree.replace(v, &ids);
    nest.constraints.replace(v, &ids[..1]);
    nest.tree.move_body(v, ids[0]);
    nest.consume(v, step, ids);
    for (body, part) in bodies.iter().zip(parts) {
        nest.qualify(&body.loops, &Qualifier { name: Arc::clone(&part.name), number: part.number });
    }
}
