//! Tests that other commands use the results of `schedc tune` and `schedc calibrate`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn model() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/model/breast_cancer.json")
}

fn schedc(arguments: &[&str], folder: &Path) -> Result<Output> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
    Ok(command.args(arguments).current_dir(folder).env("SCHEDC_CACHE", folder).output()?)
}

/// Runs a command that must succeed. Returns its standard output.
fn stdout_of(arguments: &[&str], folder: &Path) -> Result<String> {
    let output = schedc(arguments, folder)?;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs a command that must fail. Returns its standard error.
fn refused(arguments: &[&str], folder: &Path) -> Result<String> {
    let output = schedc(arguments, folder)?;
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    Ok(String::from_utf8(output.stderr)?)
}

#[test]
fn tuned_schedules_are_legal_and_formatted_and_state_their_speed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (here, model) = (folder.path(), model());
    let model = model.to_str().ok_or("a path")?;
    let rows = ["--batch", "1,300", "--budget", "600ms"];
    stdout_of(&[&["tune", model, "-o", "fast.sched", "--save", "search.json"], &rows[..]].concat(), here)?;
    let text = std::fs::read_to_string(here.join("fast.sched"))?;
    for part in ["// found by schedc tune", "// 1 row, 1 thread: ", "// 300 rows, 1 thread: ", "schedc's own"]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    stdout_of(&["check", model, "-s", "fast.sched"], here)?;
    stdout_of(&["fmt", "--check", "fast.sched"], here)?;
    stdout_of(&["verify", model, "-s", "fast.sched"], here)?;

    // A resumed search keeps earlier times, and refuses searches of other models.
    let again = [&["tune", model, "--resume", "search.json", "--json"], &rows[..]].concat();
    let found: serde_json::Value = serde_json::from_str(&stdout_of(&again, here)?)?;
    let sizes = found["sizes"].as_array().ok_or("no sizes")?;
    assert_eq!(sizes.len(), 2);
    for size in sizes {
        let figure = &size["figures"][0];
        assert!(figure["us_per_row"]["median"].as_f64() > Some(0.0), "{figure}");
        assert!(figure["chosen_us_per_row"]["median"].as_f64() > Some(0.0), "{figure}");
    }
    let others = refused(&["tune", model, "--resume", "search.json", "--threads", "2"], here)?;
    assert!(others.contains("another model, another processor or other threads"), "{others}");
    std::fs::write(here.join("search.json"), "{}")?;
    assert!(refused(&again, here)?.contains("not a saved search"));
    Ok(())
}

/// A search that could not write its results does not begin.
#[test]
fn results_that_cannot_be_written_are_refused_before_the_search() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (here, model) = (folder.path(), model());
    let model = model.to_str().ok_or("a path")?;
    for option in ["-o", "--save", "--lock"] {
        let errors = refused(&["tune", model, "--budget", "3600s", option, "missing/result"], here)?;
        assert!(errors.contains("D0012: missing/result: its directory does not exist"), "{option}: {errors}");
    }
    Ok(())
}

/// A signal ends a search, which still writes the best schedule. If none was timed, the process ends by the
/// signal.
#[test]
fn an_interrupted_search_writes_the_best_schedule() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let model = model();
    for wait in [20, 60, 120, 240] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
        command.arg("tune").arg(&model).args(["--budget", "3600s", "--batch", "1"]);
        let child =
            command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        std::thread::sleep(Duration::from_millis(wait));
        // A shell starts programs in the background with SIGINT ignored, but not with SIGTERM ignored.
        Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        let output = child.wait_with_output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => assert!(errors.contains("this is the best schedule so far"), "{wait}: {errors}"),
            None => assert!(
                errors.is_empty() || errors.contains("before it timed a schedule"),
                "{wait}: {errors}"
            ),
            status => return Err(format!("after {wait} ms status {status:?}: {errors}").into()),
        }
    }
    Ok(())
}

