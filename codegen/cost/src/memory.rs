//! Where what is loaded and stored is found: in which level of caches.
//!
//! The bytes that one iteration of a loop touches stay in the smallest cache that holds them. What the next iteration
//! touches again is found there. So each access is served by the level that holds one iteration of the innermost loop
//! that comes back to it; a call is the outermost of these loops, as calls follow each other.

use crate::machine::Machine;
use crate::value::{DEPTHS, Known};
use sched_ir::lir::{Function, Space};
use std::collections::{BTreeMap, HashMap};

/// Bytes of a line of caches.
pub const LINE: f64 = 64.0;

/// The name of an access: the value that it loads, or the index that it stores at, with its offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// Number of a value.
    pub value: u32,
    /// Whether it is a store, and the offset that tells it from others.
    pub store: Option<u32>,
}

/// A loop around an access.
#[derive(Clone, Copy, Debug)]
pub struct LoopAround {
    /// Which loop, by its counter.
    pub name: u32,
    /// Iterations.
    pub trips: f64,
}

/// An access, at one iteration of the loops around it.
#[derive(Clone, Debug)]
pub struct Access {
    site: Site,
    /// The buffer, by number.
    buffer: usize,
    /// Bytes of one access.
    bytes: f64,
    /// How far the address moves with each loop, in bytes.
    strides: [f64; DEPTHS],
    /// Places that data decides, if there are such.
    random: Option<f64>,
    /// The loops around it, outermost first.
    around: Vec<LoopAround>,
}

impl Access {
    /// An access to a buffer at an index that is known so far; `lanes` places where data decides.
    pub fn new(
        site: Site,
        (buffer, bytes): (usize, f64),
        (index, stride): (&Known, u32),
        random: Option<f64>,
        around: &[LoopAround],
    ) -> Access {
        let mut strides = [0.0; DEPTHS];
        for (depth, bytes) in strides.iter_mut().enumerate() {
            *bytes = index.slope(depth).abs() * f64::from(stride);
        }
        Access { site, buffer, bytes, strides, random, around: around.to_vec() }
    }

    /// Bytes that it touches while the loops outside of a depth stand still, and bytes of the part of its buffer, of `size`
    /// bytes, that belongs to it then.
    fn touched(&self, inside: usize, size: f64) -> (f64, f64) {
        let inner = self.around.get(inside..).unwrap_or_default();
        let trips = || inner.iter().enumerate().map(|(n, around)| (around.trips, self.stride(inside + n)));
        // Of a table whose parts belong to the iterations of outer loops, only one part counts.
        let outer = self.around.iter().take(inside).enumerate();
        let parts: f64 = outer
            .filter(|(depth, _)| self.stride(*depth) > 0.0)
            .map(|(_, around)| around.trips.max(1.0))
            .product();
        let region = (size / parts).max(self.bytes);
        match self.random {
            Some(places) => {
                let times: f64 = trips().map(|(trips, _)| trips.max(1.0)).product();
                ((times * places * LINE).min(region.max(LINE)), region.max(LINE))
            }
            None => {
                let mut bytes = self.bytes;
                for (trips, stride) in trips().filter(|(_, stride)| *stride > 0.0) {
                    bytes = if stride <= bytes {
                        bytes + (trips - 1.0) * stride
                    } else {
                        trips * bytes.max(LINE)
                    };
                }
                (bytes.min(size.max(self.bytes)), region.max(bytes))
            }
        }
    }

    fn motion(&self) -> Motion {
        (self.buffer, self.around.last().map(|around| around.name), self.strides.map(f64::to_bits))
    }

    fn stride(&self, depth: usize) -> f64 {
        self.strides.get(depth).copied().unwrap_or(0.0)
    }

    /// The share of its accesses that go to another line than the one before, in iterations of the loop at a depth.
    fn new_lines(&self, depth: usize) -> f64 {
        (self.stride(depth) / LINE).min(1.0)
    }
}

/// Where an access finds what it asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Served {
    /// Shares of the accesses, each with the bytes that are in use until the access comes back to its line.
    pub shares: Vec<(f64, f64)>,
    /// Lines that come from where these are at each access.
    pub lines: f64,
    /// Whether the next address cannot be guessed, so that it is waited for.
    pub waits: bool,
}

