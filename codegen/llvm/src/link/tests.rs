use super::*;
use crate::system::FUNCTION_TABLE;
#[cfg(feature = "lld")]
use crate::system::undefined_symbols;
use crate::tools::run;
#[cfg(feature = "lld")]
use elf::{
    ElfBytes,
    abi::{DT_NEEDED, SHN_ABS, SHN_UNDEF, STB_LOCAL, STV_DEFAULT},
    endian::LittleEndian,
};
use std::collections::BTreeMap;
#[cfg(feature = "lld")]
use std::collections::BTreeSet;
use std::ffi::CString;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Code that calls the functions a model may call: the runtime, for processors and for GPUs, and the C
/// library.
#[cfg(feature = "lld")]
const MODEL: &str = r"
double exp(double), exp2(double);
float expf(float), exp2f(float);
void *memset(void *, int, __SIZE_TYPE__);
extern char schedc_rt_predict_ex[], schedc_rt_execute_on_device[], schedc_rt_parallel[], schedc_rt_alloc[];
extern char schedc_rt_free[];
void *internal[] = {
  schedc_rt_predict_ex, schedc_rt_execute_on_device, schedc_rt_parallel, schedc_rt_alloc, schedc_rt_free
};
double doubles(double x) { return exp(x) + exp2(x); }
float floats(float x) { return expf(x) + exp2f(x); }
double m_sum(double x) { memset(internal, (int)x, sizeof internal); return doubles(x) + floats((float)x); }
int m_two(int x) { return 2 * x; }
";

/// Functions of the table, with their libraries and versions.
fn system() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let mut all = BTreeMap::new();
    for line in FUNCTION_TABLE.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        for name in &words[2..] {
            assert_eq!(all.insert(*name, (words[0], words[1])), None, "{name}");
        }
    }
    all
}

/// Symbols that other objects may use of an object or a library. GNU's linker adds a symbol for each version.
#[cfg(feature = "lld")]
fn visible(bytes: &[u8], dynamic: bool) -> Result<BTreeSet<String>> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(bytes)?;
    let table = if dynamic { file.dynamic_symbol_table()? } else { file.symbol_table()? };
    let (symbols, names) = table.ok_or("no symbols")?;
    let seen = symbols.iter().filter(|symbol| {
        ![SHN_UNDEF, SHN_ABS].contains(&symbol.st_shndx)
            && symbol.st_bind() != STB_LOCAL
            && symbol.st_vis() == STV_DEFAULT
    });
    seen.map(|symbol| Ok(names.get(symbol.st_name as usize)?.to_string())).collect()
}

/// Requirements of a library: names of other libraries, and functions with versions.
#[cfg(feature = "lld")]
fn wants(library: &[u8]) -> Result<(BTreeSet<String>, BTreeMap<String, String>)> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(library)?;
    let (symbols, names) = file.dynamic_symbol_table()?.ok_or("no symbols")?;
    let versions = file.symbol_version_table()?.ok_or("no versions")?;
    let mut functions = BTreeMap::new();
    for (index, symbol) in symbols.iter().enumerate() {
        if symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0 {
            let name = names.get(symbol.st_name as usize)?;
            if let Some(version) = versions.get_requirement(index)? {
                functions.insert(name.to_string(), version.name.to_string());
            }
        }
    }
    let mut needed = BTreeSet::new();
    for entry in file.dynamic()?.ok_or("a library is dynamic")?.iter().filter(|e| e.d_tag == DT_NEEDED) {
        needed.insert(names.get(entry.d_val() as usize)?.to_string());
    }
    Ok((needed, functions))
}

#[cfg(feature = "lld")]
fn model() -> Result<Vec<u8>> {
    let folder = ToolFolder::new()?;
    let (source, object) = (folder.write("model.c", MODEL.as_bytes())?, folder.path("model.o"));
    let mut cc = Command::new("cc");
    cc.args(["-c", "-O1", "-fPIC", "-fno-builtin", "-o"]).arg(&object).arg(source);
    folder.run(cc, TOOLCHAIN_NEED)?;
    Ok(read(&object)?)
}

#[test]
fn a_missing_tool_is_named() {
    let error = run(Command::new("no-such-folder/no-such-cc"), TOOLCHAIN_NEED).unwrap_err();
    assert_eq!(error.code, codes::NO_TOOL);
    assert!(error.message.contains("`no-such-cc`"), "{error}");
}

#[test]
fn a_failing_tool_is_quoted() {
    let error = shared_library(b"this is no object", &["f".to_string()], None).unwrap_err();
    assert_eq!(error.code, codes::TOOL_FAILED);
    assert!(error.message.contains("model.o"), "{error}");
}

