//! Process-wide state of LLVM: its targets and its command-line options, both set once.

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::targets::{InitializationConfig, Target};
use std::ffi::{CStr, c_char};
use std::sync::Once;

/// LLVM's switches for code that walks trees. They belong to the one version of LLVM that this crate links:
/// an unknown name would end the process, so a test runs them.
const OPTIONS: &[&CStr] = &[
    c"schedc",
    // Both turn selects into branches where they expect good prediction. The branches of a tree walk are
    // unpredictable by nature, and lowering has chosen selects to avoid them.
    c"-x86-cmov-converter=false",
    c"-disable-cgp-select2branch",
    // The scheduler ahead of register allocation undoes the interleaving of walks and spills registers.
    c"-enable-misched=false",
];

/// Prepares LLVM for the calls of this crate. Cheap after the first time.
pub(crate) fn initialise() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let parts = InitializationConfig {
            asm_parser: false,
            asm_printer: true,
            base: true,
            disassembler: false,
            info: true,
            machine_code: true,
        };
        Target::initialize_x86(&parts);
        Target::initialize_nvptx(&parts);
        let arguments: Vec<*const c_char> = OPTIONS.iter().map(|o| o.as_ptr()).collect();
        // SAFETY: the pointers are NUL-terminated strings that live for ever, and `Once` excludes other
        // threads of this crate, none of which has used LLVM before.
        unsafe { LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), std::ptr::null()) };
    });
}
