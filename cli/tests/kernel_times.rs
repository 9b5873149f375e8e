//! `schedc bench` and `schedc tune` time kernels on rows in a GPU's memory. The driver of the tests stands in
//! for NVIDIA's. Its kernels do nothing, and its clock counts the blocks of launches.

use serde_json::Value;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Nanoseconds of a block by the driver's clock.
const BLOCK_NS: f64 = 1000.0;
/// Rows of a block of `DIRECT`.
const BLOCK_ROWS: f64 = 256.0;

/// A schedule whose calls are one launch, with a block for every 256 rows.
const DIRECT: &str = "target gpu(sm_90)\ntile(batch, b0, b1, 256)\ngpuDimension(b0, grid.x)\n\
                      gpuDimension(b1, block.x)\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The driver, compiled once.
fn driver() -> &'static Path {
    static DRIVER: OnceLock<PathBuf> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel_times_driver.so");
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-D_GNU_SOURCE", "-O1", "-pthread", "-shared", "-fPIC"]);
        cc.args(["-fvisibility=hidden", "-o"]).arg(&library);
        cc.arg(repository().join("codegen/llvm/tests/c/hip.c"));
        assert!(cc.status().is_ok_and(|status| status.success()), "{cc:?}");
        library
    })
}

/// A folder with the example model and a schedule, in which commands run.
struct Sandbox(tempfile::TempDir);

impl Sandbox {
    fn new() -> Result<Sandbox> {
        let folder = tempfile::tempdir()?;
        std::fs::copy(
            repository().join("examples/model/breast_cancer.json"),
            folder.path().join("model.json"),
        )?;
        let sandbox = Sandbox(folder);
        sandbox.write("direct.sched", DIRECT)?;
        Ok(sandbox)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(std::fs::write(self.0.path().join(name), text)?)
    }

    fn read(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.0.path().join(name))?)
    }

    /// Runs a command over the driver in a mode. The driver reports what a command does not release.
    fn run(&self, line: &str, mode: &str) -> Result<Output> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_schedc"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).env("SCHEDC_CACHE", self.0.path());
        command.env("SCHEDC_CUDA_DRIVER", driver());
        command.env("FAKE_CUDA", format!("idle:1,leaks:1,clock:{BLOCK_NS},{mode}"));
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("the driver for tests: "), "{line} in mode {mode:?}: {errors}");
        Ok(output)
    }

    /// The standard output of a command that succeeds.
    fn stdout_of(&self, line: &str, mode: &str) -> Result<String> {
        let output = self.run(line, mode)?;
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn json_of(&self, line: &str, mode: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.stdout_of(line, mode)?)?)
    }

    /// The standard error of a command that is refused.
    fn refusal_of(&self, line: &str, mode: &str) -> Result<String> {
        let output = self.run(line, mode)?;
        let errors = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(2), "{line} in mode {mode:?}: {errors}");
        assert!(errors.contains("  help: "), "{errors}");
        Ok(errors)
    }
}

/// Whether a time of a row is that of some blocks by the driver's clock. Events count in floats of
/// milliseconds.
fn is_time_of_blocks(us_per_row: &Value, rows: f64, blocks: f64) -> bool {
    let wanted = blocks * BLOCK_NS * 1e-3 / rows;
    us_per_row.as_f64().is_some_and(|time| (time / wanted - 1.0).abs() < 1e-5)
}

/// Times are those between two events around the calls: neither the host's time nor the fills before the
/// calls are part of them. So all samples are equal, also if the GPU begins work while the host queues calls.
#[test]
fn events_time_kernels() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let line = "bench model.json -s direct.sched --rows-in device --batch 100,256,1000 --samples 5 --json";
    for mode in ["", "turns:1", "turns:2", "pageable:1"] {
        let run = sandbox.json_of(line, mode)?;
        assert_eq!(run["rows_in"], "device");
        let points = run["points"].as_array().ok_or("no points")?;
        assert_eq!(points.len(), 3);
        for (point, rows) in points.iter().zip([100.0f64, 256.0, 1000.0]) {
            let blocks = (rows / BLOCK_ROWS).ceil();
            for time in [&point["us_per_row"], &point["spread"][0], &point["spread"][1]] {
                assert!(is_time_of_blocks(time, rows, blocks), "{mode}: {point}");
            }
        }
    }
    let table = sandbox.stdout_of(&line.replace("--json", ""), "")?;
    assert!(table.contains("times of kernels, on rows in the GPU's memory"), "{table}");
    Ok(())
}