/// A lock in the model's folder is used by default, and holds the best schedule for each number of rows and
/// threads.
#[test]
fn tuned_schedules_are_stored_in_a_lock() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    std::fs::copy(model(), here.join("model.json"))?;
    let tune = [
        "tune",
        "model.json",
        "--batch",
        "1,300",
        "--budget",
        "600ms",
        "--lock",
        "schedc.lock",
        "-o",
        "a.sched",
    ];
    stdout_of(&tune, here)?;
    stdout_of(&["lock", "--check"], here)?;
    let all: serde_json::Value = serde_json::from_str(&stdout_of(&["lock", "--json"], here)?)?;
    assert_eq!(all["entries"].as_array().map(Vec::len), Some(2), "{all}");
    let output = schedc(&["build", "model.json", "--locked", "--row-type", "f32", "-o", "model.so"], here)?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn params_of_a_start_schedule_are_varied_and_its_directives_stay() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (here, model) = (folder.path(), model());
    let model = model.to_str().ok_or("a path")?;
    let start = "param ROWS = 2 in {2, 256}\ntile(batch, b0, b1, ROWS)\nreorder(b0, tree, b1)\n";
    std::fs::write(here.join("start.sched"), start)?;
    let wanted = ["-s", "start.sched", "--batch", "1024", "--budget", "400ms"];
    let tune = [&["tune", model], &wanted[..]].concat();
    // These directives are many times slower than schedc's own choice, which is kept without --allow-slower.
    let output = schedc(&[&tune[..], &["-o", "kept.sched"]].concat(), here)?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains(" times slower than schedc's own schedule: kept schedc's own\n"), "{errors}");
    let kept = std::fs::read_to_string(here.join("kept.sched"))?;
    assert!(!kept.contains("ROWS") && kept.contains(", schedc's own schedule\n"), "{kept}");
    let text = stdout_of(&[&tune[..], &["--allow-slower"]].concat(), here)?;
    assert!(text.contains(" times slower than schedc's own schedule ("), "{text}");
    // The faster value depends on the machine.
    assert!(text.contains(" schedules were timed"), "{text}");
    let with = |rows| {
        format!("param ROWS = {rows} in {{2, 256}}\ntile(batch, b0, b1, ROWS)\nreorder(b0, tree, b1)\n")
    };
    assert!(text.ends_with(&with(2)) || text.ends_with(&with(256)), "{text}");
    // Several sizes may get different values. The result, and that of the lock's entries, is one legal
    // schedule.
    let sizes = ["-s", "start.sched", "--batch", "1,64,1024", "--budget", "900ms", "--allow-slower"];
    stdout_of(
        &[&["tune", model], &sizes[..], &["-o", "sizes.sched", "--lock", "sizes.lock"]].concat(),
        here,
    )?;
    stdout_of(&["check", model, "-s", "sizes.sched"], here)?;
    stdout_of(&["build", model, "--lock", "sizes.lock", "--locked", "-o", "model.so"], here)?;
    std::fs::write(here.join("bound.sched"), format!("{start}when n_rows <= 2 * 4 {{ parallel(tree) }}\n"))?;
    let sum = refused(&["tune", model, "-s", "bound.sched"], here)?;
    assert!(sum.contains("a block whose bound is not a plain number") && sum.contains("help"), "{sum}");
    std::fs::write(here.join("plain.sched"), "parallel(batch)\n")?;
    let none = refused(&["tune", model, "-s", "plain.sched"], here)?;
    assert!(none.contains("no params") && none.contains("help"), "{none}");
    Ok(())
}

/// Numbers in lines of a CSV file with a header.
fn numbers(text: &str) -> Vec<f64> {
    text.lines().flat_map(|line| line.split(',')).filter_map(|word| word.parse().ok()).collect()
}

/// Both strategies find legal schedules whose code predicts the trainer's results. The strategy `neighbours`
/// finds no slower schedule than `silvanforge`.
#[test]
fn schedules_for_gpus_are_found_by_counts() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (here, model) = (folder.path(), model());
    let data = model.parent().ok_or("a folder")?.to_path_buf();
    let [rows, expected] = ["rows.csv", "expected.csv"].map(|name| data.join(name).display().to_string());
    let expected = numbers(&std::fs::read_to_string(expected)?);
    let model = model.to_str().ok_or("a path")?;
    let mut found = Vec::new();
    for strategy in ["neighbours", "silvanforge"] {
        // Long enough that the search ends before its budget on every machine.
        let gpu = [
            "--target",
            "gpu(sm_90)",
            "--by-counts",
            "--batch",
            "100",
            "--budget",
            "10m",
            "--save",
            "s.json",
        ];
        let tune = [&["tune", model, "-o", "gpu.sched", "--json", "--strategy", strategy], &gpu[..]].concat();
        let all: serde_json::Value = serde_json::from_str(&stdout_of(&tune, here)?)?;
        assert_eq!((&all["timed"], &all["strategy"]), (&false.into(), &strategy.into()));
        found.push(all["sizes"][0]["predicted"]["us_per_row"].as_f64().ok_or("no prediction")?);
        let text = std::fs::read_to_string(here.join("gpu.sched"))?;
        for part in ["target gpu(sm_90)", "none timed", "predicted from counts, ", "gpuDimension("] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        stdout_of(&["check", model, "-s", "gpu.sched"], here)?;
        stdout_of(&["fmt", "--check", "gpu.sched"], here)?;
        let predicted =
            stdout_of(&["predict", model, "-s", "gpu.sched", "--simulate", "-q", "-i", &rows], here)?;
        let predicted = numbers(&predicted);
        assert_eq!(predicted.len(), expected.len());
        for (ours, trainer) in predicted.iter().zip(&expected) {
            assert!((ours - trainer).abs() <= 1e-6, "{strategy}: {ours} and {trainer}");
        }
        // Resumed searches do not count again.
        let again = [&tune[..], &["--resume", "s.json"]].concat();
        let again: serde_json::Value = serde_json::from_str(&stdout_of(&again, here)?)?;
        assert_eq!(again["schedule"], all["schedule"]);
    }
    assert!(found[0] <= found[1] * 1.000_001, "{found:?}");
    // A search for a processor refuses the saved counts of a search for a GPU.
    let other = refused(&["tune", model, "--resume", "s.json"], here)?;
    assert!(other.contains("another model, another processor"), "{other}");
    Ok(())
}

