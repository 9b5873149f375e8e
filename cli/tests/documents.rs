//! Checks documents: commands print the output that is shown, links have targets, `docs/index.md` leads to
//! every page, figures equal those in `docs/performance/figures`, and the tour lists all directives of the
//! language.
//!
//! The commands of a document run in one folder.
//!
//! - A block ```` ```console ```` holds commands after `$ `, each with its output, standard error included.
//! - A block of another language whose first line is ```` ```sched fast.sched ```` is saved in the folder
//!   under that name first; GitHub shows only the language.
//! - A block ```` ```sh setup ```` is run first, in a folder like a checkout of the repository. The commands
//!   are run in the folder in which the block ends, and may leave no files in the checkout.
//!
//! Each folder has the `examples` of the repository. Times and the numbers of LIR's values may differ. Sizes
//! of built files depend on the build, and documents have `N` in their place. `UPDATE=1` rewrites the output
//! of commands.

use crate::support::{shell, without_figures};
use sched_lang::directives::{SIGNATURES, SupportedTargets};
use sched_machines::{GPUS, GpuKind, GpuLimits, Level, Maker, cpu_words};
use serde_json::Value;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Documents with commands, and the least number of commands: a block that is not recognised does not run.
const DOCUMENTS: &[(&str, usize)] = &[
    ("README.md", 5),
    ("ARCHITECTURE.md", 3),
    ("docs/c-api.md", 2),
    ("docs/data.md", 11),
    ("docs/deploy.md", 5),
    ("docs/gpu/README.md", 5),
    ("docs/gpu/kernels.md", 3),
    ("docs/gpu/simulator.md", 3),
    ("docs/models.md", 2),
    ("docs/book/src/tour.md", 8),
    ("docs/verify.md", 3),
    ("examples/pipeline/README.md", 8),
    ("engine/data/src/explain/D0006.md", 4),
    ("engine/data/src/explain/D0015.md", 4),
    ("engine/data/src/explain/D0016.md", 3),
    ("engine/data/src/explain/D0017.md", 4),
    ("engine/data/src/explain/D0020.md", 3),
    ("engine/data/src/explain/D0021.md", 4),
    ("engine/data/src/explain/D0022.md", 3),
    ("engine/data/src/explain/D0023.md", 4),
    ("engine/data/src/explain/D0024.md", 2),
    ("engine/data/src/explain/D0025.md", 2),
    ("engine/data/src/explain/D0026.md", 2),
    ("engine/data/src/explain/D0027.md", 2),
    ("engine/data/src/explain/D0028.md", 4),
    ("engine/data/src/explain/D0029.md", 3),
    ("forest/src/explain/M0002.md", 2),
    ("forest/src/explain/M0009.md", 4),
    ("forest/src/explain/M0030.md", 4),
    ("lang/diagnostics/src/explain/U0023.md", 6),
    ("lang/diagnostics/src/explain/U0024.md", 6),
    ("lang/diagnostics/src/explain/U0025.md", 6),
    ("lang/diagnostics/src/explain/U0026.md", 7),
    ("lang/diagnostics/src/explain/U0027.md", 5),
    ("lang/diagnostics/src/explain/U0028.md", 4),
    ("docs/performance/caching.md", 3),
    ("docs/performance/compile-time.md", 2),
    ("docs/performance/interleaving.md", 4),
    ("docs/performance/level-lookup.md", 2),
    ("docs/performance/node-sweep.md", 2),
    ("docs/performance/node-tiles.md", 2),
    ("docs/performance/parallel.md", 2),
    ("docs/performance/quantization.md", 2),
    ("docs/performance/row-vectors.md", 2),
    ("docs/performance/small-batches.md", 2),
    ("docs/performance/sparse-nodes.md", 2),
    ("docs/performance/test-masks.md", 2),
    ("docs/performance/transposed-blocks.md", 2),
    ("docs/performance/tree-vectors.md", 2),
    ("docs/performance/unroll-and-jam.md", 2),
    ("docs/speed.md", 2),
];

