//! The table of outputs: what a call can compute for each row. An output is a row here and a file in
//! `forest/src/definitions`. `tests/main.rs` writes the list of these files, and the lists of C, Python and
//! the documents, from the table.

/// Element type of an output. Some depend on the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// The model's type of results.
    Result,
    /// The type in which the model adds leaves.
    Sum,
    /// A class number from 0 on, as an `f32`.
    Class,
    /// A leaf index, an `i32`.
    Leaf,
}

impl Element {
    /// Whether elements are whole numbers, which are equal or differ.
    pub fn is_whole(self) -> bool {
        matches!(self, Element::Class | Element::Leaf)
    }
}

/// Kernels that an output needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Margins alone, which the kernel of [`OutputKind::Raw`] computes.
    Margins,
    /// Margins, and the output's own kernel, which turns them into results. In a model without that kernel,
    /// the margins are the results.
    Finish,
    /// Margins, and the output's own kernel, which turns them into results. A model without that kernel lacks
    /// the output.
    FinishOrNone,
    /// The output's own kernel, which walks the trees. A model without that kernel lacks the output. Base
    /// margins have no effect.
    Walk,
}

/// Counts of a model that decide how many columns its outputs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutputCounts {
    /// Number of values of a prediction.
    pub values: usize,
    /// Number of margins of a row.
    pub margins: usize,
    /// Number of class numbers per row; 0 if the model predicts no classes.
    pub classes: usize,
    /// Number of trees.
    pub trees: usize,
    /// Number of trees if each adds one value; 0 if leaves hold vectors.
    pub tree_values: usize,
}

/// A function of the number of an output as a constant, for code that is compiled for each output.
pub trait OutputVisitor {
    /// Result of the function.
    type Result;
    /// Computes the result for the output with this number.
    fn visit<const NUMBER: usize>(self) -> Self::Result;
}

/// Declares [`OutputKind`] with a row for each output. The columns of the table come first, each with the
/// comment of its method.
macro_rules! outputs {
    (
        { $($(#[$meaning:meta])* $column:ident: $ty:ty,)* }
        $($(#[$attribute:meta])* $kind:ident = $number:literal { $($field:ident: $value:expr,)* })*
    ) => {
        /// An output: what a call computes for each row. The numbers are those of the C interface.
        #[repr(i32)]
        #[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum OutputKind {
            $($(#[$attribute])* $kind = $number,)*
        }

        /// A row of the table.
        struct OutputRow {
            $($column: $ty,)*
        }

        impl OutputKind {
            /// All outputs, in the order of their numbers.
            pub const ALL: [OutputKind; [$($number),*].len()] = [$(OutputKind::$kind),*];

            const fn row(self) -> &'static OutputRow {
                match self { $(OutputKind::$kind => const { &OutputRow { $($field: $value,)* } },)* }
            }

            /// Calls the visitor with the number of the output as a constant.
            pub fn accept<V: OutputVisitor>(self, visitor: V) -> V::Result {
                match self { $(OutputKind::$kind => visitor.visit::<$number>(),)* }
            }

            $($(#[$meaning])* pub const fn $column(self) -> $ty {
                self.row().$column
            })*
        }
    };
}

outputs! {
    {
        /// The word for the output in options, in Python and in descriptions of libraries.
        word: &'static str,
        /// The sentence about the output in `--help`.
        help: &'static str,
        /// The heading of a column of the output.
        heading: &'static str,
        /// The noun for several numbers of the output.
        plural: &'static str,
        /// The verb between the heading and a number, such as `is` in "margin 2 is 0.5".
        verb: &'static str,
        /// The function that counts the output's columns, in code with all kernels that the output needs.
        count: fn(&OutputCounts) -> usize,
        /// The type of the output's elements.
        element: Element,
        /// The kernels that compute the output.
        needs: Needs,
    }
    /// Predictions, of the model's result type.
    #[default]
    Value = 0 {
        word: "value",
        help: "The prediction as the trainer gives it",
        heading: "prediction",
        plural: "values",
        verb: "is",
        count: |counts| counts.values,
        element: Element::Result,
        needs: Needs::Finish,
    }
    /// Margins before the output transform, of the model's result type.
    Raw = 1 {
        word: "raw",
        help: "The margin: sums of leaves before the output transform",
        heading: "margin",
        plural: "margins",
        verb: "is",
        count: |counts| counts.margins,
        element: Element::Result,
        needs: Needs::Margins,
    }
    /// Predicted classes, `f32`.
    Class = 2 {
        word: "class",
        help: "The class number",
        heading: "class",
        plural: "classes",
        verb: "is",
        count: |counts| counts.classes,
        element: Element::Class,
        needs: Needs::FinishOrNone,
    }
    /// The leaf that each tree reaches, `i32`.
    Leaf = 3 {
        word: "leaf",
        help: "The leaf that each tree ends in, by the model's own numbers",
        heading: "leaf",
        plural: "leaves",
        verb: "is",
        count: |counts| counts.trees,
        element: Element::Leaf,
        needs: Needs::Walk,
    }
    /// The value of the leaf that each tree reaches, of the type of sums.
    Tree = 4 {
        word: "tree",
        help: "The leaf value that each tree adds to its margin",
        heading: "tree",
        plural: "values of trees",
        verb: "adds",
        count: |counts| counts.tree_values,
        element: Element::Sum,
        needs: Needs::Walk,
    }
}

impl OutputKind {
    /// The number of columns of the output in code with all kernels that the output needs. For code that may
    /// lack one, see [`OutputKind::columns_of_code`].
    pub fn columns(self, counts: &OutputCounts) -> usize {
        (self.count())(counts)
    }

    /// The output with this word, if there is one.
    pub fn of_word(word: &str) -> Option<OutputKind> {
        OutputKind::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether a kernel of the output walks the trees, instead of the one for margins.
    pub const fn walks_itself(self) -> bool {
        matches!(self.needs(), Needs::Walk)
    }

    /// Whether a kernel of the output turns margins into results.
    pub const fn finishes_margins(self) -> bool {
        matches!(self.needs(), Needs::Finish | Needs::FinishOrNone)
    }

    /// The output whose kernel walks the trees for this one.
    pub const fn walk(self) -> OutputKind {
        if self.walks_itself() { self } else { OutputKind::Raw }
    }

    /// The number of columns of the output in compiled code that has the output's own kernel or lacks it.
    pub fn columns_of_code(self, counts: &OutputCounts, has_kernel: bool) -> usize {
        match self.needs() {
            Needs::Finish if !has_kernel => counts.margins,
            Needs::FinishOrNone | Needs::Walk if !has_kernel => 0,
            _ => self.columns(counts),
        }
    }

    /// The words of some outputs as a list, such as `"value", "raw" or "leaf"`.
    pub fn words(is_listed: impl Fn(OutputKind) -> bool) -> String {
        let listed = OutputKind::ALL.into_iter().filter(|kind| is_listed(*kind));
        let words: Vec<String> = listed.map(|kind| format!("\"{}\"", kind.word())).collect();
        match words.as_slice() {
            [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
            _ => words.concat(),
        }
    }
}
