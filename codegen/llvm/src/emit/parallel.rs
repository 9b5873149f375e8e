//! Parallel loops and other statements that become functions. A function gets the values that it uses from
//! outside in an environment.

use super::frame::Frame;
use super::function::{Emitter, add_attributes, first_pointer};
use super::types;
use crate::error::LlvmError;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::module::Linkage;
use inkwell::types::{BasicTypeEnum, FunctionType, StructType};
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use sched_ir::lir::{BufferId, Parallel, Ty, Uses, Value};

/// The environment of a separate function: the run's context, then values, then buffers.
pub(super) struct Environment<'ctx> {
    ty: StructType<'ctx>,
    values: Vec<Value>,
    buffers: Vec<BufferId>,
    contents: Vec<BasicValueEnum<'ctx>>,
}

impl<'ctx> Emitter<'_, 'ctx> {
    /// Emits a call of the runtime, which distributes the iterations to threads.
    pub(super) fn parallel(&mut self, stmt: &Parallel) -> Result<(), LlvmError> {
        let trip = self.operands.index(stmt.trip)?;
        let uses = Uses::of(&stmt.body);
        let environment = self.environment(uses.values(), uses.buffers.iter().copied());
        let memory = self.store_environment(&environment)?;
        let body = self.outline(stmt, &environment)?;
        let function = body.as_global_value().as_pointer_value();
        let trip =
            self.ir().builder.build_int_s_extend_or_bit_cast(trip, self.ir().context.i64_type(), "")?;
        let arguments = [self.operands.frame.ctx.into(), function.into(), memory.into(), trip.into()];
        self.ir().builder.build_call(self.ir().runtime_parallel(), &arguments, "")?;
        Ok(())
    }

    /// The environment of statements that use these values and buffers: the variables and buffers that are
    /// defined in this function. The statements repeat constants.
    pub(super) fn environment(
        &self,
        used: impl IntoIterator<Item = Value>,
        used_buffers: impl IntoIterator<Item = BufferId>,
    ) -> Environment<'ctx> {
        let mut contents: Vec<BasicValueEnum> = vec![self.operands.frame.ctx.into()];
        let (mut values, mut buffers) = (Vec::new(), Vec::new());
        for value in used {
            if let Some(llvm) = self.operands.frame.variable(value) {
                values.push(value);
                contents.push(llvm);
            }
        }
        for buffer in used_buffers {
            if let Ok(base) = self.operands.frame.buffer(buffer) {
                buffers.push(buffer);
                contents.push(base.into());
            }
        }
        let fields: Vec<BasicTypeEnum> = contents.iter().map(BasicValueEnum::get_type).collect();
        Environment { ty: self.ir().context.struct_type(&fields, false), values, buffers, contents }
    }

    /// Writes an environment to the stack, and returns its address.
    pub(super) fn store_environment(
        &self,
        environment: &Environment<'ctx>,
    ) -> Result<PointerValue<'ctx>, LlvmError> {
        let memory = self.operands.reserve_stack(environment.ty, "env")?;
        for (value, field) in environment.contents.iter().zip(0..) {
            let at = self.ir().builder.build_struct_gep(environment.ty, memory, field, "")?;
            self.ir().builder.build_store(at, *value)?;
        }
        Ok(memory)
    }

    /// Emits the body as a separate function.
    fn outline(
        &mut self,
        stmt: &Parallel,
        environment: &Environment<'ctx>,
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        let parameters = [types::pointer(self.ir().context).into(), self.ir().context.i64_type().into()];
        let signature = self.ir().context.void_type().fn_type(&parameters, false);
        self.separate_function(("parallel", signature), (environment, stmt.iv), |it, llvm| {
            let iteration =
                llvm.get_nth_param(1).ok_or_else(|| LlvmError::ill_formed("a body has two parameters"))?;
            let iteration = it.ir().resize(iteration, Ty::I64, Ty::of(it.operands.source.index))?;
            it.operands.frame.define(stmt.iv, iteration)?;
            it.block(&stmt.body)
        })
    }

    /// Emits a function whose first parameter is the address of an environment. `origin` is a value of the
    /// statements that `body` emits.
    pub(super) fn separate_function(
        &mut self,
        (name, signature): (&str, FunctionType<'ctx>),
        (environment, origin): (&Environment<'ctx>, Value),
        body: impl FnOnce(&mut Self, FunctionValue<'ctx>) -> Result<(), LlvmError>,
    ) -> Result<FunctionValue<'ctx>, LlvmError> {
        // LLVM makes the name unique with a number.
        let name = format!("{}.{name}", self.name_prefix);
        let llvm = self.ir().module.add_function(&name, signature, Some(Linkage::Internal));
        add_attributes(self.ir().context, self.machine, llvm);
        let noalias = Attribute::get_named_enum_kind_id("noalias");
        llvm.add_attribute(AttributeLoc::Param(0), self.ir().context.create_enum_attribute(noalias, 0));

        let outside = self.ir().builder.get_insert_block();
        let env = first_pointer(llvm)?;
        env.set_name("env");
        let ir = self.ir();
        let mut inner = Frame::enter(ir.context, &ir.builder, llvm, env, self.operands.source);
        inner.inherit_constants(&self.operands.frame);
        let outer = std::mem::replace(&mut self.operands.frame, inner);
        let interrupted = self.marks.as_mut().and_then(|marks| marks.replace_function(llvm));
        self.mark_origin(origin);
        self.load_environment(environment, env)?;
        self.finish(|it| body(it, llvm))?;

        self.operands.frame = outer;
        if let Some(marks) = &mut self.marks {
            marks.function = interrupted;
        }
        self.mark_origin(origin);
        let outside = outside.ok_or_else(|| LlvmError::ill_formed("code outside a block"))?;
        self.ir().builder.position_at_end(outside);
        Ok(llvm)
    }

    /// Reads the environment at the start of a body.
    fn load_environment(
        &mut self,
        environment: &Environment<'ctx>,
        env: PointerValue<'ctx>,
    ) -> Result<(), LlvmError> {
        let mut fields = Vec::with_capacity(environment.contents.len());
        for (content, number) in environment.contents.iter().zip(0..) {
            let at = self.ir().builder.build_struct_gep(environment.ty, env, number, "")?;
            fields.push(self.ir().builder.build_load(content.get_type(), at, "")?);
        }
        let (ctx, rest) =
            fields.split_first().ok_or_else(|| LlvmError::ill_formed("an empty environment"))?;
        if let BasicValueEnum::PointerValue(ctx) = ctx {
            self.operands.frame.ctx = *ctx;
        }
        let (values, buffers) = rest.split_at(environment.values.len());
        for (value, llvm) in environment.values.iter().zip(values) {
            self.operands.frame.define(*value, *llvm)?;
        }
        for (buffer, base) in environment.buffers.iter().zip(buffers) {
            if let BasicValueEnum::PointerValue(base) = base {
                self.operands.frame.set_buffer(*buffer, *base)?;
            }
        }
        Ok(())
    }
}
