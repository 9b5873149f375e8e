//! Functions with launches on this machine: launches run as machine code, and this file interprets the code
//! around them.

#![allow(unsafe_code)]

use super::fibers::{AlignedBytes, launch, memory};
use sched_ir::lir::{
    self, Bin, Block, Cast, Cmp, Function, KernelKind, Launch, Module, Op, Scalar, Space, Stmt,
};
use sched_llvm::HostLaunches;
use std::collections::HashMap;
use std::ffi::c_void;

/// The code of a module's launches.
pub struct Host<'m> {
    module: &'m Module,
    launches: HostLaunches,
    tables: Vec<Vec<AlignedBytes>>,
}

impl<'m> Host<'m> {
    pub fn compile(module: &'m Module) -> Host<'m> {
        let launches = HostLaunches::compile(module).expect("code for this machine");
        let table = |table: &lir::Table| {
            let mut lines = memory(table.bytes.len());
            bytes(&mut lines)[..table.bytes.len()].copy_from_slice(&table.bytes);
            lines
        };
        Host { module, launches, tables: module.tables.iter().map(table).collect() }
    }

    /// Runs a kernel on rows.
    pub fn run(&mut self, kind: KernelKind, rows: usize, input: &[u8], output: &mut [u8]) {
        let (_, function) =
            self.module.kernels.iter().find(|(k, _)| *k == kind).expect("a kernel of this kind");
        let mut buffers = HashMap::new();
        for (buffer, number) in function.buffers.iter().zip(0..) {
            let base: *mut u8 = match buffer.space {
                Space::Input => input.as_ptr().cast_mut(),
                Space::Output => output.as_mut_ptr(),
                Space::ModelTable(table) => bytes(&mut self.tables[table as usize]).as_mut_ptr(),
                Space::InputOrder | Space::Private | Space::Shared | Space::Counters => continue,
            };
            buffers.insert(number, base as usize);
        }
        let mut run = FunctionRun {
            function,
            launches: &self.launches,
            rows: rows as i64,
            buffers,
            values: HashMap::new(),
        };
        run.block(&function.body);
    }
}

fn bytes(lines: &mut [AlignedBytes]) -> &mut [u8] {
    // SAFETY: lines are bytes, one after the other.
    unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), 64 * lines.len()) }
}

/// A run of a function.
struct FunctionRun<'a> {
    function: &'a Function,
    launches: &'a HostLaunches,
    rows: i64,
    /// Addresses of buffers, by the buffers' numbers.
    buffers: HashMap<u32, usize>,
    /// Integers and truth values, sign-extended, by the numbers of the LIR values.
    values: HashMap<u32, i64>,
}

impl FunctionRun<'_> {
    fn value(&self, value: lir::Value) -> i64 {
        self.values[&value.0]
    }

    fn define(&mut self, value: lir::Value, n: i64) {
        let n = match self.function.ty(value).scalar {
            Scalar::I1 => n & 1,
            Scalar::I8 => i64::from(n as i8),
            Scalar::I16 => i64::from(n as i16),
            Scalar::I32 => i64::from(n as i32),
            Scalar::I64 => n,
            Scalar::F32 | Scalar::F64 => panic!("floats of the host"),
        };
        self.values.insert(value.0, n);
    }

    fn block(&mut self, block: &Block) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            // Launches repeat constants themselves.
            Stmt::Let(_, Op::Float(_)) => {}
            Stmt::Let(value, op) => {
                let n = self.op(op);
                self.define(*value, n);
            }
            Stmt::For(stmt) => {
                let mut carried: Vec<i64> = stmt.carried.iter().map(|c| self.value(c.first)).collect();
                let (mut iv, hi) = (self.value(stmt.lo), self.value(stmt.hi));
                while iv < hi {
                    self.define(stmt.iv, iv);
                    stmt.carried.iter().zip(&carried).for_each(|(c, n)| self.define(c.inside, *n));
                    self.block(&stmt.body);
                    carried = stmt.carried.iter().map(|c| self.value(c.next)).collect();
                    iv += stmt.step;
                }
                stmt.carried.iter().zip(carried).for_each(|(c, n)| self.define(c.after, n));
            }
            Stmt::If(stmt) => {
                let holds = self.value(stmt.cond) != 0;
                self.block(if holds { &stmt.then } else { &stmt.otherwise });
                for joined in &stmt.joined {
                    let n = self.value(if holds { joined.then } else { joined.otherwise });
                    self.define(joined.after, n);
                }
            }
            Stmt::Alloc(stmt) => {
                let mut lines = memory(self.value(stmt.bytes).max(0) as usize);
                let are_counters = self.function.buffer(stmt.buffer).space == Space::Counters;
                if are_counters {
                    bytes(&mut lines).fill(0);
                }
                self.buffers.insert(stmt.buffer.0, lines.as_mut_ptr() as usize);
                self.block(&stmt.body);
                self.buffers.remove(&stmt.buffer.0);
                assert!(
                    !are_counters || bytes(&mut lines).iter().all(|byte| *byte == 0),
                    "a counter is kept"
                );
            }
            Stmt::Launch(stmt) => self.launch(stmt),
            other => panic!("the host does more than launch: {other:?}"),
        }
    }

    fn op(&self, op: &Op) -> i64 {
        match op {
            Op::Int(n) => *n,
            Op::RowCount => self.rows,
            Op::Bin(bin, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                match bin {
                    Bin::Add => a.wrapping_add(b),
                    Bin::Sub => a.wrapping_sub(b),
                    Bin::Mul => a.wrapping_mul(b),
                    Bin::IDiv => a / b,
                    Bin::And => a & b,
                    Bin::Or => a | b,
                    Bin::Xor => a ^ b,
                    Bin::Min => a.min(b),
                    Bin::Max => a.max(b),
                    Bin::Div | Bin::Shr => panic!("the host computes {bin:?}"),
                }
            }
            Op::Cmp(cmp, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                i64::from(match cmp {
                    Cmp::Eq => a == b,
                    Cmp::Ne => a != b,
                    Cmp::Lt => a < b,
                    Cmp::Le => a <= b,
                    other => panic!("the host compares by {other:?}"),
                })
            }
            Op::Select(cond, a, b) => self.value(if self.value(*cond) != 0 { *a } else { *b }),
            Op::Cast(Cast::SExt | Cast::Trunc, value) => self.value(*value),
            other => panic!("the host computes {other:?}"),
        }
    }

    fn launch(&self, launch_of: &Launch) {
        let grid = launch_of.grid.map(|blocks| self.value(blocks).max(0) as u32);
        let name = format!("schedc_{}_{}", self.function.name, launch_of.name);
        let kernel = self.launches.kernel(&name).expect("a kernel for each launch");
        // Each argument takes eight bytes: an address, or a smaller number in the first bytes.
        let addresses = kernel.buffers.iter().map(|buffer| self.buffers[&buffer.0] as u64);
        let values = kernel.values.iter().map(|value| self.value(*value) as u64);
        // One launch runs all blocks, so the first block in the directions y and z is 0.
        let arguments: Vec<u64> = addresses.chain(values).chain([0, 0]).collect();
        let parameters: Vec<*const c_void> = arguments.iter().map(|a| std::ptr::from_ref(a).cast()).collect();
        launch(kernel, grid, launch_of.block, &parameters);
    }
}
