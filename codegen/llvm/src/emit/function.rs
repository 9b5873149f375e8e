//! Functions: the kernels of a model, statement by statement.

use super::device::Device;
use super::frame::Frame;
use super::ir::IrBuilder;
use super::isa::{Isa, Portable};
use super::launch_info::launches_in;
use super::marks::Marks;
use super::memory::Memory;
use super::nvptx::Nvptx;
use super::operands::OperandReader;
use super::shared::SharedCode;
use super::types;
use super::x86::X86;
use crate::error::LlvmError;
use crate::machine_kind::MachineKind;
use crate::target::LlvmMachine;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};
use sched_ir::lir::{self, Block, BufferId, KernelKind, Space, Stmt, Uses, Value};
use sched_ir::verify::verify;
use std::rc::Rc;

/// Fields of `schedc_ctx`, 8 bytes each.
#[derive(Clone, Copy)]
enum ContextField {
    Rows = 0,
    NumRows = 1,
    Out = 2,
    Tables = 3,
    Order = 6,
}

/// Emits the statements of one LIR function, or of one launch in it.
pub(super) struct Emitter<'a, 'ctx> {
    pub(super) machine: &'a LlvmMachine,
    pub(super) model: &'a lir::Module,
    pub(super) operands: OperandReader<'a, 'ctx>,
    pub(super) memory: Memory<'a, 'ctx>,
    /// The machine-specific forms of operations.
    pub(super) isa: Box<dyn Isa>,
    /// The machine that runs the launch; none for code of the host.
    pub(super) device: Option<Rc<dyn Device>>,
    /// In launches that the runtime may split: the numbers of the first block in the directions y and z.
    pub(super) first_blocks: Option<[IntValue<'ctx>; 2]>,
    /// Marks that name the loop of each instruction, if the caller wants them.
    pub(super) marks: Option<Marks<'ctx>>,
    /// Prefix of the names of the functions that the emitter adds.
    pub(super) name_prefix: String,
    /// Code that kernels have in common. None for launches.
    pub(super) shared: Option<&'a mut SharedCode<'ctx>>,
}

/// The name of a kernel in LLVM.
#[derive(Clone, Copy)]
pub(super) struct KernelNames {
    /// The number of the model's version.
    pub(super) version: usize,
    pub(super) linkage: Linkage,
}

/// One LIR function and its surroundings.
#[derive(Clone, Copy)]
pub(super) struct FunctionSource<'a> {
    pub(super) machine: &'a LlvmMachine,
    pub(super) model: &'a lir::Module,
    pub(super) kind: KernelKind,
    pub(super) function: &'a lir::Function,
}

/// Returns the machine-specific forms of operations.
fn isa(machine: &LlvmMachine) -> Box<dyn Isa> {
    match machine.kind {
        MachineKind::X86 => Box::new(X86::new(machine.cpu_needs, machine.gathers_slowly)),
        MachineKind::Nvptx => Box::new(Nvptx::default()),
        MachineKind::AmdGpu | MachineKind::Host => Box::new(Portable),
    }
}

/// Emits a kernel of a LIR module.
pub(super) fn emit_kernel<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    source: FunctionSource<'_>,
    (KernelNames { version, linkage }, shared): (KernelNames, &mut SharedCode<'ctx>),
) -> Result<FunctionValue<'ctx>, LlvmError> {
    let FunctionSource { machine, model, kind, function } = source;
    // LLVM may crash on ill-typed code before its own verifier runs.
    verify(function).map_err(LlvmError::ill_formed)?;
    let name = kernel_symbol(function, version);
    if !is_name(&function.name) || module.get_function(&name).is_some() {
        return Err(LlvmError::ill_formed(format_args!(
            "the name {:?} is taken or no C identifier",
            function.name
        )));
    }
    let pointer = types::pointer(context);
    let signature = context.void_type().fn_type(&[pointer.into()], false);
    let llvm = module.add_function(&name, signature, Some(linkage));
    add_attributes(context, machine, llvm);
    let ctx = first_pointer(llvm)?;
    ctx.set_name("ctx");

    let ir = IrBuilder::new(context, module);
    let mut emitter = Emitter::new(ir, source, &function.body, (llvm, ctx));
    emitter.name_prefix = name;
    emitter.shared = Some(shared);
    emitter.marks = machine.has_loop_marks.then(|| Marks::new(context, module, model, kind));
    if let Some(marks) = &mut emitter.marks {
        marks.replace_function(llvm);
    }
    emitter.mark_origin_number(0);
    emitter.load_buffer_addresses()?;
    emitter.finish(|it| it.block(&function.body))?;
    if let Some(marks) = &emitter.marks {
        marks.finish();
    }
    Ok(llvm)
}

