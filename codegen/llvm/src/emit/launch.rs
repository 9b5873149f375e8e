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

/// Emits all launches of a LIR module for a device.
pub(crate) fn emit_launches<'ctx>(
    session: &'ctx Session,
    machine: &Machine,
    source: &lir::Module,
) -> Result<Module<'ctx>, LlvmError> {
    let module = module(session, machine);
    for (kind, function) in &source.kernels {
        verify(function).map_err(LlvmError::ill_formed)?;
        for launch in launches(&function.body) {
            let unit =
                Unit { context: session.context(), module: &module, machine, source, kind: *kind, function };
            unit.kernel(launch)?;
        }
    }
    Ok(module)
}

/// The launches of a function, in the order of the text.
fn launches(body: &Block) -> Vec<&Launch> {
    let mut found = Vec::new();
    for stmt in body {
        match stmt {
            Stmt::Launch(launch) => found.push(&**launch),
            other => found.extend(other.blocks().into_iter().flat_map(launches)),
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
        let parameters = self.parameters(launch);
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

    /// What a launch uses of what is around it.
    fn parameters(&self, launch: &Launch) -> Parameters {
        let uses = Uses::of(&launch.body);
        let inside = defined(&launch.body);
        let constants: BTreeMap<Value, &Op> = self
            .function
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

    fn declare(&self, launch: &Launch, parameters: &Parameters) -> Result<FunctionValue<'ctx>, LlvmError> {
        let global = self.context.ptr_type(AddressSpace::from(GLOBAL));
        let mut signature: Vec<BasicMetadataTypeEnum> = vec![global.into(); parameters.buffers.len()];
        for value in &parameters.values {
            let ty = self.function.types.get(value.0 as usize).copied().unwrap_or(Ty::I1);
            signature.push(types::basic(self.context, ty)?.as_basic_type_enum().into());
        }
        let signature = self.context.void_type().fn_type(&signature, false);
        let name = format!("schedc_{}_{}", self.function.name, launch.name);
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
