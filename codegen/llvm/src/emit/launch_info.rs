//! Descriptions of the launches of a LIR module: the names and parameters of their kernels, and the numbers
//! that the runtime needs.

use super::memory::reserved_bytes;
use sched_ir::lir::{
    self, Block, BufferId, GpuAxis, GpuDimension, GpuLevel, Launch, Op, Space, Stmt, Uses, Value,
};
use std::collections::{BTreeMap, BTreeSet};

/// Parameters of a launch's kernel, in this order.
pub(super) struct LaunchParameters {
    pub(super) buffers: Vec<BufferId>,
    /// Variables of the host.
    pub(super) values: Vec<Value>,
    /// Constants, which the kernel repeats instead of taking them.
    pub(super) constants: Vec<(Value, Op)>,
}

impl LaunchParameters {
    /// The buffers and values of the surrounding function that a launch uses.
    pub(super) fn of(function: &lir::Function, launch: &Launch) -> LaunchParameters {
        let uses = Uses::of(&launch.body);
        let inside = definitions(&launch.body);
        let constants: BTreeMap<Value, &Op> = function
            .body
            .iter()
            .filter_map(|stmt| match stmt {
                Stmt::Let(value, op @ (Op::Int(_) | Op::Float(_))) => Some((*value, op)),
                _ => None,
            })
            .collect();
        let outside: Vec<Value> = uses.values().filter(|value| !inside.values.contains(value)).collect();
        let (repeated, values): (Vec<Value>, Vec<Value>) =
            outside.into_iter().partition(|value| constants.contains_key(value));
        let constants = repeated.iter().filter_map(|value| Some((*value, (*constants.get(value)?).clone())));
        LaunchParameters {
            buffers: uses.buffers.iter().copied().filter(|buffer| !inside.buffers.contains(buffer)).collect(),
            values,
            constants: constants.collect(),
        }
    }
}

/// The launches of a block, in the order of the text.
pub(super) fn launches_in(body: &Block) -> Vec<&Launch> {
    let mut launches = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Launch(launch) => launches.push(&**launch),
            other => launches.extend(other.blocks().into_iter().flat_map(launches_in)),
        }
    }
    launches
}

/// A launch of a module. Code in memory and artefacts describe it to the runtime, as
/// [`LaunchDescriptor`](crate::runtime::LaunchDescriptor) and as a constant of LLVM.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaunchInfo {
    /// The name of its kernel.
    pub(crate) name: String,
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Bytes of shared memory that the host requests for each block.
    pub(crate) shared_bytes: u32,
    /// Names of the buffers that its kernel takes.
    pub(crate) buffers: Vec<String>,
    /// Number of the kernel's parameters: buffers first, then variables of the host.
    pub(crate) num_arguments: i32,
    /// Whether the kernel takes two more parameters: the first block in the directions y and z.
    pub(crate) is_split: bool,
}

/// All launches of a module, in the order of their numbers.
pub(crate) fn launch_infos(module: &lir::Module) -> Vec<LaunchInfo> {
    let of = |function: &lir::Function| {
        let info = |launch: &&Launch| {
            let parameters = LaunchParameters::of(function, launch);
            LaunchInfo {
                name: launch_symbol(function, launch),
                block: launch.block,
                shared_bytes: shared_bytes(function, launch),
                buffers: parameters.buffers.iter().map(|id| function.buffer(*id).name.clone()).collect(),
                num_arguments: (parameters.buffers.len() + parameters.values.len()) as i32,
                is_split: is_split(launch),
            }
        };
        launches_in(&function.body).iter().map(info).collect::<Vec<_>>()
    };
    module.kernels.iter().flat_map(|(_, function)| of(function)).collect()
}

/// Bytes of shared memory of a block: the sum of its buffers, none of which overlap.
fn shared_bytes(function: &lir::Function, launch: &Launch) -> u32 {
    let buffers = launch.buffers_in(Space::Shared, function).into_iter();
    let bytes: u64 = buffers.map(|(_, bytes)| reserved_bytes(bytes.try_into().unwrap_or(i64::MAX))).sum();
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Whether the grid extends in the directions y or z, where a GPU limits one launch to 65,535 blocks: the
/// runtime may then split it.
pub(super) fn is_split(launch: &Launch) -> bool {
    let mut is_split = false;
    let split = |dimension: &GpuDimension| {
        dimension.level == GpuLevel::Grid && matches!(dimension.axis, GpuAxis::Y | GpuAxis::Z)
    };
    Stmt::visit_all(&launch.body, |stmt| {
        is_split |= matches!(stmt, Stmt::Let(_, Op::Id(dimension)) if split(dimension));
    });
    is_split
}

/// The name of a launch's kernel.
pub(super) fn launch_symbol(function: &lir::Function, launch: &Launch) -> String {
    format!("schedc_{}_{}", function.name, launch.name)
}

/// Values and buffers that a block of statements defines.
#[derive(Default)]
struct Definitions {
    values: BTreeSet<Value>,
    buffers: BTreeSet<BufferId>,
}

fn definitions(body: &Block) -> Definitions {
    let mut defined = Definitions::default();
    Stmt::visit_all(body, |stmt| match stmt {
        Stmt::Let(value, _) => drop(defined.values.insert(*value)),
        Stmt::For(stmt) => {
            defined.values.insert(stmt.iv);
            defined.values.extend(stmt.carried.iter().flat_map(|c| [c.inside, c.after]));
        }
        Stmt::While(stmt) => defined.values.extend(stmt.carried.iter().flat_map(|c| [c.inside, c.after])),
        Stmt::If(stmt) => defined.values.extend(stmt.joined.iter().map(|j| j.after)),
        Stmt::Alloc(stmt) => drop(defined.buffers.insert(stmt.buffer)),
        Stmt::Parallel(stmt) => drop(defined.values.insert(stmt.iv)),
        Stmt::Ticket(ticket) => drop(defined.values.insert(ticket.number)),
        Stmt::Store(..)
        | Stmt::StoreMasked(..)
        | Stmt::AtomicAdd(..)
        | Stmt::Prefetch(_)
        | Stmt::Launch(_)
        | Stmt::Barrier
        | Stmt::Fence
        | Stmt::Product(_) => {}
    });
    defined
}