/// Whole calls have the times of their kernels beside them, in this build without the feature `cuda`. Calls
/// that the schedule keeps on the processor have none.
#[test]
fn kernels_are_timed_beside_whole_calls() -> Result<()> {
    let sandbox = Sandbox::new()?;
    sandbox.write("both.sched", &format!("{DIRECT}when n_rows <= 100 {{ interleave(tree, 2) }}\n"))?;
    let line = "bench model.json -s both.sched --batch 50,512 --samples 3 --json";
    let run = sandbox.json_of(line, "")?;
    let [few, many] = [&run["points"][0], &run["points"][1]];
    assert!(few["us_per_row"].as_f64() > Some(0.0) && few["kernel_us_per_row"].is_null(), "{few}");
    assert!(is_time_of_blocks(&many["kernel_us_per_row"], 512.0, 2.0), "{many}");
    assert!(run["rows_in"].is_null(), "{run}");
    let refusal = sandbox.refusal_of(&format!("{line} --rows-in device"), "")?;
    assert!(refusal.contains("both.sched keeps calls of 50 rows on the processor"), "{refusal}");

    // Without enough memory for resident rows, whole calls are still timed.
    let output = sandbox.run(line, "alloc:1")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && errors.contains("note: kernels alone are not timed"), "{errors}");
    Ok(())
}

/// Saved runs of whole calls and of kernels are not compared.
#[test]
fn runs_of_both_kinds_are_not_compared() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let line = "bench model.json -s direct.sched --batch 256 --samples 2";
    sandbox.stdout_of(&format!("{line} --rows-in device --save kernels.json"), "")?;
    sandbox.stdout_of(&format!("{line} --rows-in device --compare kernels.json"), "")?;
    let refusal = sandbox.refusal_of(&format!("{line} --compare kernels.json"), "")?;
    assert!(refusal.contains("kernels.json has times of kernels, and this run of whole calls"), "{refusal}");
    Ok(())
}

/// Each function of the driver may fail. The message names the task, and the command releases everything.
#[test]
fn failures_of_the_driver_name_the_task() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let line = "bench model.json -s direct.sched --rows-in device --batch 256 --samples 2";
    let cases = [
        ("stream:1", "make a stream"),
        ("event:1", "make an event"),
        ("event:2", "make an event"),
        ("cache:1", "find the size of the second-level cache"),
        ("alloc:1", "the rows do not fit into the GPU's memory: the driver could not allocate 491520 bytes"),
        ("alloc:2", "the rows do not fit into the GPU's memory: the driver could not allocate 32768 bytes"),
        ("alloc:3", "the rows do not fit into the GPU's memory: the driver could not allocate 262144 bytes"),
        ("copy:1", "copy rows to the GPU"),
        ("load:1", "timing kernels failed: the GPU has too little memory for the model's tables"),
        ("launch:1", "timing kernels failed: the GPU failed"),
        ("fill:1", "fill memory"),
        ("fill:8", "fill memory"),
        ("launch:2", "timing kernels failed: the GPU failed"),
        // The runtime records an event after each call, and the first call is not timed.
        ("record:2", "mark a time"),
        ("record:4", "mark a time"),
        ("query:1", "query a time"),
        ("wait:1", "wait for timed work"),
        ("elapsed:1", "measure the time between two events"),
    ];
    for (mode, message) in cases {
        let refusal = sandbox.refusal_of(line, mode)?;
        assert!(refusal.contains("timing kernels failed") && refusal.contains(message), "{mode}: {refusal}");
    }
    for mode in ["devices:0", "capability:50"] {
        let refusal = sandbox.refusal_of(line, mode)?;
        assert!(refusal.contains("and this machine has none"), "{mode}: {refusal}");
    }
    Ok(())
}

