//! Tests of locks: their text, merges by git, and the entries that fit a job.

use sched_diagnostics::{Code, Diagnostic, Severity, usage};
use sched_forest::ReadOptions;
use sched_llvm::Cpu;
use schedc_driver::lock::{
    CODE_EPOCH, EntryKey, Figures, LockAnswer, LockEntry, LockFile, LockQuery, Measurement, find, merge,
    structure_digest,
};
use schedc_driver::{Failure, Model, RowMemory};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cli/tests/cli/fixtures").join(name)
}

fn model(name: &str) -> Model {
    Model::read(&fixture(name), &ReadOptions::default()).expect("a model")
}

fn measured(micros: f64) -> Measurement {
    let figures = |median: f64| Figures { median, low: 0.9 * median, high: 1.1 * median };
    let (schedule, default) = (figures(micros), figures(1.5 * micros));
    Measurement { schedule, default, seed: 7, budget: Duration::from_millis(2500) }
}

/// An entry for `tiny.json` in a lock beside it.
fn entry(rows: u64, schedule: &str) -> LockEntry {
    let model = model("tiny.json");
    let key = EntryKey::new("cpu", &model.path, &fixture("schedc.lock"), rows, 0).expect("a key");
    LockEntry::of(key, &model, Cpu::Native, schedule, measured(0.1234567 / rows as f64)).expect("an entry")
}

fn lock(entries: impl IntoIterator<Item = LockEntry>) -> LockFile {
    let mut lock = LockFile::default();
    entries.into_iter().for_each(|entry| lock.put(entry));
    lock
}

fn refusal(failure: Failure) -> Diagnostic {
    let Failure::Refused(diagnostic) = failure else { unreachable!("{failure:?}") };
    *diagnostic
}

fn refused(text: &str) -> (Code, String) {
    let diagnostic = refusal(LockFile::parse(text.as_bytes()).expect_err("it is no lock"));
    assert!(diagnostic.help.is_some(), "{diagnostic}");
    (diagnostic.code, format!("{}: {}", diagnostic.place, diagnostic.message))
}

const LINES: &str = "// by hand\n\ttile(batch, b0, b1, 64)\n\nparallel(b0) // all\n";

#[test]
fn locks_are_read_as_they_were_written() {
    let one = lock([entry(1, "parallel(batch)"), entry(64, LINES), entry(1024, "")]);
    let text = one.text();
    assert_eq!(LockFile::parse(text.as_bytes()).expect("a lock"), one, "{text}");
    assert_eq!(LockFile::parse(text.replace('\n', "\r\n").as_bytes()).expect("a lock"), one);
    let turned = lock(one.entries().iter().rev().cloned());
    assert_eq!(turned.text(), text);
    assert_eq!(LockFile::parse(LockFile::default().text().as_bytes()).expect("a lock"), LockFile::default());
    assert!(
        !text.contains(env!("CARGO_MANIFEST_DIR")) && text.contains("entry cpu:tiny.json:64:all\n"),
        "{text}"
    );
}

/// An entry like `one`, with times of kernels.
fn of_kernels(one: LockEntry) -> LockEntry {
    LockEntry { key: one.key.clone().with_rows_in(RowMemory::Device), ..one }
}

#[test]
fn entries_of_kernels_are_beside_those_of_whole_calls() {
    let mut lock = lock([entry(64, "parallel(batch)"), of_kernels(entry(64, LINES))]);
    assert_eq!(lock.entries().len(), 2);
    let read = LockFile::parse(lock.text().as_bytes()).expect("a lock");
    assert!(read == lock && read.entries().iter().all(|entry| !entry.is_edited), "{}", lock.text());
    let named = |lock: &LockFile, name: &str| lock.entry_named(name).expect("the entry").schedule.clone();
    assert_eq!(named(&lock, "cpu:tiny.json:64:all"), "parallel(batch)\n");
    assert_eq!(named(&lock, "tiny.json:64:all:device"), LINES);
    // Of two entries for a number of rows, the one of whole calls serves.
    let used = |lock: &LockFile| found(lock, &model("tiny.json"), None).source.expect("a schedule").text;
    assert!(used(&lock).ends_with("cpu:tiny.json:64:all\nparallel(batch)\n"), "{}", used(&lock));
    lock.remove(&entry(64, "").key);
    assert!(used(&lock).contains("cpu:tiny.json:64:all:device\n"), "{}", used(&lock));
}

