//! Modules of artefacts: versions of a model with their kernels, tables and descriptions.

use super::exports::{Exports, FeatureNames};
use super::function::{self, FunctionSource, KernelNames, kernel_symbol};
use super::module::empty_module;
use super::shared::SharedCode;
use super::types;
use crate::codes;
use crate::device::DeviceCode;
use crate::entry_info::{EntryInfo, PYTHON_OBJECT_SECTION, base_bytes, min_rows_for_columns, rows_per_run};
use crate::error::LlvmError;
use crate::runtime::{self, MODEL_SIZE, OutputDescriptor, OutputKind, dtype};
use crate::session::Session;
use crate::target::LlvmMachine;
use inkwell::attributes::AttributeLoc;
use inkwell::context::Context;
use inkwell::module::{Linkage, Module};
use inkwell::values::{
    BasicValue, BasicValueEnum, FloatValue, FunctionValue, GlobalValue, IntValue, PointerValue,
};
use sched_ir::lir::{self, KernelKind};
use sched_ir::verify::verify_interface;

/// Whether the text of an artefact contains its tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TablePlacement {
    /// The module contains the tables.
    Inside,
    /// The module, which is printed as text, leaves the tables out to stay readable.
    LeftOut,
}

/// A version of an artefact: the code for one processor level or CPU, and for one type of rows.
pub(crate) struct ArtefactVersion<'a> {
    /// The target of the code.
    pub(crate) machine: LlvmMachine,
    /// The kernels and tables.
    pub(crate) module: &'a lir::Module,
    /// The description of the model that the entry points return.
    pub(crate) entry: &'a EntryInfo,
    /// The code for GPUs, if the schedule has launches.
    pub(crate) launches: Option<&'a DeviceCode>,
}

/// Emits the module of an artefact with versions of one model. The most demanding version comes first; of
/// versions for the same processors, the one for the widest rows. The runtime must be linked with it.
pub(crate) fn emit_artefact<'ctx>(
    session: &'ctx Session,
    versions: &[ArtefactVersion],
    prefix: &str,
    placement: TablePlacement,
) -> Result<Module<'ctx>, LlvmError> {
    let least = versions.last().ok_or_else(|| LlvmError::ill_formed("an artefact without a model"))?;
    let bytes = versions.iter().flat_map(|version| &version.module.tables).map(|table| table.bytes.len());
    check_size(bytes)?;
    let context = session.context();
    let module = empty_module(context, &least.machine);
    let mut parts = ArtefactBuilder { context, module: &module, placement, emitted_tables: Vec::new() };
    let apart_from_rows = |module: &lir::Module| lir::Interface { rows: lir::Scalar::F32, ..module.types };
    let alike = |version: &ArtefactVersion| apart_from_rows(version.module) == apart_from_rows(least.module);
    if !versions.iter().all(alike) {
        return Err(LlvmError::ill_formed("versions of a model with different types"));
    }
    // The first description of the list emitted so far, and the one for the same processors and another type
    // of rows.
    let (mut model, mut other_rows) = (None, None);
    for (number, version) in versions.iter().enumerate().rev() {
        verify_interface(version.module).map_err(LlvmError::ill_formed)?;
        let mut shared = SharedCode::of(version.module.kernels.iter().map(|(_, function)| function));
        for (kind, function) in &version.module.kernels {
            let (machine, model) = (&version.machine, version.module);
            let source = FunctionSource { machine, model, kind: *kind, function };
            let names = KernelNames { version: number, linkage: Linkage::Internal };
            function::emit_kernel(context, &module, source, (names, &mut shared))?;
        }
        if versions.len() > 1 {
            parts.restrict(&version.machine);
        }
        let needs = version.machine.cpu_needs;
        let comes_first =
            number == 0 || versions.get(number - 1).is_none_or(|it| it.machine.cpu_needs != needs);
        let links = VersionLinks { otherwise: model.filter(|_| comes_first), other_rows };
        let emitted = Some(parts.model(number, version, links));
        (model, other_rows) = if comes_first { (emitted, None) } else { (model, emitted) };
    }
    let model = model.ok_or_else(|| LlvmError::ill_formed("an artefact without a model"))?;
    let names = parts.feature_names(least.entry);
    let categories = parts.categories(least.entry);
    parts.add_object_section(least.entry);
    let model = model.as_pointer_value();
    Exports { context, module: &module, prefix, model, names, categories }.emit(least.entry)?;
    Ok(module)
}

/// Bytes of the tables of the largest artefact. Code addresses data by signed distances of 32 bits; 64 MiB of
/// that are left for everything else.
const MAX_TABLE_BYTES: usize = (1 << 31) - (1 << 26);