/// The symbol of a kernel in a version of the model. The dots distinguish it from every name in C.
pub(crate) fn kernel_symbol(function: &lir::Function, version: usize) -> String {
    match version {
        0 => format!("kernel.{}", function.name),
        _ => format!("kernel.{}.{version}", function.name),
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the first parameter of a function, which must be a pointer.
pub(super) fn first_pointer(llvm: FunctionValue) -> Result<PointerValue, LlvmError> {
    match llvm.get_first_param() {
        Some(BasicValueEnum::PointerValue(pointer)) => Ok(pointer),
        _ => Err(LlvmError::ill_formed("a generated function takes a pointer first")),
    }
}

/// Adds the attributes that every generated function has.
pub(super) fn add_attributes(context: &Context, machine: &LlvmMachine, llvm: FunctionValue) {
    let nounwind = Attribute::get_named_enum_kind_id("nounwind");
    llvm.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
    // LLVM must not replace calls by other calls, or loops by calls, since artefacts link only functions that
    // LIR names.
    llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute("no-builtins", ""));
    if let Some(tune) = &machine.tune_cpu {
        llvm.add_attribute(AttributeLoc::Function, context.create_string_attribute("tune-cpu", tune));
    }
}

impl<'a, 'ctx> Emitter<'a, 'ctx> {
    /// An emitter at the start of an LLVM function, in which nothing is defined. `body` has the statements to
    /// emit, and `ctx` is the run's context.
    pub(super) fn new(
        ir: IrBuilder<'a, 'ctx>,
        source: FunctionSource<'a>,
        body: &Block,
        (llvm, ctx): (FunctionValue<'ctx>, PointerValue<'ctx>),
    ) -> Emitter<'a, 'ctx> {
        let FunctionSource { machine, model, kind, function } = source;
        let frame = Frame::enter(ir.context, &ir.builder, llvm, ctx, function);
        let memory = Memory::new(ir.context, &model.tables, (kind, function));
        let Uses { whole_values, .. } = Uses::of(body);
        Emitter {
            machine,
            model,
            operands: OperandReader { ir, source: function, whole_values, frame },
            memory,
            isa: isa(machine),
            device: None,
            first_blocks: None,
            marks: None,
            name_prefix: String::new(),
            shared: None,
        }
    }

    /// Emits the body after the entry block, and ends the function.
    pub(super) fn finish(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<(), LlvmError>,
    ) -> Result<(), LlvmError> {
        self.operands.frame.end_entry_block(self.ir().context, &self.ir().builder)?;
        body(self)?;
        self.ir().builder.build_return(None)?;
        Ok(())
    }

    /// Returns the builder of LLVM's instructions at the present position.
    pub(super) fn ir(&self) -> &IrBuilder<'a, 'ctx> {
        &self.operands.ir
    }

    /// Loads the addresses of the buffers, once per run.
    fn load_buffer_addresses(&mut self) -> Result<(), LlvmError> {
        let ctx = self.operands.frame.ctx;
        let tables = self.ir().load_pointer(ctx, ContextField::Tables as u32, "tables")?;
        // If some runs take place on a device, the tables may be in memory that the host cannot read.
        let readable = launches_in(&self.operands.source.body).is_empty();
        for (buffer, id) in self.operands.source.buffers.iter().zip(0..) {
            let base = match buffer.space {
                Space::Input => self.ir().load_pointer(ctx, ContextField::Rows as u32, &buffer.name)?,
                Space::InputOrder => self.ir().load_pointer(ctx, ContextField::Order as u32, &buffer.name)?,
                Space::Output => self.ir().load_pointer(ctx, ContextField::Out as u32, &buffer.name)?,
                Space::ModelTable(n) => {
                    let table = self.model.tables.get(n as usize);
                    let table = table.ok_or_else(|| LlvmError::ill_formed(format_args!("no table #{n}")))?;
                    let base = self.ir().load_pointer(tables, n, &buffer.name)?;
                    self.ir().describe_table(base, if readable { table.bytes.len() } else { 0 })?;
                    base
                }
                Space::Private | Space::Shared | Space::Counters => continue,
            };
            self.operands.frame.set_buffer(BufferId(id), base)?;
        }
        Ok(())
    }

    /// The number of rows of the run.
    pub(super) fn n_rows(&self) -> Result<BasicValueEnum<'ctx>, LlvmError> {
        let at = self.ir().element_address(self.operands.frame.ctx, ContextField::NumRows as u32)?;
        let rows = self.ir().builder.build_load(self.ir().context.i64_type(), at, "n_rows")?;
        self.ir().mark_invariant(rows)?;
        self.ir().resize(rows, lir::Ty::I64, lir::Ty::of(self.operands.source.index))
    }

    /// Emits statements. The verifier bounds the depth of their nesting.
    pub(super) fn block(&mut self, block: &Block) -> Result<(), LlvmError> {
        block.iter().try_for_each(|stmt| self.stmt(stmt))
    }

    /// Marks the following instructions with the origin of a value: the loop in the schedule that it comes
    /// from.
    pub(super) fn mark_origin(&self, value: Value) {
        self.mark_origin_number(self.operands.source.origins.number(value).unwrap_or(0));
    }

    /// Marks the following instructions with an origin, by its index.
    pub(super) fn mark_origin_number(&self, origin: usize) {
        if let Some(marks) = &self.marks {
            marks.mark(self.ir().context, &self.ir().builder, origin);
        }
    }

    /// Marks the following instructions with the origin of a statement: that of its last defined value.
    fn mark_stmt(&self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(value, _) => self.mark_origin(*value),
            Stmt::Store(to, value) | Stmt::StoreMasked(to, value, _) | Stmt::AtomicAdd(to, value) => {
                self.mark_origin(to.index.max(*value));
            }
            Stmt::For(stmt) => self.mark_origin(stmt.iv),
            Stmt::Parallel(stmt) => self.mark_origin(stmt.iv),
            Stmt::Ticket(ticket) => self.mark_origin(ticket.number),
            _ => {}
        }
    }

    fn stmt(&mut self, stmt: &Stmt) -> Result<(), LlvmError> {
        self.mark_stmt(stmt);
        match self.shared.as_ref().and_then(|shared| shared.get(stmt)) {
            Some(shared) => self.call_shared(stmt, &shared),
            None => self.stmt_in_place(stmt),
        }
    }

    /// Emits a statement, even if kernels have it in common.
    pub(super) fn stmt_in_place(&mut self, stmt: &Stmt) -> Result<(), LlvmError> {
        match stmt {
            Stmt::Let(value, op) => {
                let llvm = self.op(*value, op)?;
                self.operands.frame.define(*value, llvm)
            }
            Stmt::Store(to, value) => self.memory.store(&self.operands, to, *value),
            Stmt::StoreMasked(to, value, mask) => {
                self.memory.store_masked(&self.operands, to, (*value, *mask))
            }
            Stmt::AtomicAdd(to, value) => self.memory.atomic_add(&self.operands, to, *value),
            Stmt::Prefetch(at) => self.memory.prefetch(&self.operands, at),
            Stmt::For(stmt) => self.for_loop(stmt),
            Stmt::While(stmt) => self.while_loop(stmt),
            Stmt::If(stmt) => self.conditional(stmt),
            Stmt::Parallel(stmt) => self.parallel(stmt),
            Stmt::Alloc(stmt) => self.alloc(stmt),
            Stmt::Launch(stmt) => self.launch(stmt),
            Stmt::Barrier => self.device()?.barrier(self.ir()),
            Stmt::Fence => self.device()?.fence(self.ir()),
            Stmt::Ticket(ticket) => self.ticket(ticket),
            Stmt::Product(product) => self.product(product),
        }
    }

    /// Returns the machine that runs the launch.
    pub(super) fn device(&self) -> Result<&Rc<dyn Device>, LlvmError> {
        self.device.as_ref().ok_or_else(|| LlvmError::ill_formed("code of a launch in code for a processor"))
    }
}
