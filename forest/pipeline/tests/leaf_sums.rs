//! Compares sums over one-hot encoded leaf indices with the trees that the pass *leaf sums* makes of them.

use crate::draw::{Draw, Random, cases};
use sched_columns::{
    Binary, ColumnId, ColumnTree, ColumnTrees, ColumnType, ColumnValue, Columns, Expr, SharedTreeProperties,
    Term, Ties, TreeNode, TreeTest, Unary,
};
use sched_forest::{
    Comparison, Float, Forest, ForestParts, Leaf, LinearLeaf, LinearMissing, NodeRef, Tree, TreeTarget,
    Types, predict,
};
use sched_pipeline::{
    Folding, InputKind, LeafSums, PassFault, Pipeline, PipelineInput, PipelineStage, fold, fold_constants,
    leaf_sums, leaf_vectors, remove_unread_columns, with_pass_fault,
};
use std::sync::Arc;

/// The position of a node in a tree: the root, or the left (true) or right side of a test.
type NodePlace = Option<(usize, bool)>;

/// The tests and the root of a random tree with leaves from 0 on, in any order.
fn random_tests(
    draw: &mut Draw,
    operands: u32,
    compared: ColumnType,
    leaves: u32,
) -> (TreeNode, Vec<TreeTest>) {
    let (mut root, mut tests) = (TreeNode::Leaf(0), Vec::new());
    let mut places: Vec<NodePlace> = vec![None];
    let mut put = |tests: &mut Vec<TreeTest>, place: NodePlace, node: TreeNode| match place {
        None => root = node,
        Some((test, true)) => tests[test].left = node,
        Some((test, false)) => tests[test].right = node,
    };
    for test in 0..leaves as usize - 1 {
        let place = places.swap_remove(draw.random.below(places.len() as u64) as usize);
        put(&mut tests, place, TreeNode::Test(test as u32));
        tests.push(TreeTest {
            operand: draw.random.below(operands.into()) as u32,
            threshold: ColumnValue::F64(draw.random.constant()).cast(compared).to_f64(),
            missing_left: draw.random.one_in(2),
            left: TreeNode::Leaf(0),
            right: TreeNode::Leaf(0),
        });
        places.extend([Some((test, true)), Some((test, false))]);
    }
    for (leaf, place) in (0..).zip(places) {
        put(&mut tests, place, TreeNode::Leaf(leaf));
    }
    (root, tests)
}

/// One-hot encoded leaf indices of a few trees with common operands, as columns of the type `float`.
fn encoded(draw: &mut Draw, float: Float, (compared, ties): (Float, Ties)) -> Vec<ColumnId> {
    let sum_type = draw.random.pick(&[Float::F32, Float::F64]);
    let operands: Vec<ColumnId> =
        (0..1 + draw.random.below(3)).map(|_| draw.column(compared.into())).collect();
    let operands: Arc<[ColumnId]> = operands.into();
    let trees = 1 + draw.random.below(5) as u32;
    // Trees may have a result each, and add -0 to all other results.
    let are_together = draw.random.one_in(3);
    let results = if are_together { trees } else { 1 };
    let shared = SharedTreeProperties {
        operands: operands.len() as u32,
        results,
        operand_type: compared,
        sum_type,
        ties,
    };
    let (mut made, mut indices): (Vec<ColumnTree>, Vec<Vec<f64>>) = (Vec::new(), Vec::new());
    for result in 0..trees {
        let leaves = 1 + draw.random.below(6) as u32;
        let (root, tests) = random_tests(draw, operands.len() as u32, compared.into(), leaves);
        let is_shuffled = draw.random.one_in(4);
        let index = |leaf: u32| if is_shuffled { f64::from(leaf * 7 % 5) } else { f64::from(leaf) };
        let own: Vec<f64> = (0..leaves).map(index).collect();
        let of_leaf =
            |index: f64| (0..results).map(move |at| if at == result || results == 1 { index } else { -0.0 });
        let values = own.iter().flat_map(|index| of_leaf(*index)).collect();
        made.push(ColumnTree { root, tests, values });
        indices.push(own);
    }
    let start = ColumnValue::F64(draw.random.pick(&[0.0, 0.0, -0.0, 3.0])).cast(sum_type.into());
    let all = Arc::new(ColumnTrees::new(shared, made.clone()).expect("trees"));
    let mut columns = Vec::new();
    for (result, own) in (0..).zip(indices) {
        let trees = match are_together {
            true => Arc::clone(&all),
            false => Arc::new(ColumnTrees::new(shared, vec![made[result as usize].clone()]).expect("a tree")),
        };
        let result = if are_together { result } else { 0 };
        let tree = draw.add(Expr::Trees { of: Arc::clone(&operands), start, trees, result });
        columns.extend(indicators(draw, tree, start.to_f64(), own, float));
    }
    columns
}

