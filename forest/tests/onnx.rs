//! Small ONNX models, made by `fixtures/make_onnx.py`: results must be ONNX Runtime's bit for bit. Damaged or
//! unsupported files must be refused with a code and a place.
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::common::onnx::{NodeRow, ints, packed, regressor};
use crate::common::{classes, expected, files, fixtures, leaves, next_random, predictions};
use sched_forest::{
    Float, Forest, Iterations, Label, ReadOptions, Transform, codes, load, predict_leaves, read, read_with,
};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Expected {
    wide_rows: bool,
    wide_values: bool,
    is_close: bool,
    num_rows: usize,
    rows: Vec<u64>,
    values: Vec<u64>,
    labels: Option<Vec<Value>>,
    leaves: Vec<u32>,
}

fn models() -> Vec<(String, Vec<u8>)> {
    let onnx = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "onnx");
    let named =
        |path: PathBuf| (path.file_stem().unwrap().to_str().unwrap().into(), std::fs::read(path).unwrap());
    files(&fixtures("onnx")).into_iter().filter(onnx).map(named).collect()
}

fn model(name: &str) -> Vec<u8> {
    std::fs::read(fixtures("onnx").join(format!("{name}.onnx"))).unwrap()
}

fn floats(bits: &[u64], wide: bool) -> Vec<f64> {
    let float = |&bits: &u64| match wide {
        true => f64::from_bits(bits),
        false => f32::from_bits(u32::try_from(bits).unwrap()).into(),
    };
    bits.iter().map(float).collect()
}

/// Whether numbers are equal. Zeros of both signs are equal here, and all NaN.
fn equal(left: f64, right: f64) -> bool {
    left == right || left.is_nan() && right.is_nan()
}

fn label(label: &Label) -> Value {
    match label {
        Label::Integer(number) => (*number).into(),
        Label::Number(number) => (*number).into(),
        Label::Truth(truth) => (*truth).into(),
        Label::Text(text) => text.as_str().into(),
    }
}

fn check_model(name: &str, forest: &Forest, expected: &Expected) {
    let rows = floats(&expected.rows, expected.wide_rows);
    assert_eq!(rows.len(), expected.num_rows * forest.num_features, "{name}");
    let wide = if expected.wide_values { Float::F64 } else { Float::F32 };
    assert_eq!(forest.types.output, wide, "{name}");

    assert_eq!(leaves(forest, &rows), expected.leaves, "{name}: leaves");

    let values: Vec<f64> = predictions(forest, &rows);
    let wanted = floats(&expected.values, expected.wide_values);
    assert_eq!(values.len(), wanted.len(), "{name}");
    for (index, (&value, &wanted)) in values.iter().zip(&wanted).enumerate() {
        let is_close = expected.is_close && (value - wanted).abs() < 1.3e-7 * wanted.abs().max(1.0);
        assert!(is_close || equal(value, wanted), "{name}: value {index} is {value} and not {wanted}");
    }

    assert_eq!(forest.is_classifier(), expected.labels.is_some(), "{name}");
    let Some(labels) = &expected.labels else { return };
    let names = &forest.output.classes.as_ref().unwrap().labels;
    let found: Vec<Value> =
        classes(forest, &rows).iter().map(|&class| label(&names[class as usize])).collect();
    // For two columns of votes, ONNX Runtime does not follow the operator's description. schedc does, and a
    // note says so.
    if name != "two-columns" {
        assert_eq!(&found, labels, "{name}: classes");
    }
}

#[test]
fn numbers_are_those_of_onnx_runtime() {
    let models = models();
    assert!(models.len() >= 50);
    let mut close = 0;
    for (name, bytes) in models {
        let expected: Expected = expected(&fixtures("onnx").join(format!("{name}.onnx")));
        let forest = read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        check_model(&name, &forest, &expected);
        close += usize::from(expected.is_close);
    }
    assert_eq!(close, 3, "all others are equal in all bits");
}

