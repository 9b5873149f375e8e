//! Marks in assembly that name the loop of each instruction. LLVM carries them through its optimisations as
//! line numbers of a source text, which change no code. In the end they become comments.

use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFlags, DIFlagsConstants, DISubprogram, DWARFEmissionKind,
    DWARFSourceLanguage, DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;
use sched_ir::lir::{self, KernelKind, Origin, Task};

/// Version of LLVM's debug information.
const DEBUG_INFO_VERSION: u64 = 3;
/// Bits of a line number that hold the origin's number; higher bits hold the kernel's.
const ORIGIN_BITS: u32 = 16;

/// Marks of a kernel under construction.
pub(super) struct Marks<'ctx> {
    records: DebugInfoBuilder<'ctx>,
    unit: DICompileUnit<'ctx>,
    /// Number of the kernel in its module.
    kernel: u32,
    /// Function under construction.
    pub(super) function: Option<DISubprogram<'ctx>>,
}

impl<'ctx> Marks<'ctx> {
    /// Marks for one kernel of a module.
    pub(super) fn new(
        context: &'ctx Context,
        module: &Module<'ctx>,
        source: &lir::Module,
        kind: KernelKind,
    ) -> Marks<'ctx> {
        let version = context.i32_type().const_int(DEBUG_INFO_VERSION, false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (records, unit) = module.create_debug_info_builder(
            true,
            DWARFSourceLanguage::C,
            "schedule",
            ".",
            "schedc",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let kernel = source.kernels.iter().position(|(of, _)| *of == kind).unwrap_or(0) as u32;
        Marks { records, unit, kernel, function: None }
    }

    /// Makes `llvm` the function under construction. Returns the earlier one, which it interrupts.
    pub(super) fn replace_function(&mut self, llvm: FunctionValue<'ctx>) -> Option<DISubprogram<'ctx>> {
        let (file, scope) = (self.unit.get_file(), self.unit.as_debug_info_scope());
        let ty = self.records.create_subroutine_type(file, None, &[], DIFlags::ZERO);
        let name = llvm.get_name().to_string_lossy().into_owned();
        let function =
            self.records.create_function(scope, &name, None, file, 0, ty, true, true, 0, DIFlags::ZERO, true);
        llvm.set_subprogram(function);
        self.function.replace(function)
    }

    /// Marks the instructions that follow with an origin.
    pub(super) fn mark(&self, context: &'ctx Context, builder: &Builder<'ctx>, origin: usize) {
        let Some(function) = self.function else { return };
        let line = ((self.kernel << ORIGIN_BITS) | (origin as u32 & ((1 << ORIGIN_BITS) - 1))) + 1;
        let scope = function.as_debug_info_scope();
        builder.set_current_debug_location(self.records.create_debug_location(context, line, 0, scope, None));
    }

    /// Ends the debug information.
    pub(super) fn finish(&self) {
        self.records.finalize();
    }
}

/// Replaces line numbers in assembly by a comment wherever instructions of another loop begin.
pub(crate) fn mark_assembly(text: &str, source: &lir::Module) -> String {
    let mut out = String::new();
    let mut last = None;
    for line in text.lines() {
        let own = line.trim_start();
        if own.starts_with(".section\t.debug_") {
            break;
        }
        if let Some(place) = own.strip_prefix(".loc\t") {
            let number = place.split_whitespace().nth(1).and_then(|number| number.parse::<u32>().ok());
            // Line 0 means no origin.
            let Some(number) = number.and_then(|number| number.checked_sub(1)) else { continue };
            if last != Some(number) {
                out += &format!("\t# {}\n", origin_comment(origin(source, number)));
                last = Some(number);
            }
            continue;
        }
        let is_record =
            [".file\t", ".Ltmp", ".Lfunc_begin", ".cfi_"].iter().any(|word| own.starts_with(word));
        if is_record {
            continue;
        }
        if line.starts_with("kernel.") {
            last = None;
        }
        out += line;
        out.push('\n');
    }
    out
}

fn origin(source: &lir::Module, number: u32) -> Origin {
    let kernel = source.kernels.get((number >> ORIGIN_BITS) as usize);
    let origins = kernel.map_or(&[][..], |(_, function)| function.origins.all());
    origins.get((number & ((1 << ORIGIN_BITS) - 1)) as usize).cloned().unwrap_or_default()
}

/// The name of an origin in a comment: `b1`, `b0: copies, n_rows <= 8`, `b0: layer1`.
fn origin_comment(origin: Origin) -> String {
    let Origin { name, max_rows, task, stage } = origin;
    let name = if name.is_empty() { "outside of the loops".to_string() } else { name };
    let task = match task {
        Task::Iterations => String::new(),
        Task::Copies => ": copies".to_owned(),
        Task::Sums => ": sums".to_owned(),
        Task::Columns => format!(": {}", stage.as_deref().unwrap_or("columns")),
    };
    let bound = max_rows.map_or(String::new(), |rows| format!(", n_rows <= {rows}"));
    format!("{name}{task}{bound}")
}
