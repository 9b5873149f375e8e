//! Launches as kernels: each becomes a function of a module of its own, whose parameters are the buffers and
//! the values of the host that it uses.

use super::device::{Kernel, Parameter, device};
use super::frame::Frame;
use super::function::{Emitter, describe};
use super::launch_call::is_split;
use super::memory::AliasScopes;
use super::uses::Uses;
use super::{module, types};
use crate::error::LlvmError;
use crate::session::Session;
use crate::target::Machine;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{self, Block, BufferId, KernelKind, Launch, Op, Space, Stmt, Ty, Value};
use sched_ir::verify::verify;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What a kernel takes from the host, in this order.
pub(super) struct Parameters {
    pub(super) buffers: Vec<BufferId>,
    /// Values that are not constants.
    pub(super) values: Vec<Value>,
    /// Constants, which are repeated.
    constants: Vec<(Value, Op)>,
}

impl Parameters {
    /// What a launch uses of what is around it.
    pub(super) fn of(function: &lir::Function, launch: &Launch) -> Parameters {
        let uses = Uses::of(&launch.body);
        let inside = defined(&launch.body);
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
        Parameters {
            buffers: uses.buffers.iter().copied().filter(|buffer| !inside.buffers.contains(buffer)).collect(),
            values,
            constants: constants.collect(),
        }
    }
}

/// What has become of a launch.
pub(crate) struct EmittedLaunch {
    /// The kernel's name.
    pub(crate) name: String,
    /// Bytes of shared memory that a block gets when it is launched, beside what the code says.
    pub(crate) shared_bytes: u64,
    /// The buffers that it takes, and then the values of the host.
    pub(crate) buffers: Vec<BufferId>,
    pub(crate) values: Vec<Value>,
    /// Whether it then takes the first block in the directions y and z.
    pub(crate) is_split: bool,
}

/// Emits all launches of a LIR module for a machine that runs them.
pub(crate) fn emit_launches<'ctx>(
    session: &'ctx Session,
    machine: &Machine,
    source: &lir::Module,
) -> Result<(Module<'ctx>, Vec<EmittedLaunch>), LlvmError> {
    let module = module(session, machine);
    let mut emitted = Vec::new();
    for (kind, function) in &source.kernels {
        verify(function).map_err(LlvmError::ill_formed)?;
        for launch in launches_in(&function.body) {
            let unit =
                Unit { context: session.context(), module: &module, machine, source, kind: *kind, function };
            emitted.push(unit.kernel(launch)?);
        }
    }
    Ok((module, emitted))
}

/// The launches of a function, in the order of the text.
pub(super) fn launches_in(body: &Block) -> Vec<&Launch> {
    let mut found = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Launch(launch) => found.push(&**launch),
            other => found.extend(other.blocks().into_iter().flat_map(launches_in)),
        }
    }
    found
}

/// One function of LIR in a module for a device.
struct Unit<'a, 'ctx> {
    context: &'ctx Context,
    module: &'a Module<'ctx>,
    machine: &'a Machine,
    source: &'a lir::Module,
    kind: KernelKind,
    function: &'a lir::Function,
}

