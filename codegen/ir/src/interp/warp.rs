//! Access costs of launches on a GPU: counts, not times.
//!
//! The threads of a block run in warps. The lanes of a warp are its threads, which access memory together. An
//! access to shared memory takes one *wavefront* for each distinct word that the busiest of its 32 banks
//! delivers. An access to device memory takes one transfer for each distinct *sector* of 32 bytes. Lanes of a
//! warp form one access if they have executed the statement equally often since the last barrier. Each lane
//! of a vector that has its own address is a separate access.

use crate::lir::{BufferId, Function, Launch, Space, Stmt, wavefronts};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Bytes of a sector, the unit of transfers of device memory.
const SECTOR_BYTES: u64 = 32;

/// Access cost of one statement of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessCost {
    /// Text of the statement.
    pub statement: String,
    /// Name of the buffer that it accesses.
    pub buffer: String,
    /// Whether the buffer is shared memory; otherwise it is device memory.
    pub is_shared: bool,
    /// Number of executions by warps.
    pub warp_executions: u64,
    /// Number of active lanes, over all executions.
    pub active_lanes: u64,
    /// Wavefronts for shared memory, sectors for device memory.
    pub transfers: u64,
}

/// A launch with its access costs, over all times that it ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCost {
    /// Name of the launch.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Extents of the largest grid.
    pub grid: [u64; 3],
    /// Number of blocks, over all runs.
    pub blocks: u64,
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Largest number of bytes of shared memory that a block has at a time.
    pub shared_bytes: u64,
    /// Number of barriers, over all blocks.
    pub barriers: u64,
    /// Access costs of its statements, in the order of their first accesses.
    pub accesses: Vec<AccessCost>,
}

/// Range of bytes that a lane accesses.
type ByteRange = (u64, u64);

/// Address of a statement, which identifies it.
type StmtAddress = usize;

/// Access counter for threads that run one after the other.
pub(super) struct AccessCounter {
    /// Number of lanes of a warp.
    size: u32,
    /// Number of the running thread in its block.
    thread: u32,
    /// Executions of each statement by each thread since the last barrier.
    times: HashMap<(StmtAddress, u16, u32), u32>,
    /// Accesses that the lanes of a warp make together.
    open: BTreeMap<(StmtAddress, u16, u32, u32), Vec<ByteRange>>,
    costs: BTreeMap<StmtAddress, (BufferId, WarpCost)>,
    launches: Vec<LaunchCounts>,
    /// Number of the running launch.
    running: usize,
}

/// Counts of a launch.
struct LaunchCounts {
    key: StmtAddress,
    cost: LaunchCost,
    /// Bytes of shared memory of the running block.
    held: u64,
    /// Statements in the order of their first accesses.
    order: Vec<StmtAddress>,
}

#[derive(Clone, Copy, Default)]
struct WarpCost {
    warp_executions: u64,
    lanes: u64,
    transfers: u64,
}

impl AccessCounter {
    /// A counter for warps of `size` lanes.
    pub fn new(size: u32) -> AccessCounter {
        let (times, open, costs) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let launches = Vec::new();
        AccessCounter { size: size.max(1), thread: 0, times, open, costs, launches, running: 0 }
    }

    /// Starts a launch.
    pub fn launch(&mut self, launch: &Launch, grid: [u64; 3], blocks: u64) {
        let key = std::ptr::from_ref(launch) as StmtAddress;
        let known = self.launches.iter().position(|known| known.key == key);
        self.running = known.unwrap_or_else(|| {
            let (name, block) = (launch.name.clone(), launch.block);
            let (grid, accesses) = ([0; 3], Vec::new());
            let cost =
                LaunchCost { name, runs: 0, grid, blocks: 0, block, shared_bytes: 0, barriers: 0, accesses };
            self.launches.push(LaunchCounts { key, cost, held: 0, order: Vec::new() });
            self.launches.len() - 1
        });
        if let Some(LaunchCounts { cost, .. }) = self.launches.get_mut(self.running) {
            cost.runs += 1;
            cost.blocks = cost.blocks.saturating_add(blocks);
            for (most, extent) in cost.grid.iter_mut().zip(grid) {
                *most = (*most).max(extent);
            }
        }
    }

