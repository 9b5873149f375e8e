//! Response times of requests for which the server runs `schedc`: stages of the compiler and measurements,
//! for a schedule of eight directives with a model.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use crate::client::Client;
use crate::{Elapsed, Result, end, greet, row, texts};

/// Timed requests for each stage of the compiler.
const STAGE_REQUESTS: usize = 30;
/// Timed requests for each kind of measurement.
const MEASUREMENT_REQUESTS: usize = 5;

/// The document of all requests.
const DOCUMENT_NAME: &str = "untitled:compiled";

/// Prints the time from each request, just after a keystroke, to its answer.
pub fn measure(program: &[String], model: &Path) -> Result<()> {
    let mut client = greet(program)?;
    let text = texts::eight_directives(model);
    client.open(DOCUMENT_NAME, 1, &text);
    let document = json!({ "uri": DOCUMENT_NAME });
    for (stage, aim) in [("mir", 50.0), ("asm", 150.0)] {
        let params = json!({ "textDocument": document, "stage": stage, "live": true });
        let times = requests(&mut client, &text, STAGE_REQUESTS, ("sched/ir", params))?;
        row(&format!("stage {stage} of eight directives"), times, aim);
    }
    let params = json!({ "textDocument": document, "measure": true });
    let times = requests(&mut client, &text, MEASUREMENT_REQUESTS, ("sched/ledger", params))?;
    row("ledger of eight directives", times, 1500.0);
    // The position of the tile's size.
    let place = json!({ "line": 1, "character": "tile(batch, b0, b1, ".len() });
    let argument = json!({ "uri": DOCUMENT_NAME, "position": place, "values": [64, 128, 256, 512, 1024] });
    let params = json!({ "command": "schedc.sweep", "arguments": [argument] });
    let times = requests(&mut client, &text, MEASUREMENT_REQUESTS, ("workspace/executeCommand", params))?;
    row("sweep of five values, eight directives", times, 2000.0);
    end(client)
}

/// Sends a request `count` times and once more. The text changes each time, so that no answer comes from a
/// cache. Omits the first time.
fn requests(
    client: &mut Client,
    text: &str,
    count: usize,
    (method, params): (&str, Value),
) -> Result<Vec<Elapsed>> {
    let mut times = Vec::new();
    // The first request may start `schedc`, which reads the model.
    for number in 0..=count {
        let changed = format!("{text}// {method} {number}\n");
        client.change(DOCUMENT_NAME, i32::try_from(number + 2)?, &[(Value::Null, &changed)]);
        let begin = Instant::now();
        let answer = client.request(method, params.clone());
        if let Some(error) = answer.get("error") {
            return Err(error.to_string().into());
        }
        times.push(Elapsed { passed: client.arrived.saturating_duration_since(begin), used: None });
        client.unread.clear();
    }
    Ok(times.split_off(1))
}
