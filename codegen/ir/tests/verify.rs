//! The verifier: one broken function for each rule.

use sched_ir::lir::{
    Address, Alloc, Bin, Block, Buffer, BufferId, BuildStmts, Builder, Carried, Cast, Cmp, For, Function,
    Gather, If, Interface, Joined, Keep, Math, Module, Op, Origins, OutputKind, Parallel, ProcessorKind,
    Scalar, Space, Stmt, Ty, Value, WalkSteps, While,
};
use sched_ir::verify::{MAX_NESTING, verify, verify_interface};
use sched_nest::Variants;

const F32: Ty = Ty::of(Scalar::F32);

/// A function of these statements. The values 0..8 are `i64`, 8..12 `f32`, 12..16 `i1`, 16..20 vectors
/// of four `f32`, 20..24 vectors of four `i1`, 24 is `i8`, 25..29 vectors of four `i32`, 29 of three
/// `f32`, 30 of 512 `f32`, 31 of four `i8`. Buffer 0 is the output, 1 private, 2 the input.
fn function(body: Block) -> Function {
    let vector = |scalar| Ty::vector(scalar, 4);
    let types = [
        (8, Ty::I64),
        (4, F32),
        (4, Ty::I1),
        (4, vector(Scalar::F32)),
        (4, vector(Scalar::I1)),
        (1, Ty::of(Scalar::I8)),
        (4, vector(Scalar::I32)),
        (1, Ty::vector(Scalar::F32, 3)),
        (1, Ty::vector(Scalar::F32, 512)),
        (1, vector(Scalar::I8)),
    ];
    let buffer = |name: &str, space| Buffer { name: name.to_string(), space, element: Scalar::F32 };
    Function {
        name: "f".to_string(),
        index: Scalar::I64,
        types: types.into_iter().flat_map(|(n, ty)| vec![ty; n]).collect(),
        origins: Origins::default(),
        buffers: vec![
            buffer("out", Space::Output),
            buffer("tmp", Space::Private),
            buffer("in", Space::Input),
        ],
        body,
    }
}

fn v(n: u32) -> Value {
    Value(n)
}

fn set(n: u32, op: Op) -> Stmt {
    Stmt::Let(v(n), op)
}

fn int(n: u32) -> Stmt {
    set(n, Op::Int(3))
}

fn truth(n: u32) -> Stmt {
    set(n, Op::Int(1))
}

fn float(n: u32) -> Stmt {
    set(n, Op::Float(1.0))
}

fn at(buffer: u32, index: u32) -> Address {
    Address { buffer: BufferId(buffer), index: v(index), stride: 4, offset: 0 }
}

fn carried(inside: u32, first: u32, next: u32, after: u32) -> Vec<Carried> {
    vec![Carried { inside: v(inside), first: v(first), next: v(next), after: v(after) }]
}

fn for_loop(carried: Vec<Carried>, body: Block) -> Stmt {
    Stmt::For(Box::new(For { iv: v(7), lo: v(0), hi: v(0), step: 1, carried, body }))
}

fn alloc(buffer: u32, bytes: u32, body: Block) -> Stmt {
    Stmt::Alloc(Box::new(Alloc { buffer: BufferId(buffer), bytes: v(bytes), body }))
}

fn if_else(cond: u32, then: Block, otherwise: Block, joined: Vec<Joined>) -> Stmt {
    Stmt::If(Box::new(If { cond: v(cond), then, otherwise, joined }))
}

fn while_loop(carried: Vec<Carried>, test: Block, cond: u32, body: Block) -> Stmt {
    Stmt::While(Box::new(While { carried, walk_steps: WalkSteps::default(), test, cond: v(cond), body }))
}

fn parallel(trip: u32, body: Block) -> Stmt {
    Stmt::Parallel(Box::new(Parallel { iv: v(6), trip: v(trip), body }))
}

#[track_caller]
fn accepts(body: Block) {
    assert_eq!(verify(&function(body)), Ok(()));
}

#[track_caller]
fn rejects(body: Block, why: &str) {
    let verdict = verify(&function(body));
    assert!(verdict.as_ref().is_err_and(|error| error.contains(why)), "{verdict:?} does not say `{why}`");
}