/// Columns that are 1, or another number, for each of the indices of a tree's leaves, and else 0.
fn indicators(
    draw: &mut Draw,
    tree: ColumnId,
    start: f64,
    mut indices: Vec<f64>,
    float: Float,
) -> Vec<ColumnId> {
    let index = match draw.random.below(3) {
        0 => draw.cast(tree, ColumnType::I64),
        _ => tree,
    };
    indices.sort_by(f64::total_cmp);
    indices.dedup();
    if draw.random.one_in(8) {
        indices.push(99.0);
    }
    if draw.random.one_in(8) {
        indices.remove(0);
    }
    let form = draw.random.below(4);
    let indicator = |draw: &mut Draw, number: f64| {
        let number = draw.value(index, start + number);
        let is_equal = match draw.random.one_in(2) {
            true => Expr::Binary(Binary::Equal, index, number),
            false => Expr::Binary(Binary::Equal, number, index),
        };
        let is_equal = draw.add(is_equal);
        let [zero, one] =
            [0.0, 1.0].map(|value| draw.columns.constant(ColumnValue::F64(value).cast(float.into())));
        match form {
            0 => draw.add(Expr::Select { condition: is_equal, then: one, otherwise: zero }),
            1 => {
                let column = draw.cast(is_equal, float.into());
                let half = draw.value(column, 0.5);
                draw.add(Expr::Binary(Binary::Multiply, half, column))
            }
            2 => {
                let is_none = draw.add(Expr::Unary(Unary::Not, is_equal));
                draw.add(Expr::Select { condition: is_none, then: zero, otherwise: one })
            }
            _ => draw.cast(is_equal, float.into()),
        }
    };
    indices.into_iter().map(|number| indicator(draw, number)).collect()
}

fn weight(random: &mut Random) -> f64 {
    match random.below(12) {
        0 => random.pick(&[0.0, -0.0, 1e-320, -1e30]),
        1 if random.one_in(32) => random.pick(&[f64::INFINITY, -1e300]),
        _ => random.below(1000) as f64 / 37.0 - 13.0,
    }
}

