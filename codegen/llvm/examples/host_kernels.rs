//! Makes the files with which tests of other languages call GPU code without a GPU. They are the driver of
//! this crate's tests, and the kernels of a model under a schedule, in the form that this driver loads.
//!
//!     host_kernels MODEL.json SCHEDULE FOLDER
//!
//! The folder gets `driver.so` and `launches.so`. A program `ptxas` that writes `launches.so` puts these
//! kernels into the libraries of `schedc build`.

#[path = "../tests/standin/files.rs"]
mod files;

use sched_ir::lir::OutputKind;
use sched_ir::{Budget, compile};
use sched_lang::{CheckOptions, CheckPurpose, Target, check};
use sched_testing::forests;
use std::path::Path;
use std::{env, fs};

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [model, schedule, folder] =
        <[String; 3]>::try_from(arguments).expect("the arguments MODEL SCHEDULE FOLDER");
    let forest = sched_forest::read(&fs::read(model).expect("a file")).expect("a model");
    let text = fs::read_to_string(schedule).expect("a file");
    let options = CheckOptions {
        model: Some(forests::model_info(&forest).into()),
        purpose: CheckPurpose::Display,
        target: Some(Target::gpu()),
        ..CheckOptions::default()
    };
    let nest = check(&text, &options).nests.expect("a legal schedule");
    let compiled = compile(forest, None, nest, &OutputKind::ALL, &Budget::default()).expect("code");
    let folder = Path::new(&folder);
    files::image(folder, &compiled.lir);
    files::driver(folder);
}
