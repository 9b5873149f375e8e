//! State of LLVM that the whole process shares: targets, which are set up once, and switches, which are set
//! only while code for x86 is generated.

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::targets::{InitializationConfig, Target};
use std::ffi::{CStr, c_char};
use std::sync::{Condvar, Mutex, Once, PoisonError};

/// LLVM's switches for code that walks trees, each with its default. They belong to the one version of LLVM
/// that this crate links. LLVM ends the process for an unknown name, so a test sets all of them. LLVM has no
/// attributes of functions or of target machines in their place.
const SWITCHES: [(&CStr, &CStr); 5] = [
    // These passes convert selects to branches that they expect to be predicted well. Lowering chooses
    // selects because the branches of a walk are unpredictable.
    (c"-x86-cmov-converter=false", c"-x86-cmov-converter=true"),
    (c"-disable-cgp-select2branch=true", c"-disable-cgp-select2branch=false"),
    // The scheduler that runs before register allocation undoes the interleaving of walks and spills
    // registers. Machines with hundreds of registers need it.
    (c"-enable-misched=false", c"-enable-misched=true"),
    // Lowering has chosen induction variables and addresses. Choosing again takes a twelfth of the compile
    // time, and the code is no faster.
    (c"-disable-lsr=true", c"-disable-lsr=false"),
    // The loads of a block need no order among each other. Merging their lists of predecessors takes another
    // twelfth of the compile time.
    (c"-combiner-tokenfactor-inline-limit=1", c"-combiner-tokenfactor-inline-limit=2048"),
];

/// Threads that generate code, by kind of machine.
struct GeneratingThreads {
    /// Number of threads that generate code for x86.
    x86: usize,
    /// Number of threads that generate code for other machines.
    others: usize,
}

static GENERATING: Mutex<GeneratingThreads> = Mutex::new(GeneratingThreads { x86: 0, others: 0 });

/// Notified when the last thread of a kind has finished.
static LAST_THREAD_FINISHED: Condvar = Condvar::new();

/// Keeps LLVM's switches, while it lives, in the state that code for one kind of machine needs. A thread that
/// needs the other state waits until all such values are dropped, so a thread must hold at most one.
pub(crate) struct Switches {
    for_x86: bool,
}

impl Switches {
    /// Sets the switches for x86, or for other machines, unless they are set already.
    pub(crate) fn hold(for_x86: bool) -> Switches {
        let users = GENERATING.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |users: &mut GeneratingThreads| if for_x86 { users.others > 0 } else { users.x86 > 0 };
        let mut users = LAST_THREAD_FINISHED.wait_while(users, waits).unwrap_or_else(PoisonError::into_inner);
        if for_x86 {
            if users.x86 == 0 {
                set(SWITCHES.map(|(on, _)| on));
            }
            users.x86 += 1;
        } else {
            users.others += 1;
        }
        Switches { for_x86 }
    }
}

impl Drop for Switches {
    fn drop(&mut self) {
        let mut users = GENERATING.lock().unwrap_or_else(PoisonError::into_inner);
        let left = if self.for_x86 { &mut users.x86 } else { &mut users.others };
        *left = left.saturating_sub(1);
        if *left == 0 {
            if self.for_x86 {
                set(SWITCHES.map(|(_, off)| off));
            }
            LAST_THREAD_FINISHED.notify_all();
        }
    }
}

/// Sets switches. The caller holds the lock, and no thread generates code to which the switches matter.
fn set(switches: [&'static CStr; SWITCHES.len()]) {
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
    use super::Switches;
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
    fn switches_are_set_for_x86_only_while_they_are_held() {
        let machine = LlvmMachine::new(Cpu::X86_64V3).expect("a machine");
        // Code for other machines excludes the threads of other tests that generate code for x86.
        let others = Switches::hold(false);
        let before = assembly(&machine);
        drop(others);
        let first = Switches::hold(true);
        let held = assembly(&machine);
        drop(Switches::hold(true));
        assert_eq!(assembly(&machine), held, "the first holder is still there");
        assert_ne!(before, held, "the scheduler has nothing to do here");

        let (sender, receiver) = mpsc::channel();
        let other = std::thread::spawn(move || {
            let _held = Switches::hold(false);
            sender.send(()).expect("somebody listens");
        });
        let early = receiver.recv_timeout(Duration::from_millis(20));
        assert!(early.is_err(), "code for other machines does not wait");
        drop(first);
        receiver.recv().expect("it goes on");
        other.join().expect("it ends");

        let _others = Switches::hold(false);
        assert_eq!(assembly(&machine), before, "the switches are back");
    }
}
