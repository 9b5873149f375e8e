//! Directives as typed operations on a builder, and as text.

use std::fmt;
use std::slice::Iter;

use crate::directives::{DirectiveOp, SIGNATURES, Signature, directives};
use crate::illegal::Illegal;
use crate::lineage::{
    Annotation, DirectiveIndex, LoopSelector, NestBuilder, ReorderLoops, SortTrees, SpecializeLoop,
    SplitLoop, SplitLoopByDepth, TileLoop, TileTrees, UnrollLoop,
};
use crate::resolve::Arg;
use sched_nest::Layout;
use sched_nest::sym::Sym;

/// Directive index of an operation that is tried out.
pub(crate) const TRIED_OPERATION: DirectiveIndex = DirectiveIndex(u32::MAX);

/// An argument as written, with its kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An existing loop.
    Loop(String),
    /// A name for a new loop. Any other free name works too.
    NewLoop(String),
    /// A number.
    Number(String),
    /// A keyword of the directive.
    Word(String),
}

impl Argument {
    /// Text of the argument.
    pub fn text(&self) -> &str {
        match self {
            Argument::Loop(text)
            | Argument::NewLoop(text)
            | Argument::Number(text)
            | Argument::Word(text) => text,
        }
    }
}

/// Value of an argument, or of several loops.
trait ArgumentValue: Sized {
    /// Parses the value from the next of the remaining arguments.
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self>;

    /// Appends the value, as the arguments of a directive.
    fn push_arguments(&self, into: &mut Vec<Argument>);

    /// Loops, if any.
    fn loops(&self) -> &[LoopSelector] {
        &[]
    }

    /// Number, if any.
    fn number(&mut self) -> Option<&mut Sym> {
        None
    }

    /// Name of a new loop, if any.
    fn new_name(&mut self) -> Option<&mut String> {
        None
    }
}

impl ArgumentValue for LoopSelector {
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self> {
        match args.next()? {
            Arg::Index(select) => Some(select.clone()),
            _ => None,
        }
    }

    fn push_arguments(&self, into: &mut Vec<Argument>) {
        into.push(Argument::Loop(self.to_string()));
    }

    fn loops(&self) -> &[LoopSelector] {
        std::slice::from_ref(self)
    }
}

impl ArgumentValue for Vec<LoopSelector> {
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self> {
        let mut all = vec![LoopSelector::take(args)?];
        while !args.as_slice().is_empty() {
            all.push(LoopSelector::take(args)?);
        }
        Some(all)
    }

    fn push_arguments(&self, into: &mut Vec<Argument>) {
        self.iter().for_each(|select| select.push_arguments(into));
    }

    fn loops(&self) -> &[LoopSelector] {
        self
    }
}

impl ArgumentValue for String {
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self> {
        match args.next()? {
            Arg::New(name) => Some(name.clone()),
            _ => None,
        }
    }

    fn push_arguments(&self, into: &mut Vec<Argument>) {
        into.push(Argument::NewLoop(self.clone()));
    }

    fn new_name(&mut self) -> Option<&mut String> {
        Some(self)
    }
}

impl ArgumentValue for Sym {
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self> {
        match args.next()? {
            Arg::Number(sym) => Some(sym.clone()),
            _ => None,
        }
    }

    fn push_arguments(&self, into: &mut Vec<Argument>) {
        into.push(Argument::Number(self.to_string()));
    }

    fn number(&mut self) -> Option<&mut Sym> {
        Some(self)
    }
}

impl ArgumentValue for &'static str {
    fn take(args: &mut Iter<'_, Arg>) -> Option<Self> {
        match args.next()? {
            Arg::Word(word) => Some(word),
            _ => None,
        }
    }

    fn push_arguments(&self, into: &mut Vec<Argument>) {
        into.push(Argument::Word((*self).to_owned()));
    }
}

