//! All refusals and remarks, directive by directive, with their codes. Also schedules that are legal here
//! although other systems refuse them.

/// Options of the check, such as `trees=9`, and a schedule on one line.
pub type Case = (&'static str, &'static str);

/// Refusals and remarks: reason, schedule, and the only code that it gives.
pub const REFUSED: &[(&str, Case, u16)] = &[
    // Names and lineage.
    ("an index that does not exist", ("", "parallel(nobody)"), 24),
    ("an index that was replaced", ("", "tile(batch, a, b, 8); reorder(tree, batch)"), 40),
    ("an annotation of an index that is replaced later", ("", "cache(batch); tile(batch, a, b, 8)"), 41),
    ("a copy that does not exist", ("trees=9", "split(tree, a, b, 4); tile(batch, c, d, 8); cache(a.c)"), 25),
    ("a name that is taken", ("", "tile(batch, tree, b, 8)"), 26),
    ("a name that is not declared", ("", "tile(batch, a, b, SIZE)"), 23),
    ("a word of the language as a name", ("", "tile(batch, param, b, 8)"), 7),
    ("statements of later editions", ("", "require tree"), 8),
    ("a row loop where trees are meant", ("trees=9", "splitByDepth(batch)"), 55),
    // tile
    ("a tile below 1", ("", "tile(batch, a, b, 0)"), 42),
    ("a negative tile", ("", "tile(batch, a, b, 0 - 4)"), 42),
    ("a tile that is no multiple of the step", ("", "tile(batch, a, b, 8); tile(a, c, d, 12)"), 43),
    ("a tile that does not divide, as a hint", ("trees=9", "tile(tree, a, b, 4)"), 95),
    ("a tile of one iteration, as a warning", ("", "tile(batch, a, b, 1)"), 90),
    // split and splitByDepth
    ("a split point at the start", ("trees=9", "split(tree, a, b, 0)"), 44),
    ("a split point beyond the end", ("trees=9", "split(tree, a, b, 9)"), 44),
    ("a split point between two values", ("trees=8", "tile(tree, a, b, 4); split(a, c, d, 2)"), 45),
    ("a loop that is split by depth twice", ("depths=1,2", "splitByDepth(tree); splitByDepth(tree[1])"), 56),
    ("runs that depend on an outer loop", ("trees=8", "tile(tree, a, b, 4); splitByDepth(b)"), 58),
    ("trees that are not known, as a hint", ("", "splitByDepth(tree)"), 33),
    ("trees sorted after their positions matter", ("trees=9", "split(tree, a, b, 4); sortTrees(depth)"), 59),
    (
        "a split at a count of trees that are not sorted",
        ("depths=3,1,3", "split(tree, a, b, trees_to_depth(2))"),
        96,
    ),
    // reorder
    ("a reorder of one loop", ("", "reorder(tree)"), 46),
    ("a loop named twice", ("", "reorder(tree, batch, tree)"), 47),
    ("loops that are not inside each other", ("trees=9", "split(tree, a, b, 4); reorder(b, a)"), 48),
    ("loops that are not perfectly nested", ("trees=9", "split(tree, a, b, 4); reorder(a, batch)"), 49),
    ("loops that are not contiguous", ("", "tile(batch, a, b, 8); reorder(tree, a)"), 50),
    // specialize and unroll
    ("a leaf loop to specialize", ("trees=9", "specialize(tree)"), 51),
    ("a trip count that is known only at run time", ("", "unroll(batch)"), 52),
    ("an absurd trip count", ("trees=5000", "unroll(tree)"), 53),
    (
        "a specialised loop to be reshaped",
        ("trees=9", "reorder(tree, batch); specialize(tree); tile(tree, a, b, 2)"),
        54,
    ),
    (
        "code that would never end",
        ("trees=1000", "tile(batch, a, b, 1000); reorder(a, tree, b); unroll(tree); unroll(b)"),
        79,
    ),
    // parallel and GPU dimensions
    ("parallel and on the GPU", ("", "target gpu; gpuDimension(batch, grid.x); parallel(batch)"), 68),
    ("a GPU dimension in a CPU schedule", ("", "target cpu; gpuDimension(batch, grid.x)"), 69),
    (
        "a dimension twice on a path",
        ("", "target gpu; gpuDimension(batch, grid.x); gpuDimension(tree, grid.x)"),
        70,
    ),
    ("threads outside a grid", ("trees=9", "target gpu; gpuDimension(tree, block.x)"), 71),
    (
        "threads around a grid",
        (
            "",
            "target gpu; tile(batch, a, b, 8); reorder(b, a); gpuDimension(b, block.x); \
             gpuDimension(a, grid.x)",
        ),
        71,
    ),
    (
        "a number of threads known at run time",
        ("", "target gpu; reorder(tree, batch); gpuDimension(tree, grid.x); gpuDimension(batch, block.x)"),
        72,
    ),
    (
        "threads that a model would tell, as a hint",
        ("", "target gpu; gpuDimension(batch, grid.x); gpuDimension(tree, block.x)"),
        33,
    ),
    (
        "more threads than a block has",
        ("trees=2000", "target gpu; gpuDimension(batch, grid.x); gpuDimension(tree, block.x)"),
        73,
    ),
    (
        "more threads than a dimension has",
        ("trees=65", "target gpu(sm_80); gpuDimension(batch, grid.x); gpuDimension(tree, block.z)"),
        81,
    ),
    ("more blocks than a dimension has", ("trees=70000", "target gpu; gpuDimension(tree, grid.y)"), 81),
    ("a device that is not known", ("", "target gpu(sm_1)"), 85),
    (
        "nested parallel loops, as a warning",
        ("trees=9", "tile(batch, a, b, 8); parallel(a); parallel(tree)"),
        94,
    ),
    // cache
    (
        "more than shared memory",
        (
            "trees=9 features=5000",
            "target gpu(sm_90); tile(batch, a, b, 64); gpuDimension(a, grid.x); cache(a)",
        ),
        82,
    ),
    (
        "a cache outside the blocks",
        ("trees=9", "target gpu; tile(batch, a, b, 64); gpuDimension(b, grid.x); cache(a)"),
        86,
    ),
    (
        "a working set above the cache, as a warning",
        ("trees=9 features=5000", "tile(batch, a, b, 1024); cache(a)"),
        99,
    ),
    // annotations of walks
    ("interleave of a loop with loops inside", ("", "interleave(batch, 4)"), 63),
    ("vectorize of a loop with loops inside", ("", "vectorize(batch, 4)"), 63),
    ("interleave below 1", ("", "interleave(tree, 0)"), 64),
    ("interleave of 1, as a warning", ("", "interleave(tree, 1)"), 91),
    ("more walks than registers", ("", "interleave(tree, 1000)"), 65),
    ("vectors on a GPU", ("", "target gpu; gpuDimension(batch, grid.x); vectorize(tree, 8)"), 75),
    ("unrollAndJam of a loop over rows", ("", "unrollAndJam(batch)"), 55),
    ("unrollAndJam of a loop without rows inside", ("", "unrollAndJam(tree)"), 108),
    ("unrollAndJam around single walks", ("", "reorder(tree, batch); unrollAndJam(tree)"), 108),
    ("unroll and unrollAndJam", ("trees=9", "unroll(tree); unrollAndJam(tree)"), 61),
    ("unrollWalk below 1", ("", "unrollWalk(tree, 0)"), 64),
    ("unrollWalk beyond the deepest tree, as a warning", ("depths=3,4", "unrollWalk(tree, 9)"), 92),
    ("padding beyond the memory", ("depths=30,2", "unrollWalk(tree, 30)"), 83),
    ("peelWalk below 1", ("", "peelWalk(tree, 0)"), 64),
    ("peelWalk of unrolled steps, as a warning", ("", "unrollWalk(tree, 4); peelWalk(tree, 2)"), 98),
    ("too many levels to speculate", ("", "speculateWalk(tree, 9)"), 65),
    ("run_depth where there is none", ("trees=9", "unrollWalk(tree, run_depth)"), 78),
    // reductions
    ("a reduction over rows", ("", "parallel(batch); atomicReduce(batch)"), 55),
    ("a reduction that is not parallel", ("", "atomicReduce(tree)"), 66),
    ("two reductions of one loop", ("", "parallel(tree); atomicReduce(tree); vectorReduce(tree, 8)"), 61),
    (
        "a shared reduction off the block",
        ("trees=9", "target gpu; gpuDimension(batch, grid.x); sharedReduce(tree)"),
        74,
    ),
    ("a width that is no power of two", ("", "parallel(tree); vectorReduce(tree, 6)"), 67),
    ("a width below 1", ("", "parallel(tree); vectorReduce(tree, 0)"), 64),
    // layouts
    ("reorg with tiles of nodes", ("", "representation(reorg); tileTrees(4)"), 76),
    ("complete trees of tiles", ("", "representation(tree, array); tileTrees(8)"), 76),
    ("vectors of walks over tiles", ("trees=9", "vectorize(tree, 8); tileTrees(4)"), 88),
    ("speculation over tiles", ("trees=9", "speculateWalk(tree, 2); tileTrees(4)"), 88),
    ("complete trees that are too deep", ("depths=30,2", "representation(array)"), 84),
    (
        "oblivious trees, of which one is not",
        ("depths=3,3 oblivious=yes,no", "representation(oblivious)"),
        116,
    ),
    ("tiles of too many nodes", ("", "tileTrees(9)"), 65),
    ("tiles of no nodes", ("", "tileTrees(0)"), 64),
    ("tiles by probability without a profile", ("", "tileTrees(4, probability)"), 77),
    ("two layouts for one loop", ("", "representation(tree, array); representation(tree, sparse)"), 61),
    ("a repeated annotation, as a warning", ("", "cache(batch); cache(batch)"), 62),
    ("unroll and parallel", ("trees=9", "parallel(tree); unroll(tree)"), 61),
    (
        "much code, as a warning",
        ("trees=150", "tile(batch, b0, b1, 8); reorder(b0, tree, b1); unroll(tree); unroll(b1)"),
        102,
    ),
    (
        "more code than can be compiled",
        ("trees=1000", "reorder(tree, batch); specialize(tree); interleave(batch, 8)"),
        79,
    ),
    ("a shared reduction on a CPU", ("trees=9", "target cpu; parallel(tree); sharedReduce(tree)"), 74),
    // The file.
    ("a number in quotes", ("", "tile(batch, b0, b1, \"64\")"), 18),
    ("a word in quotes", ("", "representation(\"levels\")"), 18),
    ("an allow that is no comment", ("", "allow(S0095)"), 20),
    ("an edition that does not exist", ("", "sched 9"), 30),
    ("a header line twice", ("", "target cpu; target cpu"), 31),
    ("a param that nobody uses, as a warning", ("", "param SIZE = 8"), 93),
    ("a value that is not among the choices", ("", "param SIZE = 8 in {16}; tile(batch, a, b, SIZE)"), 38),
    ("an allow of nothing", ("", "// allow(S0001)"), 97),
    ("division by zero", ("", "tile(batch, a, b, 8 / 0)"), 34),
    ("a value beyond 64 bits", ("", "tile(batch, a, b, 9223372036854775807 * 2)"), 32),
];

