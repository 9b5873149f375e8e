//! One kernel.

use super::device::Device;
use super::frame::Frame;
use super::isa::Isa;
use super::launch::launches_in;
use super::marks::Marks;
use super::memory::AliasScopes;
use super::types;
use super::uses::Uses;
use crate::error::LlvmError;
use crate::target::Machine;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};
use sched_ir::lir::{self, Block, BufferId, KernelKind, Space, Stmt, Value};
use sched_ir::verify::verify;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Fields of `schedc_ctx`, 8 bytes each.
#[derive(Clone, Copy)]
enum Field {
    Rows = 0,
    NumRows = 1,
    Out = 2,
    Tables = 3,
    Order = 6,
}

/// Emits one LIR function.
pub(super) struct Emitter<'a, 'ctx> {
    pub(super) context: &'ctx Context,
    pub(super) module: &'a Module<'ctx>,
    pub(super) machine: &'a Machine,
    pub(super) model: &'a lir::Module,
    pub(super) source: &'a lir::Function,
    /// The values that are used otherwise than lane by lane.
    pub(super) whole: BTreeSet<Value>,
    /// The machine's own instructions.
    pub(super) isa: Box<dyn Isa>,
    /// The machine that runs it, if it is the code of a launch.
    pub(super) device: Option<Rc<dyn Device>>,
    /// In launches of long grids: the first block in the directions y and z.
    pub(super) first_blocks: Option<[IntValue<'ctx>; 2]>,
    /// The group of loads that memory was read anew for last.
    pub(super) reloaded: Option<u32>,
    /// Says which loop instructions are for, if that is asked for.
    pub(super) marks: Option<Marks<'ctx>>,
    /// What the names of its functions begin with.
    pub(super) name: String,
    pub(super) builder: Builder<'ctx>,
    pub(super) frame: Frame<'ctx>,
    pub(super) scopes: AliasScopes<'ctx>,
}

/// Emits a kernel of a LIR module.
pub(super) fn emit<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    machine: &Machine,
    source: &lir::Module,
    kind: KernelKind,
    function: &lir::Function,
    (version, linkage): (usize, Linkage),
) -> Result<FunctionValue<'ctx>, LlvmError> {
    // LLVM may crash on ill-typed code before its own verifier runs.
    verify(function).map_err(LlvmError::ill_formed)?;
    let name = kernel_name(function, version);
    if !is_name(&function.name) || module.get_function(&name).is_some() {
        return Err(LlvmError::ill_formed(format_args!(
            "the name {:?} is taken or no C identifier",
            function.name
        )));
    }
    let pointer = types::pointer(context);
    let signature = context.void_type().fn_type(&[pointer.into()], false);
    let llvm = module.add_function(&name, signature, Some(linkage));
    describe(context, machine, llvm);
    let ctx = first_pointer(llvm)?;
    ctx.set_name("ctx");

    let builder = context.create_builder();
    let frame = Frame::enter(context, &builder, llvm, ctx, function);
    let scopes = AliasScopes::new(context, kind, function);
    let Uses { whole, .. } = Uses::of(&function.body);
    let (model, source, isa) = (source, function, super::isa(machine));
    let mut emitter = Emitter {
        context,
        module,
        machine,
        model,
        source,
        whole,
        isa,
        device: None,
        first_blocks: None,
        reloaded: None,
        marks: machine.marks.then(|| Marks::new(context, module, model, kind)),
        name,
        builder,
        frame,
        scopes,
    };
    if let Some(marks) = &mut emitter.marks {
        marks.begin(llvm);
    }
    emitter.mark_number(0);
    emitter.load_context()?;
    emitter.frame.leave_entry(context, &emitter.builder)?;
    emitter.block(&function.body)?;
    emitter.builder.build_return(None)?;
    if let Some(marks) = &emitter.marks {
        marks.finish();
    }
    Ok(llvm)
}

