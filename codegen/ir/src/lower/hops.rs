//! The hops of a group of walks: from the root to the leaves.

use super::scope::Kernel;
use super::walk::{Around, Lane};
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Build, Ty, Value};
use crate::mir::Plan;
use crate::repr::{Hop, Place, speculate};

impl Kernel<'_> {
    /// Takes every lane from the root to its leaf.
    pub(super) fn advance(&mut self, around: &Around, lanes: &[Lane]) -> Vec<Value> {
        let Plan { straight, speculated, checked, open } = around.walks.plan;
        let width = lanes.first().map_or(1, |lane| lane.width);
        let root = around.representation.root(&mut self.b, width);
        let (mut places, mut taken) = (vec![Place::of(root); lanes.len()], 0);
        if let Some(layout) = around.representation.level_order().filter(|_| speculated > 0) {
            let at_once = |lane: &Lane| speculate(&mut self.b, layout.test(), &lane.row, &lane.top, root);
            (places, taken) = (lanes.iter().map(at_once).collect(), speculated);
        }
        for hop in taken..straight.saturating_sub(u32::from(seeded(Fault::WalkStopsEarly))) {
            places = self.step(around, lanes, &places, Hop::Number(hop));
        }
        let nodes = places.into_iter().map(|place| place.node).collect();
        self.checked(around, lanes, nodes, checked, open)
    }

    /// Hops with an early exit when every lane has arrived, then a loop if leaves may be deeper.
    fn checked(
        &mut self,
        around: &Around,
        lanes: &[Lane],
        nodes: Vec<Value>,
        hops: u32,
        open: bool,
    ) -> Vec<Value> {
        let several = lanes.len() > 1 || lanes.iter().any(|lane| lane.width > 1);
        let hop = if several { Hop::Hold } else { Hop::Open };
        if hops == 0 && !open {
            return nodes;
        }
        if hops == 0 {
            return self.while_loop(
                &nodes,
                |k, nodes| k.any_on_its_way(around, lanes, nodes),
                |k, nodes| k.uncounted(around, lanes, nodes, hop),
            );
        }
        let go_on = self.any_on_its_way(around, lanes, &nodes);
        let arrived = nodes.clone();
        self.if_else(
            go_on,
            |k| {
                let nodes = k.uncounted(around, lanes, &nodes, hop);
                k.checked(around, lanes, nodes, hops - 1, open)
            },
            |_| arrived,
        )
    }

    /// One hop of every lane.
    fn step(&mut self, around: &Around, lanes: &[Lane], places: &[Place], hop: Hop) -> Vec<Place> {
        let mut next = Vec::with_capacity(lanes.len());
        for (lane, place) in lanes.iter().zip(places) {
            let Lane { state, row, .. } = lane;
            let b = &mut self.b;
            next.push(around.representation.step(b, &around.buffers, state, row, place, hop));
        }
        next
    }

    /// One hop of every lane, after some number of others.
    fn uncounted(&mut self, around: &Around, lanes: &[Lane], nodes: &[Value], hop: Hop) -> Vec<Value> {
        let places: Vec<Place> = nodes.iter().map(|node| Place::of(*node)).collect();
        self.step(around, lanes, &places, hop).into_iter().map(|place| place.node).collect()
    }

    fn any_on_its_way(&mut self, around: &Around, lanes: &[Lane], nodes: &[Value]) -> Value {
        let mut all_done = None;
        for (lane, node) in lanes.iter().zip(nodes) {
            let done = around.representation.done(&mut self.b, &around.buffers, &lane.state, *node);
            all_done = Some(match all_done {
                None => done,
                Some(others) => self.b.bin(Bin::And, others, done),
            });
        }
        let all_done = all_done.unwrap_or_else(|| self.b.int_of(Ty::I1, 1));
        let one = self.b.int_of(self.b.ty(all_done), 1);
        let on_its_way = self.b.bin(Bin::Xor, all_done, one);
        self.b.any(on_its_way)
    }
}
