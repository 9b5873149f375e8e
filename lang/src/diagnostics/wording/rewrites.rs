//! Fixes that write other directives, or move the directive.

use super::context::MessageContext;
use crate::diagnostics::{Applicability, Edit, Fix};
use crate::lineage::DirectiveIndex;
use sched_nest::Axis;

impl MessageContext<'_> {
    /// A fix that writes `text` in place of the whole directive.
    pub(super) fn rewrite(&self, text: String) -> Fix {
        let span = self.report.place(self.illegal.step, None);
        let title = format!("write `{}`", text.replace('\n', "; "));
        Fix { title, edits: vec![Edit { span, text }], applicability: Applicability::Unsure }
    }

    /// A fix that moves the directive, as `text`, before an earlier one.
    pub(super) fn move_before(&self, earlier: DirectiveIndex, text: &str) -> Fix {
        let here = self.report.place(self.illegal.step, None);
        let mut fix = self.insert_before(earlier, text);
        fix.title = format!("write `{text}` before {}", self.quote(earlier));
        fix.edits.push(Edit { span: here, text: String::new() });
        fix
    }

    /// A fix that moves the directive to behind a later one.
    pub(super) fn move_after(&self, later: DirectiveIndex) -> Fix {
        let here = self.report.place(self.illegal.step, None);
        let end = self.report.place(later, None).end;
        let text = self.report.argument_text(self.illegal.step, None);
        let edits = vec![
            Edit { span: here, text: String::new() },
            Edit { span: sched_grammar::ast::Span { start: end, end }, text: format!("\n{text}") },
        ];
        let title = format!("move this directive below {}", self.quote(later));
        Fix { title, edits, applicability: Applicability::Unsure }
    }

    /// Two unused names for the loops of a tile: a letter and adjacent numbers.
    pub(super) fn free_names(&self, letter: char) -> Option<(String, String)> {
        let is_free =
            |name: &String| !self.builder.names().is_declared(name) && !self.report.is_declared(name);
        let mut pairs = (0..1000).map(|n| (format!("{letter}{n}"), format!("{letter}{}", n + 1)));
        pairs.find(|(a, b)| is_free(a) && is_free(b))
    }

    /// A fix that tiles the first loop and expands only the inner loop of the tile.
    pub(super) fn expand_a_tile(&self) -> Option<Fix> {
        let id = *self.illegal.loops.first()?;
        let node = self.builder.node(id);
        let letter = match node.axis {
            Axis::Row => 'b',
            Axis::Tree => 't',
            Axis::Unit => 'u',
            Axis::Feature => 'f',
        };
        let (outer, inner) = self.free_names(letter)?;
        let size = node.step.as_int()?.checked_mul(4)?;
        let (v, directive) = (self.builder.name(id), self.directive());
        let chosen = self.builder.with_stage(&inner);
        Some(self.rewrite(format!("tile({v}, {outer}, {inner}, {size})\n{directive}({chosen})")))
    }

    /// The `reorder` that makes the loop of the operation a leaf loop, if the loops inside it are a chain.
    pub(super) fn innermost_by_reorder(&self) -> Option<String> {
        let &[first] = self.illegal.loops.as_slice() else { return None };
        let mut chain = Vec::new();
        let mut at = first;
        while let Some(inner) = self.builder.tree().inside(at).only() {
            chain.push(self.builder.name(inner));
            at = inner;
        }
        let reorder = format!("reorder({}, {})", chain.join(", "), self.builder.name(first));
        (!chain.is_empty() && self.builder.tree().inside(at).is_leaf()).then_some(reorder)
    }

    /// Returns the directive that specialized the first loop of the illegal operation, or a loop inside it.
    pub(super) fn specialized_inside(&self) -> Option<DirectiveIndex> {
        let first = *self.illegal.loops.first()?;
        self.builder.tree().subtree(first).into_iter().find_map(|id| self.builder.node(id).specialized_by)
    }
}
