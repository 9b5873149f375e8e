//! Folders of files that together are one table.

use std::fs;
use std::path::{Path, PathBuf};

use super::open;
use super::source::{DataSource, unreadable};
use crate::codes;
use crate::error::DataError;

/// The files of a folder in the order of their names, all of one format. Files whose names begin with `.` or
/// `_` are left out: programs that write such folders mark files without data in this way.
pub(super) fn files(folder: &Path) -> Result<Vec<DataSource>, DataError> {
    let name = folder.display().to_string();
    let listed = list(folder).map_err(|error| unreadable(&name, &error))?;
    let refused = |message: String, help: &str| Err(DataError::new(codes::FOLDER, &name, message).help(help));
    if let Some(inner) = listed.iter().find(|path| path.is_dir()) {
        let message = format!("there is a folder in it: {}", inner.display());
        return refused(message, "name that folder, or put all files into one");
    }
    let files: Vec<DataSource> = listed.into_iter().map(DataSource::Path).collect();
    let mut first = None;
    for file in &files {
        let name = file.name();
        let mut input = open::input(file)?;
        let format = open::RowFormat::of(&open::head(&mut input, &name)?);
        let kind = format.map_or("something else", open::RowFormat::name);
        match &first {
            None => first = Some((format, kind, name)),
            Some((known, _, _)) if *known == format => {}
            Some((_, other, before)) => {
                let message = format!("{before} is {other}, and {name} is {kind}");
                return refused(
                    message,
                    "keep files of one format in the folder; a name that begins with _ is left out",
                );
            }
        }
    }
    if files.is_empty() {
        return refused("there is no file in it".to_owned(), "name a folder with files of rows");
    }
    Ok(files)
}

fn list(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().as_encoded_bytes().first(), Some(b'.' | b'_')) {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
