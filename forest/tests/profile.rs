//! Profiles: counts of rows at leaves, and the file that holds them.

use sched_forest::{
    Forest, ForestParts, Inner, Leaf, NodeRef, Predicate, Profile, Tree, TreeTarget, WalkError, codes,
};

const FINGERPRINT: &str = "sha256:12";

/// Two stumps over one feature, at 1 and at 2; their leaves have the numbers 1 and 2.
fn forest() -> Forest {
    let trees = [1.0, 2.0].iter().enumerate().map(|(source, threshold)| Tree {
        root: NodeRef::Inner(0),
        inner: vec![Inner {
            feature: 0,
            predicate: Predicate::Numeric { threshold: *threshold },
            missing_left: true,
            left: NodeRef::Leaf(0),
            right: NodeRef::Leaf(1),
        }],
        leaves: [1, 2].map(|source| Leaf { source, values: [0.5].into() }).to_vec(),
        target: TreeTarget::One(0),
        source: source as u32,
    });
    Forest::new(ForestParts { trees: trees.collect(), ..ForestParts::default() }).unwrap()
}

#[test]
fn rows_are_counted_at_their_leaves() {
    let forest = forest();
    let profile = Profile::count(&forest, &[0.0f32, 1.5, 1.7, 5.0, f32::NAN]).unwrap();
    assert_eq!(profile.rows, 5);
    assert_eq!(profile.hits(&forest.trees[0]), Some(vec![2, 3]));
    assert_eq!(profile.hits(&forest.trees[1]), Some(vec![4, 1]));
    let none = Profile::count::<f32>(&forest, &[]).unwrap();
    assert_eq!(none.hits(&forest.trees[1]), Some(vec![0, 0]));
}

#[test]
fn half_a_row_is_refused() {
    let parts = ForestParts { num_features: 2, ..ForestParts::default() };
    let forest = Forest::new(parts).unwrap();
    let result = Profile::count(&forest, &[1.0f32]);
    assert_eq!(result, Err(WalkError::Ragged { values: 1, features: 2 }));
}

#[test]
fn a_file_comes_back_as_it_was() {
    let forest = forest();
    let profile = Profile::count(&forest, &[0.0f32, 1.5]).unwrap();
    let text = profile.to_json(FINGERPRINT);
    assert_eq!(Profile::from_json(text.as_bytes(), &forest, FINGERPRINT), Ok(profile));
}

#[test]
fn files_that_are_not_profiles_of_the_model_are_refused() {
    let forest = forest();
    let text = Profile::count(&forest, &[0.0f32]).unwrap().to_json(FINGERPRINT);
    let refused = |text: &str| {
        let error = Profile::from_json(text.as_bytes(), &forest, FINGERPRINT).unwrap_err();
        assert!(error.help.is_some(), "{error}");
        (error.code, error.place.to_string())
    };
    let changed = |from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        refused(&text.replacen(from, to, 1))
    };
    assert_eq!(refused("").0, codes::BAD_PROFILE);
    assert_eq!(refused("{\"format\": 1").0, codes::BAD_PROFILE);
    assert_eq!(refused(&"[".repeat(100_000)).0, codes::BAD_PROFILE);
    assert_eq!(changed("\"format\": 1", "\"format\": 2"), (codes::BAD_PROFILE, "format".to_string()));
    assert_eq!(changed("[2, 0]", "[2, -1]"), (codes::BAD_PROFILE, "trees[0].leaves[1][1]".to_string()));
    assert_eq!(changed("[2, 0]", "[1, 0]"), (codes::BAD_PROFILE, "trees[0].leaves".to_string()));
    assert_eq!(changed("\"tree\": 1", "\"tree\": 0"), (codes::BAD_PROFILE, "trees[1].tree".to_string()));
    assert_eq!(changed("sha256:12", "sha256:13"), (codes::OTHER_PROFILE, "fingerprint".to_string()));
    assert_eq!(changed("\"tree\": 1", "\"tree\": 7"), (codes::OTHER_PROFILE, "trees".to_string()));
    assert_eq!(changed("[2, 0]", "[3, 0]"), (codes::OTHER_PROFILE, "trees".to_string()));
}

#[test]
fn any_part_of_a_file_is_read_or_refused() {
    let forest = forest();
    let text = Profile::count(&forest, &[0.0f32]).unwrap().to_json(FINGERPRINT).into_bytes();
    for at in 0..text.len() {
        let cut = Profile::from_json(&text[..at], &forest, FINGERPRINT);
        assert!(cut.is_err() || text[at..].trim_ascii().is_empty(), "byte {at}");
        let mut bytes = text.clone();
        bytes[at] = b'9';
        // Only a panic would be wrong: any result is accepted.
        let _ = Profile::from_json(&bytes, &forest, FINGERPRINT);
    }
}