#[test]
fn functions_of_the_builder_are_accepted() {
    let mut b = Builder::new("f");
    let (input, out) =
        (b.buffer("in", Space::Input, Scalar::F32), b.buffer("out", Space::Output, Scalar::F32));
    let (zero, rows, size) = (b.int(0), b.n_rows(), b.int(64));
    b.alloc("tmp", Scalar::F32, size, |b, tmp| {
        b.parallel(rows, |b, i| {
            let x = b.load(F32, Address { buffer: input, index: i, stride: 4, offset: 0 });
            let sums = b.for_loop((zero, rows, 2), &[x], |b, _, c| vec![b.add(c[0], x)]);
            let test = |b: &mut Builder, c: &[Value]| b.cmp(Cmp::OLt, c[0], x);
            let last = b.while_loop(WalkSteps::default(), &sums, test, |b, c| vec![b.math(Math::Exp, c[0])]);
            let small = b.cmp(Cmp::ULe, last[0], x);
            let joined = b.if_else(small, |_| vec![x], |b| vec![b.mul(x, x)]);
            b.store(Address { buffer: tmp, index: i, stride: 4, offset: 0 }, joined[0]);
            b.atomic_add(Address { buffer: out, index: zero, stride: 4, offset: 0 }, joined[0]);
            b.prefetch(Address { buffer: input, index: i, stride: 4, offset: 64 });
        });
    });
    assert_eq!(verify(&b.finish()), Ok(()));
}

#[test]
fn values_are_defined_once_before_their_use_in_scope() {
    rejects(vec![int(0), int(0)], "%0 is defined twice");
    rejects(vec![set(1, Op::Bin(Bin::Add, v(0), v(0)))], "%0 is used where it is not defined");
    rejects(vec![set(1, Op::Bin(Bin::Add, v(1), v(1)))], "%1 is used where it is not defined");
    rejects(vec![int(99)], "%99 has no type");
    rejects(vec![Stmt::Store(at(0, 99), v(0))], "%99 has no type");
    let inside = vec![int(1)];
    rejects(
        vec![int(0), for_loop(vec![], inside.clone()), set(2, Op::Bin(Bin::Add, v(1), v(1)))],
        "%1 is used where",
    );
    rejects(vec![int(0), for_loop(vec![], inside.clone()), int(1)], "%1 is defined twice");
    rejects(
        vec![int(0), for_loop(vec![], inside), set(8, Op::Cast(Cast::IntToFloat, v(7)))],
        "%7 is used where",
    );
    rejects(vec![int(0), parallel(0, vec![]), set(8, Op::Cast(Cast::IntToFloat, v(6)))], "%6 is used where");
    rejects(
        vec![truth(12), if_else(12, vec![int(0)], vec![parallel(0, vec![])], vec![])],
        "%0 is used where",
    );
}

