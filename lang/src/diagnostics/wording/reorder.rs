//! Words for refused reorders.

use super::context::{MessageContext, Wording};
use crate::diagnostics::Fix;
use crate::legality::stage::order_problems;
use crate::lineage::{DirectiveIndex, LoopNode, LoopSelector, ReorderLoops};
use crate::operation::TRIED_OPERATION;
use crate::resolve::quoted_list;
use sched_nest::LoopId;

pub(super) fn few(context: &MessageContext) -> Wording {
    Wording::new("`reorder` needs at least two loops", "nothing to reorder")
        .help("Name the loops of a chain in the order you want, outermost first.")
        .fix(Some(context.remove(context.illegal.step)))
}

pub(super) fn twice(name: &str) -> Wording {
    Wording::new(format!("`{name}` is named twice"), "named before")
        .help("Name each loop once, outermost first.")
}

pub(super) fn no_path() -> Wording {
    Wording::new("these loops are not nested in each other", "not one chain").help(
        "`reorder` permutes loops of one chain. Reorder loops beside each other, such as the halves of a \
         split, one chain at a time.",
    )
}

pub(super) fn fork(context: &MessageContext, outer: &str, inside: &[String]) -> Wording {
    let message = format!("`{outer}` contains several loops, so it cannot change places with one of them");
    let contains = format!("`{outer}` contains {}.", quoted_list(inside));
    let remedy = LoopChain::of(context).map_or_else(Remedy::unknown, |chain| chain.remedy());
    Wording::new(message, "not perfectly nested")
        .help(format!("{contains} {}", remedy.sentence))
        .fix(remedy.fix)
}

pub(super) fn gap(context: &MessageContext, outer: &str, inner: &str, between: &[String]) -> Wording {
    let names = quoted_list(between);
    let verb = if between.len() == 1 { "is" } else { "are" };
    let wording = Wording::new(format!("{names} {verb} between `{outer}` and `{inner}`"), "not contiguous");
    let Some(chain) = LoopChain::of(context) else { return wording.help(format!("Name {names} too.")) };
    if chain.forks().next().is_some() {
        let remedy = chain.remedy();
        return wording.help(format!("Name {names} too. {}", remedy.sentence)).fix(remedy.fix);
    }
    match chain.legal_whole_order() {
        Some(order) => {
            let line = reorder_of(&order);
            wording.help(format!("Name {names} too, for example: `{line}`.")).fix(Some(context.rewrite(line)))
        }
        None => wording.help(format!("Name {names} too.")),
    }
}

/// Advice about a refused reorder.
struct Remedy {
    sentence: String,
    fix: Option<Fix>,
}

impl Remedy {
    fn unknown() -> Remedy {
        let sentence = "Reorder the loops above the directive that copies them, not here.".to_owned();
        Remedy { sentence, fix: None }
    }
}

/// The loops of a refused reorder with those between them, from the outermost one inwards.
struct LoopChain<'c> {
    context: &'c MessageContext<'c>,
    loops: Vec<LoopId>,
}

impl<'c> LoopChain<'c> {
    fn of(context: &'c MessageContext<'c>) -> Option<Self> {
        let (first, last) = (context.illegal.loops.first()?, context.illegal.loops.last()?);
        let path = context.builder.tree().path(*last);
        let loops = path.get(path.iter().position(|id| id == first)?..)?.to_vec();
        Some(LoopChain { context, loops })
    }

    fn node(&self, id: LoopId) -> &LoopNode {
        self.context.builder.node(id)
    }

    /// The loops of the chain beside which the loop around them contains others.
    fn forks(&self) -> impl Iterator<Item = LoopId> {
        let is_fork = |pair: &&[LoopId]| self.context.builder.tree().inside(pair[0]).only().is_none();
        self.loops.windows(2).filter(is_fork).map(|pair| pair[1])
    }

    /// The arguments as written.
    fn written(&self) -> Vec<String> {
        let texts = self.context.report.argument_texts(self.context.illegal.step);
        texts.into_iter().map(str::to_owned).collect()
    }

    /// The arguments as written, then the other loops of the chain, which become the innermost ones.
    fn whole_order(&self) -> Vec<String> {
        let between = self.loops.iter().filter(|id| !self.context.illegal.loops.contains(id));
        let between = between.map(|id| self.context.builder.name(*id));
        self.written().into_iter().chain(between).collect()
    }