/// A pipeline with sums over encoded leaves, and before or behind these over other columns. In a net, layers
/// of sums are below the last ones.
fn leaf_model(mut draw: Draw) -> (Pipeline, Draw) {
    let float = draw.random.pick(&[Float::F32, Float::F64, Float::F64]);
    let mut tested = Vec::new();
    if draw.random.one_in(4) {
        tested.push(draw.column(float.into()));
    }
    let mut tests = (Float::F64, Ties::Below);
    for number in 0..1 + draw.random.below(2) {
        if number == 0 || draw.random.one_in(4) {
            tests = (draw.random.pick(&[Float::F32, float]), draw.random.pick(&[Ties::Above, Ties::Below]));
        }
        tested.extend(encoded(&mut draw, float, tests));
    }
    if tested.is_empty() || draw.random.one_in(4) {
        tested.push(draw.column(float.into()));
    }
    let number = |value: f64| ColumnValue::F64(value).cast(float.into());
    let constants = [-0.0, -0.0, 0.0, 0.5];
    if draw.random.one_in(3) {
        let mut units = Vec::new();
        for _ in 0..1 + draw.random.below(4) {
            let start = number(draw.random.pick(&constants));
            let term = |column: &ColumnId| Term { column: *column, weight: number(weight(&mut draw.random)) };
            let terms = tested.iter().map(term).collect();
            units.push(draw.add(Expr::Dot { start, terms }));
        }
        tested = units;
    }
    let leaf = |values: [f64; 1]| Leaf { source: 0, values: values.into() };
    let (mut trees, mut linear) = (Vec::new(), Vec::new());
    for source in 0..1 + draw.random.below(3) as u32 {
        let mut term = |feature: u32| (feature, number(weight(&mut draw.random)).to_f64());
        let terms = (0..tested.len() as u32).map(&mut term).collect();
        linear.push(vec![LinearLeaf { constant: draw.random.pick(&constants), terms }]);
        let (root, leaves) = (NodeRef::Leaf(0), vec![leaf([0.0])]);
        trees.push(Tree { root, inner: Vec::new(), leaves, target: TreeTarget::One(source), source });
    }
    let parts = ForestParts {
        num_features: tested.len(),
        num_margins: trees.len(),
        base: vec![-0.0; trees.len()],
        iteration_starts: vec![0, trees.len()],
        comparison: Comparison::LessOrEqual,
        types: Types::all(float),
        trees,
        linear,
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let stages = vec![PipelineStage::Forest { name: "sums".into(), forest, tested }];
    let pipeline = Pipeline { inputs: draw.inputs.clone(), columns: draw.columns.clone(), stages };
    (fold_constants(remove_unread_columns(pipeline)).expect("types that fit"), draw)
}

/// Random rows, and rows with thresholds of trees.
fn rows(draw: &mut Draw, pipeline: &Pipeline) -> Vec<f64> {
    let mut rows: Vec<f64> = (0..80).flat_map(|_| draw.row()).collect();
    for column in pipeline.columns.all() {
        let Expr::Trees { trees, .. } = pipeline.columns.expr(column) else { continue };
        for test in trees.trees().iter().flat_map(|tree| &tree.tests) {
            let mut row = draw.row();
            for (value, input) in row.iter_mut().zip(&draw.inputs) {
                let is_number = matches!(input.kind, InputKind::Float(_));
                *value = if is_number { f64::from(test.threshold as f32) } else { *value };
            }
            rows.extend(row);
        }
    }
    rows
}

/// The bits of predictions. All NaN have the same bits.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| if value.is_nan() { u64::MAX } else { value.to_bits() }).collect()
}

fn sums(pipeline: &Pipeline, rows: &[f64]) -> Vec<u64> {
    let margins = pipeline.stages[0].forest().map_or(0, |forest| forest.num_margins);
    let mut out = vec![0.0; rows.len() / pipeline.inputs.len() * margins];
    pipeline.predict(rows, &mut out).expect("sizes that fit");
    bits(&out)
}

/// The columns that sums and other columns read which compare leaf indices.
fn comparisons(pipeline: &Pipeline) -> usize {
    let PipelineStage::Forest { forest, tested, .. } = &pipeline.stages[0];
    let of_nodes = forest.trees.iter().flat_map(|tree| &tree.inner).map(|inner| inner.feature);
    let of_sums = forest.linear.iter().flatten().flat_map(|leaf| &leaf.terms).map(|(feature, _)| *feature);
    let read: Vec<ColumnId> = of_nodes.chain(of_sums).map(|feature| tested[feature as usize]).collect();
    let columns = &pipeline.columns;
    let is_comparison = |column: &ColumnId| matches!(columns.expr(*column), Expr::Binary(Binary::Equal, ..));
    columns.needed_for(&read).iter().filter(|column| is_comparison(column)).count()
}

#[test]
fn sums_over_leaves_have_the_same_bits() {
    let (mut before, mut after, mut forests) = (0, 0, 0);
    for seed in 0..cases() {
        let (pipeline, mut draw) = leaf_model(Draw::new(seed));
        let LeafSums { pipeline: found, .. } = leaf_sums(pipeline.clone()).expect("a forest");
        let rows = rows(&mut draw, &pipeline);
        let expected = sums(&pipeline, &rows);
        let (margins, ours) = (expected.len() * pipeline.inputs.len() / rows.len(), sums(&found, &rows));
        if let Some(place) = (0..expected.len()).find(|place| expected[*place] != ours[*place]) {
            let row = &rows[place / margins * pipeline.inputs.len()..][..pipeline.inputs.len()];
            let [expected, ours] = [expected[place], ours[place]].map(f64::from_bits);
            panic!("seed {seed}: row {row:?} has {expected}, and {ours} with trees; {found:?}");
        }
        (before, after) = (before + comparisons(&pipeline), after + comparisons(&found));
        forests += usize::from(found.stages[0].forest().is_some_and(|forest| !forest.has_linear_leaves()));
        let merged = leaf_vectors(found).expect("a forest");
        let Folding { pipeline: folded, .. } = fold(merged).expect("a forest");
        let forest = folded.into_forest().expect("a forest with computed columns");
        let mut of_forest = vec![0.0; expected.len()];
        predict(&forest, &rows, &mut of_forest).expect("whole rows");
        assert_eq!(bits(&of_forest), expected, "seed {seed}");
    }
    assert!(after * 2 < before, "{after} of {before} comparisons are left");
    assert!(forests * 5 > cases() as usize, "{forests} of {} models are forests", cases());
}

