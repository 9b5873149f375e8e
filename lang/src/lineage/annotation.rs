//! Annotations of loops, as one table. The enum and the common functions of all annotations derive from it.

use crate::directives::{self, DirectiveOp};
use crate::illegal::Problem;
use sched_nest::{Annotations, GpuDimension, Layout, Reduce};

/// Largest number of walks advanced together, and widest vector in lanes.
pub const MAX_LANES: u32 = 64;
/// Largest number of straight-line steps of a walk.
pub const MAX_STEPS: u32 = 1024;
/// Largest number of speculative levels of a tree.
const MAX_LEVELS: u32 = 8;

/// Walks that `interleave` advances together without a number.
const DEFAULT_INTERLEAVE: u32 = 8;
/// Lanes of a vector of `vectorize` without a number: the 32-bit floats of the widest supported registers.
const DEFAULT_LANES: u32 = 16;
/// Largest number of iterations of a loop that is interleaved completely without a number.
const MAX_COMPLETE_INTERLEAVE: i64 = 16;

/// Declares the annotations. A row has the [`DirectiveOp`] of its directive, the kind that decides its colour
/// in pictures, and its setter in the nest. A row with a number has its largest value and the proposed
/// values, the most likely one first. If the number is optional, the row computes the default from the number
/// of iterations.
macro_rules! annotations {
    (
        flags { $($(#[$flag_doc:meta])* $flag:ident $flag_kind:literal, $flag_set:expr;)* }
        numbers { $(
            $(#[$number_doc:meta])*
            $number:ident $number_kind:literal, $most:expr, $values:expr, $number_set:expr;
        )* }
        choices { $(
            $(#[$choice_doc:meta])*
            $choice:ident $choice_kind:literal, $limit:expr, $tries:expr, $chosen:expr, $choice_set:expr;
        )* }
        words { $(
            $(#[$word_doc:meta])*
            $word:ident($type:ty) $op:ident $word_kind:literal, $text:expr, $word_set:expr;
        )* }
    ) => {
        /// An annotation of one loop.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Annotation {
            $($(#[$flag_doc])* $flag,)*
            $($(#[$number_doc])* $number(u32),)*
            $($(#[$choice_doc])* $choice(Option<u32>),)*
            $($(#[$word_doc])* $word($type),)*
        }

        impl Annotation {
            /// The directive of the annotation.
            pub fn op(&self) -> DirectiveOp {
                match self {
                    $(Annotation::$flag => DirectiveOp::$flag,)*
                    $(Annotation::$number(_) => DirectiveOp::$number,)*
                    $(Annotation::$choice(_) => DirectiveOp::$choice,)*
                    $(Annotation::$word(_) => DirectiveOp::$op,)*
                }
            }

            /// The kind of the annotation, which decides its colour in pictures.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Annotation::$flag => $flag_kind,)*
                    $(Annotation::$number(_) => $number_kind,)*
                    $(Annotation::$choice(_) => $choice_kind,)*
                    $(Annotation::$word(_) => $word_kind,)*
                }
            }

            /// The number of the annotation, if it has one.
            pub fn number(&self) -> Option<u32> {
                match self {
                    $(Annotation::$number(n) => Some(*n),)*
                    $(Annotation::$choice(n) => *n,)*
                    _ => None,
                }
            }

            /// The layout or GPU dimension of the annotation as a word, if it has one.
            pub fn word(&self) -> Option<String> {
                match self {
                    $(Annotation::$word(value) => Some($text(value)),)*
                    _ => None,
                }
            }

            /// The largest number of the annotation, if it can have a number.
            pub fn limit(&self) -> Option<u32> {
                match self {
                    $(Annotation::$number(_) => Some($most),)*
                    $(Annotation::$choice(_) => Some($limit),)*
                    _ => None,
                }
            }

            /// The annotation of a directive with this number, or without one. `None` if the directive needs
            /// a number that is not there, takes none, or needs a word.
            pub fn of(op: DirectiveOp, number: Option<u32>) -> Option<Annotation> {
                match (op, number) {
                    $((DirectiveOp::$flag, None) => Some(Annotation::$flag),)*
                    $((DirectiveOp::$number, Some(n)) => Some(Annotation::$number(n)),)*
                    $((DirectiveOp::$choice, n) => Some(Annotation::$choice(n)),)*
                    _ => None,
                }
            }

            /// Writes the annotation to the nest, for a loop with `trips` iterations.
            pub(super) fn export(&self, trips: impl Fn() -> Option<i64>, to: &mut Annotations) {
                match self {
                    $(Annotation::$flag => set(to, (), $flag_set),)*
                    $(Annotation::$number(n) => set(to, *n, $number_set),)*
                    $(Annotation::$choice(n) => set(to, n.unwrap_or_else(|| $chosen(trips())), $choice_set),)*
                    $(Annotation::$word(value) => set(to, *value, $word_set),)*
                }
            }

            /// Numbers to propose for a directive.
            pub fn proposals(op: DirectiveOp) -> &'static [u32] {
                match op {
                    $(DirectiveOp::$number => $values,)*
                    $(DirectiveOp::$choice => $tries,)*
                    _ => &[],
                }
            }
        }
    };
}

/// Infers the types of the table's setters.
fn set<T>(to: &mut Annotations, value: T, set: impl FnOnce(&mut Annotations, T)) {
    set(to, value);
}

/// Default of `interleave`: all walks of a small loop.
fn default_group(trips: Option<i64>) -> u32 {
    let small =
        trips.filter(|trips| *trips <= MAX_COMPLETE_INTERLEAVE).and_then(|trips| u32::try_from(trips).ok());
    small.unwrap_or(DEFAULT_INTERLEAVE).max(1)
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
        /// `unrollWalk` with its number of steps. `legal_next` proposes 1 to the greatest depth, at most 16.
        UnrollWalk "walk", MAX_STEPS, &[], |to, n| to.unroll_walk = Some(n);
        /// `peelWalk` with its number of steps. `legal_next` proposes as for `unrollWalk`.
        PeelWalk "walk", MAX_STEPS, &[], |to, n| to.peel_walk = Some(n);
        /// `speculateWalk` with this many levels.
        SpeculateWalk "walk", MAX_LEVELS, &[2, 3, 4, 1], |to, n| to.speculate_walk = Some(n);
        /// `vectorReduce` with this width.
        VectorReduce "reduce", MAX_LANES, &[8, 16, 4, 2], |to, n| to.reduce = Some(Reduce::Vector(n));
    }
    choices {
        /// `interleave` with this many walks; `None` lets the checker choose.
        Interleave "interleave", MAX_LANES, &[8, 4, 2, 16], default_group, |to, n| to.interleave = Some(n);
        /// `vectorize` with this many lanes; `None` lets the compiler choose.
        Vectorize "vector", MAX_LANES, &[8, 16, 32, 64, 4], |_| DEFAULT_LANES, |to, n| to.vectorize = Some(n);
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
    /// Text in pictures: the directive and its number, or its word. `number` is the default chosen by the
    /// checker.
    pub fn text(&self, number: Option<u32>) -> String {
        let name = directives::of(self.op()).map_or("", |signature| signature.name);
        match (self.word(), self.number().or(number)) {
            (Some(word), _) => word,
            (None, Some(number)) if self.limit().is_some() => format!("{name} {number}"),
            (None, _) => name.to_owned(),
        }
    }

    /// Whether both concern the same property of a loop.
    pub fn same_kind(&self, other: &Annotation) -> bool {
        let reduces = |s: &Annotation| {
            matches!(s, Annotation::AtomicReduce | Annotation::SharedReduce | Annotation::VectorReduce(_))
        };
        std::mem::discriminant(self) == std::mem::discriminant(other) || (reduces(self) && reduces(other))
    }

    /// Whether the two cannot hold for one loop.
    pub fn contradicts(&self, other: &Annotation) -> bool {
        // Exclusive ways of running iterations.
        let runs = |a: &Annotation| {
            matches!(a, Annotation::Parallel | Annotation::Unroll | Annotation::UnrollAndJam)
        };
        (self.same_kind(other) || (runs(self) && runs(other))) && self != other
    }

    /// Refuses a number that is out of range.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let (Some(value), Some(limit)) = (self.number(), self.limit()) else { return Ok(()) };
        if value < 1 {
            return Err(Problem::TooSmall { value: value.into() });
        }
        if matches!(self, Annotation::VectorReduce(_)) && !value.is_power_of_two() {
            return Err(Problem::NotPowerOfTwo { width: value.into() });
        }
        if value > limit {
            return Err(Problem::TooLarge { value: value.into(), limit: limit.into() });
        }
        Ok(())
    }
}
