//! Refusals of files that are not libraries of `schedc build`. The reasons do not repeat the file's path.

use sched_library::{LibraryFunctions, LoadError};
use std::fs;
use std::path::Path;

fn refused(path: &Path) -> LoadError {
    // SAFETY: neither file runs code that this process does not run already.
    unsafe { LibraryFunctions::open(path, "m") }.err().expect("it is no library of schedc")
}

#[test]
fn a_text_is_not_loaded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let LoadError::NotLoaded(reason) = refused(&path) else { panic!("it has no code") };
    assert_eq!(reason, "invalid ELF header");
    let LoadError::NotLoaded(reason) = refused(Path::new("no such folder/m.so")) else {
        panic!("it is not there")
    };
    assert!(reason.starts_with("cannot open shared object file"), "{reason}");
}

/// The path of this process's C library.
fn c_library() -> String {
    let maps = fs::read_to_string("/proc/self/maps").expect("the memory of this process");
    let mut files = maps.lines().filter_map(|line| line.split(' ').next_back());
    files.find(|file| file.contains("/libc.so")).expect("the C library").to_string()
}

#[test]
fn a_library_that_ends_too_early_is_not_loaded() {
    let whole = fs::read(c_library()).expect("the C library");
    let path = std::env::temp_dir().join(format!("cut-{}.so", std::process::id()));
    let mut cut = Vec::new();
    for length in [whole.len() / 100, whole.len() / 2] {
        fs::write(&path, &whole[..length]).expect("a file");
        cut.push(refused(&path));
    }
    fs::remove_file(&path).expect("the file");
    for refusal in cut {
        let LoadError::NotLoaded(reason) = refusal else { panic!("it lacks its end") };
        assert!(reason.starts_with("the file was cut short: it needs at least "), "{reason}");
    }
}

#[test]
fn the_c_library_lacks_the_functions_of_a_model() {
    assert_eq!(refused(Path::new(&c_library())), LoadError::NoFunction("m_num_features".to_string()));
}