#[test]
fn seeded_faults_of_leaf_sums_are_found() {
    let (mut wrong, mut found) = (0, 0);
    for seed in 0..cases() / 4 {
        let (pipeline, mut draw) = leaf_model(Draw::new(seed));
        let of = || leaf_sums(pipeline.clone()).expect("a forest").pipeline;
        let (right, broken) = (of(), with_pass_fault(PassFault::LeafEntriesSwapped, of));
        if broken == right {
            continue;
        }
        let rows = rows(&mut draw, &pipeline);
        wrong += 1;
        found += usize::from(sums(&pipeline, &rows) != sums(&broken, &rows));
    }
    assert!(wrong >= 20 && found * 10 > wrong * 7, "{found} of {wrong} faults were found");
}

/// Two trees over `x0`, whose leaves are one-hot encoded: 5 columns.
fn two_trees(columns: &mut Columns) -> Vec<ColumnId> {
    let x = columns.input(0, Float::F64);
    let shared = SharedTreeProperties {
        operands: 1,
        results: 1,
        operand_type: Float::F64,
        sum_type: Float::F64,
        ties: Ties::Below,
    };
    let test = |threshold, left, right| TreeTest { operand: 0, threshold, missing_left: true, left, right };
    let leaf = TreeNode::Leaf;
    let all = [
        vec![test(1.0, leaf(0), leaf(1))],
        vec![test(0.0, leaf(0), TreeNode::Test(1)), test(2.0, leaf(1), leaf(2))],
    ];
    let mut made = Vec::new();
    for tests in all {
        let leaves = tests.len() + 1;
        let values = (0..leaves).map(|leaf| leaf as f64).collect();
        let tree = ColumnTree { root: TreeNode::Test(0), tests, values };
        let trees = Arc::new(ColumnTrees::new(shared, vec![tree]).expect("a tree"));
        let start = ColumnValue::F64(0.0);
        let index = columns.add(Expr::Trees { of: [x].into(), start, trees, result: 0 }).expect("a double");
        for leaf in 0..leaves {
            let number = columns.constant(ColumnValue::F64(leaf as f64));
            let is_leaf = columns.add(Expr::Binary(Binary::Equal, index, number)).expect("doubles");
            made.push(columns.cast(is_leaf, ColumnType::F64).expect("a truth value"));
        }
    }
    made
}

/// A model with a sum over these columns for each list of weights.
fn sums_of(columns: Columns, tested: Vec<ColumnId>, weights: &[Vec<f64>]) -> Pipeline {
    let (mut trees, mut linear) = (Vec::new(), Vec::new());
    for (source, weights) in (0..).zip(weights) {
        let leaves = vec![Leaf { source: 0, values: [0.0].into() }];
        let (root, target) = (NodeRef::Leaf(0), TreeTarget::One(source));
        trees.push(Tree { root, inner: Vec::new(), leaves, target, source });
        let terms = (0..).zip(weights.iter().copied()).collect();
        linear.push(vec![LinearLeaf { constant: 0.25, terms }]);
    }
    let parts = ForestParts {
        num_features: tested.len(),
        num_margins: trees.len(),
        base: vec![0.0; trees.len()],
        iteration_starts: vec![0, trees.len()],
        comparison: Comparison::LessOrEqual,
        types: Types::all(Float::F64),
        trees,
        linear,
        linear_missing: LinearMissing::Nan,
        ..ForestParts::default()
    };
    let forest = Box::new(Forest::new(parts).expect("a forest"));
    let kind = InputKind::Float(Float::F64);
    let input = PipelineInput { name: String::new(), kind, names: Default::default() };
    let stages = vec![PipelineStage::Forest { name: "sums".into(), forest, tested }];
    Pipeline { inputs: vec![input], columns, stages }
}