#[test]
fn unsupported_models_are_named() {
    let mut found = BTreeSet::new();
    for path in files(&fixtures("onnx/refused")) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let error = read(&std::fs::read(&path).unwrap()).unwrap_err();
        assert_eq!(error.code.to_string(), name[..5], "{name}: {error}");
        assert!(error.help.is_some(), "{name}: {error}");
        assert!(error.to_string().contains(": graph"), "{name}: {error}");
        found.insert(error.code);
    }
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn the_first_operator_is_named() {
    let message = |name: &str| {
        let path = fixtures("onnx").join(format!("refused/{name}.onnx"));
        read(&std::fs::read(path).unwrap()).unwrap_err().to_string()
    };
    assert!(
        message("M0040-scaler")
            .contains("graph.node[0]: the operator `ai.onnx.ml.Scaler` (node `scaling`) before")
    );
    assert!(message("M0040-log").contains("graph.node[1]: the operator `Log` after the trees"));
    assert!(message("M0040-cast-to-int").contains("`Cast` to int64"));
    assert!(message("M0041-min").contains("graph.node[0].aggregate_function: `aggregate_function` is `MIN`"));
    assert!(message("M0042-half").contains("float16"));
}

#[test]
fn types_are_those_of_the_graph() {
    let types = |name: &str| read(&model(name)).unwrap().types;
    use Float::{F32, F64};
    let all = |name: &str| {
        let types = types(name);
        [types.input, types.threshold, types.accumulator, types.output]
    };
    assert_eq!(all("modes"), [F32; 4]);
    assert_eq!(all("f64"), [F64, F64, F64, F32]);
    assert_eq!(all("f64-rows-f32-lists"), [F64, F64, F64, F32]);
    assert_eq!(all("cast-to-f32"), [F32; 4]);
    assert_eq!(all("cast-to-f64"), [F32, F64, F64, F32]);
    assert_eq!(all("v5-f64"), [F64; 4]);
}

#[test]
fn notes_are_made() {
    let notes = |name: &str| load(&model(name), &ReadOptions::default()).unwrap();
    let loaded = notes("v5-post-1");
    assert_eq!(loaded.version, [1, 2]);
    assert!(loaded.notes[0].0.contains("computes LOGISTIC, as ONNX Runtime does"), "{:?}", loaded.notes);
    assert!(notes("two-columns").notes[0].0.contains("above 0"));
    assert!(notes("modes").notes.is_empty());
}

#[test]
fn a_model_is_one_iteration() {
    let bytes = model("modes");
    let trees = |iterations| {
        read_with(&bytes, &ReadOptions { iterations, ..ReadOptions::default() })
            .map(|forest| forest.trees.len())
            .map_err(|error| error.code)
    };
    assert_eq!(trees(Iterations::All), Ok(6));
    assert_eq!(trees(Iterations::Range(0, 1)), Ok(6));
    for iterations in [Iterations::Range(0, 2), Iterations::Best] {
        assert_eq!(trees(iterations), Err(codes::NO_SUCH_ITERATIONS));
    }
}

const STUMP: [NodeRow; 3] = [(0, 0, "BRANCH_LEQ", 1, 2), (0, 1, "LEAF", 0, 0), (0, 2, "LEAF", 0, 0)];

#[test]
fn lists_may_be_packed() {
    assert_eq!(read(&regressor(&STUMP, ints)).unwrap(), read(&regressor(&STUMP, packed)).unwrap());
}

