//! Annotations about loops: one table, from which the enum and all that is said of every fact alike follow.

use crate::directives::{self, Op};
use sched_nest::{Annotations, GpuDimension, Layout, Reduce};

/// Most walks advanced together, and widest vector.
const MAX_LANES: u32 = 64;
/// Most steps of a walk that are written out.
pub const MAX_STEPS: u32 = 1024;
/// Most levels of a tree that are evaluated speculatively.
const MAX_LEVELS: u32 = 8;

/// Walks that `interleave` advances together when the schedule names no number.
const INTERLEAVE: u32 = 8;
/// Lanes of a vector when `vectorize` names no number: 32-bit floats in the widest registers there are.
const LANES: u32 = 16;
/// Loops that iterate no more often than this are interleaved completely when the schedule names no number.
const SMALL: i64 = 16;

/// Declares the facts. Each has the name of its directive's [`Op`], the kind that pictures colour it by, and what it is in
/// the nest. Those with a number have its largest value and the values that are proposed, the most likely one first; those
/// whose number may be left out say which one it is then, for a loop with so many iterations.
macro_rules! annotations {
    (
        flags { $($(#[$flag_doc:meta])* $flag:ident $flag_kind:literal, $flag_set:expr;)* }
        numbers { $($(#[$number_doc:meta])* $number:ident $number_kind:literal, $most:expr, $values:expr, $number_set:expr;)* }
        choices { $(
            $(#[$choice_doc:meta])*
            $choice:ident $choice_kind:literal, $limit:expr, $tries:expr, $chosen:expr, $choice_set:expr;
        )* }
        words { $($(#[$word_doc:meta])* $word:ident($type:ty) $op:ident $word_kind:literal, $text:expr, $word_set:expr;)* }
    ) => {
        /// A fact about one loop.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Annotation {
            $($(#[$flag_doc])* $flag,)*
            $($(#[$number_doc])* $number(u32),)*
            $($(#[$choice_doc])* $choice(Option<u32>),)*
            $($(#[$word_doc])* $word($type),)*
        }

        impl Annotation {
            /// The directive that states it.
            pub fn op(&self) -> Op {
                match self {
                    $(Annotation::$flag => Op::$flag,)*
                    $(Annotation::$number(_) => Op::$number,)*
                    $(Annotation::$choice(_) => Op::$choice,)*
                    $(Annotation::$word(_) => Op::$op,)*
                }
            }

            /// What pictures colour it by.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Annotation::$flag => $flag_kind,)*
                    $(Annotation::$number(_) => $number_kind,)*
                    $(Annotation::$choice(_) => $choice_kind,)*
                    $(Annotation::$word(_) => $word_kind,)*
                }
            }

            /// Its number, if one is given.
            pub fn number(&self) -> Option<u32> {
                match self {
                    $(Annotation::$number(n) => Some(*n),)*
                    $(Annotation::$choice(n) => *n,)*
                    _ => None,
                }
            }

            /// Its word, if it has one.
            pub fn word(&self) -> Option<String> {
                match self {
                    $(Annotation::$word(value) => Some($text(value)),)*
                    _ => None,
                }
            }

            /// The largest number that it can have, if it can have one.
            pub fn limit(&self) -> Option<u32> {
                match self {
                    $(Annotation::$number(_) => Some($most),)*
                    $(Annotation::$choice(_) => Some($limit),)*
                    _ => None,
                }
            }

            /// The fact that a directive states with this number, or without one; none if it needs the other, or a word.
            pub fn of(op: Op, number: Option<u32>) -> Option<Annotation> {
                match (op, number) {
                    $((Op::$flag, None) => Some(Annotation::$flag),)*
                    $((Op::$number, Some(n)) => Some(Annotation::$number(n)),)*
                    $((Op::$choice, n) => Some(Annotation::$choice(n)),)*
                    _ => None,
                }
            }

            /// Says it in the nest, of a loop with so many iterations.
            pub(super) fn export(&self, trips: impl Fn() -> Option<i64>, to: &mut Annotations) {
                match self {
                    $(Annotation::$flag => set(to, (), $flag_set),)*
                    $(Annotation::$number(n) => set(to, *n, $number_set),)*
                    $(Annotation::$choice(n) => set(to, n.unwrap_or_else(|| $chosen(trips())), $choice_set),)*
                    $(Annotation::$word(value) => set(to, *value, $word_set),)*
                }
            }

            /// Numbers worth trying for a directive.
            pub fn proposals(op: Op) -> &'static [u32] {
                match op {
                    $(Op::$number => $values,)*
                    $(Op::$choice => $tries,)*
                    _ => &[],
                }
            }
        }
    };
}

/// Gives the setters of the table their types.
fn set<T>(to: &mut Annotations, value: T, set: impl FnOnce(&mut Annotations, T)) {
    set(to, value);
}

/// Walks that advance together where the schedule names no number: all of a small loop.
fn interleaved(trips: Option<i64>) -> u32 {
    let small = trips.filter(|trips| *trips <= SMALL).and_then(|trips| u32::try_from(trips).ok());
    small.unwrap_or(INTERLEAVE).max(1)
}

annotations! {
    flags {
        /// `parallel`
        Parallel "parallel", |to, ()| to.parallel = true;
        /// `unroll`
        Unroll "unroll", |to, ()| to.unroll = true;
        /// `unrollAndJam`
        UnrollAndJam "interleave", |to, ()| to.unroll_and_jam = true;
        /// `cache`
        Cache "cache", |to, ()| to.cache = true;
        /// `atomicReduce`
        AtomicReduce "reduce", |to, ()| to.reduce = Some(Reduce::Atomic);
        /// `sharedReduce`
        SharedReduce "reduce", |to, ()| to.reduce = Some(Reduce::Shared);
    }
    numbers {
        /// `unrollWalk` with this depth. Depths of the model are proposed.
        UnrollWalk "walk", MAX_STEPS, &[], |to, n| to.unroll_walk = Some(n);
        /// `peelWalk` with this many steps. Depths of the model are proposed.
        PeelWalk "walk", MAX_STEPS, &[], |to, n| to.peel_walk = Some(n);
        /// `speculateWalk` with this many levels.
        SpeculateWalk "walk", MAX_LEVELS, &[2, 3, 4, 1], |to, n| to.speculate_walk = Some(n);
        /// `vectorReduce` with this width.
        VectorReduce "reduce", MAX_LANES, &[8, 16, 4, 2], |to, n| to.reduce = Some(Reduce::Vector(n));
    }
    choices {
        /// `interleave` with this many walks; `None` lets the checker choose.
        Interleave "interleave", MAX_LANES, &[8, 4, 2, 16], interleaved, |to, n| to.interleave = Some(n);
        /// `vectorize` with this many lanes; `None` lets the compiler choose.
        Vectorize "vector", MAX_LANES, &[8, 16, 32, 64, 4], |_| LANES, |to, n| to.vectorize = Some(n);
    }
    words {
        /// `representation`
        Layout(Layout) Representation "representation", |layout: &Layout| layout.word().to_owned(),
            |to, layout| to.representation = Some(layout);
        /// `gpuDimension`
        Gpu(GpuDimension) GpuDimension "gpu", |dimension: &GpuDimension| dimension.to_string(),
            |to, dimension| to.gpu_dimension = Some(dimension);
    }
}

impl Annotation {
    /// As pictures show it: the directive and its number, or its word. `number` stands for the one that the schedule leaves
    /// to the checker.
    pub fn text(&self, number: Option<u32>) -> String {
        let name = directives::of(self.op()).map_or("", |signature| signature.name);
        match (self.word(), self.number().or(number)) {
            (Some(word), _) => word,
            (None, Some(number)) if self.limit().is_some() => format!("{name} {number}"),
            (None, _) => name.to_owned(),
        }
    }

    /// Whether both say something about the same property of a loop.
    pub fn same_kind(&self, other: &Annotation) -> bool {
        let reduces = |s: &Annotation| {
            matches!(s, Annotation::AtomicReduce | Annotation::SharedReduce | Annotation::VectorReduce(_))
        };
        std::mem::discriminant(self) == std::mem::discriminant(other) || (reduces(self) && reduces(other))
    }

    /// Whether the two cannot hold for one loop.
    pub fn contradicts(&self, other: &Annotation) -> bool {
        // Iterations run in one of these ways.
        let runs = |a: &Annotation| {
            matches!(a, Annotation::Parallel | Annotation::Unroll | Annotation::UnrollAndJam)
        };
        (self.same_kind(other) || (runs(self) && runs(other))) && self != other
    }
}
