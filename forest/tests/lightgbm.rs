//! Small LightGBM models as text, made by `fixtures/make_lightgbm.py`: results must be LightGBM's bit for
//! bit. Damaged or unsupported files must be refused with a code and a place.
use std::collections::BTreeSet;

use crate::common::{bits, classes, expected, fixtures, floats, leaves, margins, next_random, predictions};
use sched_forest::{
    Float, Forest, Iterations, Label, Names, Naming, Predicate, ReadOptions, load, read, read_with,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    rows: Vec<u64>,
    all: Outputs,
    /// Leaves that the rows reach after rounding to single precision.
    narrow_leaves: Vec<u32>,
    #[serde(rename = "1..2")]
    part: Option<Outputs>,
}

#[derive(Deserialize)]
struct Outputs {
    margins: Vec<u64>,
    predictions: Vec<u64>,
    leaves: Vec<u32>,
    classes: Option<Vec<u32>>,
}

/// The names of all fixtures.
fn names() -> Vec<String> {
    let files = std::fs::read_dir(fixtures("lightgbm")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> =
        files.filter_map(|name| Some(name.to_str()?.strip_suffix(".txt")?.to_owned())).collect();
    names.sort();
    names
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixtures("lightgbm").join(format!("{name}.txt"))).unwrap()
}

fn check(name: &str, forest: &Forest, rows: &[f64], expected: &Outputs) {
    assert_eq!(leaves(forest, rows), expected.leaves, "{name}: leaves");
    assert_eq!(bits(&margins(forest, rows)), expected.margins, "{name}: margins");
    assert_eq!(bits(&predictions(forest, rows)), expected.predictions, "{name}: predictions");
    if let Some(expected) = &expected.classes {
        assert_eq!(&classes(forest, rows), expected, "{name}: classes");
    }
}

