//! Functions that an artefact exports, and the table of their addresses.

use super::types;
use crate::entry_info::EntryInfo;
use crate::error::LlvmError;
use crate::header::ABI_VERSION;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::types::{BasicMetadataTypeEnum, BasicType, BasicTypeEnum};
use inkwell::values::{BasicMetadataValueEnum, BasicValueEnum, IntValue, PointerValue};
use inkwell::{GlobalVisibility, IntPredicate};

/// Names of the exported functions without their prefix, in the order of the header.
pub(crate) const EXPORTS: [&str; 10] = [
    "predict",
    "predict_raw",
    "predict_ex",
    "abi_version",
    "num_features",
    "num_outputs",
    "output_type",
    "feature_name",
    "info",
    "error",
];

/// Name of the function that only models with named categories export.
pub(crate) const ENCODE_FUNCTION: &str = "encode";

/// Symbol of the table of these functions, except `abi_version`, by which programs find them, whatever their
/// prefix. It is weak, so that several models can be linked into one program.
pub(crate) const INTERFACE_SYMBOL: &str = "schedc_interface_v1";

/// Names of the functions in that table, in the order of `schedc_interface` in the loader's header.
const INTERFACE_FUNCTIONS: [&str; 10] = [
    "predict",
    "predict_raw",
    "predict_ex",
    "num_features",
    "num_outputs",
    "output_type",
    "feature_name",
    ENCODE_FUNCTION,
    "info",
    "error",
];

/// The names of a model's features in the module.
#[derive(Clone, Copy)]
pub(super) struct FeatureNames<'ctx> {
    /// Address of a table with a pointer to each name, followed by a null pointer.
    pub(super) table: PointerValue<'ctx>,
    pub(super) count: u64,
}

/// Emits the exported functions.
pub(super) struct Exports<'a, 'ctx> {
    pub(super) context: &'ctx Context,
    pub(super) module: &'a Module<'ctx>,
    pub(super) prefix: &'a str,
    pub(super) model: PointerValue<'ctx>,
    pub(super) names: FeatureNames<'ctx>,
    /// The names of categories, if the model has any.
    pub(super) categories: Option<PointerValue<'ctx>>,
}