#[test]
fn types_fit_the_operation() {
    let mismatch = "cannot be";
    for (before, broken) in [
        (vec![], set(8, Op::Int(1))),
        (vec![], set(0, Op::Float(1.0))),
        (vec![], set(24, Op::RowCount)),
        (vec![int(0), float(8)], set(9, Op::Bin(Bin::Add, v(8), v(0)))),
        (vec![float(8), float(16)], set(17, Op::Bin(Bin::Mul, v(16), v(8)))),
        (vec![int(0)], set(1, Op::Bin(Bin::Div, v(0), v(0)))),
        (vec![float(8)], set(9, Op::Bin(Bin::And, v(8), v(8)))),
        (vec![truth(12)], set(13, Op::Bin(Bin::Add, v(12), v(12)))),
        (vec![int(0), set(1, Op::RowCount)], set(2, Op::Bin(Bin::IDiv, v(0), v(1)))),
        (vec![int(0), set(1, Op::Int(0))], set(2, Op::Bin(Bin::IDiv, v(0), v(1)))),
        (vec![set(24, Op::Int(200))], set(0, Op::Cast(Cast::Trunc, v(24)))),
        (vec![int(0)], set(1, Op::Cmp(Cmp::Lt, v(0), v(0)))),
        (vec![int(0)], set(12, Op::Cmp(Cmp::OLt, v(0), v(0)))),
        (vec![float(8)], set(12, Op::Cmp(Cmp::Eq, v(8), v(8)))),
        (vec![truth(12)], set(13, Op::Cmp(Cmp::Lt, v(12), v(12)))),
        (vec![float(16)], set(12, Op::Cmp(Cmp::OLt, v(16), v(16)))),
        (vec![int(0)], set(1, Op::Select(v(0), v(0), v(0)))),
        (vec![truth(20), float(8)], set(9, Op::Select(v(20), v(8), v(8)))),
        (vec![int(0)], set(1, Op::Cast(Cast::ZExt, v(0)))),
        (vec![float(8)], set(9, Op::Cast(Cast::Float, v(8)))),
        (vec![truth(12)], set(8, Op::Cast(Cast::IntToFloat, v(12)))),
        (vec![float(8)], set(0, Op::Cast(Cast::Bits, v(8)))),
        (vec![truth(20)], set(0, Op::Cast(Cast::ZExt, v(20)))),
        (vec![int(0)], set(1, Op::Math(Math::Exp, v(0)))),
        (vec![int(0)], set(1, Op::Fma(v(0), v(0), v(0)))),
        (vec![float(8), float(16)], set(9, Op::Fma(v(8), v(8), v(16)))),
        (vec![int(0)], set(1, Op::SquareRoot(v(0)))),
    ] {
        rejects([before, vec![broken]].concat(), mismatch);
    }
    rejects(vec![int(0), set(9, Op::Bin(Bin::Add, v(0), v(99)))], "%99 has no type");
}

#[test]
fn well_typed_operations_are_accepted() {
    accepts(vec![int(0), int(1), set(2, Op::Bin(Bin::IDiv, v(0), v(1)))]);
    accepts(vec![
        truth(12),
        truth(13),
        set(14, Op::Bin(Bin::And, v(12), v(13))),
        set(24, Op::Cast(Cast::ZExt, v(14))),
    ]);
    accepts(vec![
        float(16),
        set(20, Op::Cmp(Cmp::ULt, v(16), v(16))),
        set(17, Op::Select(v(20), v(16), v(16))),
    ]);
    accepts(vec![float(16), truth(12), set(17, Op::Select(v(12), v(16), v(16)))]);
    accepts(vec![int(0), set(16, Op::Load(at(2, 0), Keep::Invariant)), Stmt::Store(at(0, 0), v(16))]);
}

#[test]
fn accesses_have_an_index_a_stride_and_an_allocation() {
    rejects(vec![float(8), Stmt::Store(at(0, 8), v(8))], "an index is i64, but %8 is f32");
    rejects(vec![int(0), Stmt::Prefetch(Address { stride: 0, ..at(0, 0) })], "buffer `out` has stride 0");
    rejects(vec![int(0), Stmt::Prefetch(at(1, 0))], "buffer `tmp` is used outside its allocation");
    rejects(
        vec![int(0), alloc(1, 0, vec![]), Stmt::Prefetch(at(1, 0))],
        "`tmp` is used outside its allocation",
    );
    rejects(vec![int(0), Stmt::Prefetch(at(9, 0))], "buffer #9 is used outside its allocation");
    rejects(vec![int(0), truth(12), Stmt::Store(at(0, 0), v(12))], "truth values");
    rejects(vec![int(0), set(12, Op::Load(at(0, 0), Keep::Invariant))], "truth values");
    rejects(vec![int(0), Stmt::AtomicAdd(at(0, 0), v(0))], "a scalar float");
    rejects(vec![int(0), float(16), Stmt::AtomicAdd(at(0, 0), v(16))], "a scalar float");
    accepts(vec![int(0), alloc(1, 0, vec![Stmt::Prefetch(at(1, 0))])]);
}

#[test]
fn private_buffers_are_allocated_once() {
    rejects(vec![int(0), alloc(0, 0, vec![])], "`out` is allocated, but not private");
    rejects(vec![int(0), alloc(9, 0, vec![])], "buffer 9 is allocated, but not declared");
    rejects(vec![int(0), alloc(1, 0, vec![]), alloc(1, 0, vec![])], "buffer `tmp` is allocated twice");
    rejects(vec![int(0), alloc(1, 0, vec![alloc(1, 0, vec![])])], "buffer `tmp` is allocated twice");
    rejects(vec![float(8), alloc(1, 8, vec![])], "the size of temporary memory is i64");
}