#[test]
fn numbers_are_those_of_lightgbm() {
    let (mut objectives, mut parts) = (BTreeSet::new(), 0);
    for name in names() {
        let path = fixtures("lightgbm").join(format!("{name}.txt"));
        let (text, expected): (_, Expected) = (text(&name), expected(&path));
        let forest = read(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let rows = floats(&expected.rows);
        check(&name, &forest, &rows, &expected.all);
        if let Some(expected) = &expected.part {
            let options = ReadOptions { iterations: Iterations::Range(1, 2), ..ReadOptions::default() };
            check(&name, &read_with(text.as_bytes(), &options).unwrap(), &rows, expected);
            parts += 1;
        }
        let narrow: Vec<f32> = rows.iter().map(|&value| value as f32).collect();
        assert_eq!(leaves(&forest, &narrow), expected.narrow_leaves, "{name}: leaves of f32 rows");
        let small = forest.clone().for_rows(Float::F32).with_narrow_thresholds();
        assert_eq!(small.types.threshold, Float::F32, "{name}");
        assert_eq!(leaves(&small, &narrow), expected.narrow_leaves, "{name}: leaves by f32 thresholds");
        objectives.insert(forest.objective.clone());
    }
    assert_eq!((objectives.len(), parts), (22, 4), "{objectives:?}");
}

/// Checks that the fixtures have more than one node or leaf of each kind.
#[test]
fn fixtures_have_all_kinds_of_nodes() {
    let (mut numeric, mut zero, mut sets, mut linear, mut left, mut right, mut single) =
        (0, 0, 0, 0, 0, 0, 0);
    for name in names() {
        let forest = read(text(&name).as_bytes()).unwrap();
        linear += forest.linear.iter().flatten().count();
        for tree in &forest.trees {
            single += usize::from(tree.inner.is_empty());
            for inner in &tree.inner {
                match inner.predicate {
                    Predicate::Numeric { .. } => numeric += 1,
                    Predicate::NumericNotZero { .. } => zero += 1,
                    _ => sets += 1,
                }
                *if inner.missing_left { &mut left } else { &mut right } += 1;
            }
        }
    }
    let counts = [numeric, zero, sets, linear, left, right, single];
    assert!(counts.iter().all(|count| *count > 1), "{counts:?}");
}

#[test]
fn equal_sets_are_kept_once() {
    let text = text("categorical");
    let forest = read(text.as_bytes()).unwrap();
    let nodes = forest.trees.iter().flat_map(|tree| &tree.inner);
    let nodes = nodes.filter(|inner| matches!(inner.predicate, Predicate::Member { .. })).count();
    let distinct: BTreeSet<_> = forest.sets.iter().collect();
    assert!(distinct.len() == forest.sets.len() && nodes >= distinct.len(), "{nodes} nodes");
    let (before, tree) = text.split_once("Tree=0").unwrap();
    let tree = tree.split_once("Tree=1").unwrap().0;
    let twice = format!("{before}Tree=0{tree}Tree=1{tree}end of trees\n");
    let twice = read(twice.as_bytes()).unwrap();
    assert_eq!(twice.sets, read(format!("{before}Tree=0{tree}end of trees\n").as_bytes()).unwrap().sets);
    assert_eq!(twice.trees[0].inner, twice.trees[1].inner);
}

#[test]
fn pandas_categories_get_their_features() {
    let text = text("pandas");
    let forest = read(text.as_bytes()).unwrap();
    assert_eq!(forest.feature_names, ["number", "colour", "size", "a=b"]);
    let label = |name: &str| Label::Text(name.into());
    let colours = ["NA", "blue, \"dark\"", "green", "red"].map(label);
    let sizes = [3, 10, 200].map(Label::Integer);
    let truths = [false, true].map(Label::Truth);
    let listed = |labels: &[Label]| Names::listed(labels.to_vec());
    let expected = [Names::default(), listed(&colours), listed(&sizes), listed(&truths)];
    assert_eq!(forest.categories, expected);

    let notes = |text: &str| {
        let loaded = load(text.as_bytes(), &ReadOptions::default()).unwrap();
        let notes: Vec<_> = loaded.notes.into_iter().map(|note| note.0).collect();
        (loaded.forest.into_parts().categories, notes.join("; "))
    };
    let with =
        |line: &str| text.replacen("\npandas_categorical", &format!("\n{line}\n\npandas_categorical"), 1);
    assert_eq!(notes(&with("[categorical_feature: 1,2,3]")), (expected.to_vec(), String::new()));
    for other in
        ["[categorical_feature: 1,2]", "[categorical_feature: 2,1,3]", "[categorical_feature: 0,1,2]"]
    {
        // Only one assignment of the lists to features fits, so the line does not matter.
        assert_eq!(notes(&with(other)), (expected.to_vec(), String::new()), "{other}");
    }
    // The lists of names may belong to another column of numbers, too.
    let codes =
        text.replacen("feature_infos=[", "feature_infos=[0:3] [", 1).replacen("number", "code number", 1);
    let codes = codes.replacen("max_feature_idx=3", "max_feature_idx=4", 1);
    let (categories, said) = notes(&codes);
    assert!(categories.iter().any(|names| names.naming == Naming::Doubtful), "{said}");
    let fewer = text.replacen("[3, 10, 200]", "[3, 10]", 1);
    let (categories, said) = notes(&fewer);
    assert!(categories.contains(&Names::unknown()) && said.contains("3 pandas columns"), "{said}");
    let infinite = text.replacen("[3, 10, 200]", "[3.0, Infinity, -Infinity]", 1);
    let reals = [3.0, f64::INFINITY, f64::NEG_INFINITY].map(Label::Number);
    assert_eq!(notes(&infinite).0[2], listed(&reals));
    let large = text.replacen("[3, 10, 200]", "[3, 9223372036854775813, 200]", 1);
    assert_eq!(notes(&large).0[2].labels[1], label("9223372036854775813"));
    let broken = text.replacen("[3, 10, 200]", "[3, 10, 200", 1);
    let error = read(broken.as_bytes()).unwrap_err();
    assert_eq!(
        (error.code.to_string().as_str(), error.place.to_string().as_str()),
        ("M0003", "pandas_categorical")
    );
}

#[test]
fn lines_may_end_as_on_windows() {
    for name in names() {
        let unix = text(&name);
        assert_eq!(read(unix.replace('\n', "\r\n").as_bytes()), read(unix.as_bytes()), "{name}");
    }
}

#[test]
fn sizes_of_trees_are_not_trusted() {
    let text = text("binary");
    let sizes = text.lines().find(|line| line.starts_with("tree_sizes=")).unwrap();
    for other in ["", "tree_sizes=", "tree_sizes=1 99999999999", "tree_sizes=-1 0 0 0 x"] {
        assert_eq!(read(text.replacen(sizes, other, 1).as_bytes()), read(text.as_bytes()), "{other}");
    }
}

#[test]
fn leaves_that_are_no_numbers_say_where_they_come_from() {
    let text = text("binary");
    let at = text.find("leaf_value=").unwrap() + "leaf_value=".len();
    let end = at + text[at..].find(' ').unwrap();
    for nan in ["nan", "-nan"] {
        let error = read(format!("{}{nan}{}", &text[..at], &text[end..]).as_bytes()).unwrap_err();
        let place = "trees[0].leaf_value[0]";
        assert_eq!((error.code.to_string().as_str(), error.place.to_string().as_str()), ("M0015", place));
        let help = error.help.as_ref().unwrap();
        assert!(help.contains("labels, weights") && !help.contains("save"), "{error}");
    }
}

#[test]
fn notes_are_made() {
    let notes = |text: &str| {
        let notes = load(text.as_bytes(), &ReadOptions::default()).unwrap().notes;
        notes.into_iter().map(|note| note.0).collect::<Vec<_>>().join("; ")
    };
    // Releases before 2.2.3 average transformed values, and later ones transform the average.
    let forest = text("average-binary");
    assert_eq!(notes(&forest), "");
    let early = forest.replacen("version=v4", "version=v2", 1);
    assert!(notes(&early).contains("2.0 to 2.2.2"), "{}", notes(&early));
    assert_eq!(notes(&text("v2-average")), "");
    let text = text("multiclass");
    assert_eq!(notes(&text), "");
    assert!(notes(&text.replacen("version=v4", "version=v5", 1)).contains("version 5"));
    let plain = text.replacen("objective=multiclass num_class:3\n", "", 1);
    assert!(notes(&plain).contains("custom objective"));
    let trees = &text[text.find("Tree=0").unwrap()..text.find("end of trees").unwrap()];
    assert!(notes(&text.replacen(trees, "", 1)).contains("no trees"));
}

/// Changes to fixtures: the name, the text that is replaced, the new text, and the code and the place of the
/// error.
const DAMAGED: &[(&str, &str, &str, &str, &str)] = &[
    ("binary", "version=v4\n", "", "M0002", "version"),
    ("binary", "version=v4", "version=v1", "M0002", "version"),
    ("binary", "num_class=1\n", "", "M0004", "num_class"),
    ("binary", "num_class=1", "num_class=x", "M0009", "num_class"),
    ("binary", "num_class=1", "num_class=0", "M0009", "num_class"),
    ("binary", "num_class=1", "num_class=70000", "M0019", "num_class"),
    ("binary", "num_tree_per_iteration=1", "num_tree_per_iteration=2", "M0009", "num_tree_per_iteration"),
    ("binary", "max_feature_idx=3", "max_feature_idx=16777216", "M0019", "max_feature_idx"),
    ("binary", "max_feature_idx=3", "max_feature_idx=2", "M0010", "feature_names"),
    ("binary", "feature_names=", "names=", "M0004", "feature_names"),
    ("binary", "sigmoid:1", "sigmoid:0", "M0009", "objective"),
    ("binary", "sigmoid:1", "sigmoid:nan", "M0009", "objective"),
    ("binary", " sigmoid:1", "", "M0009", "objective"),
    ("binary", "objective=binary", "objective=multiclass num_class:2", "M0009", "objective"),
    ("binary", "objective=binary", "objective=lambdarung", "M0008", "objective"),
    ("binary", "end of trees\n\nfeature_importances", "", "M0003", "byte"),
    ("binary", "end of trees", "end of", "M0003", "byte"),
    ("binary", "num_cat=0", "num_cat 0", "M0003", "trees[0]"),
    ("binary", "num_leaves=5", "num_leaves=6", "M0010", "trees[0].leaf_value"),
    ("binary", "num_leaves=5", "num_leaves=4000000000", "M0010", "trees[0].leaf_value"),
    ("binary", "num_leaves=5", "num_leaves=0", "M0009", "trees[0].num_leaves"),
    ("binary", "num_leaves=5\n", "", "M0004", "trees[0].num_leaves"),
    ("binary", "left_child=", "left=", "M0004", "trees[0].left_child"),
    ("binary", "decision_type=10", "decision_type=12", "M0030", "trees[0].decision_type[0]"),
    ("binary", "decision_type=10", "decision_type=26", "M0030", "trees[0].decision_type[0]"),
    ("binary", "decision_type=10", "decision_type=1", "M0015", "trees[0].threshold[0]"),
    ("binary", "split_feature=0", "split_feature=4", "M0013", "trees[0].split_feature[0]"),
    ("binary", "split_feature=0", "split_feature=-1", "M0015", "trees[0].split_feature[0]"),
    ("binary", "threshold=0.", "threshold=nan", "M0015", "trees[0].threshold[0]"),
    ("binary", "leaf_value=", "leaf_value=1 ", "M0010", "trees[0].leaf_value"),
    ("binary", "is_linear=0", "is_linear=2", "M0009", "trees[0].is_linear"),
    ("multiclass", "multiclass num_class:3", "multiclass", "M0009", "objective"),
    ("multiclass", "Tree=5", "Tree", "M0017", "num_tree_per_iteration"),
    ("categorical", "cat_boundaries=0", "cat_boundaries=1", "M0015", "trees[0].cat_boundaries"),
    ("categorical", "cat_boundaries=0", "cat_boundaries=0 0", "M0010", "trees[0].cat_boundaries"),
    ("categorical", "cat_threshold=", "cat_threshold=1 ", "M0010", "trees[0].cat_threshold"),
    ("categorical", "cat_threshold=", "cat_threshold=-1 ", "M0015", "trees[0].cat_threshold[0]"),
    ("linear", "leaf_const=", "const=", "M0004", "trees[0].leaf_const"),
    ("linear", "num_features=0", "num_features=9", "M0010", "trees[0].leaf_features"),
    ("linear", "num_features=0", "num_features=4294967295", "M0010", "trees[0].leaf_features"),
];

#[test]
fn damaged_models_are_refused_with_code_and_place() {
    for (name, old, new, code, place) in DAMAGED {
        let text = text(name);
        let damaged = text.replacen(old, new, 1);
        assert_ne!(text, damaged, "{name} has no {old}");
        let error = match read(damaged.as_bytes()) {
            Ok(_) => panic!("{name}: {old} -> {new} was accepted"),
            Err(error) => error,
        };
        assert_eq!(error.code.to_string(), *code, "{name}: {old} -> {new}: {error}");
        let found = error.place.to_string();
        assert!(
            found == *place || (*place == "byte" && found.starts_with("byte ")),
            "{old} -> {new}: {error}"
        );
        assert!(error.help.is_some(), "{error}");
    }
}

/// Replaces a line of the first tree.
fn with_line(text: &str, key: &str, value: &str) -> String {
    let start = text.find(&format!("\n{key}=")).unwrap() + 1;
    let end = start + text[start..].find('\n').unwrap();
    format!("{}{key}={value}{}", &text[..start], &text[end..])
}

#[test]
fn nodes_that_are_no_tree_are_refused() {
    let text = text("binary");
    for (left, right, code, place) in [
        ("1 2 3 -1", "-2 -3 -4 9", "M0011", "trees[0].right_child[3]"),
        ("1 2 3 -9", "-2 -3 -4 -5", "M0011", "trees[0].left_child[3]"),
        ("1 2 3 0", "-2 -3 -4 -5", "M0012", "trees[0].left_child[3]"),
        ("1 2 3 -1", "-2 -3 -1 -5", "M0012", "trees[0].right_child[2]"),
        ("-1 2 3 -2", "-3 -4 -5 -5", "M0020", "trees[0].left_child"),
        ("1 2 3 -2147483648", "-2 -3 -4 -5", "M0011", "trees[0].left_child[3]"),
    ] {
        let damaged = with_line(&with_line(&text, "left_child", left), "right_child", right);
        let error = read(damaged.as_bytes()).unwrap_err();
        assert_eq!(
            (error.code.to_string().as_str(), error.place.to_string().as_str()),
            (code, place),
            "{error}"
        );
    }
}

/// A chain of inner nodes, each with a leaf on the left.
fn chain(depth: usize) -> String {
    let list = |f: &dyn Fn(usize) -> String| (0..depth).map(f).collect::<Vec<_>>().join(" ");
    let right = |at: usize| if at + 1 < depth { (at + 1).to_string() } else { format!("-{}", depth + 1) };
    format!(
        "tree\nversion=v4\nnum_class=1\nmax_feature_idx=0\nfeature_names=a\n\n\
         Tree=0\nnum_leaves={}\nnum_cat=0\n\
         split_feature={}\nthreshold={}\nleft_child={}\nright_child={}\nleaf_value=0 {}\n\nend of trees\n",
        depth + 1,
        list(&|_| "0".into()),
        list(&|at| at.to_string()),
        list(&|at| format!("-{}", at + 1)),
        list(&right),
        list(&|at| at.to_string()),
    )
}

#[test]
fn deep_trees_neither_overflow_nor_pass() {
    let forest = read(chain(4096).as_bytes()).unwrap();
    assert_eq!(forest.trees[0].depth(), 4096);
    assert_eq!(leaves(&forest, &[1e9, -1.0, 7.5]), [4096, 0, 8]);
    for depth in [4097, 300_000] {
        let error = read(chain(depth).as_bytes()).unwrap_err();
        assert_eq!(
            (error.code.to_string().as_str(), error.place.to_string().as_str()),
            ("M0014", "trees[0]")
        );
    }
}

/// A chain of nodes that all test one set.
fn one_set(depth: usize, words: &str) -> String {
    let count = words.split_whitespace().count();
    let sets = format!("num_cat=1\ncat_boundaries=0 {count}\ncat_threshold={words}\n");
    let text = with_line(&chain(depth).replacen("num_cat=0\n", &sets, 1), "threshold", &"0 ".repeat(depth));
    text.replacen("left_child=", &format!("decision_type={}\nleft_child=", "1 ".repeat(depth)), 1)
}

#[test]
fn many_nodes_may_share_a_large_set() {
    let text = one_set(4000, &"1431655765 ".repeat(20_000));
    let start = std::time::Instant::now();
    let forest = read(text.as_bytes()).unwrap();
    assert_eq!((forest.sets.len(), forest.sets[0].members().len()), (1, 320_000));
    assert_eq!(forest.sets[0].members()[..3], [0, 2, 4]);
    assert!(start.elapsed().as_secs() < 20, "one set is read once");
}

#[test]
fn files_that_need_far_more_memory_than_their_size_are_refused() {
    let dense = one_set(1, &"4294967295 ".repeat(20_000));
    let names = text("pandas").replacen("[3, 10, 200]", &format!("[0{}]", ",0".repeat(30_000)), 1);
    let short = chain(2).replacen("feature_names=a", &format!("feature_names={}", "a ".repeat(20_000)), 1);
    let short = short.replacen("max_feature_idx=0", "max_feature_idx=19999", 1);
    let cases = [(dense, "trees[0].cat_threshold"), (names, "pandas_categorical"), (short, "feature_names")];
    for (text, place) in cases {
        let error = read(text.as_bytes()).unwrap_err();
        assert_eq!((error.code.to_string().as_str(), error.place.to_string().as_str()), ("M0019", place));
    }
}

#[test]
fn iterations_are_chosen() {
    let text = text("multiclass");
    let with = |iterations: &str| {
        read_with(
            text.as_bytes(),
            &ReadOptions { iterations: iterations.parse().unwrap(), ..ReadOptions::default() },
        )
    };
    let part = with("1..2").unwrap();
    assert_eq!(part.trees.iter().map(|tree| tree.source).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(
        (&part.iteration_starts, &with("all").unwrap().iteration_starts),
        (&vec![0, 3], &vec![0, 3, 6])
    );
    for (iterations, help) in [("0..3", "`0..2`"), ("best", "up to the best one")] {
        let error = with(iterations).unwrap_err();
        assert_eq!(error.code.to_string(), "M0018");
        assert!(error.help.as_ref().unwrap().contains(help), "{error}");
    }
}

#[test]
fn every_truncation_before_the_end_of_trees_is_refused() {
    for name in ["binary", "categorical", "linear", "v2.1-objective"] {
        let text = text(name);
        let last =
            ["end of trees", "feature importances:"].into_iter().find(|last| text.contains(last)).unwrap();
        let end = text.find(last).unwrap() + last.len();
        for end in 5..=end {
            let error = read(&text.as_bytes()[..end]).unwrap_err();
            assert_eq!(error.code.to_string(), "M0003", "{name}, {end} bytes: {error}");
            assert_eq!(error.place.to_string(), format!("byte {end}"), "{name}: {error}");
        }
        let whole = read(text.as_bytes()).unwrap();
        for end in end + 1..text.len() {
            if let Ok(forest) = read(&text.as_bytes()[..end]) {
                assert_eq!(forest.trees, whole.trees, "{name}, {end} bytes");
            }
        }
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15;
    let mut accepted = 0;
    let characters = b"0123456789-.e =\n:[]ainft\xff";
    for name in names() {
        let text = text(&name);
        for round in 0..150 {
            let mut damaged = text.clone().into_bytes();
            for _ in 0..1 + next_random(&mut state) % 3 {
                let at = next_random(&mut state) % damaged.len();
                damaged[at] = match round % 3 {
                    0 => damaged[at] ^ 1 << (next_random(&mut state) % 8),
                    _ => characters[next_random(&mut state) % characters.len()],
                };
            }
            if let Ok(forest) = read(&damaged) {
                if forest.num_features < 1000 {
                    predictions::<f64, f64>(&forest, &vec![0.5; 2 * forest.num_features]);
                }
                assert_eq!(Forest::new(forest.clone().into_parts()).as_ref(), Ok(&forest));
                accepted += 1;
            }
        }
    }
    assert!(accepted > 0, "changes in ignored fields leave models readable");
}