#[test]
fn unsupported_searches_for_gpus_are_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (here, model) = (folder.path(), model());
    let model = model.to_str().ok_or("a path")?;
    std::fs::write(here.join("start.sched"), "target gpu\nparam N = 64\n")?;
    let gpu = ["tune", model, "--target", "gpu(sm_90)", "--by-counts"];
    let cases: [(&[&str], &str); 4] = [
        (&["--lock", "schedc.lock"], "a lock stores measured times"),
        (&["-s", "start.sched"], "are not varied for GPUs"),
        (&["--target", "gpu(gfx90a)"], "the cost model has no figures for gfx90a"),
        (&["--target", "cpu"], "--strategy and --by-counts need a GPU as target"),
    ];
    for (more, message) in cases {
        let gpu = if more.contains(&"--target") { &["tune", model, "--by-counts"] } else { &gpu[..] };
        let refusal = refused(&[gpu, more].concat(), here)?;
        assert!(refusal.contains(message) && refusal.contains("elp"), "{refusal}");
    }
    Ok(())
}

#[test]
fn calibrated_costs_decide_the_choice_of_schedules() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    let machine: serde_json::Value = serde_json::from_str(&stdout_of(&["calibrate", "--json"], here)?)?;
    assert!(machine["ghz"].as_f64() > Some(0.3), "{machine}");
    let charges = machine["charges"].as_object().ok_or("charges by bits")?;
    assert!(charges.contains_key("128"), "{machine}");
    for of_bits in charges.values() {
        let look_up = of_bits["lookup 16 x 1 by 1"]["each"].as_f64();
        assert!(look_up > Some(0.0) && of_bits["vector"]["latency"].as_f64() > Some(0.0), "{machine}");
    }
    assert_eq!(std::fs::read_dir(here)?.count(), 0, "nothing is kept where it is printed");
    stdout_of(&["calibrate"], here)?;
    assert_eq!(std::fs::read_dir(here)?.count(), 1);
    let model = model();
    let arguments = [
        "build",
        model.to_str().ok_or("a path")?,
        "--emit",
        "header",
        "-o",
        "m.h",
        "--explain-schedule",
        "--no-cache",
    ];
    stdout_of(&arguments, here)?;
    // A damaged file is ignored.
    for kept in std::fs::read_dir(here)?.flatten().filter(|kept| kept.file_name() != "m.h") {
        std::fs::write(kept.path(), "nonsense")?;
    }
    stdout_of(&arguments, here)?;
    Ok(())
}

/// The search for a model with layers of distances also times tiles of the layers, and writes a legal
/// schedule.
#[test]
fn tiles_of_layers_are_timed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../forest/pipeline/tests/fixtures/vectors.onnx");
    let model = model.to_str().ok_or("a path")?;
    let tune = ["tune", model, "--batch", "4,64", "--budget", "2s", "--save", "search.json"];
    stdout_of(&[&tune[..], &["-o", "fast.sched"]].concat(), here)?;
    let saved = std::fs::read_to_string(here.join("search.json"))?;
    let tried: serde_json::Value = serde_json::from_str(&saved)?;
    let texts = tried["tried"].as_array().into_iter().flatten().filter_map(|one| one["schedule"].as_str());
    assert!(texts.clone().any(|text| text.contains("tile(distances1.vector, ")), "{saved}");
    assert!(texts.clone().any(|text| !text.contains("distances1")), "{saved}");
    stdout_of(&["check", model, "-s", "fast.sched"], here)?;
    stdout_of(&["verify", model, "-s", "fast.sched"], here)?;
    Ok(())
}