    /// All loops of the chain: as written, with the others innermost or outermost. `None` if a rule of the
    /// stage refuses both orders.
    fn legal_whole_order(&self) -> Option<Vec<String>> {
        let mut outermost = self.whole_order();
        outermost.rotate_left(self.written().len());
        let orders = [self.whole_order(), outermost];
        orders.into_iter().find(|order| self.is_legal(order))
    }

    /// Whether the stage of the nest permits an order. The nest of trees permits all.
    fn is_legal(&self, order: &[String]) -> bool {
        let Some(stage) = self.context.builder.stage() else { return true };
        let selects: Option<Vec<LoopSelector>> = order.iter().map(|name| LoopSelector::parse(name)).collect();
        let mut nest = self.context.builder.clone();
        let is_ordered =
            selects.is_some_and(|order| nest.modify(TRIED_OPERATION, &ReorderLoops::new(&order)).is_ok());
        is_ordered && order_problems(&nest, stage).is_empty()
    }

    /// Advice for a chain with a fork. Without the fork the reorder may be legal.
    fn remedy(&self) -> Remedy {
        let context = self.context;
        if self.is_in_order() {
            let sentence = "Remove this line: the loops have this order already.".to_owned();
            return Remedy { sentence, fix: Some(context.remove(context.illegal.step)) };
        }
        let Some((line, by)) = self.reorder_before_split() else { return Remedy::unknown() };
        let (number, split) = (context.report.line(by), context.quote(by));
        let sentence = format!(
            "In place of this line, write `{line}` above line {number}, before {split} makes copies."
        );
        Remedy { sentence, fix: Some(context.move_before(by, &line)) }
    }

    /// Whether the written order is that of the chain.
    fn is_in_order(&self) -> bool {
        let written = self.written();
        let is_named = |(id, text): (&LoopId, &String)| base_name(text) == &*self.node(*id).name;
        written.len() == self.loops.len() && self.loops.iter().zip(&written).all(is_named)
    }

    /// The reorder with the whole loop in place of a part, and the split above which it is legal. There is
    /// none if the chain has other forks, or if it had other loops or another order above the split.
    fn reorder_before_split(&self) -> Option<(String, DirectiveIndex)> {
        let mut forks = self.forks();
        let (part, None) = (forks.next()?, forks.next()) else { return None };
        let (whole, by) = self.whole(part)?;
        let is_older = |id: &LoopId| *id == part || self.node(*id).made_by.is_none_or(|made| made < by);
        let mut later = (by.0 + 1..self.context.illegal.step.0).map(DirectiveIndex);
        let is_reordered = later.any(|step| self.context.report.directive_name(step) == "reorder");
        if is_reordered || !self.loops.iter().all(is_older) {
            return None;
        }
        let part_name = &*self.node(part).name;
        // Copies inside the part have its name as a qualifier.
        let before = |text: &String| {
            let mut names: Vec<&str> = text.split('.').collect();
            let own = names.pop().map(|own| if base_name(own) == part_name { whole.as_str() } else { own });
            let outer = names.into_iter().filter(|name| base_name(name) != part_name);
            outer.chain(own).collect::<Vec<&str>>().join(".")
        };
        let order: Vec<String> = self.whole_order().iter().map(before).collect();
        Some((reorder_of(&order), by))
    }

    /// The loop that a directive cut into `part` and others, and this directive.
    fn whole(&self, part: LoopId) -> Option<(String, DirectiveIndex)> {
        let by = self.node(part).made_by?;
        let is_whole = |node: &&LoopNode| node.consumed_by == Some(by) && node.successors.contains(&part);
        let node = self.context.builder.indices().iter().map(|(_, node)| node).find(is_whole)?;
        Some((node.name.to_string(), by))
    }
}

/// The text of a reorder.
fn reorder_of(order: &[String]) -> String {
    format!("reorder({})", order.join(", "))
}

/// The declared name in the written name of a copy, such as `b1` in `first.b1` and `run` in `run[2]`.
fn base_name(path: &str) -> &str {
    let own = path.rsplit('.').next().unwrap_or(path);
    own.split('[').next().unwrap_or(own)
}
