//! What the accesses of a launch cost a GPU: counted, not timed.
//!
//! The threads of a block run in warps, whose lanes make an access together. An access to shared memory takes as many
//! *wavefronts* as the busiest of its 32 banks has different words to deliver; one to the device's memory as many
//! *sectors* of 32 bytes as it touches. Lanes of a warp belong together when they execute a statement for the same
//! time since the last barrier. Each lane of a vector that has an address of its own is an access of its own.

use super::pace::{BlockWork, Pace};
use crate::lir::{BufferId, Function, Launch, Space, Stmt};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Banks of shared memory, each of which delivers a word of 4 bytes at a time.
const BANKS: u64 = 32;
/// Bytes of a word of a bank.
const WORD: u64 = 4;
/// Bytes of the pieces in which the device's memory is read and written.
const SECTOR: u64 = 32;

/// What one statement of a launch costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessCost {
    /// The statement.
    pub statement: String,
    /// The buffer that it reads or writes.
    pub buffer: String,
    /// Whether the threads of a block share the buffer; else it lies in the device's memory.
    pub shared: bool,
    /// How often a warp executed it.
    pub warps: u64,
    /// How many lanes took part, over all warps.
    pub lanes: u64,
    /// Wavefronts for shared memory, sectors for the device's.
    pub pieces: u64,
}

/// A launch, over all times that it ran, and what its accesses cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCost {
    /// Its name.
    pub name: String,
    /// How often it ran.
    pub times: u64,
    /// The largest grid that it had.
    pub grid: [u64; 3],
    /// Its blocks, over all times.
    pub blocks: u64,
    /// The threads of a block.
    pub block: [u32; 3],
    /// The most bytes of shared memory that a block had at a time.
    pub shared: u64,
    /// How often a block came to a barrier, over all blocks.
    pub barriers: u64,
    /// What its statements cost, in the order of their first accesses.
    pub accesses: Vec<AccessCost>,
}

/// What some blocks of a launch did. `cost` says how many there are in all; its accesses are those of the blocks that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchSample {
    /// The launch, and what its accesses cost.
    pub cost: LaunchCost,
    /// Blocks that were run, over all times.
    pub ran: u64,
    /// What they did.
    pub blocks: BlockWork,
}

/// Bytes that a lane touches.
type Touched = (u64, u64);

/// The accesses of a statement, by its address.
type Key = usize;

/// Counts accesses while threads run one after the other.
pub(super) struct Warps {
    /// Lanes of a warp.
    size: u32,
    /// Which thread of the block runs.
    thread: u32,
    /// How often each thread has executed each statement since all threads ran last.
    times: HashMap<(Key, u16, u32), u32>,
    /// The accesses that the lanes of a warp make together.
    open: BTreeMap<(Key, u16, u32, u32), Vec<Touched>>,
    costs: BTreeMap<Key, (BufferId, Cost)>,
    launches: Vec<Launched>,
    /// The number of the launch that runs.
    running: usize,
    /// The clocks of the running block, where some blocks stand for all.
    pace: Option<Pace>,
}

/// What is known of a launch.
struct Launched {
    key: Key,
    cost: LaunchCost,
    /// Bytes of shared memory that the running block has.
    held: u64,
    /// The statements in the order of their first access.
    order: Vec<Key>,
}

#[derive(Clone, Copy, Default)]
struct Cost {
    warps: u64,
    lanes: u64,
    pieces: u64,
}

impl Warps {
    /// Warps of so many lanes.
    pub fn new(size: u32) -> Warps {
        let (times, open, costs) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let launches = Vec::new();
        Warps { size: size.max(1), thread: 0, times, open, costs, launches, running: 0, pace: None }
    }

    /// The same with clocks.
    pub fn paced(size: u32, pace: Pace) -> Warps {
        Warps { pace: Some(pace), ..Warps::new(size) }
    }

    /// The clocks, where there are some.
    #[inline]
    pub fn pace(&mut self) -> Option<&mut Pace> {
        self.pace.as_mut()
    }

    /// Whether some blocks stand for all.
    pub fn is_sampled(&self) -> bool {
        self.pace.is_some()
    }

    /// The number of the launch that runs.
    pub fn running(&self) -> usize {
        self.running
    }

    /// A launch begins.
    pub fn launch(&mut self, launch: &Launch, grid: [u64; 3], blocks: u64) {
        let key = std::ptr::from_ref(launch) as Key;
        let known = self.launches.iter().position(|known| known.key == key);
        self.running = known.unwrap_or_else(|| {
            let (name, block) = (launch.name.clone(), launch.block);
            let (grid, accesses) = ([0; 3], Vec::new());
            let cost =
                LaunchCost { name, times: 0, grid, blocks: 0, block, shared: 0, barriers: 0, accesses };
            self.launches.push(Launched { key, cost, held: 0, order: Vec::new() });
            self.launches.len() - 1
        });
        if let Some(Launched { cost, .. }) = self.launches.get_mut(self.running) {
            cost.times += 1;
            cost.blocks = cost.blocks.saturating_add(blocks);
            for (most, extent) in cost.grid.iter_mut().zip(grid) {
                *most = (*most).max(extent);
            }
        }
    }