#[test]
fn nodes_may_have_any_numbers_and_order() {
    let leaf = |rows: &[NodeRow], x: f32| {
        let loaded = load(&regressor(rows, ints), &ReadOptions::default()).unwrap();
        let mut leaves = [0; 1];
        predict_leaves(&loaded.forest, &[x], &mut leaves).unwrap();
        (leaves[0], loaded.notes.len())
    };
    let odd =
        [(9, 70, "BRANCH_LEQ", 40, 2_000_000_000), (9, 2_000_000_000, "LEAF", 0, 0), (9, 40, "LEAF", -1, -1)];
    assert_eq!((leaf(&odd, 0.0), leaf(&odd, 1.0)), ((40, 0), (2_000_000_000, 0)));
    // ONNX Runtime starts at the node that is listed first, which a note says.
    let root_second = [
        (0, 1, "BRANCH_LEQ", 2, 3),
        (0, 0, "BRANCH_LEQ", 1, 4),
        (0, 2, "LEAF", 0, 0),
        (0, 3, "LEAF", 0, 0),
        (0, 4, "LEAF", 0, 0),
    ];
    assert_eq!((leaf(&root_second, 0.0), leaf(&root_second, 0.5)), ((2, 1), (3, 1)));
    // Nodes that no walk reaches are left out.
    let unreached = [STUMP[0], STUMP[1], STUMP[2], (0, 3, "LEAF", 0, 0)];
    assert_eq!(leaf(&unreached, 1.0), (2, 0));
}

#[test]
fn equalities_that_share_what_follows_are_sets() {
    let leaf = |id| (0, id, "LEAF", 0, 0);
    // The threshold of a node is its position in the list, so the values 0, 1 and 2 go to node 3.
    let chain =
        [(0, 0, "BRANCH_EQ", 3, 1), (0, 1, "BRANCH_EQ", 3, 2), (0, 2, "BRANCH_EQ", 3, 4), leaf(3), leaf(4)];
    let forest = read(&regressor(&chain, ints)).unwrap();
    assert_eq!((forest.trees[0].inner.len(), forest.sets[0].members()), (1, [0, 1, 2].as_slice()));
    let mut leaves = [0; 6];
    predict_leaves(&forest, &[0.0f32, 1.0, 2.0, 3.0, 1.5, f32::NAN], &mut leaves).unwrap();
    assert_eq!(leaves, [3, 3, 3, 4, 4, 4]);
    let round =
        [(0, 0, "BRANCH_LT", 1, 3), (0, 1, "BRANCH_EQ", 2, 4), leaf(2), leaf(3), (0, 4, "BRANCH_EQ", 2, 1)];
    assert_eq!(read(&regressor(&round, ints)).unwrap_err().code, codes::NOT_A_TREE);
    let other = [(0, 0, "BRANCH_EQ", 2, 1), (0, 1, "BRANCH_LT", 2, 3), leaf(2), leaf(3)];
    assert_eq!(read(&regressor(&other, ints)).unwrap_err().code, codes::NOT_A_TREE);
}

#[test]
fn arithmetic_after_a_regressor_is_computed() {
    let steps = |name: &str| {
        let forest = read(&model(name)).unwrap();
        forest.output.value.iter().map(Transform::name).collect::<Vec<_>>()
    };
    assert_eq!(steps("lgb-bagged"), ["average"]);
    assert_eq!(steps("lgb-poisson"), ["exp"]);
    assert_eq!(steps("lgb-no-zipmap"), ["softmax"]);
}