/// The first locks had the memory of rows in a field, not in the name. They keep their entries.
#[test]
fn entries_with_a_field_for_the_memory_of_rows_are_read() {
    let whole = lock([entry(64, LINES)]).text();
    let (head, body) = whole.split_at(whole.find("entry ").expect("an entry"));
    let (body, end) = body.split_at(body.find("  digest ").expect("a digest"));
    let body = body.replace("  seed ", "  rows-in device\n  seed ");
    let rest = end.split_once('\n').map_or("", |(_, rest)| rest);
    let text = format!("{head}{body}  digest {}\n{rest}", sched_forest::fingerprint(body.as_bytes()));
    let read = LockFile::parse(text.as_bytes()).expect("a lock");
    assert_eq!(read, lock([of_kernels(entry(64, LINES))]));
    assert!(!read.text().contains("rows-in") && read.text().contains(":all:device\n"), "{}", read.text());
    let (code, message) = refused(&text.replace("rows-in device", "rows-in disk"));
    assert_eq!(code, usage::LOCK_DAMAGED);
    assert!(message.contains("`disk` is no value of `rows-in`"), "{message}");
}

#[test]
fn an_entry_replaces_the_one_with_its_key() {
    let mut lock = lock([entry(1, "parallel(batch)"), entry(64, LINES)]);
    lock.put(entry(64, "parallel(batch)"));
    assert_eq!(lock.entries().len(), 2);
    let named = lock.entry_named("tiny.json:64").expect("the entry");
    assert_eq!(named.schedule, "parallel(batch)\n");
    assert!(
        lock.entry_named("64:al").is_err()
            && lock.entry_named("tiny.json").is_err()
            && lock.entry_named("cpu:tiny.json:1:all").is_ok()
    );
}

#[test]
fn damaged_texts_are_refused_with_their_line() {
    let text = lock([entry(64, LINES)]).text();
    let with = |from: &str, to: &str| refused(&text.replacen(from, to, 1));
    let begin = text.lines().position(|line| line.starts_with("entry")).expect("an entry") + 1;
    let note = |code, line: usize, message: &str| (code, format!("line {line}: {message}"));
    let damaged = |line, message| note(usage::LOCK_DAMAGED, line, message);
    assert_eq!(with("lock 1", "lokk 1"), damaged(3, "a lock begins with `lock 1`, not with `lokk 1`"));
    assert_eq!(
        with("lock 1", "lock 2"),
        note(usage::LOCK_NEWER, 3, "the lock has format 2, and this schedc reads format 1")
    );
    assert_eq!(refused(""), damaged(1, "a lock begins with `lock 1`, not with ``"));
    assert_eq!(with("  seed 7\n", ""), damaged(begin, "the entry cpu:tiny.json:64:all has no field `seed`"));
    assert_eq!(with("seed 7", "seed x"), damaged(begin + 11, "`x` is no value of `seed`"));
    assert_eq!(with("budget 2500ms", "budget 2h"), damaged(begin + 12, "`2h` is no value of `budget`"));
    assert_eq!(
        with("  seed 7\n", "  seed 7\n  seed 8\n"),
        damaged(begin + 12, "the entry cpu:tiny.json:64:all has two fields `seed`")
    );
    assert_eq!(
        with("  seed 7\n", "  seed 7\n  watts 8\n"),
        note(
            usage::LOCK_NEWER,
            begin + 12,
            "the entry cpu:tiny.json:64:all has the field `watts`, which this schedc does not know"
        )
    );
    assert_eq!(
        with("entry cpu:tiny.json:64:all", "entry tiny.json"),
        damaged(begin, "`tiny.json` does not name an entry as TARGET:MODEL:ROWS:THREADS")
    );
    assert_eq!(
        with("entry cpu:tiny.json:64:all", "nothing"),
        damaged(begin, "there is no entry that `nothing` is part of")
    );
    let twice = format!("{text}{}", text.lines().skip(3).map(|line| format!("{line}\n")).collect::<String>());
    assert!(refused(&twice).1.ends_with("there is another entry cpu:tiny.json:64:all"));
    let bytes = [text.as_bytes(), b"\xff\n"].concat();
    let lines = text.lines().count() + 1;
    assert_eq!(
        refusal(LockFile::parse(&bytes).expect_err("no text")).place.to_string(),
        format!("line {lines}")
    );
}

