//! Launches as kernels: each becomes a function of a separate module, whose parameters are the buffers and
//! the values of the host that it uses.

use super::device::{Device, KernelInterface, KernelParameter, amdgpu, host, nvptx};
use super::function::{Emitter, FunctionSource, add_attributes};
use super::ir::IrBuilder;
use super::launch_info::{LaunchParameters, is_split, launch_symbol, launches_in};
use super::types;
use crate::error::LlvmError;
use crate::machine_kind::MachineKind;
use crate::target::LlvmMachine;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::BasicValueEnum;
use sched_ir::lir::{self, BufferId, Launch, Op, Space, Stmt, Ty, Value};
use sched_ir::verify::verify;
use std::rc::Rc;

/// The kernel of a launch.
pub(crate) struct LaunchKernel {
    /// The kernel's name.
    pub(crate) name: String,
    /// Bytes of shared memory that the host must request for each block.
    pub(crate) shared_bytes: u64,
    /// The buffers whose addresses are the kernel's first parameters.
    pub(crate) buffers: Vec<BufferId>,
    /// The values of the host that are the next parameters.
    pub(crate) values: Vec<Value>,
    /// Whether the last two parameters are the numbers of the first block in the directions y and z.
    pub(crate) is_split: bool,
}

/// Returns the device of a machine that runs kernels of launches; none for a machine that runs host code.
fn device(machine: &LlvmMachine) -> Option<Rc<dyn Device>> {
    match machine.kind {
        MachineKind::X86 => None,
        MachineKind::AmdGpu => Some(Rc::new(amdgpu::AmdGpu)),
        MachineKind::Nvptx => {
            let name = machine.llvm.get_cpu();
            Some(Rc::new(nvptx::NvidiaGpu::new(&name.to_string_lossy())))
        }
        MachineKind::Host => Some(Rc::<host::HostDevice>::default()),
    }
}

/// Emits all launches of a LIR module into a module for the machine that runs them.
pub(super) fn emit_launch_kernels<'ctx>(
    context: &'ctx Context,
    module: &Module<'ctx>,
    machine: &LlvmMachine,
    model: &lir::Module,
) -> Result<Vec<LaunchKernel>, LlvmError> {
    let mut emitted = Vec::new();
    for (kind, function) in &model.kernels {
        verify(function).map_err(LlvmError::ill_formed)?;
        let source = FunctionSource { machine, model, kind: *kind, function };
        for launch in launches_in(&function.body) {
            emitted.push(LaunchEmitter { context, module, source }.kernel(launch)?);
        }
    }
    Ok(emitted)
}

/// Registers of a thread that computes functions by polynomials, whose coefficients and terms take many.
const FUNCTION_REGISTERS: u32 = 64;

/// Registers that a thread of a launch must be able to have; `None` leaves the number to the assembler.
fn registers(launch: &Launch) -> Option<u32> {
    let mut has_polynomials = false;
    // Only polynomials have fused multiply-adds.
    Stmt::visit_all(&launch.body, |stmt| has_polynomials |= matches!(stmt, Stmt::Let(_, Op::Fma(..))));
    launch.registers.max(has_polynomials.then_some(FUNCTION_REGISTERS))
}

/// Emits the launches of one LIR function.
struct LaunchEmitter<'a, 'ctx> {
    context: &'ctx Context,
    module: &'a Module<'ctx>,
    source: FunctionSource<'a>,
}

