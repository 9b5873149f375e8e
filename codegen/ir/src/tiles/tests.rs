//! Tiles of small trees.

use super::*;
use crate::codes;
use sched_forest::{ForestParts, Inner, Leaf, Predicate, TreeTarget};
use sched_nest::ModelInfo;
use sched_nest::footprint::most_steps;
use sched_testing::schedules::Rng;

/// A tree from nested parentheses: `.` is a leaf, `(ab)` an inner node with children a and b.
fn tree(text: &str) -> Tree {
    fn node(text: &mut std::str::Chars, tree: &mut Tree) -> NodeRef {
        if text.next() != Some('(') {
            tree.leaves.push(Leaf { source: tree.leaves.len() as u32, values: [0.0].into() });
            return NodeRef::Leaf(tree.leaves.len() as u32 - 1);
        }
        let at = tree.inner.len();
        let predicate = Predicate::Numeric { threshold: 0.0 };
        let none = NodeRef::Leaf(0);
        tree.inner.push(Inner { feature: 0, predicate, missing_left: true, left: none, right: none });
        tree.inner[at].left = node(text, tree);
        tree.inner[at].right = node(text, tree);
        text.next();
        NodeRef::Inner(at as u32)
    }
    let mut tree = Tree {
        root: NodeRef::Leaf(0),
        inner: Vec::new(),
        leaves: Vec::new(),
        target: TreeTarget::One(0),
        source: 0,
    };
    tree.root = node(&mut text.chars(), &mut tree);
    tree
}

fn uniform(text: &str, most: usize) -> TiledTree {
    TiledTree::cover(&tree(text), &Growth::Uniform, most)
}

fn nodes(tiled: &TiledTree) -> Vec<Vec<u32>> {
    tiled.tiles.iter().map(|tile| tile.nodes.clone()).collect()
}

#[test]
fn uniform_tiles_grow_level_by_level() {
    // Nodes in depth-first order: 0 (1 (2 .) (3 . .)) (4 ..)
    let tiled = uniform("(((..).)(..))", 3);
    assert_eq!(nodes(&tiled), [vec![0, 1, 3], vec![2]]);
    assert_eq!(tiled.tiles[0].children, [Child::Tile(1), Child::Leaf(2), Child::Leaf(3), Child::Leaf(4)]);
    assert_eq!(tiled.tiles[1].children, [Child::Leaf(0), Child::Leaf(1)]);
    assert_eq!(tiled.depths(), (2, 1));
}

#[test]
fn a_leaf_is_a_tile_of_padding() {
    let tiled = uniform(".", 4);
    assert_eq!(tiled.tiles, [Tile::padding(Child::Leaf(0))]);
    assert_eq!(tiled.depths(), (1, 1));
}

#[test]
fn every_node_is_in_one_tile_and_every_leaf_below_one() {
    let text = "((((..)(..))((..).))(.(.(.(..)))))";
    let all = tree(text);
    for most in 1..=8 {
        let tiled = uniform(text, most);
        let mut inner: Vec<u32> = nodes(&tiled).concat();
        inner.sort_unstable();
        assert_eq!(inner, (0..all.inner.len() as u32).collect::<Vec<_>>(), "tiles of {most}");
        let children = tiled.tiles.iter().flat_map(|tile| &tile.children);
        let mut leaves: Vec<u32> = children
            .filter_map(|child| match child {
                Child::Leaf(leaf) => Some(*leaf),
                Child::Tile(_) => None,
            })
            .collect();
        leaves.sort_unstable();
        assert_eq!(leaves, (0..all.leaves.len() as u32).collect::<Vec<_>>(), "tiles of {most}");
        assert!(tiled.tiles.iter().all(|tile| tile.nodes.len() <= most));
        assert!(tiled.tiles.iter().all(|tile| tile.children.len() == usize::from(tile.shape.children())));
    }
}

#[test]
fn padding_adds_one_tile_a_step() {
    let mut tiled = uniform("(((..).)(..))", 3);
    tiled.pad(3);
    assert_eq!(tiled.depths(), (3, 3));
    // Each of three leaves at depth one needs two tiles, each of two leaves at depth two needs one.
    assert_eq!(tiled.tiles.len(), 2 + 3 * 2 + 2);
    let mut deep = uniform("(..)", 2);
    deep.pad(1);
    assert_eq!(deep.tiles.len(), 1, "nothing to pad");
}

fn forest(tree: Tree) -> Forest {
    let parts = ForestParts {
        trees: vec![tree],
        num_features: 1,
        num_margins: 1,
        base: vec![0.0],
        ..ForestParts::default()
    };
    Forest::new(parts).unwrap_or_else(|error| unreachable!("{error}"))
}

fn likely(most: u32) -> TileTrees {
    TileTrees { nodes: most, by_probability: true }
}

#[test]
fn likely_tiles_follow_the_hits() {
    // A chain to the left beside a complete right part; nearly all rows end at the end of the chain.
    let forest = forest(tree("((((((..).).).).)(((..)(..))((..)(..))))"));
    let count = forest.trees[0].leaves.len() as u32;
    assert!(count >= 10, "a tenth of the leaves is a leaf");
    let hits = |at: u32| if at == 0 { 1000 } else { 1 };
    let leaves = (0..count).map(|leaf| (leaf, hits(leaf))).collect();
    let profile = Profile { rows: 1000, trees: [(0, leaves)].into() };
    let tiling = Tiling::new(&forest, likely(4), Some(&profile));
    let tiling = tiling.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(tiling.biased, 1);
    assert_eq!(nodes(&tiling.trees[0])[0], [0, 1, 2, 3], "the chain comes first");
    // Equal hits everywhere favour no path.
    let even = Profile { rows: 10, trees: [(0, (0..count).map(|leaf| (leaf, 5)).collect())].into() };
    let tiling = Tiling::new(&forest, likely(4), Some(&even));
    let tiling = tiling.unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(
        (tiling.biased, &tiling.trees[0]),
        (0, &TiledTree::cover(&forest.trees[0], &Growth::Uniform, 4))
    );
}

