//! The memory of reading an ONNX file: at most ten times the size of the file, however it is written.
#![allow(clippy::unwrap_used)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use common::onnx::{
    NodeRow, bytes, int, ints, model, node, node_columns, number, packed, regressor, texts, votes,
};
use sched_forest::{codes, read};

struct Counting;

static USED: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls are forwarded to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let used = USED.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(used, Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Reads a file and returns the peak of allocated bytes, divided by the size of the file.
fn times(name: &str, file: &[u8]) -> f64 {
    let before = USED.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let result = read(file);
    let most = MOST.load(Ordering::Relaxed) - before;
    let times = most as f64 / file.len() as f64;
    println!(
        "{name}: {} bytes, {times:.1} times that, {}",
        file.len(),
        result.map_or_else(|e| e.to_string(), |_| "read".into())
    );
    times
}

/// Complete trees of four leaves.
fn trees(count: i64) -> Vec<NodeRow> {
    let tree = |tree| {
        [(0, "BRANCH_LEQ", 1, 2), (1, "BRANCH_LT", 3, 4), (2, "BRANCH_LT", 5, 6)]
            .into_iter()
            .map(move |(id, mode, left, right)| (tree, id, mode, left, right))
            .chain((3..7).map(move |id| (tree, id, "LEAF", 0, 0)))
    };
    (0..count).flat_map(tree).collect()
}

/// Measures in the only test of this file, so that no other test allocates at the same time.
#[test]
fn memory_is_bounded() {
    let single: Vec<NodeRow> = (0..20_000).map(|tree| (tree, 0, "LEAF", 0, 0)).collect();
    let classifier = |rows: &[NodeRow], classes: usize| {
        let labels = texts("classlabels_strings", &vec![""; classes]);
        let votes = votes(rows, "class", classes as i64, packed);
        model(&[node("TreeEnsembleClassifier", &[node_columns(rows, packed), votes, labels])], 1)
    };
    let few_classes = classifier(&trees(3_000), 6);
    let many_classes = classifier(&trees(3_000), 1_000);
    let only_classes = classifier(&trees(1), 60_000);
    let cases = [
        ("trees", regressor(&trees(3_000), ints)),
        ("trees, packed", regressor(&trees(3_000), packed)),
        ("single leaves", regressor(&single, ints)),
        ("single leaves, packed", regressor(&single, packed)),
        ("few classes", few_classes),
        ("many classes", many_classes.clone()),
        ("empty nodes", model(&[bytes(1, b"").repeat(200_000)], 1)),
        ("empty attributes", model(&[node("TreeEnsembleRegressor", &[bytes(5, b"").repeat(200_000)])], 1)),
        ("empty inputs", model(&[bytes(11, b"").repeat(200_000)], 1)),
        (
            "small numbers",
            model(&[node("TreeEnsembleRegressor", &[packed("nodes_nodeids", &vec![1; 200_000])])], 1),
        ),
        (
            "identities",
            model(
                &(0..20_000)
                    .map(|index: u32| {
                        let names = [
                            bytes(1, b"X"),
                            bytes(2, &index.to_be_bytes().map(|byte| byte & 0x7f)),
                            bytes(4, b"Identity"),
                        ];
                        bytes(1, &names.concat())
                    })
                    .collect::<Vec<_>>(),
                1,
            ),
        ),
    ];
    for (name, file) in &cases {
        assert!(times(name, file) < 10.0, "{name}");
    }
    assert!(read(&cases[0].1).is_ok());
    let too_large = read(&many_classes).unwrap_err();
    assert_eq!(too_large.code, codes::TOO_LARGE, "{too_large}");
    // Each class takes memory, too. The limit on their number bounds it.
    assert!(times("only classes", &only_classes) < 30.0);
    assert_eq!(read(&number(1, 10)).unwrap_err().code, codes::UNKNOWN_FORMAT);
    assert_eq!(
        read(&model(&[node("TreeEnsembleRegressor", &[int("n_targets", 1 << 40)])], 1)).unwrap_err().code,
        codes::BAD_PARAMETER
    );
}
