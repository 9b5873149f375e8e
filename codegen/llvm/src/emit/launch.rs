//! Launches as kernels of a GPU: each becomes a function of a module of its own, whose parameters are the buffers and
//! the values of the host that it uses.

use super::frame::Frame;
use super::function::{Emitter, describe};
use super::memory::AliasScopes;
use super::uses::Uses;
use super::{module, types};
use crate::error::LlvmError;
use crate::session::Session;
use crate::target::Machine;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicType};
use inkwell::values::{BasicValueEnum, FunctionValue};
use sched_ir::lir::{self, Block, BufferId, KernelKind, Launch, Op, Space, Stmt, Ty, Value};
use sched_ir::verify::verify;
use std::collections::{BTreeMap, BTreeSet};

/// The address space of a device's memory, and that of a block.
const GLOBAL: u16 = 1;
pub(super) const SHARED: u16 = 3;

/// What a kernel of a GPU takes from the host, in this order.
struct Parameters {
    buffers: Vec<BufferId>,
    /// Values that are not constants.
    values: Vec<Value>,
    /// Constants, which are repeated.
    constants: Vec<(Value, Op)>,
}

impl Parameters {
    /// What a launch uses of what is around it.
    fn of(function: &lir::Function, launch: &Launch) -> Parameters {
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

/// What the host knows of a launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LaunchInfo {
    /// The name of its kernel.
    pub(crate) name: String,
    /// Threads of a block.
    pub(crate) block: [u32; 3],
    /// Bytes of memory that the threads of a block share, beyond what the kernel itself declares.
    pub(crate) shared: u32,
    /// What it takes.
    pub(crate) num_arguments: i32,
    /// Whether it takes the first block in the directions y and z, too.
    pub(crate) is_split: bool,
}

/// All launches of a module, in the order of their numbers.
pub(crate) fn launches(module: &lir::Module) -> Vec<LaunchInfo> {
    let of = |function: &lir::Function| {
        let info = |launch: &&Launch| {
            let parameters = Parameters::of(function, launch);
            LaunchInfo {
                name: symbol(function, launch),
                block: launch.block,
                shared: 0,
                num_arguments: (parameters.buffers.len() + parameters.values.len()) as i32,
                is_split: false,
            }
        };
        launches_in(&function.body).iter().map(info).collect::<Vec<_>>()
    };
    module.kernels.iter().flat_map(|(_, function)| of(function)).collect()
}

/// The name of a launch's kernel.
fn symbol(function: &lir::Function, launch: &Launch) -> String {
    format!("schedc_{}_{}", function.name, launch.name)
}

/// Emits all launches of a LIR module for a device.
pub(crate) fn emit_launches<'ctx>(
    session: &'ctx Session,
    machine: &Machine,
    source: &lir::Module,
) -> Result<Module<'ctx>, LlvmError> {
    let module = module(session, machine);
    for (kind, function) in &source.kernels {
        verify(function).map_err(LlvmError::ill_formed)?;
        for launch in launches_in(&function.body) {
            let unit =
                Unit { context: session.context(), module: &module, machine, source, kind: *kind, function };
            unit.kernel(launch)?;
        }
    }
    Ok(module)
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
    fn kernel(&self, launch: &Launch) -> Result<(), LlvmError> {
        let parameters = Parameters::of(self.function, launch);
        let llvm = self.declare(launch, &parameters)?;
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
            in_launch: true,
            reloaded: None,
            name: launch.name.clone(),
            builder,
            frame,
            scopes: AliasScopes::new(self.context, self.kind, self.function),
        };
        let missing = || LlvmError::ill_formed("a kernel has a parameter for each buffer and value");
        let mut given = llvm.get_param_iter();
        for buffer in &parameters.buffers {
            match given.next() {
                Some(BasicValueEnum::PointerValue(base)) => emitter.frame.place(*buffer, base)?,
                _ => return Err(missing()),
            }
        }
        for value in &parameters.values {
            emitter.frame.define(*value, given.next().ok_or_else(missing)?)?;
        }
        for (value, op) in &parameters.constants {
            let constant = emitter.op(*value, op)?;
            emitter.frame.define(*value, constant)?;
        }
        emitter.frame.leave_entry(self.context, &emitter.builder)?;
        emitter.block(&launch.body)?;
        emitter.builder.build_return(None)?;
        Ok(())
    }

    fn declare(&self, launch: &Launch, parameters: &Parameters) -> Result<FunctionValue<'ctx>, LlvmError> {
        let global = self.context.ptr_type(AddressSpace::from(GLOBAL));
        let mut signature: Vec<BasicMetadataTypeEnum> = vec![global.into(); parameters.buffers.len()];
        for value in &parameters.values {
            let ty = self.function.types.get(value.0 as usize).copied().unwrap_or(Ty::I1);
            signature.push(types::basic(self.context, ty)?.as_basic_type_enum().into());
        }
        let signature = self.context.void_type().fn_type(&signature, false);
        let name = symbol(self.function, launch);
        let llvm = self.module.add_function(&name, signature, None);
        describe(self.context, self.machine, llvm);
        super::isa(self.machine).describe_kernel(self.context, self.module, llvm, launch.block)?;
        for (buffer, at) in parameters.buffers.iter().zip(0..) {
            let space = self.function.buffer(*buffer).space;
            let reads_only = matches!(space, Space::Input | Space::Model(_));
            for attribute in ["noalias", "readonly"].iter().take(if reads_only { 2 } else { 1 }) {
                let attribute = Attribute::get_named_enum_kind_id(attribute);
                let attribute = self.context.create_enum_attribute(attribute, 0);
                llvm.add_attribute(AttributeLoc::Param(at), attribute);
            }
        }
        Ok(llvm)
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// The host's side of a launch: a call of the runtime with the addresses of what the kernel takes.
    pub(super) fn launch(&mut self, launch: &Launch) -> Result<(), LlvmError> {
        let name = symbol(self.source, launch);
        let number = launches(self.model).iter().position(|info| info.name == name);
        let number = number.ok_or_else(|| LlvmError::ill_formed("a launch of another module"))?;
        let parameters = Parameters::of(self.source, launch);
        let mut given: Vec<BasicValueEnum> = Vec::new();
        for buffer in &parameters.buffers {
            given.push(self.frame.buffer(*buffer)?.into());
        }
        for value in &parameters.values {
            given.push(self.frame.value(*value)?);
        }
        let pointer = types::pointer(self.context);
        // The runtime may add two.
        let addresses = pointer.array_type(given.len() as u32 + 2);
        let memory = self.frame.at_entry(self.context).build_alloca(addresses, "arguments")?;
        for (value, place) in given.iter().zip(0..) {
            let slot = self.frame.at_entry(self.context).build_alloca(value.get_type(), "argument")?;
            self.builder.build_store(slot, *value)?;
            let entry = self.element(memory, place)?;
            self.builder.build_store(entry, slot)?;
        }
        let (int, long) = (self.context.i32_type(), self.context.i64_type());
        let mut arguments = vec![self.frame.ctx.into(), int.const_int(number as u64, false).into()];
        for extent in launch.grid {
            let blocks = self.index(extent)?;
            arguments.push(self.builder.build_int_s_extend_or_bit_cast(blocks, long, "")?.into());
        }
        arguments.push(memory.into());
        self.builder.build_call(self.runtime_launch(), &arguments, "")?;
        Ok(())
    }
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
