//! Results of other programs for the server, for eight directives with a model: stages of the compiler, and
//! measurements.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::Client;
use crate::{Result, Time, end, greet, row, texts};

/// Stages that are timed of each kind.
const STAGES: usize = 30;
/// Measurements that are timed of each kind.
const MEASUREMENTS: usize = 5;

/// The document that everything is asked of.
const NAME: &str = "untitled:compiled";

/// Prints how long each takes, from the request on that follows a keystroke.
pub fn measure(program: &[String], model: &Path) -> Result<()> {
    let mut client = greet(program)?;
    let text = texts::eight(model);
    client.open(NAME, 1, &text);
    let document = json!({ "uri": NAME });
    for (stage, aim) in [("mir", 50.0), ("asm", 150.0)] {
        let params = json!({ "textDocument": document, "stage": stage, "live": true });
        let times = requests(&mut client, &text, STAGES, ("sched/ir", params))?;
        row(&format!("stage {stage} of eight directives"), times, aim);
    }
    let params = json!({ "textDocument": document, "measure": true });
    let times = requests(&mut client, &text, MEASUREMENTS, ("sched/ledger", params))?;
    row("ledger of eight directives", times, 1500.0);
    // The size of the tile.
    let place = json!({ "line": 1, "character": "tile(batch, b0, b1, ".len() });
    let argument = json!({ "uri": NAME, "position": place, "values": [64, 128, 256, 512, 1024] });
    let params = json!({ "command": "schedc.sweep", "arguments": [argument] });
    let times = requests(&mut client, &text, MEASUREMENTS, ("workspace/executeCommand", params))?;
    row("sweep of five values, eight directives", times, 2000.0);
    end(client)
}

/// Sends a request some times, each of another text, so that no answer is remembered.
fn requests(
    client: &mut Client,
    text: &str,
    count: usize,
    (method, params): (&str, Value),
) -> Result<Vec<Time>> {
    let mut times = Vec::new();
    // The first one may start a program, which reads the model.
    for number in 0..=count {
        let changed = format!("{text}// {method} {number}\n");
        client.change(NAME, i32::try_from(number + 2)?, &[(Value::Null, &changed)]);
        let begin = Instant::now();
        let answer = client.request(method, params.clone());
        if let Some(error) = answer.get("error") {
            return Err(error.to_string().into());
        }
        times.push(Time { passed: client.arrived.saturating_duration_since(begin), used: None });
        client.unread.clear();
    }
    Ok(times.split_off(1))
}
