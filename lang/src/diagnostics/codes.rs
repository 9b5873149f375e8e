//! The codes of all diagnostics. They are append-only: a code never changes its meaning and is never used again.

use super::Severity;

/// A code, written `S0042`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "S{:04}", self.0)
    }
}

impl std::str::FromStr for Code {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.strip_prefix(['S', 's']).ok_or(())?;
        if digits.len() != 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(());
        }
        digits.parse().map(Code).map_err(|_| ())
    }
}

/// What is known of a code.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// How bad it is, unless options change that.
    pub severity: Severity,
    /// What it says, in a few words.
    pub title: &'static str,
    /// Its page of documentation, in Markdown.
    pub page: &'static str,
}

macro_rules! codes {
    ($($name:ident $number:literal $file:literal $severity:ident $title:literal)*) => {
        impl Code {
            $(#[doc = $title] pub const $name: Code = Code($number);)*
        }

        /// All codes, those of the parser included, in ascending order.
        pub const CODES: &[CodeInfo] = &[
            $(CodeInfo {
                code: Code($number),
                severity: Severity::$severity,
                title: $title,
                page: include_str!(concat!("../explain/", $file, ".md")),
            },)*
        ];
    };
}

codes! {
    UNEXPECTED 1 "S0001" Error "unexpected text"
    STRING_END 2 "S0002" Error "string without an end"
    CHARACTER 3 "S0003" Error "character without meaning"
    NUMBER_TOO_LARGE 4 "S0004" Error "number too large to read"
    TOO_DEEP 5 "S0005" Error "expression nested too deeply"
    UNCLOSED 6 "S0006" Error "bracket not closed"
    RESERVED_NAME 7 "S0007" Error "word of the language as a name"
    RESERVED_STATEMENT 8 "S0008" Error "reserved statement"
    BAD_NUMBER 9 "S0009" Error "not a whole decimal number"
    BAD_ESCAPE 10 "S0010" Error "unknown escape"
    STRAY_CLOSE 11 "S0011" Error "bracket that closes nothing"
    WRONG_CLOSE 12 "S0012" Error "bracket of the wrong kind"
    MISSING_COMMA 13 "S0013" Error "comma missing"
    MISSING_PARENS 14 "S0014" Error "parentheses missing"
    MISSING_KEYWORD 15 "S0015" Error "param or const missing"
    MISSING_SEPARATOR 16 "S0016" Error "separator missing"
    WRONG_QUOTES 17 "S0017" Error "wrong quotes"
    QUOTED 18 "S0018" Error "quotes around a word or number"
    NESTED_BLOCK 19 "S0019" Error "block within a block"
    UNKNOWN_DIRECTIVE 20 "S0020" Error "unknown directive"
    ARGUMENT_COUNT 21 "S0021" Error "wrong number of arguments"
    ARGUMENT_KIND 22 "S0022" Error "wrong kind of argument"
    UNDECLARED_NAME 23 "S0023" Error "undeclared name"
    UNKNOWN_INDEX 24 "S0024" Error "unknown index"
    NO_SUCH_COPY 25 "S0025" Error "no such copy of an index"
    NAME_TAKEN 26 "S0026" Error "name is taken"
    UNKNOWN_FUNCTION 27 "S0027" Error "unknown function"
    UNKNOWN_WORD 28 "S0028" Error "unknown word"
    EDITION 30 "S0030" Error "unknown language edition"
    HEADER_TWICE 31 "S0031" Error "header line given twice"
    OVERFLOW 32 "S0032" Error "number does not fit"
    UNVERIFIED 33 "S0033" Hint "not verified without a model"
    DIVISION_BY_ZERO 34 "S0034" Error "division by zero"
    NO_SUCH_PARAM 35 "S0035" Error "no such param to set"
    NOT_LOWERED 36 "S0036" Error "cannot be compiled yet"
    NOT_KNOWN 37 "S0037" Error "fact not known when compiling"
    NOT_A_CHOICE 38 "S0038" Warning "value is not one of the choices"
    CONSUMED 40 "S0040" Error "index has been consumed"
    ANNOTATION_LOST 41 "S0041" Error "fact about a consumed index"
    TILE_SIZE 42 "S0042" Error "tile size below 1"
    TILE_OFF_STEP 43 "S0043" Error "tile size is no multiple of the step"
    SPLIT_OUTSIDE 44 "S0044" Error "split point outside the range"
    SPLIT_OFF_STEP 45 "S0045" Error "split point off the step"
    REORDER_FEW 46 "S0046" Error "nothing to reorder"
    REORDER_TWICE 47 "S0047" Error "loop named twice in a reorder"
    REORDER_NO_PATH 48 "S0048" Error "loops are not nested in each other"
    REORDER_FORK 49 "S0049" Error "loops are not perfectly nested"
    REORDER_GAP 50 "S0050" Error "loops are not contiguous"
    SPECIALIZE_LEAF 51 "S0051" Error "nothing to specialize"
    TRIPS_UNKNOWN 52 "S0052" Error "unknown number of iterations"
    TRIPS_HUGE 53 "S0053" Error "too many iterations to expand"
    SPECIALIZED 54 "S0054" Error "specialized loop cannot be reshaped"
    NOT_TREES 55 "S0055" Error "not a loop over trees"
    DEPTH_TWICE 56 "S0056" Error "split by depth already"
    TREES_UNKNOWN 57 "S0057" Error "trees of an iteration not known"
    POSITION_UNKNOWN 58 "S0058" Error "trees depend on an outer loop"
    SORT_TOO_LATE 59 "S0059" Error "trees sorted too late"
    NEST_TOO_LARGE 60 "S0060" Error "nest too large"
    CONTRADICTION 61 "S0061" Error "contradictory facts"
    REPEATED 62 "S0062" Warning "said before"
    NOT_LEAF 63 "S0063" Error "not a leaf loop"
    TOO_SMALL 64 "S0064" Error "number too small"
    TOO_LARGE 65 "S0065" Error "number too large"
    NOT_PARALLEL 66 "S0066" Error "iterations are not parallel"
    NOT_POWER_OF_TWO 67 "S0067" Error "not a power of two"
    PARALLEL_ON_GPU 68 "S0068" Error "parallel and on the GPU"
    GPU_ON_CPU 69 "S0069" Error "GPU dimension in a CPU schedule"
    DIMENSION_TWICE 70 "S0070" Error "GPU dimension used twice"
    BLOCK_OUTSIDE_GRID 71 "S0071" Error "threads outside a grid"
    BLOCK_NOT_CONSTANT 72 "S0072" Error "number of threads is not constant"
    TOO_MANY_THREADS 73 "S0073" Error "too many threads in a block"
    NOT_BLOCK_TREES 74 "S0074" Error "not a tree loop over threads"
    VECTOR_ON_GPU 75 "S0075" Error "vectors on a GPU"
    LAYOUT_NEEDS_SINGLE_NODES 76 "S0076" Error "layout does not hold tiles of nodes"
    NO_PROFILE 77 "S0077" Error "no profile of the leaves"
    RUN_DEPTH_UNKNOWN 78 "S0078" Error "run_depth is not known here"
    CODE_TOO_LARGE 79 "S0079" Error "expanded code too large"
    EXPRESSION_TOO_LARGE 80 "S0080" Error "expression too large"
    DIMENSION_TOO_LARGE 81 "S0081" Error "GPU dimension too large"
    SHARED_MEMORY 82 "S0082" Error "shared memory does not suffice"
    PADDING_TOO_LARGE 83 "S0083" Error "padding needs too much memory"
    LAYOUT_TOO_LARGE 84 "S0084" Error "layout needs too much memory"
    UNKNOWN_DEVICE 85 "S0085" Error "unknown target option"
    CACHE_OUTSIDE_LAUNCH 86 "S0086" Error "cache outside a launch"
    WALK_NEEDS_SINGLE_NODES 88 "S0088" Error "walks pass single nodes"
    TILE_OF_ONE 90 "S0090" Warning "tile of one iteration"
    INTERLEAVE_OF_ONE 91 "S0091" Warning "interleave of one"
    UNROLL_BEYOND 92 "S0092" Warning "unrolled beyond the deepest tree"
    UNUSED 93 "S0093" Warning "unused name"
    NESTED_PARALLEL 94 "S0094" Warning "nested parallel loops"
    PARTIAL_TILE 95 "S0095" Hint "tile does not divide its loop"
    UNSORTED_DEPTHS 96 "S0096" Warning "trees are not sorted by depth"
    ALLOWS_NOTHING 97 "S0097" Warning "allow without effect"
    PEEL_POINTLESS 98 "S0098" Warning "peelWalk without effect"
    CACHE_TOO_LARGE 99 "S0099" Warning "working set larger than the cache"
    EMPTY_LANES 100 "S0100" Warning "vector wider than its loop"
    NO_STEPS 101 "S0101" Warning "walks without steps"
    CODE_LARGE 102 "S0102" Warning "much code to compile"
    BLOCK_CONDITION 103 "S0103" Error "condition of a block"
    BLOCK_BOUND 104 "S0104" Error "bound of a block"
    BLOCK_TWICE 105 "S0105" Error "two blocks for the same calls"
    HEADER_IN_BLOCK 106 "S0106" Error "header line in a block"
    TOO_MANY_BLOCKS 107 "S0107" Error "too many blocks"
    CANNOT_UNROLL_AND_JAM 108 "S0108" Error "trees that cannot be walked together"
}

/// What is known of `code`.
pub fn info(code: Code) -> Option<&'static CodeInfo> {
    CODES.binary_search_by_key(&code, |info| info.code).ok().and_then(|at| CODES.get(at))
}
