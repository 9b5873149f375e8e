//! Every stage of the compiler as text, for a small forest and the schedules in `tests/ir`.
//!
//! The first line of a schedule, `// stages: mir lir`, names the stages whose texts are stored beside it.
//! `UPDATE=1` rewrites these files.

use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Tree, TreeTarget};
use sched_ir::lir::OutputKind;
use sched_ir::{Budget, Compiled, compile};
use sched_lang::{CheckOptions, CheckPurpose, ModelInfo, check};
use sched_llvm::{Cpu, llvm_text};
use std::path::Path;

/// Four trees of depths 1, 1, 2 and 3: those of Figure 1 of the SilvanForge paper, with one more level in the
/// last tree.
fn forest() -> Forest {
    let trees = [1, 1, 2, 3].iter().enumerate().map(|(source, depth)| {
        let (mut inner, mut leaves) = (Vec::new(), Vec::new());
        let root = left_heavy(*depth, &mut inner, &mut leaves);
        Tree { root, inner, leaves, target: TreeTarget::One(0), source: source as u32 }
    });
    let parts =
        ForestParts { trees: trees.collect(), num_features: 3, base: vec![0.5], ..ForestParts::default() };
    Forest::new(parts).expect("a valid forest")
}

/// A chain of nodes to the left, with leaves of every depth.
fn left_heavy(levels: u32, inner: &mut Vec<Inner>, leaves: &mut Vec<Leaf>) -> NodeRef {
    let number = (inner.len() + leaves.len()) as u32;
    if levels == 0 {
        leaves.push(Leaf { source: number, values: [f64::from(number) + 0.25].into() });
        return NodeRef::Leaf(leaves.len() as u32 - 1);
    }
    let at = inner.len();
    let predicate = Predicate::Numeric { threshold: f64::from(levels) };
    let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(0));
    inner.push(Inner { feature: levels - 1, predicate, missing_left: false, left, right });
    let left = left_heavy(levels - 1, inner, leaves);
    let right = left_heavy(0, inner, leaves);
    inner[at].left = left;
    inner[at].right = right;
    NodeRef::Inner(at as u32)
}

fn stage(name: &str, compiled: &Compiled) -> String {
    match name {
        "hir" => compiled.variants.rest().hir.to_string(),
        "mir" => compiled.variants.rest().mir.to_string(),
        "plan" => compiled.variants.rest().plan.to_string(),
        "lir" => compiled.lir.to_string(),
        "llvm" => llvm_text(&compiled.lir, Cpu::X86_64V3, false).expect("LLVM takes the module"),
        other => panic!("there is no stage `{other}`"),
    }
}

#[test]
fn stages_equal_their_goldens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir");
    let update = std::env::var_os("UPDATE").is_some();
    let mut compared = 0;
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder").map(|e| e.expect("a file").path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "sched")) {
        let text = std::fs::read_to_string(path).expect("a schedule");
        let stages = text.lines().next().and_then(|line| line.strip_prefix("// stages: "));
        let forest = forest();
        let model = ModelInfo {
            num_trees: 4,
            num_features: 3,
            num_classes: 1,
            depths: forest.trees.iter().map(Tree::depth).collect(),
            ..ModelInfo::default()
        };
        let options = CheckOptions {
            model: Some(model.into()),
            purpose: CheckPurpose::Compile,
            ..CheckOptions::default()
        };
        let checked = check(&text, &options);
        let nests = checked.nests.unwrap_or_else(|| panic!("{}: {:#?}", path.display(), checked.diagnostics));
        let compiled =
            compile(forest, None, nests, &[OutputKind::Raw], &Budget::default()).expect("it compiles");
        for name in stages.expect("a line `// stages: …` first").split(' ') {
            let kept = path.with_extension(name);
            let found = stage(name, &compiled);
            if update {
                std::fs::write(&kept, &found).expect("goldens can be written");
            }
            let expected = std::fs::read_to_string(&kept).unwrap_or_default();
            assert!(
                found == expected,
                "{} differs; look at it and run with UPDATE=1\n{found}",
                kept.display()
            );
            compared += 1;
        }
    }
    assert!(compared >= 10, "only {compared} stages have goldens");
}