/// Legal schedules: reason, and a schedule without errors and warnings.
pub const ALLOWED: &[(&str, Case)] = &[
    ("a tile that does not divide", ("trees=9", "tile(tree, a, b, 4)")),
    ("a tile of a strided loop", ("", "tile(batch, a, b, 8); tile(a, c, d, 16)")),
    ("a tile that makes one iteration", ("trees=9", "tile(tree, a, b, 9)")),
    ("the inner loop of a tile outside", ("", "tile(batch, a, b, 8); reorder(b, a)")),
    ("unrollWalk above the leaf loop", ("", "unrollWalk(batch, 6)")),
    ("peelWalk of one step", ("", "peelWalk(tree, 1)")),
    (
        "a leaf loop on a GPU",
        ("trees=9", "target gpu; gpuDimension(batch, grid.x); gpuDimension(tree, block.x)"),
    ),
    (
        "several reduction loops",
        ("trees=9", "tile(tree, a, b, 3); reorder(a, b, batch); parallel(a); parallel(b)"),
    ),
    ("an interleave beyond the trip count", ("trees=3", "interleave(tree, 8)")),
    ("a parallel tree loop without a reduction", ("", "parallel(tree)")),
    ("trees sorted in a file of the user's own order", ("trees=9", "sortTrees(depth); reorder(tree, batch)")),
];
