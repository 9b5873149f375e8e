//! State of LLVM that the whole process shares: targets, which are set up once, and switches, which depend on
//! the machine that code is generated for.

use crate::machine_kind::MachineKind;
use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::targets::{InitializationConfig, Target};
use std::ffi::{CStr, c_char};
use std::sync::{Condvar, Mutex, Once, PoisonError};

/// Switches of LLVM, one for each decision below. They belong to the one version of LLVM that this crate
/// links. LLVM ends the process for an unknown name, so a test sets all of them. LLVM has no attributes of
/// functions or of target machines in their place.
type SwitchSettings = [&'static CStr; 5];

/// The settings for code for x86 that walks trees.
const X86_SETTINGS: SwitchSettings = [
    // These passes convert selects to branches that they expect to be predicted well. Lowering chooses
    // selects because the branches of a walk are unpredictable.
    c"-x86-cmov-converter=false",
    c"-disable-cgp-select2branch=true",
    // The scheduler that runs before register allocation undoes the interleaving of walks and spills
    // registers.
    c"-enable-misched=false",
    // Lowering has chosen induction variables and addresses. Choosing again takes a twelfth of the compile
    // time, and the code is no faster.
    c"-disable-lsr=true",
    // The loads of a block need no order among each other. Merging their lists of predecessors takes another
    // twelfth of the compile time.
    c"-combiner-tokenfactor-inline-limit=1",
];

/// The settings for GPUs: LLVM's own, apart from the scheduler. Machines with hundreds of registers need it,
/// but if its switch has never been set, LLVM leaves it out for NVIDIA's GPUs.
const GPU_SETTINGS: SwitchSettings = [
    c"-x86-cmov-converter=true",
    c"-disable-cgp-select2branch=false",
    c"-enable-misched=true",
    c"-disable-lsr=false",
    c"-combiner-tokenfactor-inline-limit=2048",
];

/// A part of LLVM that reads or resets switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SwitchUser {
    /// Code generation for x86.
    X86,
    /// Code generation for GPUs.
    Gpus,
    /// The linker, which resets all switches to the state in which they have never been set.
    #[cfg_attr(not(feature = "lld"), allow(dead_code))]
    Linker,
}

impl SwitchUser {
    /// The generation of code for a kind of machine.
    pub(crate) fn generating(machine: MachineKind) -> SwitchUser {
        if machine.is_x86() { SwitchUser::X86 } else { SwitchUser::Gpus }
    }

    fn settings(self) -> Option<SwitchSettings> {
        match self {
            SwitchUser::X86 => Some(X86_SETTINGS),
            SwitchUser::Gpus => Some(GPU_SETTINGS),
            SwitchUser::Linker => None,
        }
    }
}

/// The switches of the process.
struct SharedSwitches {
    /// The user for which they are set; `None` before the first one.
    set_for: Option<SwitchUser>,
    /// Number of threads that hold them.
    threads: usize,
}

static SHARED: Mutex<SharedSwitches> = Mutex::new(SharedSwitches { set_for: None, threads: 0 });

/// Notified when the last thread that held the switches has finished.
static LAST_THREAD_FINISHED: Condvar = Condvar::new();

/// Keeps LLVM's switches, while it lives, in the state that a user needs. A thread that needs another state
/// waits until all such values are dropped, so a thread must hold at most one. Each user has a state of its
/// own, so the code of a schedule does not depend on what the process compiled before.
pub(crate) struct Switches(());

impl Switches {
    /// Sets the switches, unless they are set already.
    pub(crate) fn hold(user: SwitchUser) -> Switches {
        let shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |shared: &mut SharedSwitches| shared.threads > 0 && shared.set_for != Some(user);
        let mut shared =
            LAST_THREAD_FINISHED.wait_while(shared, waits).unwrap_or_else(PoisonError::into_inner);
        if shared.set_for != Some(user) {
            user.settings().into_iter().for_each(set);
            shared.set_for = Some(user);
        }
        shared.threads += 1;
        Switches(())
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.threads = shared.threads.saturating_sub(1);
        if shared.threads == 0 {
            LAST_THREAD_FINISHED.notify_all();
        }
    }
}

/// Sets switches. The caller holds the lock, and no other thread has a [`Switches`].
fn set(switches: SwitchSettings) {
    let all: Vec<*const c_char> = std::iter::once(c"schedc").chain(switches).map(CStr::as_ptr).collect();
    // SAFETY: the pointers point to static strings that end with NUL. The lock excludes other threads of this
    // crate that set switches. Threads that read them generate code, and hold them meanwhile.
    unsafe { LLVMParseCommandLineOptions(all.len() as i32, all.as_ptr(), std::ptr::null()) };
}

/// Prepares LLVM for the calls of this crate. Only the first call takes time.
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
        Target::initialize_amd_gpu(&parts);
    });
}

#[cfg(test)]
mod tests {
    use super::{SwitchUser, Switches};
    use crate::session::Session;
    use crate::target::{Cpu, LlvmMachine};
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::targets::FileType;
    use std::fmt::Write as _;
    use std::sync::mpsc;
    use std::time::Duration;

    /// Assembly of code that first loads 32 values, and then multiplies them in pairs. There are more values
    /// than registers, so a scheduler would move loads to their uses.
    fn assembly(machine: &LlvmMachine) -> String {
        let mut text = "define void @f(ptr %p) {\n".to_string();
        for n in 0..32 {
            writeln!(text, "%a{n} = getelementptr i64, ptr %p, i64 {n}\n%v{n} = load i64, ptr %a{n}")
                .expect("text");
        }
        for n in 0..16 {
            writeln!(text, "%s{n} = mul i64 %v{n}, %v{}\nstore i64 %s{n}, ptr %a{n}", n + 16).expect("text");
        }
        text.push_str("ret void\n}\n\0");
        let session = Session::new();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "test");
        let module = session.context().create_module_from_ir(buffer).expect("a module");
        let code = machine.llvm.write_to_memory_buffer(&module, FileType::Assembly).expect("assembly");
        String::from_utf8_lossy(code.as_slice()).into_owned()
    }

    #[test]
    fn each_user_has_settings_of_its_own() {
        let machine = LlvmMachine::new(Cpu::X86_64V3).expect("a machine");
        // The holder excludes the threads of other tests that generate code for x86.
        let for_gpus = Switches::hold(SwitchUser::Gpus);
        let scheduled = assembly(&machine);
        drop(for_gpus);
        let first = Switches::hold(SwitchUser::X86);
        let held = assembly(&machine);
        drop(Switches::hold(SwitchUser::X86));
        assert_eq!(assembly(&machine), held, "the first holder is still there");
        assert_ne!(scheduled, held, "the scheduler has nothing to do here");

        let (sender, receiver) = mpsc::channel();
        let other = std::thread::spawn(move || {
            let _held = Switches::hold(SwitchUser::Linker);
            sender.send(()).expect("somebody listens");
        });
        let early = receiver.recv_timeout(Duration::from_millis(20));
        assert!(early.is_err(), "a user of other settings does not wait");
        drop(first);
        receiver.recv().expect("it goes on");
        other.join().expect("it ends");

        let _for_gpus = Switches::hold(SwitchUser::Gpus);
        assert_eq!(assembly(&machine), scheduled, "the settings depend on earlier users");
    }
}