macro_rules! held {
    (Index) => { LoopSelector };
    (Indices) => { Vec<LoopSelector> };
    (NewIndex) => { String };
    (Number) => { Sym };
    (Keyword) => { &'static str };
}

macro_rules! operations {
    (
        modifiers { $(
            $shape:ident $shape_name:literal { $($part:ident: $role:ident $(($words:expr))?),* }
            $summary:literal |$builder:ident, $step:ident| $apply:expr;
        )* }
        annotations $annotations:tt
    ) => {
        /// A directive with its arguments.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Operation {
            $(#[doc = $summary] $shape($(held!($role)),*),)*
            /// An annotation of a loop.
            Annotate(LoopSelector, Annotation),
            /// `representation(name)`
            Layout(Layout),
            /// `tileTrees(n)`
            TileTrees(u32),
        }

        impl Operation {
            /// The directive.
            pub fn op(&self) -> DirectiveOp {
                match self {
                    $(Operation::$shape(..) => DirectiveOp::$shape,)*
                    Operation::Layout(_) => DirectiveOp::Representation,
                    Operation::TileTrees(_) => DirectiveOp::TileTrees,
                    Operation::Annotate(_, annotation) => annotation.op(),
                }
            }

            /// The modifier `op` with these arguments, if they have the right number and kinds.
            pub(crate) fn modifier(op: DirectiveOp, args: &[Arg]) -> Option<Operation> {
                let mut args = args.iter();
                let operation = match op {
                    $(DirectiveOp::$shape => {
                        Operation::$shape($(<held!($role) as ArgumentValue>::take(&mut args)?),*)
                    })*
                    _ => return None,
                };
                args.as_slice().is_empty().then_some(operation)
            }

            /// Arguments in order.
            pub fn arguments(&self) -> Vec<Argument> {
                let mut all = Vec::new();
                match self {
                    $(Operation::$shape($($part),*) => { $($part.push_arguments(&mut all);)* })*
                    Operation::Layout(layout) => all.push(Argument::Word(layout.word().to_owned())),
                    Operation::TileTrees(n) => all.push(Argument::Number(n.to_string())),
                    Operation::Annotate(select, annotation) => {
                        select.push_arguments(&mut all);
                        all.extend(second(annotation));
                    }
                }
                all
            }

            /// Loops of the operation, as written.
            pub fn loops(&self) -> &[LoopSelector] {
                match self {
                    $(Operation::$shape($($part),*) => {
                        [$($part.loops()),*].into_iter().find(|loops| !loops.is_empty()).unwrap_or_default()
                    })*
                    Operation::Layout(_) | Operation::TileTrees(_) => &[],
                    Operation::Annotate(select, _) => select.loops(),
                }
            }

            /// Number of a modifier.
            fn number_mut(&mut self) -> Option<&mut Sym> {
                match self {
                    $(Operation::$shape($($part),*) => [$($part.number()),*].into_iter().flatten().next(),)*
                    _ => None,
                }
            }

            /// Names of new loops.
            fn new_names_mut(&mut self) -> Vec<&mut String> {
                match self {
                    $(Operation::$shape($($part),*) => {
                        [$($part.new_name()),*].into_iter().flatten().collect()
                    })*
                    _ => Vec::new(),
                }
            }

            /// Applies the operation.
            ///
            /// # Errors
            /// The builder's refusal. An annotation of several copies may then be on some of them.
            #[expect(unused_variables, reason = "there is one key to sort trees by")]
            pub fn apply(&self, step: DirectiveIndex, builder: &mut NestBuilder) -> Result<(), Illegal> {
                match self {
                    $(Operation::$shape($($part),*) => {
                        let ($builder, $step) = (builder, step);
                        $apply
                    })*
                    Operation::Layout(layout) => builder.forest_mut().set_layout(step, *layout),
                    Operation::TileTrees(nodes) => {
                        let tiles = TileTrees { nodes: *nodes, by_probability: false };
                        builder.forest_mut().set_tile_trees(step, tiles)
                    }
                    Operation::Annotate(v, annotation) => {
                        let loops = builder.select(step, 0, v)?;
                        loops.into_iter().try_for_each(|id| builder.annotate(step, id, *annotation))
                    }
                }
            }
        }
    };
}

directives!(operations);

impl Operation {
    /// Whether the operation is a modifier. Others are annotations.
    pub fn is_modifier(&self) -> bool {
        self.signature().is_some_and(|signature| signature.is_modifier)
    }

    /// Signature of the directive.
    pub fn signature(&self) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.op == self.op())
    }

    /// The operation with another number, if it has one and its annotation allows this one.
    pub fn with_number(mut self, number: &Sym) -> Option<Operation> {
        let small = || u32::try_from(number.as_int()?).ok();
        match &mut self {
            Operation::TileTrees(nodes) => *nodes = small()?,
            Operation::Annotate(_, annotation) => {
                annotation.limit()?;
                *annotation = Annotation::of(annotation.op(), Some(small()?))?;
            }
            shape => *shape.number_mut()? = number.clone(),
        }
        Some(self)
    }

    /// The operation with other names for the loops that it makes; `None` keeps a name.
    pub fn with_names(mut self, names: [Option<String>; 2]) -> Operation {
        for (old, new) in self.new_names_mut().into_iter().zip(names) {
            if let Some(new) = new {
                *old = new;
            }
        }
        self
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arguments = self.arguments();
        let texts: Vec<&str> = arguments.iter().map(Argument::text).collect();
        write!(f, "{}({})", self.signature().map_or("", |signature| signature.name), texts.join(", "))
    }
}

/// Argument after the loop.
fn second(annotation: &Annotation) -> Option<Argument> {
    let number = annotation.number().map(|n| Argument::Number(n.to_string()));
    number.or_else(|| annotation.word().map(Argument::Word))
}