/// This system has all functions of the table.
#[test]
fn the_system_has_all_functions_of_the_table() -> Result<()> {
    unsafe extern "C" {
        fn dlopen(name: *const std::ffi::c_char, mode: i32) -> *mut std::ffi::c_void;
        fn dlvsym(
            library: *mut std::ffi::c_void,
            name: *const std::ffi::c_char,
            version: *const std::ffi::c_char,
        ) -> *mut std::ffi::c_void;
    }
    for (name, (library, version)) in system() {
        let [library, symbol, wanted] = [library, name, version].map(CString::new);
        let (library, symbol, wanted) = (library?, symbol?, wanted?);
        // SAFETY: all are C strings, and 2 (RTLD_NOW) is a mode. Libraries of the system stay loaded.
        let found = unsafe { dlvsym(dlopen(library.as_ptr(), 2), symbol.as_ptr(), wanted.as_ptr()) };
        assert!(!found.is_null(), "{name} has no version {version}");
    }
    Ok(())
}

/// Numbers of a version such as `GLIBC_2.34`.
#[cfg(feature = "lld")]
fn numbers(version: &str) -> Vec<u32> {
    version.trim_start_matches("GLIBC_").split('.').map(|part| part.parse().expect("a number")).collect()
}

#[cfg(feature = "lld")]
#[test]
fn both_linkers_make_the_same_library() -> Result<()> {
    let (model, exports) = (model()?, ["m_sum".to_string(), "m_two".to_string()]);
    let [ours, theirs] = [Linker::Lld, Linker::Toolchain]
        .map(|linker| shared_library_by(linker, &model, &exports, Some("libm.so")));
    let (ours, theirs) = (ours?, theirs?);
    assert_eq!(visible(&ours, true)?, exports.iter().cloned().collect());
    assert_eq!(visible(&ours, true)?, visible(&theirs, true)?);
    let ((our_libraries, our_functions), (their_libraries, mut their_functions)) =
        (wants(&ours)?, wants(&theirs)?);
    assert_eq!(our_libraries, their_libraries);
    // A newer system may link with newer versions.
    for (name, version) in &mut their_functions {
        let our = our_functions.get(name).cloned().unwrap_or_default();
        assert!(numbers(&our) <= numbers(version), "{name}: {our} and {version}");
        *version = our;
    }
    assert_eq!(our_functions, their_functions);
    let folder = ToolFolder::new()?;
    let path = folder.write("model.so", &ours)?;
    // SAFETY: the library has no initialisers, and the functions are those above.
    unsafe {
        let library = libloading::Library::new(&path)?;
        let two = library.get::<unsafe extern "C" fn(i32) -> i32>(b"m_two")?;
        assert_eq!(two(21), 42);
    }
    Ok(())
}

#[cfg(feature = "lld")]
#[test]
fn both_linkers_make_the_same_object() -> Result<()> {
    let (model, exports) = (model()?, ["m_sum".to_string(), "m_two".to_string()]);
    let [ours, theirs] = [Linker::Lld, Linker::Toolchain].map(|linker| object_by(linker, &model, &exports));
    let (ours, theirs) = (ours?, theirs?);
    assert_eq!(visible(&ours, false)?, exports.iter().cloned().collect());
    assert_eq!(visible(&ours, false)?, visible(&theirs, false)?);
    assert_eq!(undefined_symbols(&ours)?, undefined_symbols(&theirs)?);
    Ok(())
}

#[cfg(feature = "lld")]
#[test]
fn lld_works_after_errors_and_in_many_threads() -> Result<()> {
    let (model, exports) = (model()?, ["m_two".to_string()]);
    let expected = shared_library_by(Linker::Lld, &model, &exports, Some("libm.so"))?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let error =
                    shared_library_by(Linker::Lld, b"no object", &exports, Some("libm.so")).unwrap_err();
                assert!(error.message.contains("model.o"), "{error}");
                let again = shared_library_by(Linker::Lld, &model, &exports, Some("libm.so"));
                assert!(again.is_ok_and(|again| again == expected), "links differ");
            });
        }
    });
    Ok(())
}

#[cfg(feature = "lld")]
#[test]
fn lld_leaves_signals_to_the_program() -> Result<()> {
    unsafe extern "C" {
        fn sigaction(signal: i32, new: *const u8, old: *mut u8) -> i32;
    }
    let actions = || {
        (1..=31).map(|signal| {
            let mut action = [0u8; 256];
            // SAFETY: no new action is set, and the old one has less than 256 bytes.
            unsafe { sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
            // The address of the handler comes first. The system does not write all of the rest.
            u64::from_ne_bytes(std::array::from_fn(|index| action[index]))
        })
    };
    // Other tests that link install LLVM's handlers for a moment, so only handlers that are seen several
    // times count.
    let before: Vec<_> = actions().collect();
    let mut changed: Vec<i32> = Vec::new();
    for _ in 0..100 {
        shared_library_by(Linker::Lld, &model()?, &["m_two".to_string()], None)?;
        let differ = (1..).zip(before.iter().zip(actions())).filter(|(_, (was, is))| **was != *is);
        changed = differ.map(|(signal, _)| signal).collect();
        if changed.is_empty() {
            return Ok(());
        }
    }
    Err(format!("the handlers of signals are others: {changed:?}").into())
}