#[test]
fn no_bytes_make_reading_panic() {
    let text = lock([entry(64, LINES)]).text().into_bytes();
    for at in 0..text.len() {
        let _ = LockFile::parse(text.get(..at).unwrap_or_default());
        for byte in [0, b' ', b'\n', b'|', 0xff] {
            let mut changed = text.clone();
            changed[at] = byte;
            let _ = LockFile::parse(&changed).map(|lock| lock.text());
        }
    }
}

/// The page of each error of a lock's text shows a lock that is refused with its code, and a correct one.
#[test]
fn pages_show_their_errors() {
    for code in [usage::LOCK_DAMAGED, usage::LOCK_CONFLICT, usage::LOCK_NEWER] {
        let blocks: Vec<&str> =
            code.page().split("```lock\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let [wrong, right] = blocks.as_slice() else { panic!("{code}") };
        assert_eq!(refused(wrong).0, code);
        assert!(LockFile::parse(right.as_bytes()).is_ok(), "{code}");
    }
}

/// The result of `git merge-file` for two versions, and whether it merged them.
fn git_merge(base: &LockFile, ours: &LockFile, theirs: &LockFile) -> Result<(String, bool)> {
    let folder = tempfile::tempdir()?;
    for (name, lock) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        fs::write(folder.path().join(name), lock.text())?;
    }
    let mut git = Command::new("git");
    let output =
        git.args(["merge-file", "-p", "ours", "base", "theirs"]).current_dir(folder.path()).output()?;
    Ok((String::from_utf8(output.stdout)?, output.status.success()))
}

#[test]
fn git_merges_what_two_branches_add_and_change() -> Result<()> {
    let base = lock([entry(1, LINES), entry(256, LINES)]);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    ours.put(entry(64, "parallel(batch)"));
    ours.put(entry(1, "parallel(batch)"));
    theirs.put(entry(1024, "parallel(tree)"));
    theirs.put(entry(256, "parallel(tree)"));
    let (text, merged) = git_merge(&base, &ours, &theirs)?;
    assert!(merged, "{text}");
    let expected = lock([
        entry(1, "parallel(batch)"),
        entry(64, "parallel(batch)"),
        entry(256, "parallel(tree)"),
        entry(1024, "parallel(tree)"),
    ]);
    assert_eq!(text, expected.text());
    assert_eq!(merge::merge(&base, &ours, &theirs), merge::Merged { lock: expected, conflicts: Vec::new() });
    Ok(())
}

#[test]
fn git_does_not_merge_two_changes_of_an_entry() -> Result<()> {
    let base = lock([entry(1, LINES), entry(256, LINES)]);
    let (mut ours, mut theirs) = (base.clone(), base.clone());
    // Far from each other in the text: the one at its beginning, the other at its end.
    ours.put(LockEntry { structure: "sha256:0".to_string(), ..entry(256, LINES) });
    theirs.put(entry(256, &format!("{LINES}cache(b0)")));
    theirs.put(entry(64, "parallel(tree)"));
    let (text, merged) = git_merge(&base, &ours, &theirs)?;
    assert!(!merged && refused(&text).0 == usage::LOCK_CONFLICT, "{text}");
    let resolved = merge::resolve(&text).expect("two locks");
    assert_eq!(resolved.conflicts, [entry(256, LINES).key]);
    let ours = LockEntry { structure: "sha256:0".to_string(), ..entry(256, LINES) };
    assert_eq!(resolved.lock.get(&ours.key).map(|entry| &entry.structure), Some(&ours.structure));
    assert!(resolved.lock.entry_named("64").is_ok() && resolved.lock.entries().len() == 3);
    Ok(())
}