/// The folder of the pages about techniques, and of their tables.
const PERFORMANCE: &str = "docs/performance";

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
        let RunResults { happened, commands, silent } = run(&text, &place)?;
        if place != folder.path() {
            let there: Vec<_> = fs::read_dir(folder.path())?
                .map(|entry| Ok(entry?.file_name()))
                .collect::<io::Result<_>>()?;
            assert_eq!(there, ["examples"], "{name} leaves files in the repository");
            assert!(fs::read_dir(&place)?.count() > 1, "{name} is not run in {}", place.display());
            fs::remove_dir_all(place)?;
        }
        assert!(commands >= *least, "{name} has {commands} commands");
        if name.starts_with(PERFORMANCE) && !silent.is_empty() {
            problems.push(format!("{name}: these print nothing:\n    {}", silent.join("\n    ")));
        }
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

/// Runs a document's block of preparations in a folder like the repository. Returns the folder for its
/// commands.
fn set_up(text: &str, repository: &Path) -> io::Result<PathBuf> {
    let block = text.split("\n```sh setup\n").nth(1).and_then(|rest| rest.split("```").next());
    let Some(block) = block else { return Ok(repository.to_path_buf()) };
    let output = shell(&format!("{block}pwd"), repository).output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Results of a document's commands.
#[derive(Default)]
struct RunResults {
    /// The document with the printed output.
    happened: String,
    /// Number of commands.
    commands: usize,
    /// The commands without output.
    silent: Vec<String>,
}

/// Runs a document's commands.
fn run(text: &str, folder: &Path) -> io::Result<RunResults> {
    let mut results = RunResults::default();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        results.happened += &format!("{line}\n");
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match kind.split_once(' ') {
            None if kind == "console" => {
                run_block(&block, folder, &mut results)?;
            }
            name => {
                let content: String = block.iter().map(|line| format!("{line}\n")).collect();
                if let Some((_, name)) = name.filter(|(_, name)| *name != "setup") {
                    fs::write(folder.join(name), &content)?;
                }
                results.happened += &content;
            }
        }
        results.happened += "```\n";
    }
    Ok(results)
}

/// Runs a block of commands. Keeps lines that differ only in figures, and LIR that differs only in the
/// numbers of its values.
fn run_block(block: &[&str], folder: &Path, results: &mut RunResults) -> io::Result<()> {
    for lines in block.chunk_by(|_, next| !next.starts_with("$ ")) {
        let Some((command, expected)) = lines.split_first() else { continue };
        results.happened += &format!("{command}\n");
        let Some(command) = command.strip_prefix("$ ") else { continue };
        results.commands += 1;
        let output = shell(&format!("exec 2>&1; {command}"), folder).output()?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if printed.is_empty() {
            results.silent.push(command.to_string());
        }
        let is_same = renumbered(expected) == renumbered(&printed);
        for (at, line) in printed.iter().enumerate() {
            let line = without_size(line);
            let is_near = |old: &&&str| without_figures(old) == without_figures(&line);
            let old = expected.get(at).filter(|old| is_same || is_near(old)).map(|old| without_size(old));
            results.happened += &format!("{}\n", old.unwrap_or(line));
        }
    }
    Ok(())
}

/// A printed line as documents have it: without the size of a built file.
fn without_size(line: &str) -> String {
    let is_of_file = line.starts_with("wrote ") || line.split_whitespace().any(|word| word.ends_with(".so"));
    if is_of_file && line.contains(" KiB") { without_figures(line) } else { line.to_string() }
}

#[test]
fn sizes_of_built_files_are_not_kept() {
    assert_eq!(without_size("wrote a.so (70 KiB)"), "wrote a.so (N KiB)");
    assert_eq!(without_size("libolder.so  75 KiB"), "libolder.so  N KiB");
    assert_eq!(without_size("trees: 19.1 KiB in L1 (32.0 KiB)"), "trees: 19.1 KiB in L1 (32.0 KiB)");
}