impl<'ctx> Unit<'_, 'ctx> {
    fn kernel(&self, launch: &Launch) -> Result<EmittedLaunch, LlvmError> {
        let device =
            device(self.machine).ok_or_else(|| LlvmError::ill_formed("a launch in code for a processor"))?;
        let name = kernel_symbol(self.function, launch);
        let given = Parameters::of(self.function, launch);
        let mut parameters = self.types(&given)?;
        let split = is_split(launch);
        if split {
            let int = || Parameter::Value(self.context.i32_type().into());
            parameters.extend([int(), int()]);
        }
        let kernel = Kernel { name: &name, block: launch.block, parameters: &parameters };
        let llvm = device.declare(self.context, self.module, &kernel)?;
        describe(self.context, self.machine, llvm);
        let builder = self.context.create_builder();
        let nowhere = types::pointer(self.context).const_null();
        let frame = Frame::enter(self.context, &builder, llvm, nowhere, self.function);
        let mut emitter = Emitter {
            context: self.context,
            module: self.module,
            machine: self.machine,
            model: self.source,
            source: self.function,
            whole: Uses::of(&launch.body).whole,
            isa: super::isa(self.machine),
            device: Some(Rc::clone(&device)),
            first_blocks: None,
            reloaded: None,
            marks: None,
            name: launch.name.clone(),
            builder,
            frame,
            scopes: AliasScopes::new(self.context, self.kind, self.function),
        };
        self.read((&given, split), &parameters, &mut emitter)?;
        emitter.frame.leave_entry(self.context, &emitter.builder)?;
        emitter.block(&launch.body)?;
        emitter.builder.build_return(None)?;
        drop(emitter);
        let (shared_bytes, Parameters { buffers, values, .. }) = (device.shared_bytes(), given);
        Ok(EmittedLaunch { name, shared_bytes, buffers, values, is_split: split })
    }

    /// Reads the parameters at the start of a kernel, and repeats the constants.
    fn read(
        &self,
        (given, split): (&Parameters, bool),
        parameters: &[Parameter<'ctx>],
        emitter: &mut Emitter<'_, 'ctx>,
    ) -> Result<(), LlvmError> {
        let device = Rc::clone(emitter.device()?);
        let global = device.global();
        let mut read = parameters.iter().map(|parameter| parameter.ty(self.context, global)).zip(0..);
        let missing = || LlvmError::ill_formed("a kernel has a parameter for each buffer and value");
        for buffer in &given.buffers {
            let (ty, number) = read.next().ok_or_else(missing)?;
            match device.parameter(emitter, number, ty)? {
                BasicValueEnum::PointerValue(base) => emitter.frame.place(*buffer, base)?,
                _ => return Err(missing()),
            }
        }
        for value in &given.values {
            let (ty, number) = read.next().ok_or_else(missing)?;
            let parameter = device.parameter(emitter, number, ty)?;
            emitter.frame.define(*value, parameter)?;
        }
        if split {
            let mut first = || {
                let (ty, number) = read.next().ok_or_else(missing)?;
                match device.parameter(emitter, number, ty)? {
                    BasicValueEnum::IntValue(first) => Ok(first),
                    _ => Err(missing()),
                }
            };
            let both = [first()?, first()?];
            emitter.first_blocks = Some(both);
        }
        for (value, op) in &given.constants {
            let constant = emitter.op(*value, op)?;
            emitter.frame.define(*value, constant)?;
        }
        Ok(())
    }

    /// The parameters as the host passes them.
    fn types(&self, given: &Parameters) -> Result<Vec<Parameter<'ctx>>, LlvmError> {
        let buffers = given.buffers.iter().map(|buffer| {
            let space = self.function.buffer(*buffer).space;
            Ok(Parameter::Buffer { reads_only: matches!(space, Space::Input | Space::Model(_)) })
        });
        let values = given.values.iter().map(|value| {
            let ty = self.function.types.get(value.0 as usize).copied().unwrap_or(Ty::I1);
            Ok(Parameter::Value(types::basic(self.context, ty)?))
        });
        buffers.chain(values).collect()
    }
}

/// The name of a launch's kernel.
pub(super) fn kernel_symbol(function: &lir::Function, launch: &Launch) -> String {
    format!("schedc_{}_{}", function.name, launch.name)
}

/// What a block of statements defines.
#[derive(Default)]
struct Defined {
    values: BTreeSet<Value>,
    buffers: BTreeSet<BufferId>,
}

fn defined(body: &Block) -> Defined {
    let mut defined = Defined::default();
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
        Stmt::Store(..)
        | Stmt::StoreMasked(..)
        | Stmt::AtomicAdd(..)
        | Stmt::Prefetch(_)
        | Stmt::Launch(_)
        | Stmt::Barrier => {}
    });
    defined
}
