//! Reads any bytes as the profile of a forest, or refuses them with a message and help.

#![no_main]

use sched_forest::{Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Profile, Tree, TreeTarget};

fn stump() -> Tree {
    let predicate = Predicate::Numeric { threshold: 1.0 };
    let (left, right) = (NodeRef::Leaf(0), NodeRef::Leaf(1));
    Tree {
        root: NodeRef::Inner(0),
        inner: vec![Inner { feature: 0, predicate, missing_left: true, left, right }],
        leaves: [1, 2].map(|source| Leaf { source, values: [0.5].into() }).to_vec(),
        target: TreeTarget::One(0),
        source: 0,
    }
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let parts = ForestParts { trees: vec![stump()], ..ForestParts::default() };
    let Ok(forest) = Forest::new(parts) else { return };
    match Profile::from_json(bytes, &forest, "sha256:12") {
        Err(error) => {
            assert!(!error.message.is_empty() && error.help.as_deref().is_some_and(|help| !help.is_empty()))
        }
        Ok(profile) => {
            assert!(profile.hits(&forest.trees[0]).is_some());
            let text = profile.to_json("sha256:12");
            assert_eq!(Profile::from_json(text.as_bytes(), &forest, "sha256:12"), Ok(profile));
        }
    }
});