#[test]
fn loops_have_integer_bounds_and_a_positive_step() {
    let broken = |lo, hi, step| {
        let stmt = For { iv: v(7), lo: v(lo), hi: v(hi), step, carried: vec![], body: vec![] };
        vec![int(0), float(8), Stmt::For(Box::new(stmt))]
    };
    rejects(broken(8, 0, 1), "the start of a loop is i64");
    rejects(broken(0, 8, 1), "the end of a loop is i64");
    rejects(broken(0, 0, 0), "has step 0");
    rejects(broken(0, 0, -1), "has step -1");
    rejects(vec![float(8), parallel(8, vec![])], "the number of iterations is i64");
}

#[test]
fn carried_values_have_one_type_and_are_defined() {
    accepts(vec![int(0), float(8), for_loop(carried(9, 8, 9, 10), vec![])]);
    rejects(vec![int(0), for_loop(carried(9, 0, 9, 10), vec![])], "a carried value is f32, but %0 is i64");
    rejects(vec![int(0), float(8), for_loop(carried(9, 8, 7, 10), vec![])], "a carried value is f32, but %7");
    rejects(vec![int(0), float(8), for_loop(carried(9, 8, 9, 1), vec![])], "a carried value is f32, but %1");
    rejects(vec![int(0), float(8), for_loop(carried(9, 8, 11, 10), vec![])], "%11 is used where");
    rejects(vec![int(0), float(8), for_loop(carried(9, 9, 8, 10), vec![])], "%9 is used where");
}

#[test]
fn tested_loops_compute_their_condition() {
    accepts(vec![int(0), while_loop(vec![], vec![set(12, Op::Cmp(Cmp::Eq, v(0), v(0)))], 12, vec![])]);
    accepts(vec![while_loop(vec![], vec![truth(12), int(0)], 12, vec![parallel(0, vec![])])]);
    rejects(vec![int(0), while_loop(vec![], vec![], 0, vec![])], "the condition of a loop is i1");
    rejects(vec![while_loop(vec![], vec![], 12, vec![truth(12)])], "%12 is used where");
}

#[test]
fn choices_join_values_of_both_arms() {
    let joined = |then, otherwise| vec![Joined { after: v(2), then: v(then), otherwise: v(otherwise) }];
    let both = |joined| vec![truth(12), if_else(12, vec![int(0), float(8)], vec![int(1)], joined)];
    accepts(both(joined(0, 1)));
    rejects(both(joined(0, 0)), "%0 is used where");
    rejects(both(joined(1, 1)), "%1 is used where");
    rejects(both(joined(8, 1)), "a value of a choice is i64, but %8 is f32");
    rejects(vec![int(0), if_else(0, vec![], vec![], vec![])], "a condition is i1");
}

#[test]
fn declarations_make_sense() {
    let mut f = function(vec![]);
    f.buffers[1].name = "out".to_string();
    assert_eq!(verify(&f), Err("two buffers are called `out`".to_string()));
    let mut f = function(vec![]);
    f.buffers[2].space = Space::Output;
    assert_eq!(verify(&f), Err("2 buffers are outputs, but a kernel has at most one".to_string()));
    let mut f = function(vec![]);
    f.types[3].lanes = 0;
    assert_eq!(verify(&f), Err("%3 has no lanes".to_string()));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |depth| {
        let nest = |body, _| vec![if_else(12, body, vec![], vec![])];
        [vec![truth(12)], (0..depth).fold(vec![], nest)].concat()
    };
    accepts(nested(MAX_NESTING - 1));
    rejects(nested(MAX_NESTING), "nested more than");
}

/// A gather from the input.
fn gather(base: u32, index: u32, mask: Option<u32>) -> Gather {
    Gather { buffer: BufferId(2), base: v(base), index: v(index), stride: 4, offset: 0, mask: mask.map(v) }
}