/// Where the accesses of a call are served.
pub fn served(
    accesses: &[Access],
    function: &Function,
    sizes: &[f64],
    machine: &Machine,
) -> HashMap<Site, Served> {
    // By loop and buffer: accesses to one buffer may touch the same bytes.
    // Sums are made in the same order each time.
    let mut touched: BTreeMap<(Option<u32>, usize), (f64, f64)> = BTreeMap::new();
    for access in accesses {
        let size = sizes.get(access.buffer).copied().unwrap_or(f64::INFINITY);
        let names = std::iter::once(None).chain(access.around.iter().map(|around| Some(around.name)));
        for (inside, name) in names.enumerate() {
            let (bytes, most) = access.touched(inside, size);
            let (sum, limit) = touched.entry((name, access.buffer)).or_default();
            (*sum, *limit) = (*sum + bytes, limit.max(most));
        }
    }
    let mut footprints: HashMap<Option<u32>, f64> = HashMap::new();
    for ((name, _), (sum, limit)) in &touched {
        *footprints.entry(*name).or_default() += sum.min(*limit);
    }
    // Accesses that data decides meet on the same lines: the share of their lines that no other one has touched.
    let own =
        |place: (Option<u32>, usize)| touched.get(&place).map_or(1.0, |(sum, limit)| (limit / sum).min(1.0));
    let shared = Neighbours::of(accesses);
    let served = |access: &Access| {
        let size = sizes.get(access.buffer).copied().unwrap_or(f64::INFINITY);
        let served = access.served(function, (size, &own), &footprints, machine);
        Served { lines: served.lines * shared.share(access), ..served }
    };
    accesses.iter().map(|access| (access.site, served(access))).collect()
}

/// The share of the lines of a buffer that one access touches in an iteration of a loop, or in a call, and no other one did.
type Own<'a> = &'a dyn Fn((Option<u32>, usize)) -> f64;

/// What tells accesses apart that lie beside each other, as they move in the same way.
type Motion = (usize, Option<u32>, [u64; DEPTHS]);

/// Accesses that move in the same way, of which several lie on one line.
struct Neighbours(HashMap<Motion, (f64, f64)>);

impl Neighbours {
    fn of(accesses: &[Access]) -> Neighbours {
        let mut groups: HashMap<Motion, (f64, f64)> = HashMap::new();
        for access in accesses.iter().filter(|access| access.random.is_none()) {
            let (bytes, lines) = groups.entry(access.motion()).or_default();
            *bytes += access.bytes;
            *lines += (access.bytes / LINE).max(1.0);
        }
        Neighbours(groups)
    }

    /// The share of an access in the lines that it and its neighbours touch.
    fn share(&self, access: &Access) -> f64 {
        let group = self.0.get(&access.motion()).filter(|_| access.random.is_none());
        group.map_or(1.0, |(bytes, lines)| (bytes / LINE).max(1.0) / lines)
    }
}

impl Access {
    /// The share of the accesses in all iterations of a loop that is the first one to its line, and the bytes of these lines; data
    /// decides, at each access, for so many places.
    fn firsts(&self, places: f64, depth: usize, (size, own): (f64, Own<'_>)) -> (f64, f64) {
        let (touched, _) = self.touched(depth, size);
        let inner = self.around.get(depth..).unwrap_or_default().iter();
        let times: f64 = inner.map(|around| around.trips.max(1.0)).product();
        let outside = depth.checked_sub(1).and_then(|outside| self.around.get(outside));
        let lines = touched / LINE * own((outside.map(|around| around.name), self.buffer));
        (lines / (times * places), touched)
    }

    fn served(
        &self,
        function: &Function,
        (size, own): (f64, Own<'_>),
        footprints: &HashMap<Option<u32>, f64>,
        machine: &Machine,
    ) -> Served {
        let mut lines = 1.0;
        // For an access that data decides: the shares that come back to a line in the loops so far, and the rest.
        let (mut shares, mut rest) = (Vec::new(), 1.0);
        for (depth, around) in self.around.iter().enumerate().rev() {
            let fresh = self.new_lines(depth);
            if around.trips <= 1.0 || fresh >= 1.0 {
                continue;
            }
            let one = footprints.get(&Some(around.name)).copied().unwrap_or(0.0);
            if let Some(places) = self.random {
                let (first, touched) = self.firsts(places, depth, (size, own));
                let first = first.min(rest);
                // It comes back after some iterations, when it has been to others.
                shares.push((rest - first, one.max(touched)));
                rest = first;
                continue;
            }
            // What is on a line that was touched in the iteration before.
            if fresh == 0.0 || !machine.is_near(one) {
                return self.at(vec![(1.0, one)], lines);
            }
            lines *= fresh;
        }
        let space = function.buffers.get(self.buffer).map(|buffer| buffer.space);
        let total = footprints.get(&None).copied().unwrap_or(0.0);
        // Calls come back to tables and to results; their rows are others, which no cache of the core has, on pages that follow
        // each other. Rows that are more than the last cache holds come from memory.
        let far = match space {
            Some(Space::Input) => machine.beyond_core().max(size),
            _ => total,
        };
        let first = self.random.map_or(rest, |places| self.firsts(places, 0, (size, own)).0.min(rest));
        shares.extend([(rest - first, total), (first, far)]);
        self.at(shares, lines)
    }

    fn at(&self, shares: Vec<(f64, f64)>, share: f64) -> Served {
        let lines = match self.random {
            Some(places) => places,
            None => share * (self.bytes / LINE).max(1.0),
        };
        Served { shares, lines, waits: self.random.is_some() }
    }
}