/// Numbers LIR's values, such as `%12`, in the order in which they appear.
fn renumbered(lines: &[&str]) -> String {
    let mut numbers: Vec<&str> = Vec::new();
    let mut text = String::new();
    for line in lines {
        for (at, piece) in line.split('%').enumerate() {
            let (number, rest) =
                piece.split_at(piece.find(|c: char| !c.is_ascii_digit()).unwrap_or(piece.len()));
            if at == 0 || number.is_empty() {
                text += piece;
                continue;
            }
            let known = numbers.iter().position(|known| *known == number);
            let new = known.unwrap_or(numbers.len());
            if known.is_none() {
                numbers.push(number);
            }
            // Writing to a string cannot fail.
            let _ = write!(text, "%{new}{rest}");
        }
        text.push('\n');
    }
    text
}

#[test]
fn numbers_of_values_do_not_matter_but_their_order_does() {
    let same = |one: &[&str], other: &[&str]| renumbered(one) == renumbered(other);
    assert!(same(
        &["%4 = add %2, %2: i64", "%5 = add %4, 1: i64"],
        &["%9 = add %3, %3: i64", "%11 = add %9, 1: i64"]
    ));
    assert!(!same(&["%4 = add %2, %2: i64"], &["%4 = add %2, %3: i64"]));
    assert!(!same(&["%4 = add %2, 1: i64"], &["%4 = add %2, 2: i64"]));
}

/// The rows of the tables between the marks `mark`, without their headers.
fn rows_between<'t>(page: &'t str, mark: &str) -> Vec<&'t str> {
    let inside = page.split_once(&format!("<!-- {mark} -->\n")).map_or("", |(_, rest)| rest);
    let inside = inside.split_once(&format!("<!-- end of {mark} -->")).map_or("", |(inside, _)| inside);
    let lines: Vec<&str> = inside.lines().collect();
    let headers = lines.windows(2).filter(|pair| pair[1].starts_with("|---")).flatten();
    let headers: Vec<&str> = headers.copied().collect();
    lines.into_iter().filter(|line| line.starts_with('|') && !headers.contains(line)).collect()
}

#[test]
fn pages_show_the_figures_that_were_kept() -> io::Result<()> {
    let folder = repository()?.join(PERFORMANCE);
    let mut problems = Vec::new();
    let mut tables = 0;
    for entry in fs::read_dir(folder.join("figures"))? {
        let path = entry?.path();
        let figures: Value = serde_json::from_str(&fs::read_to_string(&path)?)?;
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        for row in figures["rows"].as_array().into_iter().flatten() {
            let of_page = row["page"].as_str().unwrap_or_default();
            if !folder.join(of_page).with_extension("md").exists() {
                problems.push(format!("figures/{name}.json has a row for `{of_page}`, which is no page"));
            }
        }
        for page in fs::read_dir(&folder)? {
            let page = page?.path();
            let Some(of_page) = page.file_name().and_then(|file| file.to_str()?.strip_suffix(".md")) else {
                continue;
            };
            let rows = figures["rows"].as_array().into_iter().flatten().filter(|row| row["page"] == of_page);
            let kept: Vec<String> = rows.map(|row| table_row(&row["cells"])).collect();
            let text = fs::read_to_string(&page)?;
            let shown = rows_between(&text, name);
            tables += usize::from(!kept.is_empty());
            if shown != kept {
                problems.push(format!("{of_page}.md has other rows of {name} than figures/{name}.json"));
            }
        }
    }
    assert!(tables > 15, "only {tables} tables were found");
    assert!(problems.is_empty(), "{}\nrun python3 bench/pages.py", problems.join("\n"));
    Ok(())
}