/// The symbol of a kernel in a version of the model. Dots keep it apart from every name of C.
pub(crate) fn kernel_name(function: &lir::Function, version: usize) -> String {
    match version {
        0 => format!("kernel.{}", function.name),
        _ => format!("kernel.{}.{version}", function.name),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The first parameter of a function that takes a pointer first.
pub(super) fn first_pointer(llvm: FunctionValue) -> Result<PointerValue, LlvmError> {
    match llvm.get_first_param() {
        Some(BasicValueEnum::PointerValue(pointer)) => Ok(pointer),
        _ => Err(LlvmError::ill_formed("a generated function takes a pointer first")),
    }
}

/// Attributes of every generated function.
pub(super) fn describe(context: &Context, machine: &Machine, llvm: FunctionValue) {
    let nounwind = Attribute::get_named_enum_kind_id("nounwind");
    llvm.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
    // No call may be turned into another, and no loop into a call: artefacts link only what LIR names.
    llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute("no-builtins", ""));
    if let Some(tune) = &machine.tune {
        llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute("tune-cpu", tune));
    }
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Loads where the buffers are, once per run.
    fn load_context(&mut self) -> Result<(), LlvmError> {
        let ctx = self.frame.ctx;
        let tables = self.load_pointer(ctx, Field::Tables as u32, "tables")?;
        // Where some runs take place on a device, the host cannot read the memory that these are in.
        let readable = launches_in(&self.source.body).is_empty();
        for (buffer, id) in self.source.buffers.iter().zip(0..) {
            let base = match buffer.space {
                Space::Input => self.load_pointer(ctx, Field::Rows as u32, &buffer.name)?,
                Space::Order => self.load_pointer(ctx, Field::Order as u32, &buffer.name)?,
                Space::Output => self.load_pointer(ctx, Field::Out as u32, &buffer.name)?,
                Space::Model(n) => {
                    let table = self.model.tables.get(n as usize);
                    let table = table.ok_or_else(|| LlvmError::ill_formed(format_args!("no table #{n}")))?;
                    let base = self.load_pointer(tables, n, &buffer.name)?;
                    self.describe_table(base, if readable { table.bytes.len() } else { 0 })?;
                    base
                }
                Space::Private | Space::Shared => continue,
            };
            self.frame.place(BufferId(id), base)?;
        }
        Ok(())
    }

    /// The number of rows of the run.
    pub(super) fn rows(&mut self) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let at = self.element(self.frame.ctx, Field::NumRows as u32)?;
        let rows = self.builder.build_load(self.context.i64_type(), at, "n_rows")?;
        self.mark_invariant(rows)?;
        self.resized(rows, lir::Ty::I64, lir::Ty::of(self.source.index))
    }

    /// Emits statements. The verifier bounds their nesting.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), LlvmError> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    /// What is emitted next is for the same as a value.
    pub(super) fn mark(&self, value: Value) {
        self.mark_number(self.source.origins.number(value).unwrap_or(0));
    }

    pub(super) fn mark_number(&self, origin: usize) {
        if let Some(marks) = &self.marks {
            marks.mark(self.context, &self.builder, origin);
        }
    }

    /// The value that is made last of those that a statement is about: it is made for the same.
    fn mark_stmt(&self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(value, _) => self.mark(*value),
            Stmt::Store(to, value) | Stmt::StoreMasked(to, value, _) | Stmt::AtomicAdd(to, value) => {
                self.mark(to.index.max(*value));
            }
            Stmt::For(stmt) => self.mark(stmt.iv),
            Stmt::Parallel(stmt) => self.mark(stmt.iv),
            _ => {}
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), LlvmError> {
        self.mark_stmt(stmt);
        match stmt {
            Stmt::Let(value, op) => {
                let llvm = self.op(*value, op)?;
                self.frame.define(*value, llvm)
            }
            Stmt::Store(to, value) => self.store(to, *value),
            Stmt::StoreMasked(to, value, mask) => self.store_masked(to, *value, *mask),
            Stmt::AtomicAdd(to, value) => self.atomic_add(to, *value),
            Stmt::Prefetch(at) => self.prefetch(at),
            Stmt::For(stmt) => self.for_loop(stmt),
            Stmt::While(stmt) => self.while_loop(stmt),
            Stmt::If(stmt) => self.choice(stmt),
            Stmt::Parallel(stmt) => self.parallel(stmt),
            Stmt::Alloc(stmt) => self.alloc(stmt),
            Stmt::Launch(stmt) => self.launch(stmt),
            Stmt::Barrier => self.device()?.barrier(self),
        }
    }

    /// What only launches have.
    pub(super) fn device(&self) -> Result<&Rc<dyn Device>, LlvmError> {
        self.device.as_ref().ok_or_else(|| LlvmError::ill_formed("code of a launch in code for a processor"))
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> Result<lir::Ty, LlvmError> {
        let ty = self.source.types.get(value.0 as usize);
        ty.copied().ok_or_else(|| LlvmError::ill_formed(format_args!("%{} has no type", value.0)))
    }
}