#[test]
fn vector_operations_are_accepted() {
    accepts(vec![
        set(25, Op::Iota),
        int(0),
        set(20, Op::Cmp(Cmp::Lt, v(25), v(25))),
        set(16, Op::Gather(gather(0, 25, None))),
        set(17, Op::Gather(gather(0, 25, Some(20)))),
        set(18, Op::LoadMasked(at(2, 0), v(20))),
        Stmt::StoreMasked(at(0, 0), v(18), v(20)),
        set(8, Op::Extract(v(18), 3)),
        set(19, Op::Splat(v(8))),
        set(12, Op::Any(v(20))),
        set(1, Op::MaskBits(v(20))),
        set(26, Op::Cast(Cast::ZExt, v(20))),
        set(13, Op::Extract(v(20), 0)),
        set(21, Op::Splat(v(13))),
    ]);
    accepts(vec![float(16), set(17, Op::TransposeStep(v(16), v(16), 2, 1))]);
    accepts(vec![set(25, Op::Iota), set(26, Op::LaneShift(v(25), 3))]);
    // Look-ups in float tables keep the element; those in integer tables widen it.
    accepts(vec![set(25, Op::Iota), float(16), set(17, Op::Lookup(v(16), v(25)))]);
    accepts(vec![set(25, Op::Iota), float(8), set(17, Op::Lookup(v(8), v(25)))]);
    accepts(vec![set(25, Op::Iota), set(26, Op::Lookup(v(25), v(25)))]);
    accepts(vec![set(25, Op::Iota), int(31), set(26, Op::Lookup(v(31), v(25)))]);
    accepts(vec![float(16), int(31), set(17, Op::Lookup(v(16), v(31)))]);
}

#[test]
fn operands_of_vector_operations_fit() {
    let lanes = || vec![int(0), set(25, Op::Iota), float(8), float(16), int(31), truth(12), truth(20)];
    for broken in [
        set(1, Op::Iota),
        set(17, Op::Iota),
        set(21, Op::Iota),
        set(17, Op::Splat(v(0))),
        set(17, Op::Splat(v(16))),
        set(9, Op::Splat(v(8))),
        set(9, Op::Extract(v(16), 4)),
        set(9, Op::Extract(v(8), 0)),
        set(1, Op::Extract(v(16), 0)),
        set(1, Op::MaskBits(v(12))),
        set(1, Op::MaskBits(v(25))),
        set(9, Op::MaskBits(v(20))),
        set(13, Op::Any(v(12))),
        set(13, Op::Any(v(25))),
        set(21, Op::Any(v(20))),
        set(17, Op::Lookup(v(16), v(0))),
        set(17, Op::Lookup(v(16), v(16))),
        set(17, Op::Lookup(v(16), v(20))),
        set(17, Op::Lookup(v(25), v(25))),
        set(26, Op::Lookup(v(16), v(25))),
        set(29, Op::Lookup(v(16), v(25))),
        set(26, Op::Lookup(v(20), v(25))),
        set(26, Op::Lookup(v(25), v(31))),
        set(17, Op::Concat(v(16), v(16))),
        set(9, Op::Concat(v(8), v(8))),
        set(17, Op::TransposeStep(v(16), v(16), 4, 0)),
        set(17, Op::TransposeStep(v(16), v(16), 0, 0)),
        set(17, Op::TransposeStep(v(16), v(16), 1, 2)),
        set(17, Op::TransposeStep(v(16), v(25), 1, 0)),
        set(26, Op::TransposeStep(v(16), v(16), 1, 0)),
        set(25, Op::LaneShift(v(25), 4)),
        set(26, Op::LaneShift(v(31), 1)),
        set(17, Op::LaneShift(v(16), 1)),
        set(21, Op::LaneShift(v(20), 1)),
        set(9, Op::Gather(gather(0, 25, None))),
        set(9, Op::LoadMasked(at(2, 0), v(20))),
    ] {
        assert!(verify(&function([lanes(), vec![broken.clone()]].concat())).is_err(), "{broken:?}");
    }
    let rejects = |broken, why| rejects([lanes(), vec![broken]].concat(), why);
    rejects(set(17, Op::Lookup(v(29), v(25))), "%29 is used where");
    rejects(set(17, Op::Gather(gather(25, 25, None))), "the base of a gather is i64, but %25");
    rejects(set(17, Op::Gather(gather(0, 0, None))), "the index of a gather is");
    rejects(set(17, Op::Gather(gather(0, 31, None))), "the index of a gather is");
    rejects(set(29, Op::Gather(gather(0, 25, None))), "the index of a gather is");
    rejects(set(17, Op::Gather(gather(0, 25, Some(25)))), "a mask is");
    rejects(set(17, Op::Gather(gather(0, 25, Some(12)))), "a mask is");
    rejects(set(21, Op::Gather(gather(0, 25, None))), "truth values");
    rejects(set(17, Op::Gather(Gather { stride: 0, ..gather(0, 25, None) })), "stride 0");
    rejects(
        set(17, Op::Gather(Gather { buffer: BufferId(1), ..gather(0, 25, None) })),
        "outside its allocation",
    );
    rejects(set(17, Op::LoadMasked(at(2, 0), v(25))), "cannot be LoadMasked");
    rejects(set(29, Op::LoadMasked(at(2, 0), v(20))), "cannot be LoadMasked");
    rejects(set(21, Op::LoadMasked(at(2, 0), v(20))), "truth values");
    rejects(set(17, Op::LoadMasked(at(1, 0), v(20))), "outside its allocation");
    rejects(Stmt::StoreMasked(at(0, 0), v(16), v(25)), "a mask is");
    rejects(Stmt::StoreMasked(at(0, 0), v(8), v(12)), "takes a vector");
    rejects(Stmt::StoreMasked(at(0, 0), v(20), v(20)), "truth values");
    rejects(Stmt::StoreMasked(at(1, 0), v(16), v(20)), "outside its allocation");
}

