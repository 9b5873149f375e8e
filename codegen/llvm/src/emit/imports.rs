//! Functions of the runtime that generated code calls; `runtime/rt.h` declares them for C.

use super::ir::IrBuilder;
use super::types;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::{BasicMetadataTypeEnum, FunctionType};
use inkwell::values::FunctionValue;

impl<'ctx> IrBuilder<'_, 'ctx> {
    /// `void schedc_rt_parallel(ctx, body, env, trip)`
    pub(super) fn runtime_parallel(&self) -> FunctionValue<'ctx> {
        let (pointer, index) = (types::pointer(self.context).into(), self.context.i64_type().into());
        let signature = self.context.void_type().fn_type(&[pointer, pointer, pointer, index], false);
        self.import("schedc_rt_parallel", signature)
    }

    /// `void schedc_rt_launch(ctx, number, x, y, z, arguments)`
    pub(super) fn runtime_launch(&self) -> FunctionValue<'ctx> {
        let (pointer, long) = (types::pointer(self.context).into(), self.context.i64_type().into());
        let parameters = [pointer, self.context.i32_type().into(), long, long, long, pointer];
        self.import("schedc_rt_launch", self.context.void_type().fn_type(&parameters, false))
    }

    /// `void *schedc_rt_alloc(ctx, bytes)`
    pub(super) fn runtime_alloc(&self) -> FunctionValue<'ctx> {
        self.import_alloc("schedc_rt_alloc")
    }

    /// `void *schedc_rt_counters(ctx, bytes)`
    pub(super) fn runtime_counters(&self) -> FunctionValue<'ctx> {
        self.import_alloc("schedc_rt_counters")
    }

    fn import_alloc(&self, name: &str) -> FunctionValue<'ctx> {
        let pointer = types::pointer(self.context);
        let parameters: [BasicMetadataTypeEnum; 2] = [pointer.into(), self.context.i64_type().into()];
        let function = self.import(name, pointer.fn_type(&parameters, false));
        let noalias = Attribute::get_named_enum_kind_id("noalias");
        function.add_attribute(AttributeLoc::Return, self.context.create_enum_attribute(noalias, 0));
        function
    }

    /// `void schedc_rt_free(ctx, memory)`
    pub(super) fn runtime_free(&self) -> FunctionValue<'ctx> {
        let pointer = types::pointer(self.context).into();
        self.import("schedc_rt_free", self.context.void_type().fn_type(&[pointer, pointer], false))
    }

    fn import(&self, name: &str, signature: FunctionType<'ctx>) -> FunctionValue<'ctx> {
        self.module.get_function(name).unwrap_or_else(|| {
            let function = self.module.add_function(name, signature, None);
            let nounwind = Attribute::get_named_enum_kind_id("nounwind");
            function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(nounwind, 0));
            function
        })
    }
}