/// Cells as a row of a table.
fn table_row(cells: &Value) -> String {
    let cells: Vec<&str> = cells.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("| {} |", cells.join(" | "))
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
fn the_tour_lists_all_directives() -> io::Result<()> {
    let text = fs::read_to_string(repository()?.join("docs/book/src/tour.md"))?;
    let mut problems = Vec::new();
    for signature in SIGNATURES {
        let state = match signature.targets {
            SupportedTargets::Everywhere | SupportedTargets::OnCpus => "✓",
            SupportedTargets::OnGpus => "GPU",
        };
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

/// Documents that list processors or GPUs by hand, each with the words that it must contain.
fn lists_of_machines() -> Vec<(&'static str, Vec<&'static str>)> {
    let levels: Vec<&str> = Level::targets().map(Level::word).collect();
    vec![
        ("docs/book/src/language/targets.md", cpu_words().map(|(word, _)| word).collect()),
        ("docs/c-api.md", levels),
        ("docs/gpu/README.md", GpuKind::of_maker(Maker::Amd).map(|gpu| gpu.name).collect()),
    ]
}

#[test]
fn lists_of_processors_and_gpus_are_complete() -> io::Result<()> {
    let repository = repository()?;
    for (file, words) in lists_of_machines() {
        let text = fs::read_to_string(repository.join(file))?;
        let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let written: Vec<&str> = text.split(|c: char| !is_in_word(c)).collect();
        let missing: Vec<&str> = words.into_iter().filter(|word| !written.contains(word)).collect();
        assert!(missing.is_empty(), "{file} does not name {}", missing.join(", "));
    }
    Ok(())
}

/// The book's limits equal those of the table, and the book names no other GPU.
#[test]
fn the_book_has_the_limits_of_gpus() -> io::Result<()> {
    let text = fs::read_to_string(repository()?.join("docs/book/src/language/targets.md"))?;
    let mut named = Vec::new();
    for row in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        for name in cells[0].split(", ").map(|name| name.trim_matches('`')) {
            let GpuLimits { threads, block: [x, y, z], shared_bytes: shared, .. } =
                GpuKind::named(name).unwrap_or_else(|| panic!("the book invents {name}")).limits;
            let limits = [threads.to_string(), format!("{x}, {y}, {z}"), format!("{} KiB", shared >> 10)];
            assert_eq!(cells[1..], limits, "{name}");
            named.push(name);
        }
    }
    assert_eq!(named.len(), GPUS.len(), "{named:?}");
    Ok(())
}

#[test]
fn links_lead_somewhere() -> io::Result<()> {
    let repository = repository()?;
    let mut problems = Vec::new();
    let mut links = 0;
    for folder in [repository.clone(), repository.join("docs"), repository.join(PERFORMANCE)] {
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

/// The Markdown files that a page links to.
fn linked_pages(page: &Path) -> io::Result<Vec<PathBuf>> {
    let text = fs::read_to_string(page)?;
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
    let pages = targets.filter(|target| !target.contains("://") && target.ends_with(".md"));
    pages.map(|target| page.with_file_name(target).canonicalize()).collect()
}

/// All Markdown files below a folder.
fn pages_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(pages_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    Ok(pages)
}

#[test]
fn the_index_leads_to_every_page() -> io::Result<()> {
    let docs = repository()?.join("docs");
    let mut reached = vec![docs.join("index.md")];
    let mut next = 0;
    while let Some(page) = reached.get(next) {
        let links = linked_pages(page)?;
        let new = links.into_iter().filter(|link| link.starts_with(&docs));
        for link in new {
            if !reached.contains(&link) {
                reached.push(link);
            }
        }
        next += 1;
    }
    let mut lost = pages_below(&docs)?;
    assert!(lost.len() > 100, "only {} pages were found", lost.len());
    lost.retain(|page| !reached.contains(page));
    assert!(lost.is_empty(), "docs/index.md does not lead to these pages: {lost:?}");
    Ok(())
}

#[test]
fn the_readme_fits_two_screens() -> io::Result<()> {
    let text = fs::read_to_string(repository()?.join("README.md"))?;
    assert!(text.lines().count() <= 150, "README.md has {} lines", text.lines().count());
    assert!(text.contains("](docs/index.md)"), "README.md does not link to docs/index.md");
    Ok(())
}

/// Whether the target of a relative link exists: a file, and the heading of an anchor.
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