#[test]
fn nodes_that_form_no_tree_are_refused() {
    let leaf = |id| (0, id, "LEAF", 0, 0);
    let chain = |length: i64| {
        let inner = (0..length).map(|at| (0, 2 * at, "BRANCH_LT", 2 * at + 1, 2 * at + 2));
        inner.chain((0..length).map(|at| leaf(2 * at + 1))).chain([leaf(2 * length)]).collect::<Vec<_>>()
    };
    assert!(read(&regressor(&chain(4096), ints)).is_ok());
    let cases = [
        ("deep", chain(4097), codes::TOO_DEEP, "trees[0]"),
        ("none", Vec::new(), codes::BAD_PARAMETER, "nodes_treeids"),
        (
            "no child",
            vec![(0, 0, "BRANCH_LT", 1, 7), leaf(1)],
            codes::CHILD_OUT_OF_RANGE,
            "nodes_falsenodeids[0]",
        ),
        ("shared", vec![(0, 0, "BRANCH_LT", 1, 1), leaf(1)], codes::NOT_A_TREE, "nodes_nodeids[1]"),
        ("own child", vec![(0, 0, "BRANCH_LT", 0, 1), leaf(1)], codes::NOT_A_TREE, "nodes_nodeids[0]"),
        (
            "cycle",
            vec![(0, 0, "BRANCH_LT", 1, 2), (0, 1, "BRANCH_LT", 0, 2), leaf(2)],
            codes::NOT_A_TREE,
            "nodes_nodeids[0]",
        ),
        ("twice", vec![leaf(1), leaf(1)], codes::NOT_A_TREE, "nodes_nodeids[1]"),
        (
            "unreached vote after a first leaf",
            vec![leaf(2), (0, 0, "BRANCH_LT", 1, 2), leaf(1), (0, 4, "BRANCH_LT", 1, 2)],
            codes::UNSUPPORTED_ENSEMBLE,
            "nodes_nodeids[2]",
        ),
        (
            "apart",
            vec![(3, 0, "LEAF", 0, 0), (4, 0, "LEAF", 0, 0), (3, 1, "LEAF", 0, 0)],
            codes::NODE_ORDER,
            "nodes_treeids[2]",
        ),
        (
            "mode",
            vec![(0, 0, "BRANCH_MEMBER", 1, 2), leaf(1), leaf(2)],
            codes::UNSUPPORTED_ENSEMBLE,
            "nodes_modes[0]",
        ),
        ("negative number", vec![leaf(-4)], codes::CHILD_OUT_OF_RANGE, "target_nodeids[0]"),
    ];
    for (name, rows, code, place) in cases {
        let error = read(&regressor(&rows, ints)).unwrap_err();
        assert_eq!(error.code, code, "{name}: {error}");
        assert!(error.to_string().contains(&format!("graph.node[0].{place}")), "{name}: {error}");
    }
}

#[test]
fn equal_sets_are_kept_once() {
    let forest = read(&model("v5-f32")).unwrap();
    assert!(!forest.sets.is_empty());
    let different: BTreeSet<_> = forest.sets.iter().collect();
    assert_eq!(different.len(), forest.sets.len());
}

#[test]
fn every_truncation_is_refused() {
    for name in ["modes", "binary-logistic", "v5-f32", "cast-to-f64", "sk-forest-texts"] {
        let bytes = model(name);
        // Trees can be read without the bytes after the graph, which hold the operator sets.
        let mut accepted = 0;
        for length in 0..bytes.len() {
            match read(&bytes[..length]) {
                Ok(_) => accepted += 1,
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        assert!(accepted <= 3, "{name}: {accepted}");
    }
}

#[test]
fn a_truncated_graph_is_damaged() {
    let bytes = model("modes");
    let error = read(&bytes[..bytes.len() / 2]).unwrap_err();
    assert_eq!(error.code, codes::SYNTAX, "{error}");
    assert!(error.to_string().contains("byte"), "{error}");
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut accepted = 0;
    for name in ["modes", "v5-f32", "v5-f64", "classes-by-tree", "two-columns", "cast-to-f64", "f64"] {
        let bytes = model(name);
        let single = (0..bytes.len()).flat_map(|at| [0x01, 0x80, 0xff].map(|mask| (at, mask)));
        for (at, mask) in single {
            let mut damaged = bytes.clone();
            damaged[at] ^= mask;
            if next_random(&mut state).is_multiple_of(4) {
                let other = next_random(&mut state) % damaged.len();
                damaged[other] = next_random(&mut state) as u8;
            }
            let Ok(forest) = read(&damaged) else { continue };
            if forest.num_features > 1000 {
                continue;
            }
            predictions::<f32, f32>(&forest, &vec![0.5; 2 * forest.num_features]);
            accepted += 1;
        }
    }
    assert!(accepted > 0, "flips in thresholds leave models readable");
}