#[test]
fn a_profile_has_every_leaf() {
    let forest = forest(tree("(..)"));
    let incomplete = Profile { rows: 1, trees: [(0, [(0, 1)].into())].into() };
    for profile in [None, Some(&incomplete)] {
        let code = Tiling::new(&forest, likely(2), profile).err().map(|error| error.code);
        assert_eq!(code, Some(codes::NO_PROFILE));
    }
}

#[test]
fn padding_stays_within_the_budget() {
    let forest = forest(tree("(((((..).).).).)"));
    let requested = TileTrees { nodes: 2, by_probability: false };
    let tiling = Tiling::new(&forest, requested, None);
    let mut tiling = tiling.unwrap_or_else(|error| unreachable!("{error}"));
    let small = Budget { tables: 64, ..Budget::default() };
    let code = tiling.pad(&[3], &small).err().map(|error| error.code);
    assert_eq!(code, Some(codes::PAD_BUDGET));
}

/// The checker does not know the shapes of trees and computes bounds instead. Its bound on the steps to a
/// leaf is an upper one. Its bounds on the steps to the deepest leaf and on the tiles that padding adds are
/// lower ones, so that it refuses no schedule that compiles.
#[test]
fn bounds_of_the_checker_hold() {
    let mut rng = Rng(7);
    let (mut reckoned, mut added) = (0, 0);
    for _ in 0..400 {
        let (grown, nodes) = (grown(&mut rng), 2 + rng.below(7) as u32);
        let by_probability = rng.one_in(2);
        let tiles = TileTrees { nodes, by_probability };
        let depths = grown.leaf_depths();
        let hits: Vec<u64> = depths.iter().map(|_| 1 << (rng.below(60))).collect();
        let growth = if by_probability { Growth::by_hits(&grown, &hits) } else { Growth::Uniform };
        let tiled = TiledTree::cover(&grown, &growth, nodes as usize);
        let steps = |leaf: usize| steps_to(&tiled, leaf as u32);
        let histogram = |at: u32| depths.iter().filter(|depth| **depth == at).count() as u32;
        let whole = ModelInfo {
            num_trees: 1,
            depths: vec![grown.depth()].into(),
            leaves: vec![(0..=grown.depth()).map(histogram).collect()],
            ..ModelInfo::default()
        };
        let shallow = ModelInfo { leaves: Vec::new(), ..whole.clone() };
        for (leaf, depth) in depths.iter().enumerate() {
            assert!(steps(leaf) <= most_steps(tiles, *depth), "{tiled:?}");
        }
        let deepest = tiled.depths().0;
        assert!([&whole, &shallow].iter().all(|model| model.least_steps(0, tiles) <= deepest), "{tiled:?}");
        for requested in [1, deepest, deepest + 9] {
            let mut padded = tiled.clone();
            padded.pad(requested);
            let more = (padded.tiles.len() - tiled.tiles.len()) as u64;
            let least = whole.tile_padding(0, tiles, requested);
            assert!(
                shallow.tile_padding(0, tiles, requested) <= least && least <= more,
                "{requested}: {tiled:?}"
            );
            (reckoned, added) = (reckoned + least, added + more);
        }
    }
    assert!(reckoned * 2 > added, "the bound is {reckoned} of {added} tiles");
}

/// For complete trees, the bound on padding is exact if tiles hold whole levels.
#[test]
fn the_checker_knows_complete_trees() {
    for (depth, nodes) in (0..7).flat_map(|depth| (2..=8).map(move |nodes| (depth, nodes))) {
        let text = (0..depth).fold(".".to_owned(), |below: String, _| format!("({below}{below})"));
        let (tiled, tiles) =
            (uniform(&text, nodes), TileTrees { nodes: nodes as u32, by_probability: false });
        let leaves = (0..=depth).map(|at| if at == depth { 1 << depth } else { 0 }).collect();
        let model = ModelInfo { depths: vec![depth].into(), leaves: vec![leaves], ..ModelInfo::default() };
        let mut padded = tiled.clone();
        padded.pad(9);
        let added = (padded.tiles.len() - tiled.tiles.len()) as u64;
        let reckoned = model.tile_padding(0, tiles, 9);
        let whole_levels = (nodes + 1).is_power_of_two();
        assert!(if whole_levels { reckoned == added } else { reckoned <= added }, "{depth} {nodes}");
    }
}

/// Steps to a leaf, counted from its tile up to the root.
fn steps_to(tiled: &TiledTree, leaf: u32) -> u32 {
    let holds = |child: Child| tiled.tiles.iter().position(|tile| tile.children.contains(&child));
    let mut at = holds(Child::Leaf(leaf));
    let mut steps = 0;
    while let Some(tile) = at {
        steps += 1;
        at = holds(Child::Tile(tile as u32));
    }
    steps
}

/// A random tree of up to 60 inner nodes, from bushes to chains.
fn grown(rng: &mut Rng) -> Tree {
    let mut text = ".".to_owned();
    let (nodes, bushy) = (rng.below(60), 1 + rng.below(4));
    for _ in 0..nodes {
        let leaves: Vec<usize> = text.match_indices('.').map(|(at, _)| at).collect();
        let last = leaves.len() - 1;
        let leaf = if rng.one_in(bushy) { leaves[rng.below(last + 1)] } else { leaves[last] };
        text.replace_range(leaf..=leaf, "(..)");
    }
    tree(&text)
}