fn forest_after(pipeline: Pipeline) -> Forest {
    let LeafSums { pipeline, .. } = leaf_sums(pipeline).expect("a forest");
    pipeline.stages[0].forest().cloned().expect("a forest")
}

#[test]
fn leaves_hold_the_weights_of_sums() {
    let mut columns = Columns::default();
    let tested = two_trees(&mut columns);
    let forest = forest_after(sums_of(columns, tested, &[vec![1.0, 2.0, 3.0, 4.0, 5.0], vec![-1.0; 5]]));
    assert!(!forest.has_linear_leaves() && forest.base == [0.25, 0.25], "{forest:?}");
    let values: Vec<Vec<f64>> =
        forest.trees.iter().map(|tree| tree.leaves.iter().map(|leaf| leaf.values[0]).collect()).collect();
    assert_eq!(values, [vec![1.0, 2.0], vec![-1.0; 2], vec![3.0, 4.0, 5.0], vec![-1.0; 3]]);
    let targets: Vec<TreeTarget> = forest.trees.iter().map(|tree| tree.target).collect();
    assert_eq!(targets, [0, 1, 0, 1].map(TreeTarget::One));
}

#[test]
fn products_before_the_leaves_stay_a_sum() {
    let mut columns = Columns::default();
    let x = columns.input(0, Float::F64);
    let tested = [vec![x], two_trees(&mut columns)].concat();
    let forest = forest_after(sums_of(columns, tested, &[vec![0.1, 1.0, 2.0, 3.0, 4.0, 5.0]]));
    assert_eq!(forest.trees.len(), 3, "{forest:?}");
    assert_eq!(forest.linear[0], [LinearLeaf { constant: 0.25, terms: vec![(0, 0.1)] }]);
}

#[test]
fn products_behind_the_leaves_follow_a_column_of_trees() {
    let mut columns = Columns::default();
    let x = columns.input(0, Float::F64);
    let tested = [two_trees(&mut columns), vec![x]].concat();
    let LeafSums { pipeline, replaced } =
        leaf_sums(sums_of(columns, tested, &[vec![1.0, 2.0, 3.0, 4.0, 5.0, 0.1]])).expect("a forest");
    let forest = pipeline.stages[0].forest().expect("a forest");
    assert_eq!(forest.linear[0], [LinearLeaf { constant: -0.0, terms: vec![(6, 1.0), (5, 0.1)] }]);
    let sum = pipeline.columns.expr(pipeline.stages[0].tested()[6]);
    assert!(matches!(sum, Expr::Trees { trees, .. } if trees.trees().len() == 2), "{sum:?}");
    assert_eq!(replaced, [(0..5).collect()]);
}

/// A sum that reads one leaf of a tree with 100 leaves would become a tree of which 99 leaves hold 0.
#[test]
fn sums_of_few_leaves_stay() {
    let mut draw = Draw::new(1);
    let (root, tests) = random_tests(&mut draw, 1, ColumnType::F64, 100);
    let mut columns = Columns::default();
    let x = columns.input(0, Float::F64);
    let shared = SharedTreeProperties {
        operands: 1,
        results: 1,
        operand_type: Float::F64,
        sum_type: Float::F64,
        ties: Ties::Below,
    };
    let tree = ColumnTree { root, tests, values: (0..100).map(f64::from).collect() };
    let trees = Arc::new(ColumnTrees::new(shared, vec![tree]).expect("a tree"));
    let (of, start) = ([x].into(), ColumnValue::F64(0.0));
    let index = columns.add(Expr::Trees { of, start, trees, result: 0 }).expect("a double");
    let leaf = columns.constant(ColumnValue::F64(7.0));
    let is_leaf = columns.add(Expr::Binary(Binary::Equal, index, leaf)).expect("doubles");
    let tested = vec![columns.cast(is_leaf, ColumnType::F64).expect("a truth value")];
    let pipeline = sums_of(columns, tested, &[vec![2.0]]);
    let LeafSums { pipeline: found, replaced } = leaf_sums(pipeline.clone()).expect("a forest");
    assert_eq!((&found, replaced.iter().all(|it| it.is_empty())), (&pipeline, true));
}