/// Two branches that both create the lock have no common ancestor of it. Git alone merges no line then, and
/// schedc merges the entries.
#[test]
fn locks_that_two_branches_begin_are_merged_by_entries() -> Result<()> {
    let (ours, theirs) = (lock([entry(1, LINES)]), lock([entry(64, LINES)]));
    let folder = tempfile::tempdir()?;
    for (name, text) in [("base", String::new()), ("ours", ours.text()), ("theirs", theirs.text())] {
        fs::write(folder.path().join(name), text)?;
    }
    let mut git = Command::new("git");
    let output =
        git.args(["merge-file", "-p", "ours", "base", "theirs"]).current_dir(folder.path()).output()?;
    let text = String::from_utf8(output.stdout)?;
    assert_eq!(refused(&text).0, usage::LOCK_CONFLICT);
    let both = lock([entry(1, LINES), entry(64, LINES)]);
    assert_eq!(
        merge::resolve(&text).expect("two locks"),
        merge::Merged { lock: both, conflicts: Vec::new() }
    );
    Ok(())
}

#[test]
fn a_removed_entry_stays_removed_unless_it_was_changed() {
    let base = lock([entry(1, LINES), entry(64, LINES)]);
    let less = lock([entry(1, LINES)]);
    assert_eq!(merge::merge(&base, &less, &base).lock, less);
    assert_eq!(merge::merge(&base, &base, &less).lock, less);
    let changed = lock([entry(1, LINES), entry(64, "parallel(batch)")]);
    let merged = merge::merge(&base, &less, &changed);
    assert_eq!((merged.lock, merged.conflicts.len()), (changed, 1));
}

fn found(lock: &LockFile, model: &Model, threads: Option<u32>) -> LockAnswer {
    let wanted = LockQuery { model, target: None, cpus: &[Cpu::Native], threads };
    find(lock, &fixture("schedc.lock"), &wanted).expect("a processor")
}

fn miss(lock: &LockFile, model: &Model, threads: Option<u32>) -> Option<(Code, Severity)> {
    let found = found(lock, model, threads);
    assert!(found.source.is_none());
    found.miss.map(|miss| (miss.code, miss.severity))
}

#[test]
fn entries_are_combined_by_their_rows() {
    let model = model("tiny.json");
    let both = lock([entry(64, LINES), entry(1, "parallel(tree)"), entry(8, "parallel(tree)")]);
    let text = found(&both, &model, None).source.expect("a schedule").text;
    assert_eq!(
        text,
        "// from the lock: cpu:tiny.json:1:all\n// from the lock: cpu:tiny.json:8:all\n// from the lock: \
         cpu:tiny.json:64:all\n\
         tile(batch, b0, b1, 64)\nparallel(b0)\n\nwhen n_rows <= 8 {\n    parallel(tree)\n}\n"
    );
    let one = found(&lock([entry(64, LINES)]), &model, Some(0)).source.expect("a schedule").text;
    assert_eq!(one, format!("// from the lock: cpu:tiny.json:64:all\n{LINES}"));
    let params = lock([entry(64, LINES), entry(1, "param R = 8\ntile(batch, b0, b1, R)\n")]);
    let text = found(&params, &model, None).source.expect("a schedule").text;
    assert_eq!(
        text,
        "// from the lock: cpu:tiny.json:1:all\n// from the lock: cpu:tiny.json:64:all\n\
         param R_1 = 8\ntile(batch, b0, b1, 64)\nparallel(b0)\n\n\
         when n_rows <= 1 {\n    tile(batch, b0, b1, R_1)\n}\n"
    );
    let bound = entry(1, "param R = 8\nwhen n_rows <= R {\n    parallel(tree)\n}\n");
    let bounds = lock([entry(64, LINES), bound]);
    assert_eq!(miss(&bounds, &model, None), Some((usage::LOCK_MISSING, Severity::Warning)));
}

