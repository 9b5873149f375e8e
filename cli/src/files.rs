//! Files that the arguments of a command name.

use schedc_driver::Failure;
use std::path::{Path, PathBuf};

/// Schedule files that arguments name. A folder stands for all schedules below it, sorted by path. Hidden
/// folders are skipped, and links to folders are not followed.
pub fn schedules(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for argument in arguments {
        if !argument.is_dir() {
            files.push(argument.clone());
            continue;
        }
        let before = files.len();
        collect(argument, &mut files).map_err(|error| {
            Failure::unreadable(
                argument.display(),
                format!("the folder cannot be read: {error}"),
                "check its permissions, or name the schedules",
            )
        })?;
        if files.len() == before {
            return Err(Failure::unreadable(
                argument.display(),
                "there is no schedule in the folder",
                "schedules are files whose names end in .sched",
            ));
        }
    }
    Ok(files)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut folders = vec![folder.to_path_buf()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.file_type()?.is_dir() {
                folders.extend((!is_hidden).then(|| entry.path()));
            } else if schedc_driver::job::is_schedule(&entry.path()) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    files.extend(found);
    Ok(())
}