impl<'ctx> Exports<'_, 'ctx> {
    /// Emits functions that return a constant, or pass the model and their arguments on to the runtime.
    pub(super) fn emit(&self, entry: &EntryInfo) -> Result<(), LlvmError> {
        let (pointer, long) = (types::pointer(self.context).into(), self.context.i64_type().into());
        let int = self.context.i32_type().into();
        let count = |n: i32| self.context.i32_type().const_int(n as u64, true).into();
        for name in EXPORTS {
            match name {
                "abi_version" => self.constant(name, count(ABI_VERSION))?,
                "num_features" => self.constant(name, count(entry.num_features))?,
                "feature_name" => self.feature_name(name)?,
                "info" => self.forward(name, pointer, &[])?,
                "predict" | "predict_raw" => self.forward(name, int, &[pointer, long, pointer])?,
                "predict_ex" => self.forward(name, int, &[pointer])?,
                "num_outputs" | "output_type" => self.forward(name, int, &[int])?,
                _ => self.forward(name, pointer, &[int])?,
            }
        }
        if let Some(table) = self.categories {
            self.forward_with(table, ENCODE_FUNCTION, self.context.f64_type().into(), &[int, pointer])?;
        }
        self.interface();
        Ok(())
    }

    /// Adds the table of the functions, `schedc_interface` of the loader's header.
    fn interface(&self) {
        let Exports { context, module, prefix, .. } = self;
        let null = types::pointer(context).const_null();
        let prefix_text = context.const_string(prefix.as_bytes(), true);
        let prefix_global = module.add_global(prefix_text.get_type(), None, "prefix");
        prefix_global.set_initializer(&prefix_text);
        prefix_global.set_constant(true);
        prefix_global.set_linkage(Linkage::Private);
        let function = |name: &&str| {
            let found = module.get_function(&format!("{prefix}_{name}"));
            found.map_or(null, |function| function.as_global_value().as_pointer_value())
        };
        let pointers: Vec<PointerValue> = [prefix_global.as_pointer_value()]
            .into_iter()
            .chain(INTERFACE_FUNCTIONS.iter().map(function))
            .collect();
        let size = 8 + 8 * pointers.len() as u64;
        let int = context.i32_type();
        let head = [int.const_int(size, false).into(), int.const_int(ABI_VERSION as u64, true).into()];
        let fields: Vec<BasicValueEnum> =
            head.into_iter().chain(pointers.into_iter().map(BasicValueEnum::from)).collect();
        let table = context.const_struct(&fields, false);
        let global = module.add_global(table.get_type(), None, INTERFACE_SYMBOL);
        global.set_initializer(&table);
        global.set_constant(true);
        global.set_linkage(Linkage::WeakAny);
    }

    fn forward(
        &self,
        name: &str,
        result: BasicTypeEnum<'ctx>,
        parameters: &[BasicTypeEnum<'ctx>],
    ) -> Result<(), LlvmError> {
        self.forward_with(self.model, name, result, parameters)
    }

    /// Exports a function of the runtime, which gets `first` as its first argument.
    fn forward_with(
        &self,
        first: PointerValue<'ctx>,
        name: &str,
        result: BasicTypeEnum<'ctx>,
        parameters: &[BasicTypeEnum<'ctx>],
    ) -> Result<(), LlvmError> {
        self.function(name, result, parameters, |arguments, builder| {
            let pointer: BasicTypeEnum = types::pointer(self.context).into();
            let all: Vec<BasicMetadataTypeEnum> =
                [pointer].iter().chain(parameters).map(|ty| (*ty).into()).collect();
            let target = format!("schedc_rt_{name}");
            let target = self.module.add_function(&target, result.fn_type(&all, false), None);
            target.as_global_value().set_visibility(GlobalVisibility::Hidden);
            let mut passed: Vec<BasicMetadataValueEnum> = vec![first.into()];
            passed.extend(arguments.iter().map(|a| BasicMetadataValueEnum::from(*a)));
            let call = builder.build_call(target, &passed, "")?;
            call.set_tail_call(true);
            call.try_as_basic_value()
                .basic()
                .ok_or_else(|| LlvmError::ill_formed("an export returns nothing"))
        })
    }

    /// Exports the look-up of a feature's name. Indices that are no feature select the null pointer at the
    /// table's end.
    fn feature_name(&self, name: &str) -> Result<(), LlvmError> {
        let (int, long) = (self.context.i32_type(), self.context.i64_type());
        let pointer = types::pointer(self.context);
        self.function(name, pointer.into(), &[int.into()], |arguments, builder| {
            let number = arguments
                .first()
                .and_then(|argument| IntValue::try_from(*argument).ok())
                .ok_or_else(|| LlvmError::ill_formed("an export lacks its argument"))?;
            // Negative numbers become large ones.
            let number = builder.build_int_z_extend(number, long, "")?;
            let last = long.const_int(self.names.count, false);
            let is_name = builder.build_int_compare(IntPredicate::ULT, number, last, "")?;
            let number = builder.build_select(is_name, number, last, "")?.into_int_value();
            // SAFETY: the number is at most that of the table's last entry.
            let entry = unsafe { builder.build_in_bounds_gep(pointer, self.names.table, &[number], "") }?;
            Ok(builder.build_load(pointer, entry, "")?)
        })
    }

    fn constant(&self, name: &str, value: BasicValueEnum<'ctx>) -> Result<(), LlvmError> {
        self.function(name, value.get_type(), &[], |_, _| Ok(value))
    }

    /// Adds an exported function. It runs before the processor has been checked, so its code suits every
    /// processor.
    fn function(
        &self,
        name: &str,
        result: BasicTypeEnum<'ctx>,
        parameters: &[BasicTypeEnum<'ctx>],
        body: impl FnOnce(
            &[BasicValueEnum<'ctx>],
            &inkwell::builder::Builder<'ctx>,
        ) -> Result<BasicValueEnum<'ctx>, LlvmError>,
    ) -> Result<(), LlvmError> {
        let Exports { context, module, .. } = self;
        let parameters: Vec<BasicMetadataTypeEnum> = parameters.iter().map(|ty| (*ty).into()).collect();
        let name = format!("{}_{name}", self.prefix);
        let function = module.add_function(&name, result.fn_type(&parameters, false), None);
        let nounwind = Attribute::get_named_enum_kind_id("nounwind");
        function.add_attribute(AttributeLoc::Function, context.create_enum_attribute(nounwind, 0));
        for (key, value) in [("target-cpu", "x86-64"), ("target-features", "")] {
            function.add_attribute(AttributeLoc::Function, context.create_string_attribute(key, value));
        }
        let builder = context.create_builder();
        builder.position_at_end(context.append_basic_block(function, "entry"));
        let value = body(&function.get_params(), &builder)?;
        builder.build_return(Some(&value))?;
        Ok(())
    }
}
