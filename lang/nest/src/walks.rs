//! The walks of a nest: which trees each leaf loop may walk, and how the schedule wants them walked.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sym::Sym;
use crate::{Body, Facts, Layout, LoopId, Nest, Sort};

/// What a leaf loop asks of its walks. Facts of enclosing loops are resolved: the innermost wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// A range of tree positions that covers every tree walked here.
    pub trees: Range<usize>,
    /// Hops that must be straight-line; trees are padded to it.
    pub unroll: u32,
    /// Hops to peel.
    pub peel: u32,
    /// Levels whose nodes are all evaluated; no more than hops that must be straight-line.
    pub speculate: u32,
    /// Walks, or vectors of walks, advanced together.
    pub group: u32,
    /// Walks in one vector; 1 for none.
    pub lanes: u32,
    /// The layout of the trees walked here.
    pub layout: Layout,
    /// Most nodes of a tile, of which a hop passes one; 1 for single nodes.
    pub tile: u32,
}

/// A bound in the nest that is not known, so that nobody can say which trees are walked.
#[derive(Clone, Debug, PartialEq)]
pub struct NotKnown(pub Sym);

fn known(sym: &Sym) -> Result<i64, NotKnown> {
    sym.as_int().ok_or_else(|| NotKnown(sym.clone()))
}

/// All walks of a nest by leaf loop. `deepest` holds the depth of each tree in the order of the nest, `layout` is that
/// of walks for which no loop names one.
///
/// # Errors
/// When a bound of a tree loop is not known.
pub fn collect(nest: &Nest, deepest: &[u32], layout: Layout) -> Result<BTreeMap<LoopId, Site>, NotKnown> {
    let mut collector = Collector { nest, deepest, sites: BTreeMap::new() };
    let asked = Asked { unroll: None, peel: None, speculate: None, layout };
    for root in &nest.roots {
        collector.visit(*root, &mut Vec::new(), asked)?;
    }
    straighten_levels(&mut collector.sites, deepest);
    Ok(collector.sites)
}

/// Walks of the levels and the quantized layout are straight-line to the leaf: all trees that a site walks get one depth. Sites that
/// share trees deepen each other until nothing changes.
fn straighten_levels(sites: &mut BTreeMap<LoopId, Site>, deepest: &[u32]) {
    let mut depths = deepest.to_vec();
    for site in sites.values() {
        // Padding for other walks deepens trees too.
        depths[site.trees.clone()].iter_mut().for_each(|depth| *depth = site.unroll.max(*depth));
    }
    loop {
        let mut changed = false;
        for site in sites.values_mut().filter(|site| site.layout.is_straight()) {
            let most = depths[site.trees.clone()].iter().copied().max().unwrap_or(0);
            changed |= site.unroll != most;
            site.unroll = most;
            depths[site.trees.clone()].fill(most);
        }
        if !changed {
            return;
        }
    }
}

#[derive(Clone, Copy)]
struct Asked {
    unroll: Option<u32>,
    peel: Option<u32>,
    speculate: Option<u32>,
    layout: Layout,
}

impl Asked {
    fn refined(self, facts: &Facts) -> Asked {
        Asked {
            unroll: facts.unroll_walk.or(self.unroll),
            peel: facts.peel_walk.or(self.peel),
            speculate: facts.speculate_walk.or(self.speculate),
            layout: facts.representation.unwrap_or(self.layout),
        }
    }
}

struct Collector<'a> {
    nest: &'a Nest,
    deepest: &'a [u32],
    sites: BTreeMap<LoopId, Site>,
}

/// An enclosing loop; in one case of a specialised loop its value is known.
type Enclosing = (LoopId, Option<i64>);

impl Collector<'_> {
    fn visit(&mut self, id: LoopId, path: &mut Vec<Enclosing>, asked: Asked) -> Result<(), NotKnown> {
        let this = self.nest.get(id);
        let asked = asked.refined(&this.facts);
        path.push((id, None));
        match &this.body {
            Body::Walk => {
                let trees = self.covered(path)?;
                let deepest = self.deepest[trees.clone()].iter().copied().max().unwrap_or(0);
                let speculate = asked.speculate.unwrap_or(0).min(deepest);
                let site = Site {
                    unroll: asked.unroll.unwrap_or(0).min(deepest).max(speculate),
                    peel: asked.peel.unwrap_or(0).min(deepest),
                    speculate,
                    group: this.facts.interleave.unwrap_or(1).max(1),
                    lanes: this.facts.vectorize.unwrap_or(1).max(1),
                    layout: asked.layout,
                    tile: self.nest.tiles().map_or(1, |tiles| tiles.nodes),
                    trees,
                };
                self.sites.insert(id, site);
            }
            Body::Seq(inner) => {
                for child in inner {
                    self.visit(*child, path, asked)?;
                }
            }
            Body::Cases(cases) => {
                let (start, step) = (known(&this.start)?, known(&this.step)?);
                for (k, case) in cases.iter().enumerate() {
                    path.pop();
                    path.push((id, Some(start + step * k as i64)));
                    for child in case {
                        self.visit(*child, path, asked)?;
                    }
                }
            }
        }
        path.pop();
        Ok(())
    }

    /// The hull of the tree numbers at the end of a path: sums of least values to sums of largest ones, cut by the
    /// constraints that lie on the path.
    fn covered(&self, path: &[Enclosing]) -> Result<Range<usize>, NotKnown> {
        let (mut low, mut high) = (0i64, 1i64);
        let mut on_path = BTreeMap::new();
        for (id, fixed) in path {
            let this = self.nest.get(*id);
            if this.sort != Sort::Tree {
                continue;
            }
            let (start, stop, step) = (known(&this.start)?, known(&this.stop)?, known(&this.step)?);
            let last = if stop > start { start + (stop - 1 - start) / step * step } else { start };
            let (least, most) = fixed.map_or((start, last), |value| (value, value));
            on_path.insert(*id, least);
            low = low.saturating_add(least);
            high = high.saturating_add(most);
        }
        for constraint in &self.nest.constraints {
            let within = constraint.loops.iter().all(|id| on_path.contains_key(id));
            if within && constraint.loops.len() == on_path.len() {
                high = high.min(known(&constraint.bound)?);
            }
        }
        let clamp = |n: i64| usize::try_from(n.max(0)).unwrap_or(usize::MAX).min(self.deepest.len());
        let (low, high) = (clamp(low), clamp(high));
        Ok(low..high.max(low))
    }
}