#[test]
fn tables_of_lookups_have_a_power_of_two_of_elements() {
    for table in [29, 30] {
        rejects(vec![set(25, Op::Iota), float(table), set(17, Op::Lookup(v(table), v(25)))], "cannot be");
    }
}

#[test]
fn kernels_use_the_element_types_of_the_interface() {
    let (f32, f64) = (Scalar::F32, Scalar::F64);
    let with = |kind: OutputKind, types| {
        verify_interface(&Module {
            kernels: vec![(kind.into(), function(Vec::new()))],
            tables: Vec::new(),
            types,
            rows_per_run: None,
            processors: Variants::only(ProcessorKind::Host),
            least_column_rows: None,
            transfer: None,
        })
    };
    let all = Interface::uniform(f32);
    let (rows, margins, results) = (
        Interface { rows: f64, ..all },
        Interface { margins: f64, ..all },
        Interface { results: f64, ..all },
    );
    for (kernel, types, fits) in [
        (OutputKind::Raw, all, true),
        (OutputKind::Raw, rows, false),
        (OutputKind::Raw, margins, false),
        (OutputKind::Raw, results, true),
        (OutputKind::Value, rows, true),
        (OutputKind::Value, margins, false),
        (OutputKind::Value, results, false),
        (OutputKind::Class, results, true),
        (OutputKind::Class, margins, false),
        (OutputKind::Leaf, all, false),
    ] {
        assert_eq!(with(kernel, types).is_ok(), fits, "{kernel:?} with {types:?}");
    }
    let what = with(OutputKind::Raw, rows).unwrap_err();
    assert_eq!(what, "kernel `f` has `in` of f32, and callers of f64");
}

#[test]
fn indices_have_the_index_type_of_the_function() {
    let with = |index, element| {
        let mut b = Builder::with_index("f", index);
        let out = b.buffer("out", Space::Output, Scalar::F32);
        let (zero, x, n) = (b.int_of(Ty::of(element), 0), b.float(F32, 1.0), b.n_rows());
        b.store(Address { buffer: out, index: zero, stride: 4, offset: 0 }, x);
        let first = b.int(0);
        b.for_loop((first, n, 1), &[], |_, _, _| Vec::new());
        verify(&b.finish())
    };
    for index in [Scalar::I32, Scalar::I64] {
        assert_eq!(with(index, index), Ok(()));
    }
    assert_eq!(with(Scalar::I32, Scalar::I64), Err("an index is i32, but %0 is i64".to_string()));
    assert_eq!(with(Scalar::I64, Scalar::I32), Err("an index is i64, but %0 is i32".to_string()));
    assert_eq!(with(Scalar::I16, Scalar::I16), Err("indices cannot be i16".to_string()));
}