    /// Adds shared memory of the running block.
    pub fn add_shared(&mut self, bytes: u64) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.held += bytes;
            launch.cost.shared_bytes = launch.cost.shared_bytes.max(launch.held);
        }
    }

    /// Frees shared memory of the running block.
    pub fn free_shared(&mut self, bytes: u64) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.held = launch.held.saturating_sub(bytes);
        }
    }

    /// Counts a barrier of the running block.
    pub fn barrier(&mut self) {
        if let Some(launch) = self.launches.get_mut(self.running) {
            launch.cost.barriers += 1;
        }
    }

    /// Switches to a thread of the block.
    pub fn run_thread(&mut self, number: u32) {
        self.thread = number;
    }

    /// Counts an access of the running thread; `part` is the lane of a vector whose lanes have separate
    /// addresses.
    pub fn access(&mut self, (stmt, part): (&Stmt, u16), buffer: BufferId, start: i128, bytes: u32) {
        let key = std::ptr::from_ref(stmt) as StmtAddress;
        let time = self.times.entry((key, part, self.thread)).or_insert(0);
        let together = (key, part, self.thread / self.size, *time);
        *time += 1;
        let start = u64::try_from(start).unwrap_or(0);
        self.open.entry(together).or_default().push((start, start + u64::from(bytes)));
        if self
            .costs
            .insert(key, (buffer, self.costs.get(&key).map_or(WarpCost::default(), |known| known.1)))
            .is_none()
            && let Some(launch) = self.launches.get_mut(self.running)
        {
            launch.order.push(key);
        }
    }

    /// Adds up the accesses since the last barrier.
    pub fn add_up_accesses(&mut self, function: &Function) {
        self.times.clear();
        for ((key, ..), lanes) in std::mem::take(&mut self.open) {
            let Some((buffer, cost)) = self.costs.get_mut(&key) else { continue };
            cost.warp_executions += 1;
            cost.lanes += lanes.len() as u64;
            let shared = function.buffer(*buffer).space == Space::Shared;
            cost.transfers += if shared { wavefronts(lanes.iter().copied()) } else { sectors(&lanes) };
        }
    }

    /// Costs of each launch, in the order of their first runs. `text` prints a statement.
    pub fn costs(&self, function: &Function, text: impl Fn(&Stmt) -> String) -> Vec<LaunchCost> {
        let stmts = statements(function);
        let of = |key: &StmtAddress| {
            let (buffer, WarpCost { warp_executions, lanes, transfers }) = *self.costs.get(key)?;
            let declared = function.buffer(buffer);
            Some(AccessCost {
                statement: text(stmts.get(key)?),
                buffer: declared.name.clone(),
                is_shared: declared.space == Space::Shared,
                warp_executions,
                active_lanes: lanes,
                transfers,
            })
        };
        let launch = |launch: &LaunchCounts| LaunchCost {
            accesses: launch.order.iter().filter_map(of).collect(),
            ..launch.cost.clone()
        };
        self.launches.iter().map(launch).collect()
    }
}

/// All statements of a function, by their addresses.
fn statements(function: &Function) -> HashMap<StmtAddress, &Stmt> {
    let mut all = HashMap::new();
    Stmt::visit_all(&function.body, |stmt| {
        all.insert(std::ptr::from_ref(stmt) as StmtAddress, stmt);
    });
    all
}

/// Number of distinct sectors.
fn sectors(lanes: &[ByteRange]) -> u64 {
    let touched: BTreeSet<u64> =
        lanes.iter().flat_map(|(start, end)| start / SECTOR_BYTES..end.div_ceil(SECTOR_BYTES)).collect();
    touched.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(of: impl Fn(u64) -> u64, bytes: u64) -> Vec<ByteRange> {
        (0..32).map(|lane| (of(lane), of(lane) + bytes)).collect()
    }

    #[test]
    fn banks_deliver_a_word_at_a_time() {
        let cases: [(&str, Vec<ByteRange>, u64); 7] = [
            ("neighbours", lanes(|lane| 4 * lane, 4), 1),
            ("one word for all", lanes(|_| 64, 4), 1),
            ("bytes of few words", lanes(|lane| lane, 1), 1),
            ("every other word", lanes(|lane| 8 * lane, 4), 2),
            ("one bank", lanes(|lane| 128 * lane, 4), 32),
            ("neighbours of 8 bytes", lanes(|lane| 8 * lane, 8), 2),
            ("odd distances", lanes(|lane| 4 * 33 * lane, 4), 1),
        ];
        for (name, lanes, expected) in cases {
            assert_eq!(wavefronts(lanes.iter().copied()), expected, "{name}");
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