/// The search prefers schedules with short kernels. By the driver's clock these are the ones with the fewest
/// blocks. All results name the kind of the times.
#[test]
fn searches_compare_kernels() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let line = "tune model.json --target gpu(sm_90) --batch 1024 --budget 3s";
    let kernels = format!("{line} --rows-in device");
    let found = sandbox
        .json_of(&format!("{kernels} --json --save kernels.json --lock schedc.lock -o fast.sched"), "")?;
    assert_eq!((&found["timed"], &found["rows_in"]), (&true.into(), &"device".into()));
    let figure = &found["sizes"][0]["figures"][0];
    assert_eq!(figure["rows_in"], "device");
    let own = figure["chosen_us_per_row"]["median"].as_f64().ok_or("no time")?;
    let best = figure["us_per_row"]["median"].as_f64().ok_or("no time")?;
    assert!(best < 0.5 * own, "{figure}");
    let blocks = best * 1024.0 * 1e3 / BLOCK_NS;
    assert!(is_time_of_blocks(&figure["us_per_row"]["high"], 1024.0, blocks.round()), "{figure}");
    let text = sandbox.read("fast.sched")?;
    for part in
        ["were timed, kernels alone on rows in the GPU's memory", "// 1024 rows in the GPU's memory: "]
    {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let lock = sandbox.json_of("lock --json", "")?;
    assert_eq!(lock["entries"][0]["rows_in"], "device");
    let renewed = sandbox.run("lock --upgrade model.json --budget 200ms", "")?;
    assert!(renewed.status.success(), "{}", String::from_utf8_lossy(&renewed.stderr));
    let lock = sandbox.json_of("lock --json", "")?;
    assert_eq!(lock["entries"][0]["rows_in"], "device");
    assert!(lock["entries"][0]["us_per_row"]["median"].as_f64() < Some(0.5 * own), "{lock}");

    // A saved search continues only with times of the same kind.
    sandbox.stdout_of(&format!("{kernels} --resume kernels.json"), "")?;
    let whole = format!("{line} --resume kernels.json");
    for (line, kind) in [(&whole, "whole calls"), (&format!("{whole} --by-counts"), "from counts")] {
        let refusal = sandbox.refusal_of(line, "")?;
        assert!(refusal.contains("it has times of kernels, and this search has ") && refusal.contains(kind));
    }
    // Whole calls are the default, and named as such.
    let text = sandbox.stdout_of(line, "")?;
    for part in ["were timed, from host memory to host memory", "// 1024 rows in host memory, 1 thread: "] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    Ok(())
}

/// Options without an effect on kernels are refused, with help.
#[test]
fn options_without_effect_are_refused() -> Result<()> {
    let sandbox = Sandbox::new()?;
    let tune = "tune model.json --rows-in device";
    let bench = "bench model.json --rows-in device --batch 256";
    let cases = [
        (format!("{tune} --target cpu"), "--rows-in device times kernels, and needs a GPU as target"),
        (format!("{tune} --target gpu --by-counts"), "--by-counts times nothing"),
        (format!("{tune} --target gpu --threads 1,2"), "--threads has no effect on kernels"),
        (format!("{tune} --target gpu(gfx90a)"), "the search is for gfx90a, a GPU of AMD"),
        (bench.to_string(), "runs on the processor, and --rows-in device times kernels"),
        (format!("{bench} --target gpu --columns"), "--columns times calls from host memory"),
        (format!("{bench} --target gpu --baseline"), "plain nest runs on the processor"),
        (format!("{bench} --target gpu --threads 2"), "--threads has no effect on kernels"),
        (format!("{bench} --target gpu(gfx90a)"), "is for gfx90a, a GPU of AMD"),
    ];
    for (line, message) in cases {
        let refusal = sandbox.refusal_of(&line, "")?;
        assert!(refusal.contains(message), "{line}: {refusal}");
    }
    let refusal = sandbox.run(&format!("{bench} --target gpu --prefixes"), "")?;
    assert_eq!(refusal.status.code(), Some(2));
    Ok(())
}