impl<'ctx> LaunchEmitter<'_, 'ctx> {
    /// Emits the kernel of a launch.
    fn kernel(&self, launch: &Launch) -> Result<LaunchKernel, LlvmError> {
        let FunctionSource { machine, function, .. } = self.source;
        let device =
            device(machine).ok_or_else(|| LlvmError::ill_formed("a launch in code for a processor"))?;
        let name = launch_symbol(function, launch);
        let given = LaunchParameters::of(function, launch);
        let mut parameters = self.parameter_types(launch, &given)?;
        let split = is_split(launch);
        if split {
            let int = || KernelParameter::Value(self.context.i32_type().into());
            parameters.extend([int(), int()]);
        }
        let kernel = KernelInterface {
            name: &name,
            block: launch.block,
            registers: registers(launch),
            parameters: &parameters,
        };
        let llvm = device.declare_kernel(self.context, self.module, &kernel)?;
        add_attributes(self.context, machine, llvm);
        let ir = IrBuilder::new(self.context, self.module);
        // Kernels of launches have no run's context.
        let ctx = types::pointer(self.context).const_null();
        let mut emitter = Emitter::new(ir, self.source, &launch.body, (llvm, ctx));
        emitter.name_prefix = launch.name.clone();
        emitter.memory.in_launch = true;
        emitter.device = Some(Rc::clone(&device));
        self.read_parameters((&given, split), &parameters, &mut emitter)?;
        emitter.finish(|it| it.block(&launch.body))?;
        drop(emitter);
        let (shared_bytes, LaunchParameters { buffers, values, .. }) = (device.shared_bytes(), given);
        Ok(LaunchKernel { name, shared_bytes, buffers, values, is_split: split })
    }

    /// Reads the parameters at the start of a kernel, and repeats the constants.
    fn read_parameters(
        &self,
        (given, split): (&LaunchParameters, bool),
        parameters: &[KernelParameter<'ctx>],
        emitter: &mut Emitter<'_, 'ctx>,
    ) -> Result<(), LlvmError> {
        let device = Rc::clone(emitter.device()?);
        let global = device.global_space();
        let mut read = parameters.iter().map(|parameter| parameter.ty(self.context, global)).zip(0..);
        let missing = || LlvmError::ill_formed("a kernel has a parameter for each buffer and value");
        for buffer in &given.buffers {
            let (ty, number) = read.next().ok_or_else(missing)?;
            match device.parameter(emitter.ir(), number, ty)? {
                BasicValueEnum::PointerValue(base) => emitter.operands.frame.set_buffer(*buffer, base)?,
                _ => return Err(missing()),
            }
        }
        for value in &given.values {
            let (ty, number) = read.next().ok_or_else(missing)?;
            let parameter = device.parameter(emitter.ir(), number, ty)?;
            emitter.operands.frame.define(*value, parameter)?;
        }
        if split {
            let mut first = || {
                let (ty, number) = read.next().ok_or_else(missing)?;
                match device.parameter(emitter.ir(), number, ty)? {
                    BasicValueEnum::IntValue(first) => Ok(first),
                    _ => Err(missing()),
                }
            };
            let both = [first()?, first()?];
            emitter.first_blocks = Some(both);
        }
        for (value, op) in &given.constants {
            let constant = emitter.op(*value, op)?;
            emitter.operands.frame.define(*value, constant)?;
        }
        Ok(())
    }

    /// The types of the parameters, as the host passes them.
    fn parameter_types(
        &self,
        launch: &Launch,
        given: &LaunchParameters,
    ) -> Result<Vec<KernelParameter<'ctx>>, LlvmError> {
        let mut has_barriers = false;
        Stmt::visit_all(&launch.body, |stmt| {
            has_barriers |= matches!(stmt, Stmt::Barrier | Stmt::Ticket(_));
        });
        let buffers = given.buffers.iter().map(|buffer| {
            let space = self.source.function.buffer(*buffer).space;
            let is_read_only = matches!(space, Space::Input | Space::ModelTable(_));
            let is_exchanged = has_barriers && matches!(space, Space::Private | Space::Counters);
            Ok(KernelParameter::Buffer { is_read_only, is_exchanged })
        });
        let values = given.values.iter().map(|value| {
            let ty = self.source.function.types.get(value.0 as usize).copied().unwrap_or(Ty::I1);
            Ok(KernelParameter::Value(types::basic(self.context, ty)?))
        });
        buffers.chain(values).collect()
    }
}
