//! The hops of a group of walks: from the root to the leaves.

use super::scope::Kernel;
use super::walk::{Around, Lane};
use crate::fault::{Fault, seeded};
use crate::lir::{Bin, Build, Ty, Value};
use crate::mir::Plan;
use crate::repr::{Hop, Place, Sweep, TreeState, speculate};

/// The trees that lanes walk.
struct Trees<'l> {
    /// Each once.
    states: Vec<&'l TreeState>,
    /// Which of them is each lane's.
    of_lanes: Vec<usize>,
}

impl Trees<'_> {
    fn of(lanes: &[Lane]) -> Trees<'_> {
        let mut states: Vec<&TreeState> = Vec::new();
        let mut of_lanes = Vec::new();
        for lane in lanes {
            let known = states.iter().position(|state| state.base == lane.state.base);
            of_lanes.push(known.unwrap_or(states.len()));
            if known.is_none() {
                states.push(&lane.state);
            }
        }
        Trees { states, of_lanes }
    }
}

impl Kernel<'_> {
    /// Takes every lane from the root to its leaf.
    pub(super) fn advance(&mut self, around: &Around, lanes: &[Lane]) -> Vec<Value> {
        let Plan { straight, speculated, checked, open } = around.walks.plan;
        let width = lanes.first().map_or(1, |lane| lane.width);
        let sweep = around.representation.sweep();
        if let Some(layout) = sweep.filter(|_| width > 1 && around.walks.sweeps()) {
            return self.sweep(around, layout, lanes);
        }
        if let Some(nodes) = self.at_once(around, lanes) {
            return nodes;
        }
        let roots = lanes.iter().map(|lane| around.representation.root(&mut self.b, lane.width));
        let roots: Vec<Value> = roots.collect();
        let mut places: Vec<Place> = roots.iter().copied().map(Place::of).collect();
        let mut taken = 0;
        if let Some(layout) = around.representation.level_order().filter(|_| speculated > 0) {
            let at_once = |(lane, root): (&Lane, &Value)| {
                speculate(&mut self.b, layout.test(), &lane.row, &lane.top, *root)
            };
            (places, taken) = (lanes.iter().zip(&roots).map(at_once).collect(), speculated);
        }
        for hop in taken..straight.saturating_sub(u32::from(seeded(Fault::WalkStopsEarly))) {
            places = self.step(around, lanes, &places, Hop::Number(hop));
        }
        let nodes = places.into_iter().map(|place| place.node).collect();
        self.checked(around, lanes, nodes, checked, open)
    }

    /// The leaves of single walks of a row whose codes are a table, where all tests of a tree are made at once.
    fn at_once(&mut self, around: &Around, lanes: &[Lane]) -> Option<Vec<Value>> {
        let codes = around.row_table.filter(|_| around.walks.lanes == 1)?;
        let end = |lane: &Lane| {
            let (b, buffers) = (&mut self.b, &around.buffers);
            around.representation.at_once(b, buffers, &lane.state, codes, around.hops())
        };
        lanes.iter().map(end).collect()
    }

    /// Shows every lane all nodes of its tree, one after the other.
    fn sweep(&mut self, around: &Around, layout: &dyn Sweep, lanes: &[Lane]) -> Vec<Value> {
        let trees = Trees::of(lanes);
        let b = &mut self.b;
        let counts: Vec<Value> = trees.states.iter().map(|state| layout.nodes(b, state)).collect();
        let places: Vec<Value> = lanes.iter().map(|lane| layout.first_place(b, lane.width)).collect();
        let zero = b.int(0);
        let [first, rest @ ..] = counts.as_slice() else { return places };
        let least = rest.iter().fold(*first, |least, count| b.min(least, *count));
        let places = self.shown(around, layout, (lanes, &trees), (zero, least), (&[], &places));
        if rest.is_empty() {
            return places;
        }
        let most = rest.iter().fold(*first, |most, count| self.b.bin(Bin::Max, most, *count));
        self.shown(around, layout, (lanes, &trees), (least, most), (&counts, &places))
    }

    /// Shows every lane some nodes of its tree. Where there are `ends`, trees may end before: the last entry of a tree leads
    /// nowhere, however often it is shown.
    fn shown(
        &mut self,
        around: &Around,
        layout: &dyn Sweep,
        (lanes, trees): (&[Lane], &Trees),
        (from, to): (Value, Value),
        (ends, places): (&[Value], &[Value]),
    ) -> Vec<Value> {
        let width = lanes.first().map_or(1, |lane| lane.width);
        self.for_loop((from, to, 1), places, |k, number, places| {
            let b = &mut k.b;
            let mut nodes = Vec::with_capacity(trees.states.len());
            for (at, state) in trees.states.iter().enumerate() {
                let number = ends.get(at).map_or(number, |end| {
                    let last = b.add_int(*end, -1);
                    b.min(number, last)
                });
                nodes.push(layout.node(b, &around.buffers, state, (number, width)));
            }
            let pass = |((lane, tree), place): ((&Lane, &usize), &Value)| {
                layout.pass(b, &lane.row, &nodes[*tree], *place)
            };
            lanes.iter().zip(&trees.of_lanes).zip(places).map(pass).collect()
        })
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
