use super::*;
use sched_machines::Cpuid;
use std::path::Path;

#[test]
fn features_correct_a_name_that_they_contradict() {
    assert!(is_name_wrong("rocketlake", "+avx2,+avx512fp16,+fma"));
    assert!(!is_name_wrong("rocketlake", "+avx2,-avx512fp16,+fma"));
    assert!(!is_name_wrong("graniterapids", "+avx512fp16"));
}

const HEADER: &str = "\
/* Processor levels. Written from lang/machines/src/level.rs by
 * `UPDATE=1 cargo test -p sched-llvm --lib target`. */
#ifndef SCHEDC_LEVELS_H
#define SCHEDC_LEVELS_H
";

/// The table of processor levels as the C runtime includes it.
fn levels_header() -> String {
    let words = Cpuid::default().0.len();
    let mut text = format!(
        "{HEADER}\n#define SCHEDC_BASELINE \"{BASELINE}\"\n#define SCHEDC_CPUID_WORDS {words}\n\n\
         #define SCHEDC_LEVELS(X)"
    );
    for level in Level::ALL {
        let (word, is_target, bit) = (level.word(), level.is_target(), level.bit());
        let (below, state, lacking) =
            (level.extends().map_or(0, Level::needs), level.saved_state(), level.missing_instructions());
        let lower = level.extends().map_or(BASELINE, Level::word);
        let (detected, cpuid_only) = level.added_features();
        let Cpuid(words) = Cpuid::of(&[detected, cpuid_only].concat()).expect("every feature has a bit");
        let words = words.map(|word| format!("{word:#010x}")).join(", ");
        for line in [
            format!("    X(\"{word}\", {is_target}, {bit:#x}, {below:#x}, {words}, {state:#x},"),
            format!("      \"this processor lacks {lacking}, which the model was compiled for; \""),
            format!("      \"compile it for {lower}\")"),
        ] {
            text += &format!(" \\\n{line}");
        }
    }
    text + "\n\n#endif\n"
}

#[test]
fn the_runtime_has_the_levels_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime/levels.h");
    let expected = levels_header();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &expected).expect("the header is written");
    }
    let kept = std::fs::read_to_string(&path).expect("the header is there");
    assert_eq!(kept, expected, "run UPDATE=1 cargo test -p sched-llvm --lib target");
}
