//! What the documents say holds: their commands are run, their links lead somewhere, and the README's table of
//! directives is that of the language.
//!
//! The commands of one document are run in one folder.
//!
//! - A block ```` ```console ```` holds commands after `$ `, each with what it prints, standard error included.
//! - A block of another language whose first line is ```` ```sched fast.sched ```` is saved in the folder under that
//!   name first; GitHub shows only the language.
//! - A block ```` ```sh setup ```` is run in the repository, or what looks like it, before all else. The commands are run
//!   where it ends, and what the document makes may not lie in the repository.
//!
//! The folder `examples` of the repository is there, too. Times and sizes may differ. `UPDATE=1` rewrites what
//! commands print.

mod support;

use sched_lang::directives::SIGNATURES;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use support::{shell, without_figures};

/// Documents with commands, and how many they have at least: a block that is not recognised is not run.
const DOCUMENTS: &[(&str, usize)] =
    &[("README.md", 8), ("ARCHITECTURE.md", 3), ("docs/c-api.md", 2), ("docs/models.md", 2)];

fn repository() -> io::Result<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()
}

#[test]
fn documents_show_what_happens() -> io::Result<()> {
    let repository = repository()?;
    let update = std::env::var_os("UPDATE").is_some();
    let mut problems = Vec::new();
    for (name, least) in DOCUMENTS {
        let folder = tempfile::tempdir()?;
        std::os::unix::fs::symlink(repository.join("examples"), folder.path().join("examples"))?;
        let path = repository.join(name);
        let text = fs::read_to_string(&path)?;
        let place = set_up(&text, folder.path())?;
        let (happened, commands) = run(&text, &place)?;
        if place != folder.path() {
            let there: Vec<_> = fs::read_dir(folder.path())?
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?;
            assert_eq!(there, ["examples"], "{name} leaves files in the repository");
            assert!(fs::read_dir(&place)?.count() > 1, "{name} is not run in {}", place.display());
            fs::remove_dir_all(place)?;
        }
        assert!(commands >= *least, "{name} has {commands} commands");
        if update {
            fs::write(&path, happened)?;
        } else if let Some(problem) = first_difference(&text, &happened) {
            problems.push(format!("{name}: {problem}"));
        }
    }
    let summary = "run with UPDATE=1 to accept this, and review the difference";
    assert!(problems.is_empty(), "{}\n{summary}", problems.join("\n"));
    Ok(())
}

/// The folder where a document's commands are run, after its block of preparations in a folder like the repository.
fn set_up(text: &str, repository: &Path) -> io::Result<PathBuf> {
    let block = text.split("\n```sh setup\n").nth(1).and_then(|rest| rest.split("```").next());
    let Some(block) = block else { return Ok(repository.to_path_buf()) };
    let output = shell(&format!("{block}pwd"), repository).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Runs a document's commands: the document with what they print, and how many there are.
fn run(text: &str, folder: &Path) -> io::Result<(String, usize)> {
    let mut happened = String::new();
    let mut commands = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        happened += &format!("{line}\n");
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            None if kind == "console" => {
                commands += block.iter().filter(|line| line.starts_with("$ ")).count();
                happened += &run_block(&block, folder)?;
            }
            name => {
                let content: String = block.iter().map(|line| format!("{line}\n")).collect();
                if let Some((_, name)) = name.filter(|(_, name)| *name != "setup") {
                    fs::write(folder.join(name), &content)?;
                }
                happened += &content;
            }
        }
        happened += "```\n";
    }
    Ok((happened, commands))
}

/// A block of commands with what each prints. Lines that differ only in figures stay as they were.
fn run_block(block: &[&str], folder: &Path) -> io::Result<String> {
    let mut happened = String::new();
    for lines in block.chunk_by(|_, next| !next.starts_with("$ ")) {
        let Some((command, expected)) = lines.split_first() else { continue };
        happened += &format!("{command}\n");
        let Some(command) = command.strip_prefix("$ ") else { continue };
        let output = shell(&format!("exec 2>&1; {command}"), folder).output()?;
        for (at, line) in String::from_utf8_lossy(&output.stdout).lines().enumerate() {
            let old = expected.get(at).filter(|old| without_figures(old) == without_figures(line));
            happened += &format!("{}\n", old.unwrap_or(&line).trim_end());
        }
    }
    Ok(happened)
}

fn first_difference(written: &str, happened: &str) -> Option<String> {
    let mut pairs = written.lines().zip(happened.lines()).enumerate();
    match pairs.find(|(_, (written, happened))| written != happened) {
        Some((at, (written, happened))) => {
            Some(format!("line {}: written\n    {written}\nand what happens is\n    {happened}", at + 1))
        }
        None if written.lines().count() != happened.lines().count() => Some("the end differs".to_string()),
        None => None,
    }
}

#[test]
fn the_readme_lists_all_directives() -> io::Result<()> {
    let text = fs::read_to_string(repository()?.join("README.md"))?;
    let mut problems = Vec::new();
    for signature in SIGNATURES {
        let state = if signature.lowered { "✓" } else { "checked only" };
        let begin = format!("| `{}(", signature.name);
        match text.lines().find(|line| line.starts_with(&begin)) {
            Some(row) if row.ends_with(&format!("| {state} |")) => {}
            Some(row) => problems.push(format!("this row should end with `{state}`: {row}")),
            None => {
                problems.push(format!("there is no row for {}: {}", signature.usage(), signature.summary))
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

#[test]
fn links_lead_somewhere() -> io::Result<()> {
    let repository = repository()?;
    let mut problems = Vec::new();
    let mut links = 0;
    for folder in [repository.clone(), repository.join("docs")] {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|extension| extension != "md") {
                continue;
            }
            let text = fs::read_to_string(&path)?;
            for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                links += 1;
                if !target.contains("://") && !leads_somewhere(&path, target) {
                    problems.push(format!("{}: {target}", path.display()));
                }
            }
        }
    }
    assert!(links > 20, "only {links} links were found");
    assert!(problems.is_empty(), "links that lead nowhere:\n{}", problems.join("\n"));
    Ok(())
}

/// Whether a relative link in a document names a file, and a heading of it if it has an anchor.
fn leads_somewhere(document: &Path, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_path_buf(),
        file => document.with_file_name(file),
    };
    if anchor.is_empty() {
        return path.exists();
    }
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| line.starts_with('#')).any(|heading| anchor_of(heading) == anchor)
}

/// The anchor that GitHub gives a heading.
fn anchor_of(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = words.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}
