//! Every table of a compiled module is read by one of its kernels.

use sched_ir::lir::{
    Address, BuildStmts, Builder, Interface, Module, OutputKind, ProcessorKind, Scalar, Space, Table, Ty,
};
use sched_ir::verify::verify;
use sched_nest::Variants;

use crate::cases::{CASES, case};

/// Tables that no kernel loads. Prefetches do not count as loads.
fn unread(module: &Module) -> Vec<String> {
    let is_read = |number: usize| {
        module.kernels.iter().any(|(_, function)| {
            let text = function.to_string();
            let lines = || text.lines().map(str::trim);
            let declared = format!(": table #{number}");
            let names = lines().filter_map(|line| line.strip_prefix("buffer ")?.strip_suffix(&declared));
            names
                .map(|name| format!(" {name}["))
                .any(|name| lines().any(|line| line.contains(&name) && !line.starts_with("prefetch")))
        })
    };
    (0..module.tables.len())
        .filter(|number| !is_read(*number))
        .map(|number| module.tables[number].name.clone())
        .collect()
}

#[test]
fn every_table_is_read() {
    let mut tables = 0;
    for seed in 0..CASES {
        let Some((_, _, text, [wide, _])) = case(seed) else { continue };
        let unread = unread(&wide.lir);
        assert!(
            unread.is_empty(),
            "seed {seed}: {unread:?} are never read\n{text}\n{}",
            wide.variants.rest().plan
        );
        tables += wide.lir.tables.len();
    }
    assert!(tables > 1000, "only {tables} tables");
}

#[test]
fn tables_that_are_only_prefetched_are_removed() {
    let mut b = Builder::new("f");
    let (zero, end) = (b.int(0), b.int(64));
    let [gone, kept] = [0, 1].map(|table| b.buffer("table", Space::ModelTable(table), Scalar::F32));
    let out = b.buffer("result", Space::Output, Scalar::F32);
    b.for_loop((zero, end, 64), &[], |b, index, _| {
        b.prefetch(Address::element(gone, index, Scalar::I8));
        Vec::new()
    });
    let value = b.load(Ty::of(Scalar::F32), Address::element(kept, zero, Scalar::F32));
    b.store(Address::element(out, zero, Scalar::F32), value);
    let table = |name: &str, byte| Table { name: name.to_string(), bytes: vec![byte; 4].into() };
    let module = Module {
        kernels: vec![(OutputKind::Raw.into(), b.finish())],
        tables: vec![table("gone", 1), table("kept", 2)],
        types: Interface::uniform(Scalar::F32),
        rows_per_run: None,
        processors: Variants::only(ProcessorKind::Host),
        least_column_rows: None,
        transfer: None,
    };
    let module = module.without_unread_tables();
    assert_eq!(module.tables, [table("kept", 2)]);
    let (_, function) = &module.kernels[0];
    assert_eq!(verify(function), Ok(()));
    let text = function.to_string();
    assert!(text.contains("table #0") && !text.contains("table #1"), "{text}");
    assert!(!text.contains("prefetch") && !text.contains("for "), "{text}");
}