fn check_size(tables: impl Iterator<Item = usize>) -> Result<(), LlvmError> {
    let bytes = tables.fold(0, usize::saturating_add);
    if bytes <= MAX_TABLE_BYTES {
        return Ok(());
    }
    let message =
        format!("the model's tables take {bytes} bytes, more than a library or an object file can address");
    Err(LlvmError::new(codes::TOO_LARGE, message).with_help(
        "choose a smaller representation in the schedule, or predict with the model instead of a library",
    ))
}

/// Descriptions to which a version's description refers.
#[derive(Clone, Copy)]
struct VersionLinks<'ctx> {
    /// The version for less capable processors.
    otherwise: Option<GlobalValue<'ctx>>,
    /// The version for the same processors and rows of another type.
    other_rows: Option<GlobalValue<'ctx>>,
}

pub(super) struct ArtefactBuilder<'a, 'ctx> {
    pub(super) context: &'ctx Context,
    pub(super) module: &'a Module<'ctx>,
    pub(super) placement: TablePlacement,
    /// Tables that are in the module already, with their addresses: versions share equal tables.
    emitted_tables: Vec<(&'a [u8], PointerValue<'ctx>)>,
}

impl<'a, 'ctx> ArtefactBuilder<'a, 'ctx> {
    /// Adds a constant that only this module sees.
    pub(super) fn constant(&self, name: &str, value: BasicValueEnum<'ctx>) -> GlobalValue<'ctx> {
        let global = self.module.add_global(value.get_type(), None, name);
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global
    }

    /// Adds the section about the object that was compiled. The section is in LLVM's list of used values, so
    /// that neither the optimiser nor the linker removes it.
    fn add_object_section(&self, entry: &EntryInfo) {
        if entry.python_object.is_empty() || self.placement == TablePlacement::LeftOut {
            return;
        }
        let content = self.context.const_string(entry.python_object.as_bytes(), false);
        let global = self.constant("object", content.into());
        global.set_section(Some(PYTHON_OBJECT_SECTION));
        let pointers = types::pointer(self.context).const_array(&[global.as_pointer_value()]);
        let used = self.module.add_global(pointers.get_type(), None, "llvm.used");
        used.set_initializer(&pointers);
        used.set_linkage(Linkage::Appending);
        used.set_section(Some("llvm.metadata"));
    }

    /// Restricts the functions that were emitted since the last call to the instructions of a machine.
    fn restrict(&self, machine: &LlvmMachine) {
        let kind = (AttributeLoc::Function, "target-cpu");
        let unsaid = |f: &FunctionValue| f.get_string_attribute(kind.0, kind.1).is_none();
        for function in self.module.get_functions().filter(|f| f.count_basic_blocks() > 0 && unsaid(f)) {
            for (key, value) in machine.attributes() {
                function
                    .add_attribute(AttributeLoc::Function, self.context.create_string_attribute(key, value));
            }
        }
    }

    fn table(&mut self, table: &'a lir::Table) -> PointerValue<'ctx> {
        if let Some((_, address)) = self.emitted_tables.iter().find(|(bytes, _)| **bytes == *table.bytes) {
            return *address;
        }
        let name = format!("table.{}", table.name);
        let global = match self.placement {
            TablePlacement::Inside => {
                self.constant(&name, self.context.const_string(&table.bytes, false).into())
            }
            TablePlacement::LeftOut => {
                self.module.add_global(self.context.i8_type().array_type(0), None, &name)
            }
        };
        global.set_alignment(64);
        self.emitted_tables.push((&table.bytes, global.as_pointer_value()));
        global.as_pointer_value()
    }

    /// Adds the list of the tables' addresses.
    fn tables(&mut self, source: &'a lir::Module) -> GlobalValue<'ctx> {
        let all: Vec<PointerValue> = source.tables.iter().map(|table| self.table(table)).collect();
        self.constant("tables", types::pointer(self.context).const_array(&all).into())
    }

    /// Adds the table of pointers to the features' names. Its last pointer is null, for indices that are no
    /// feature. Pointers to names that contain a NUL are also null.
    fn feature_names(&self, entry: &EntryInfo) -> FeatureNames<'ctx> {
        let null = types::pointer(self.context).const_null();
        let names = match self.placement {
            TablePlacement::Inside => entry.feature_names.as_slice(),
            TablePlacement::LeftOut => &[],
        };
        let text = |name: &String| match name.as_bytes().contains(&0) {
            true => null,
            false => {
                let text = self.context.const_string(name.as_bytes(), true);
                self.constant("name", text.into()).as_pointer_value()
            }
        };
        let all: Vec<PointerValue> = names.iter().map(text).chain([null]).collect();
        let table = types::pointer(self.context).const_array(&all);
        let table = self.constant("feature_names", table.into()).as_pointer_value();
        FeatureNames { table, count: names.len() as u64 }
    }

    /// Adds the names of categories, `schedc_categories` of `runtime/rt.h`; none if the model has no such
    /// names.
    fn categories(&self, entry: &EntryInfo) -> Option<PointerValue<'ctx>> {
        let named = entry.categories.iter().any(|names| !names.is_empty());
        if !named {
            return None;
        }
        let (mut starts, mut codes, mut names) = (vec![0], Vec::new(), Vec::new());
        for feature in &entry.categories {
            // C cannot hold names that contain a NUL, so they are left out.
            let mut sorted: Vec<_> =
                feature.iter().filter(|(name, _)| !name.as_bytes().contains(&0)).collect();
            // If a name occurs twice, the first code counts.
            sorted.sort_by(|(one, _), (other, _)| one.cmp(other));
            sorted.dedup_by(|(other, _), (one, _)| one == other);
            for (name, code) in sorted {
                let text = self.context.const_string(name.as_bytes(), true);
                names.push(self.constant("category", text.into()).as_pointer_value());
                codes.push(*code);
            }
            starts.push(codes.len() as u32);
        }
        let int = self.context.i32_type();
        let starts: Vec<IntValue> = starts.iter().map(|n| int.const_int(u64::from(*n), false)).collect();
        let starts = self.constant("starts", int.const_array(&starts).into()).as_pointer_value();
        let double = self.context.f64_type();
        let codes: Vec<FloatValue> = codes.iter().map(|code| double.const_float(*code)).collect();
        let codes = self.constant("codes", double.const_array(&codes).into()).as_pointer_value();
        let table = types::pointer(self.context).const_array(&names);
        let table = self.constant("category_names", table.into()).as_pointer_value();
        let count = self.context.i64_type().const_int(entry.categories.len() as u64, false);
        let fields = [count.into(), starts.into(), table.into(), codes.into()];
        Some(self.constant("categories", self.context.const_struct(&fields, false).into()).as_pointer_value())
    }

    /// Adds a version's description, `schedc_model` of `runtime/rt.h`.
    fn model(
        &mut self,
        number: usize,
        version: &ArtefactVersion<'a>,
        links: VersionLinks<'ctx>,
    ) -> GlobalValue<'ctx> {
        let ArtefactVersion { machine, module: source, entry, launches } = version;
        let tables = self.tables(source);
        let info = self.constant("info", self.context.const_string(entry.info.as_bytes(), true).into());
        let count = |n: i32| self.context.i32_type().const_int(n as u64, true).as_basic_value_enum();
        let long = |n: i64| self.context.i64_type().const_int(n as u64, true).as_basic_value_enum();
        let null = types::pointer(self.context).const_null();
        let kernel = |wanted: KernelKind| -> BasicValueEnum<'ctx> {
            let function = source.kernels.iter().find(|(kind, _)| *kind == wanted);
            let emitted = function.and_then(|(_, f)| self.module.get_function(&kernel_symbol(f, number)));
            emitted.map_or(null, |f| f.as_global_value().as_pointer_value()).into()
        };
        let output = |kind: OutputKind| -> BasicValueEnum<'ctx> {
            let of = OutputDescriptor::of(kind, &entry.counts, &source.types, source.has(kind.into()));
            let fields = [kernel(kind.into()), count(of.columns), count(of.dtype), long(of.needs)];
            self.context.const_struct(&fields, false).into()
        };
        let base = base_bytes(entry, source).map_or(null, |bytes| {
            let global = self.constant("base", self.context.const_string(&bytes, false).into());
            global.set_alignment(8);
            global.as_pointer_value()
        });
        let gpu = launches.map_or(null, |code| self.gpu(source, code, machine.cpu_needs, &kernel));
        let fields = [
            count(MODEL_SIZE as i32),
            count(entry.num_features),
            count(runtime::count_as_i32(entry.counts.margins)),
            count(dtype(source.types.rows) as i32),
            count(dtype(source.types.margins) as i32),
            count(dtype(source.types.results) as i32),
            long(rows_per_run(source)),
            self.context.f64_type().const_float(entry.ns_per_row).into(),
            tables.as_pointer_value().into(),
            info.as_pointer_value().into(),
            long(machine.cpu_needs as i64),
            links.otherwise.map_or(null, |model| model.as_pointer_value()).into(),
            gpu.into(),
            self.context.f64_type().const_float(entry.missing.unwrap_or(f64::NAN)).into(),
            base.into(),
            links.other_rows.map_or(null, |model| model.as_pointer_value()).into(),
            long(entry.trainer_row_type as i64),
            long(min_rows_for_columns(source)),
            self.context.const_struct(&OutputKind::ALL.map(output), false).into(),
        ];
        self.constant("model", self.context.const_struct(&fields, false).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_beyond_the_code_model_are_refused() {
        assert_eq!(check_size([1 << 30, 1 << 29].into_iter()), Ok(()));
        for sizes in [[1 << 30, 1 << 30], [usize::MAX, 1]] {
            assert_eq!(check_size(sizes.into_iter()).map_err(|e| e.code), Err(codes::TOO_LARGE));
        }
    }
}