    /// A block gets shared memory.
    pub fn share(&mut self, bytes: u64) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.held += bytes;
            launch.cost.shared = launch.cost.shared.max(launch.held);
        }
    }

    /// A block gives shared memory back.
    pub fn give_back(&mut self, bytes: u64) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.held = launch.held.saturating_sub(bytes);
        }
    }

    /// A block comes to a barrier.
    pub fn barrier(&mut self) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.cost.barriers += 1;
        }
        if let Some(pace) = &mut self.pace {
            pace.barrier();
        }
    }

    /// A thread of the block goes on.
    pub fn run_thread(&mut self, number: u32) {
        self.thread = number;
        if let Some(pace) = &mut self.pace {
            pace.run_thread(number);
        }
    }

    /// The running thread touches some bytes of a buffer; `part` is the lane of a vector whose lanes have addresses of
    /// their own.
    pub fn access(
        &mut self,
        (stmt, part): (&Stmt, u16),
        (buffer, space): (BufferId, Space),
        start: i128,
        bytes: u32,
    ) {
        let key = std::ptr::from_ref(stmt) as Key;
        let time = self.times.entry((key, part, self.thread)).or_insert(0);
        let together = (key, part, self.thread / self.size, *time);
        *time += 1;
        let start = u64::try_from(start).unwrap_or(0);
        if let Some(pace) = &mut self.pace {
            pace.access(self.running, (buffer.0, space), start, bytes.into(), SECTOR);
        }
        self.open.entry(together).or_default().push((start, start + u64::from(bytes)));
        if self
            .costs
            .insert(key, (buffer, self.costs.get(&key).map_or(Cost::default(), |known| known.1)))
            .is_none()
            && let Some(launch) = self.launches.get_mut(self.running)
        {
            launch.order.push(key);
        }
    }

    /// All threads have come to a barrier, or to the end.
    pub fn meet(&mut self, function: &Function) {
        self.times.clear();
        for ((key, ..), lanes) in std::mem::take(&mut self.open) {
            let Some((buffer, cost)) = self.costs.get_mut(&key) else { continue };
            cost.warps += 1;
            cost.lanes += lanes.len() as u64;
            let shared = function.buffer(*buffer).space == Space::Shared;
            cost.pieces += if shared { wavefronts(&lanes) } else { sectors(&lanes) };
            if let Some(pace) = self.pace.as_mut().filter(|_| !shared) {
                pace.lines(self.running, &lanes);
            }
        }
        if let Some(pace) = &mut self.pace {
            pace.meet(self.running);
        }
    }

    /// What each launch costs, in the order of their first runs. `text` is a statement's.
    pub fn costs(&self, function: &Function, text: impl Fn(&Stmt) -> String) -> Vec<LaunchCost> {
        let stmts = statements(function);
        let of = |key: &Key| {
            let (buffer, Cost { warps, lanes, pieces }) = *self.costs.get(key)?;
            let declared = function.buffer(buffer);
            Some(AccessCost {
                statement: text(stmts.get(key)?),
                buffer: declared.name.clone(),
                shared: declared.space == Space::Shared,
                warps,
                lanes,
                pieces,
            })
        };
        let launch = |launch: &Launched| LaunchCost {
            accesses: launch.order.iter().filter_map(of).collect(),
            ..launch.cost.clone()
        };
        self.launches.iter().map(launch).collect()
    }

    /// The same of the blocks that were run, with what else they did.
    pub fn samples(&self, function: &Function, text: impl Fn(&Stmt) -> String) -> Vec<LaunchSample> {
        let work = |number| self.pace.as_ref().map(|pace| pace.work(number)).unwrap_or_default();
        let with = |(number, cost)| {
            let (ran, blocks) = work(number);
            LaunchSample { cost, ran, blocks }
        };
        self.costs(function, text).into_iter().enumerate().map(with).collect()
    }
}

/// All statements of a function, by their addresses.
fn statements(function: &Function) -> HashMap<Key, &Stmt> {
    let mut all = HashMap::new();
    Stmt::visit_all(&function.body, |stmt| {
        all.insert(std::ptr::from_ref(stmt) as Key, stmt);
    });
    all
}

/// As many as the busiest bank has different words to deliver.
fn wavefronts(lanes: &[Touched]) -> u64 {
    let words: BTreeSet<u64> =
        lanes.iter().flat_map(|(start, end)| start / WORD..end.div_ceil(WORD)).collect();
    let mut busy = [0u64; BANKS as usize];
    for word in words {
        busy[(word % BANKS) as usize] += 1;
    }
    busy.into_iter().max().unwrap_or(0)
}

/// How many sectors are touched.
fn sectors(lanes: &[Touched]) -> u64 {
    let touched: BTreeSet<u64> =
        lanes.iter().flat_map(|(start, end)| start / SECTOR..end.div_ceil(SECTOR)).collect();
    touched.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(of: impl Fn(u64) -> u64, bytes: u64) -> Vec<Touched> {
        (0..32).map(|lane| (of(lane), of(lane) + bytes)).collect()
    }

    #[test]
    fn banks_deliver_a_word_at_a_time() {
        let cases: [(&str, Vec<Touched>, u64); 7] = [
            ("neighbours", lanes(|lane| 4 * lane, 4), 1),
            ("one word for all", lanes(|_| 64, 4), 1),
            ("bytes of few words", lanes(|lane| lane, 1), 1),
            ("every other word", lanes(|lane| 8 * lane, 4), 2),
            ("one bank", lanes(|lane| 128 * lane, 4), 32),
            ("neighbours of 8 bytes", lanes(|lane| 8 * lane, 8), 2),
            ("odd distances", lanes(|lane| 4 * 33 * lane, 4), 1),
        ];
        for (name, lanes, expected) in cases {
            assert_eq!(wavefronts(&lanes), expected, "{name}");
        }
    }

    #[test]
    fn sectors_are_aligned() {
        assert_eq!(sectors(&lanes(|lane| 4 * lane, 4)), 4);
        assert_eq!(sectors(&lanes(|lane| 16 + 4 * lane, 4)), 5);
        assert_eq!(sectors(&lanes(|lane| 112 * lane, 4)), 32);
        assert_eq!(sectors(&lanes(|_| 60, 8)), 2);
    }
}
