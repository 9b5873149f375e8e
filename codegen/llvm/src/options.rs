//! Process-wide state of LLVM: its targets, which are set up once, and its switches, which are in place only while code
//! for x86 is generated.

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;
use inkwell::targets::{InitializationConfig, Target};
use std::ffi::{CStr, c_char};
use std::sync::{Condvar, Mutex, Once, PoisonError};

/// LLVM's switches for code that walks trees, and how they stand otherwise. They belong to the one version of LLVM
/// that this crate links: an unknown name would end the process, so a test runs them. Neither functions nor target
/// machines can carry them.
const SWITCHES: [(&CStr, &CStr); 5] = [
    // Both turn selects into branches where they expect good prediction. The branches of a tree walk are
    // unpredictable by nature, and lowering has chosen selects to avoid them.
    (c"-x86-cmov-converter=false", c"-x86-cmov-converter=true"),
    (c"-disable-cgp-select2branch=true", c"-disable-cgp-select2branch=false"),
    // The scheduler ahead of register allocation undoes the interleaving of walks and spills registers. Machines
    // with hundreds of registers need it.
    (c"-enable-misched=false", c"-enable-misched=true"),
    // Lowering has chosen what loops count and what addresses add up. To choose again takes a twelfth of the time to
    // compile, and the code is no faster.
    (c"-disable-lsr=true", c"-disable-lsr=false"),
    // Loads of a block need no order among each other. To put many lists of what goes before into one takes another twelfth.
    (c"-combiner-tokenfactor-inline-limit=1", c"-combiner-tokenfactor-inline-limit=2048"),
];

/// Who generates code.
struct Users {
    /// How many generate code for x86.
    x86: usize,
    /// How many generate code for other machines.
    others: usize,
}

static USERS: Mutex<Users> = Mutex::new(Users { x86: 0, others: 0 });

/// Told when the last of some users has gone.
static GONE: Condvar = Condvar::new();

/// While one of these lives, LLVM's switches stand as code for a machine wants them. Whoever wants them otherwise waits
/// for the last one to go, so a thread has at most one.
pub(crate) struct Switches {
    for_x86: bool,
}

impl Switches {
    /// Sets the switches for x86, or for other machines, unless they are set.
    pub(crate) fn hold(for_x86: bool) -> Switches {
        let users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = |users: &mut Users| if for_x86 { users.others > 0 } else { users.x86 > 0 };
        let mut users = GONE.wait_while(users, waits).unwrap_or_else(PoisonError::into_inner);
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
        let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        let left = if self.for_x86 { &mut users.x86 } else { &mut users.others };
        *left = left.saturating_sub(1);
        if *left == 0 {
            if self.for_x86 {
                set(SWITCHES.map(|(_, off)| off));
            }
            GONE.notify_all();
        }
    }
}

/// Sets switches. The users are locked, and there is none that they concern.
fn set(switches: [&'static CStr; SWITCHES.len()]) {
    let all: Vec<*const c_char> = std::iter::once(c"schedc").chain(switches).map(CStr::as_ptr).collect();
    // SAFETY: the pointers are NUL-terminated strings that live for ever. The lock excludes other threads of this crate
    // that set switches, and those that read these: only generation of code does, which holds them.
    unsafe { LLVMParseCommandLineOptions(all.len() as i32, all.as_ptr(), std::ptr::null()) };
}

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
        Target::initialize_amd_gpu(&parts);
    });
}

#[cfg(test)]
mod tests {
    use super::Switches;
    use crate::session::Session;
    use crate::target::{Cpu, Machine};
    use inkwell::memory_buffer::MemoryBuffer;
    use inkwell::targets::FileType;
    use std::fmt::Write as _;
    use std::sync::mpsc;
    use std::time::Duration;

    /// The assembly of sixteen sums of neighbours, all loads first: more values than there are registers, so that a
    /// scheduler would move loads to where they are used.
    fn assembly(machine: &Machine) -> String {
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

    // No other test of the library's own generates code, which would hold them, too.
    #[test]
    fn switches_stand_for_x86_only_while_they_are_held() {
        let machine = Machine::new(Cpu::X86_64V3).expect("a machine");
        let before = assembly(&machine);
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
