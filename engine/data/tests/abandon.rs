//! Tests that the clean-up before the end of a process leaves no unfinished files.

use schedc_data::{abandon_unfinished, write_atomically};
use std::fs;
use std::path::Path;
use std::process::Command;

/// The folder in which the child process writes.
const FOLDER: &str = "SCHEDC_TEST_FOLDER";

#[test]
fn no_unfinished_files_remain() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("out.csv"), "as it was").unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "abandon::writes_and_ends", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(7), "{}", String::from_utf8_lossy(&child.stdout));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["out.csv"]);
    assert_eq!(fs::read_to_string(folder.path().join("out.csv")).unwrap(), "as it was");
}

/// The child process of the test above.
#[test]
#[ignore = "run by another test in a process of its own"]
fn writes_and_ends() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let files = || fs::read_dir(&folder).unwrap().count();
    let _ = write_atomically(&Path::new(&folder).join("out.csv"), |out| {
        out.write_all(&[0; 1 << 17])?;
        assert_eq!(files(), 2, "the new file lies beside the old one");
        abandon_unfinished();
        std::process::exit(7)
    });
}
