//! Directives as typed operations on a builder, and as text.

use sched_nest::Layout;
use std::fmt;

use crate::directives::{Op, SIGNATURES, Signature};
use crate::illegal::Illegal;
use crate::lineage::{Annotation, DirectiveIndex, NestBuilder, Select, TileTrees};
use sched_nest::sym::Sym;

/// A directive with its arguments.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `tile(v, outer, inner, size)`
    Tile(Select, String, String, Sym),
    /// `split(v, first, second, at)`
    Split(Select, String, String, Sym),
    /// `splitByDepth(v)`
    SplitByDepth(Select),
    /// `reorder(v1, v2, ...)`
    Reorder(Vec<Select>),
    /// `specialize(v)`
    Specialize(Select),
    /// `unroll(v)`
    Unroll(Select),
    /// `sortTrees(depth)`
    SortTrees,
    /// A fact about a loop.
    State(Select, Annotation),
    /// `representation(name)`
    Layout(Layout),
    /// `tileTrees(n)`
    TileTrees(u32),
}

/// An argument as written, by what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A loop that exists.
    Loop(String),
    /// A name for a loop to be made; any other free name does as well.
    NewLoop(String),
    /// A number.
    Number(String),
    /// A word of the directive.
    Word(String),
}

impl Argument {
    /// As it stands in the text.
    pub fn text(&self) -> &str {
        match self {
            Argument::Loop(text)
            | Argument::NewLoop(text)
            | Argument::Number(text)
            | Argument::Word(text) => text,
        }
    }
}

impl Operation {
    /// Which directive it is.
    pub fn op(&self) -> Op {
        match self {
            Operation::Tile(..) => Op::Tile,
            Operation::Split(..) => Op::Split,
            Operation::SplitByDepth(_) => Op::SplitByDepth,
            Operation::Reorder(_) => Op::Reorder,
            Operation::Specialize(_) => Op::Specialize,
            Operation::Unroll(_) => Op::Unroll,
            Operation::SortTrees => Op::SortTrees,
            Operation::Layout(_) => Op::Representation,
            Operation::TileTrees(_) => Op::TileTrees,
            Operation::State(_, annotation) => annotation.op(),
        }
    }

    /// Whether it shapes the nest; others are facts about it.
    pub fn shapes(&self) -> bool {
        self.signature().is_some_and(|signature| signature.shapes)
    }

    /// How its directive is called, and what it does.
    pub fn signature(&self) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.op == self.op())
    }

    /// Its arguments in order.
    pub fn arguments(&self) -> Vec<Argument> {
        let v = |select: &Select| Argument::Loop(select.to_string());
        let new = |name: &String| Argument::NewLoop(name.clone());
        match self {
            Operation::Tile(select, outer, inner, n) | Operation::Split(select, outer, inner, n) => {
                vec![v(select), new(outer), new(inner), Argument::Number(n.to_string())]
            }
            Operation::SplitByDepth(select) | Operation::Specialize(select) | Operation::Unroll(select) => {
                vec![v(select)]
            }
            Operation::Reorder(list) => list.iter().map(v).collect(),
            Operation::SortTrees => vec![Argument::Word("depth".to_owned())],
            Operation::Layout(layout) => vec![Argument::Word(layout.word().to_owned())],
            Operation::TileTrees(n) => vec![Argument::Number(n.to_string())],
            Operation::State(select, annotation) => {
                std::iter::once(v(select)).chain(second(annotation)).collect()
            }
        }
    }

    /// The same with another number, if it has one and the fact that it states can have this one.
    pub fn with_number(self, number: &Sym) -> Option<Operation> {
        let small = || u32::try_from(number.as_int()?).ok();
        Some(match self {
            Operation::Tile(v, outer, inner, _) => Operation::Tile(v, outer, inner, number.clone()),
            Operation::Split(v, first, second, _) => Operation::Split(v, first, second, number.clone()),
            Operation::TileTrees(_) => Operation::TileTrees(small()?),
            Operation::State(v, annotation) => {
                annotation.limit()?;
                Operation::State(v, Annotation::of(annotation.op(), Some(small()?))?)
            }
            _ => return None,
        })
    }

    /// The same with other names for the loops that it makes.
    pub fn with_names(self, first: Option<String>, second: Option<String>) -> Operation {
        match self {
            Operation::Tile(v, a, b, size) => {
                Operation::Tile(v, first.unwrap_or(a), second.unwrap_or(b), size)
            }
            Operation::Split(v, a, b, at) => Operation::Split(v, first.unwrap_or(a), second.unwrap_or(b), at),
            other => other,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// What the builder refuses. A fact about several copies may then be stated of some of them.
    pub fn apply(&self, step: DirectiveIndex, builder: &mut NestBuilder) -> Result<(), Illegal> {
        match self {
            Operation::Tile(v, outer, inner, size) => builder.tile(step, v, outer, inner, size),
            Operation::Split(v, first, second, at) => builder.split(step, v, first, second, at),
            Operation::SplitByDepth(v) => builder.split_by_depth(step, v),
            Operation::Reorder(order) => builder.reorder(step, order),
            Operation::Specialize(v) => builder.specialize(step, v),
            Operation::Unroll(v) => builder.unroll(step, v),
            Operation::SortTrees => builder.sort_trees(step),
            Operation::Layout(layout) => builder.state_layout(step, *layout),
            Operation::TileTrees(nodes) => {
                builder.state_tile_trees(step, TileTrees { nodes: *nodes, by_probability: false })
            }
            Operation::State(v, annotation) => {
                let loops = builder.select(step, 0, v)?;
                loops.into_iter().try_for_each(|id| builder.state(step, id, *annotation))
            }
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments();
        let texts: Vec<&str> = arguments.iter().map(Argument::text).collect();
        write!(f, "{}({})", self.signature().map_or("", |signature| signature.name), texts.join(", "))
    }
}

/// What is written after the loop.
fn second(annotation: &Annotation) -> Option<Argument> {
    let number = annotation.number().map(|n| Argument::Number(n.to_string()));
    number.or_else(|| annotation.word().map(Argument::Word))
}
