//! The part of an artefact for GPUs: `schedc_gpu` of `runtime/rt.h`.

use super::artefact::{ArtefactBuilder, TablePlacement};
use super::launch_info::{LaunchInfo, launch_infos};
use super::types;
use crate::device::{DeviceCode, DeviceImage, run_ranges};
use crate::runtime::RunRange;
use crate::transfer::least_threads;
use inkwell::module::Linkage;
use inkwell::values::{ArrayValue, BasicValueEnum, PointerValue, StructValue};
use inkwell::{GlobalVisibility, types::StructType};
use sched_ir::lir::{self, KernelKind};

impl<'ctx> ArtefactBuilder<'_, 'ctx> {
    /// Adds the code of the launches, and their description for the runtime.
    pub(super) fn gpu(
        &self,
        source: &lir::Module,
        code: &DeviceCode,
        cpu_needs: u64,
        kernel: &impl Fn(KernelKind) -> BasicValueEnum<'ctx>,
    ) -> PointerValue<'ctx> {
        let infos = launch_infos(source);
        let images =
            self.constant_array("gpu_images", code.images.iter().map(|image| self.image(image)).collect());
        let bytes = source.tables.iter().map(|table| self.long(table.bytes.len() as i64)).collect::<Vec<_>>();
        let range = |range: &RunRange| {
            self.context.const_struct(&[self.long(range.max_rows), self.long(range.on_device)], false)
        };
        let ranges = run_ranges(source).iter().map(range).collect();
        let fields = [
            self.int(code.images.len() as u32),
            self.int(infos.len() as u32),
            self.int(source.tables.len() as u32),
            self.int(code.driver_number() as u32),
            images.into(),
            self.constant_array(
                "launches",
                infos
                    .iter()
                    .map(|info| self.launch(info, code.requested_shared_bytes(info.shared_bytes)))
                    .collect(),
            )
            .into(),
            self.constant("table_bytes", self.context.const_struct(&bytes, false).into())
                .as_pointer_value()
                .into(),
            self.constant_array("ranges", ranges).into(),
            kernel(KernelKind::Direct),
            kernel(KernelKind::Base),
            kernel(KernelKind::PackColumns),
            self.transfer(source, cpu_needs, kernel).into(),
            self.execute().into(),
            self.runtime_state().into(),
        ];
        self.constant("gpu", self.context.const_struct(&fields, false).into()).as_pointer_value()
    }

    /// Adds the description of the transfer of rows as bins; null if rows are transferred as values.
    fn transfer(
        &self,
        source: &lir::Module,
        cpu_needs: u64,
        kernel: &impl Fn(KernelKind) -> BasicValueEnum<'ctx>,
    ) -> PointerValue<'ctx> {
        let Some(transfer) = source.transfer else { return types::pointer(self.context).const_null() };
        let fields = [
            kernel(KernelKind::Quantize),
            kernel(KernelKind::RawOfBins),
            kernel(KernelKind::DirectOfBins),
            self.long(transfer.block_rows.into()),
            self.long(transfer.row_bytes.into()),
            self.long(transfer.least_rows),
            self.long(least_threads(&transfer, cpu_needs)),
        ];
        self.constant("transfer", self.context.const_struct(&fields, false).into()).as_pointer_value()
    }

    fn int(&self, n: u32) -> BasicValueEnum<'ctx> {
        self.context.i32_type().const_int(n.into(), false).into()
    }

    fn long(&self, n: i64) -> BasicValueEnum<'ctx> {
        self.context.i64_type().const_int(n as u64, true).into()
    }

    /// Adds a constant array of structures of one type.
    fn constant_array(&self, name: &str, entries: Vec<StructValue<'ctx>>) -> PointerValue<'ctx> {
        let ty: StructType = match entries.first() {
            Some(first) => first.get_type(),
            None => self.context.struct_type(&[], false),
        };
        let array: ArrayValue = ty.const_array(&entries);
        self.constant(name, array.into()).as_pointer_value()
    }

    fn image(&self, image: &DeviceImage) -> StructValue<'ctx> {
        let bytes = match self.placement {
            TablePlacement::Inside => {
                let bytes = self.constant("gpu_code", self.context.const_string(&image.bytes, false).into());
                bytes.set_alignment(64);
                bytes.as_pointer_value()
            }
            TablePlacement::LeftOut => types::pointer(self.context).const_null(),
        };
        let capability = self.long(image.capability.into());
        self.context.const_struct(&[bytes.into(), capability, self.long(image.is_final.into())], false)
    }

    fn launch(&self, info: &LaunchInfo, shared: u32) -> StructValue<'ctx> {
        let name = self.constant("launch", self.context.const_string(info.name.as_bytes(), true).into());
        let block = self
            .context
            .i32_type()
            .const_array(&info.block.map(|extent| self.context.i32_type().const_int(extent.into(), false)));
        let fields = [
            name.as_pointer_value().into(),
            block.into(),
            self.int(shared),
            self.int(info.num_arguments as u32),
            self.int(info.is_split.into()),
        ];
        self.context.const_struct(&fields, false)
    }

    /// Returns the runtime's function that runs calls on devices. Models without launches do not link it.
    fn execute(&self) -> PointerValue<'ctx> {
        let name = "schedc_rt_execute_on_device";
        let function = self.module.get_function(name).unwrap_or_else(|| {
            let pointer = types::pointer(self.context).into();
            self.module.add_function(name, self.context.i32_type().fn_type(&[pointer], false), None)
        });
        function.as_global_value().set_visibility(GlobalVisibility::Hidden);
        function.as_global_value().as_pointer_value()
    }

    /// Adds a null pointer variable, in which the runtime keeps its state of the GPU.
    fn runtime_state(&self) -> PointerValue<'ctx> {
        let pointer = types::pointer(self.context);
        let state = self.module.add_global(pointer, None, "gpu_state");
        state.set_initializer(&pointer.const_null());
        state.set_linkage(Linkage::Private);
        state.as_pointer_value()
    }
}
