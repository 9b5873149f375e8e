use sched_lang::*;
#[test]
fn scratch() {
    let source = std::fs::read_to_string(std::env::var("SCHED").unwrap()).unwrap();
    let mut o = Options::default();
    if let Ok(n) = std::env::var("TREES") {
        let n: u32 = n.parse().unwrap();
        o.facts = Some(ModelFacts { num_trees: n, num_features: 28, num_classes: 1, depths: (0..n).map(|i| 4 + i * 4 / n).collect() });
    }
    let c = check(&source, &o);
    println!("{}", sched_lang::diagnostics::full::render("x.sched", &source, &c.diagnostics, false));
    if let Some(n) = c.nest { println!("{}", sched_lang::show::show_nest(&n)); }
}