#[test]
fn each_mismatch_of_an_entry_has_a_code() {
    let tiny = model("tiny.json");
    let with = |change: &dyn Fn(&mut LockEntry)| {
        let mut entry = entry(64, LINES);
        change(&mut entry);
        let found = found(&lock([entry]), &tiny, None);
        assert!(found.source.is_none());
        let miss = found.miss.expect("a reason");
        assert!(miss.severity == Severity::Warning && miss.help.is_some() && miss.file.is_some());
        miss.code
    };
    assert_eq!(with(&|entry| entry.structure.push('0')), usage::LOCK_MODEL);
    assert_eq!(with(&|entry| entry.processor.push('0')), usage::LOCK_PROCESSOR);
    assert_eq!(with(&|entry| entry.features.push("avx1024".to_string())), usage::LOCK_PROCESSOR);
    assert_eq!(with(&|entry| entry.triple.push('0')), usage::LOCK_PROCESSOR);
    assert_eq!(with(&|entry| entry.epoch = CODE_EPOCH + 1), usage::LOCK_EPOCH);
    assert_eq!(with(&|entry| entry.schedule = "parallel(batch)\n".to_string()), usage::LOCK_EDITED);
    assert_eq!(with(&|entry| entry.schedule = "parallel(\n".to_string()), usage::LOCK_EDITED);
    assert_eq!(with(&|entry| entry.is_edited = true), usage::LOCK_EDITED);
    assert_eq!(with(&|entry| entry.key.target = "x86-64-v2".to_string()), usage::LOCK_TARGET);
    assert_eq!(with(&|entry| entry.key.model = "old.json".to_string()), usage::LOCK_MISSING);
    assert_eq!(
        miss(&lock([entry(64, LINES)]), &tiny, Some(3)),
        Some((usage::LOCK_MISSING, Severity::Warning))
    );
    // A lock without entries for a model causes no message.
    assert_eq!(miss(&lock([entry(64, LINES)]), &model("three_classes.json"), None), None);
    // If the entry for 64 rows does not fit, the one for a single row does not serve calls of 64 rows.
    let stale = LockEntry { epoch: CODE_EPOCH + 1, ..entry(64, LINES) };
    assert_eq!(
        miss(&lock([entry(1, LINES), stale]), &tiny, None),
        Some((usage::LOCK_EPOCH, Severity::Warning))
    );
    // An edited entry still counts as edited when it is written again.
    let edited = lock([LockEntry { is_edited: true, ..entry(1, LINES) }]);
    assert_eq!(LockFile::parse(edited.text().as_bytes()).expect("a lock"), edited);
}

#[test]
fn the_structure_of_a_model_is_not_its_values() {
    let digest = |text: &str| {
        let model = Model::of_bytes(Path::new("m.json"), text.as_bytes(), &ReadOptions::default());
        structure_digest(model.expect("a model").forest())
    };
    let text = fs::read_to_string(fixture("tiny.json")).expect("a model");
    let own = digest(&text);
    assert_eq!(own, structure_digest(model("tiny.json").forest()));
    assert_ne!(own, structure_digest(model("three_classes.json").forest()));
    let with = |from: &str, to: &str| digest(&text.replacen(from, to, 1));
    // Another threshold and another leaf; another feature; two thresholds that have become one.
    assert_eq!(with("[1.0, 0.5, -0.25]", "[1.5, 0.5, -0.75]"), own);
    assert_ne!(with("\"split_indices\": [0, 0, 0]", "\"split_indices\": [1, 0, 0]"), own);
    assert_ne!(with("[1.0, 0.5, -0.25]", "[3.0, 0.5, -0.25]"), own);
}
