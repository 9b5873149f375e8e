//! Random schedules mean what the language says: every row meets every tree exactly once.

use sched_lang::nest::{Accumulation, TreeOrder};
use sched_lang::random::{Rng, schedule};
use sched_lang::visit::visit;
use sched_lang::{ModelFacts, Options, Supported, check};

fn model(rng: &mut Rng) -> ModelFacts {
    let num_trees = 1 + rng.below(40) as u32;
    let depths = (0..num_trees).map(|_| 1 + rng.below(6) as u32).collect();
    ModelFacts { num_trees, num_features: 7, num_classes: 1, depths }
}

#[test]
fn every_row_meets_every_tree_once() {
    let mut seen = std::collections::HashMap::new();
    for seed in 0..600 {
        let mut rng = Rng(seed);
        let model = model(&mut rng);
        let text = schedule(seed, &model);
        let options =
            Options { facts: Some(model.clone()), supported: Supported::Compilable, ..Options::default() };
        let checked = check(&text, &options);
        let nest = checked.nest.unwrap_or_else(|| panic!("seed {seed}: {:?}\n{text}", checked.diagnostics));
        for directive in sched_lang::directives::SIGNATURES {
            if text.contains(&format!("{}(", directive.name)) {
                *seen.entry(directive.name).or_insert(0) += 1;
            }
        }
        for rows in [0, 1, 5, 33, 130] {
            let mut trees = vec![Vec::new(); rows as usize];
            visit(&nest, rows, &mut |row, tree| trees[row as usize].push(tree)).expect("everything is known");
            let in_order: Vec<i64> = (0..i64::from(model.num_trees)).collect();
            let is_exact = nest.accumulation == Accumulation::Exact;
            for met in &mut trees {
                if is_exact {
                    assert_eq!(nest.tree_order, TreeOrder::Model);
                    assert_eq!(*met, in_order, "seed {seed}, {rows} rows\n{text}");
                }
                met.sort_unstable();
                assert_eq!(*met, in_order, "seed {seed}, {rows} rows\n{text}");
            }
        }
    }
    for directive in sched_lang::directives::SIGNATURES.iter().filter(|directive| directive.lowered) {
        assert!(
            seen.get(directive.name).is_some_and(|count| *count >= 5),
            "{} is never made: {seen:?}",
            directive.name
        );
    }
}
