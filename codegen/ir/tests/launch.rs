//! Launches: proofs of the verifier, runs and races in the interpreter.

use sched_ir::interp::{CallMemory, InterpreterError, InterpreterOptions, Race, count_launches, run_with};
use sched_ir::lir::{
    Address, Bin, BufferId, BuildStmts, Builder, Cast, Cmp, Function, Gather, Op, Scalar, Space, Stmt, Ty,
    Value, WalkSteps,
};
use sched_ir::verify::verify;
use sched_nest::{GpuAxis, GpuDimension, GpuLevel};

const I32: Ty = Ty::of(Scalar::I32);
const THREADS: u32 = 8;
const BLOCKS: i64 = 4;
const ALL: i64 = BLOCKS * THREADS as i64;

const BLOCK: GpuDimension = GpuDimension { level: GpuLevel::Grid, axis: GpuAxis::X };
const THREAD: GpuDimension = GpuDimension { level: GpuLevel::Block, axis: GpuAxis::X };

fn at(buffer: BufferId, index: Value) -> Address {
    Address::element(buffer, index, Scalar::I32)
}

/// Indices of a thread.
struct Here {
    out: BufferId,
    block: Value,
    thread: Value,
    /// Number of the thread over all blocks.
    number: Value,
}

/// A function with one launch of `BLOCKS` blocks of `THREADS` threads.
fn launch(body: impl FnOnce(&mut Builder, &Here)) -> Function {
    let mut b = Builder::with_index("k", Scalar::I32);
    let out = b.buffer("out", Space::Output, Scalar::I32);
    let (blocks, one) = (b.int(BLOCKS), b.int(1));
    b.launch("work", [blocks, one, one], [THREADS, 1, 1], |b| {
        let (block, thread) = (b.id(BLOCK), b.id(THREAD));
        let before = b.mul_int(block, THREADS.into());
        let number = b.add(before, thread);
        body(b, &Here { out, block, thread, number });
    });
    b.finish()
}

fn call(function: &Function, seed: u64) -> Result<Vec<i32>, InterpreterError> {
    let mut output = vec![0; 4 * ALL as usize];
    let memory = CallMemory { rows: 1, input: &[], output: &mut output, tables: &[] };
    run_with(function, memory, &InterpreterOptions { seed, ..InterpreterOptions::default() })?;
    Ok(output.chunks_exact(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect())
}

/// Outcome of the function, which must agree in many orders of blocks and threads.
fn outcome(function: &Function) -> Result<Vec<i32>, InterpreterError> {
    let first = call(function, 0);
    for seed in 1..20 {
        match (&first, &call(function, seed)) {
            (Ok(a), Ok(b)) => assert_eq!(a, b),
            (Err(InterpreterError::Race(_)), Err(InterpreterError::Race(_))) => {}
            (a, b) => panic!("the outcome depends on the order: {a:?}, {b:?}"),
        }
    }
    first
}

fn race(function: &Function) -> Race {
    match outcome(function) {
        Err(InterpreterError::Race(race)) => *race,
        other => panic!("no race was found: {other:?}"),
    }
}

fn refused(function: &Function, why: &str) {
    let found = verify(function).unwrap_err();
    assert!(found.contains(why), "{found}");
}

/// A function in which each thread stores its value, runs the code of `meet`, and reads another thread's
/// value. Thread `n` of a block reads the value of thread `THREADS - 1 - n`.
fn mirrored(meet: impl FnOnce(&mut Builder)) -> Function {
    launch(|b, here| {
        let bytes = b.int(4 * i64::from(THREADS));
        b.alloc_in(Space::Shared, "mirror", Scalar::I32, bytes, |b, mirror| {
            b.store(at(mirror, here.thread), here.number);
            meet(b);
            let last = b.int(i64::from(THREADS) - 1);
            let other = b.sub(last, here.thread);
            let found = b.load(I32, at(mirror, other));
            b.store(at(here.out, here.number), found);
        });
    })
}

#[test]
fn every_thread_of_every_block_runs_once() {
    let function = launch(|b, here| {
        let twice = b.mul_int(here.number, 2);
        b.store(at(here.out, here.number), twice);
    });
    assert_eq!(outcome(&function).unwrap(), (0..ALL as i32).map(|n| 2 * n).collect::<Vec<_>>());
    let text = function.to_string();
    assert!(text.contains("launch work of 4 x 1 x 1 blocks of 8 x 1 x 1 threads {"), "{text}");
    assert!(text.contains("= id grid.x: i32") && text.contains("= id block.x: i32"), "{text}");
}

#[test]
fn threads_have_numbers_in_three_directions() {
    let mut b = Builder::with_index("k", Scalar::I32);
    let out = b.buffer("out", Space::Output, Scalar::I32);
    let [x, y, z] = [1, 2, 2].map(|n| b.int(n));
    b.launch("work", [x, y, z], [2, 2, 2], |b| {
        let mut number = b.int(0);
        for level in [GpuLevel::Grid, GpuLevel::Block] {
            for axis in [GpuAxis::Z, GpuAxis::Y, GpuAxis::X] {
                let id = b.id(GpuDimension { level, axis });
                let extent = if (level, axis) == (GpuLevel::Grid, GpuAxis::X) { 1 } else { 2 };
                number = b.mul_int(number, extent);
                number = b.add(number, id);
            }
        }
        b.store(at(out, number), number);
    });
    assert_eq!(outcome(&b.finish()).unwrap(), (0..ALL as i32).collect::<Vec<_>>());
}

#[test]
fn empty_grids_do_nothing() {
    for extents in [[0, 1, 1], [1, -3, 1], [1, 1, 0]] {
        let mut b = Builder::with_index("k", Scalar::I32);
        let out = b.buffer("out", Space::Output, Scalar::I32);
        let grid = extents.map(|n| b.int(n));
        b.launch("work", grid, [1, 1, 1], |b| {
            let zero = b.int(0);
            b.store(at(out, zero), zero);
        });
        assert_eq!(outcome(&b.finish()).unwrap(), [0; ALL as usize]);
    }
}

#[test]
fn threads_of_a_block_see_what_others_wrote_before_a_barrier() {
    let found = outcome(&mirrored(|b| b.barrier())).unwrap();
    let mirror = |n: i32| n / 8 * 8 + 7 - n % 8;
    assert_eq!(found, (0..ALL as i32).map(mirror).collect::<Vec<_>>());
}

#[test]
fn without_a_barrier_they_race_or_read_nothing() {
    let function = mirrored(|_| {});
    for seed in 0..20 {
        match call(&function, seed) {
            // The thread that runs first reads uninitialised memory.
            Err(InterpreterError::Uninitialised(_)) => {}
            Err(InterpreterError::Race(race)) => {
                let text = InterpreterError::Race(race).to_string();
                assert!(text.contains(" of block ") && text.contains("`launch work of 4 x 1 x 1"), "{text}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn blocks_race_whatever_barriers_there_are() {
    let function = launch(|b, here| {
        b.barrier();
        b.store(at(here.out, here.thread), here.number);
        b.barrier();
    });
    let race = race(&function);
    assert_eq!(race.threads, Some(THREADS));
    let threads = i64::from(THREADS);
    assert_eq!(race.iteration % threads, race.other_iteration % threads);
    assert_ne!(race.iteration / threads, race.other_iteration / threads);
}

#[test]
fn launches_run_one_after_the_other() {
    let mut b = Builder::with_index("k", Scalar::I32);
    let out = b.buffer("out", Space::Output, Scalar::I32);
    let one = b.int(1);
    let grid = [b.int(ALL), one, one];
    b.launch("first", grid, [1, 1, 1], |b| {
        let block = b.id(BLOCK);
        b.store(at(out, block), block);
    });
    b.launch("second", grid, [1, 1, 1], |b| {
        let block = b.id(BLOCK);
        let last = b.int(ALL - 1);
        let other = b.sub(last, block);
        let small = b.cmp(Cmp::Lt, block, other);
        // One thread of each pair exchanges the values that the first launch stored.
        b.when(small, |b| {
            let pair = [b.load(I32, at(out, block)), b.load(I32, at(out, other))];
            b.store(at(out, block), pair[1]);
            b.store(at(out, other), pair[0]);
        });
    });
    assert_eq!(outcome(&b.finish()).unwrap(), (0..ALL as i32).rev().collect::<Vec<_>>());
}

#[test]
fn atomic_additions_of_all_threads_agree() {
    let function = launch(|b, here| {
        let value = b.cast(Cast::IntToFloat, here.number, Ty::of(Scalar::F32));
        let zero = b.int(0);
        let first = b.cmp(Cmp::Eq, here.thread, zero);
        let bytes = b.int(4);
        b.alloc_in(Space::Shared, "sum", Scalar::F32, bytes, |b, sum| {
            let place = Address::element(sum, zero, Scalar::F32);
            b.when(first, |b| {
                let nothing = b.float(Ty::of(Scalar::F32), 0.0);
                b.store(place, nothing);
            });
            b.barrier();
            b.atomic_add(place, value);
            b.barrier();
            let all = b.load(Ty::of(Scalar::F32), place);
            b.store(Address::element(here.out, here.number, Scalar::F32), all);
        });
    });
    let found: Vec<f32> =
        outcome(&function).unwrap().iter().map(|bits| f32::from_bits(*bits as u32)).collect();
    let sum_of = |block: usize| (8 * block..8 * block + 8).sum::<usize>() as f32;
    assert_eq!(found, (0..ALL as usize).map(|n| sum_of(n / 8)).collect::<Vec<_>>());
}

#[test]
fn a_thread_keeps_its_values_and_its_memory_over_barriers() {
    let function = launch(|b, here| {
        let (bytes, zero, four) = (b.int(4), b.int(0), b.int(4));
        b.alloc("own", Scalar::I32, bytes, |b, own| {
            b.store(at(own, zero), here.number);
            let sums = b.for_loop((zero, four, 1), &[here.thread], |b, turn, sum| {
                b.barrier();
                let before = b.load(I32, at(own, zero));
                let more = b.add(before, turn);
                b.store(at(own, zero), more);
                vec![b.add(sum[0], turn)]
            });
            let kept = b.load(I32, at(own, zero));
            let scaled = b.mul_int(kept, 100);
            let total = b.add(scaled, sums[0]);
            b.store(at(here.out, here.number), total);
        });
    });
    let expected = |n: i32| 100 * (n + 6) + n % 8 + 6;
    assert_eq!(outcome(&function).unwrap(), (0..ALL as i32).map(expected).collect::<Vec<_>>());
}

#[test]
fn choices_and_loops_of_all_threads_may_have_barriers() {
    let function = launch(|b, here| {
        let bytes = b.int(4 * i64::from(THREADS));
        let (zero, one) = (b.int(0), b.int(1));
        b.alloc_in(Space::Shared, "ring", Scalar::I32, bytes, |b, ring| {
            b.store(at(ring, here.thread), here.thread);
            // Blocks with an odd number rotate the ring by that number; the others do not rotate it.
            let two = b.int(2);
            let half = b.bin(Bin::IDiv, here.block, two);
            let doubled = b.mul_int(half, 2);
            let odd = b.cmp(Cmp::Ne, doubled, here.block);
            let turned = b.if_else(
                odd,
                |b| {
                    b.while_loop(
                        WalkSteps::default(),
                        &[zero],
                        |b, turn| b.cmp(Cmp::Lt, turn[0], here.block),
                        |b, turn| {
                            b.barrier();
                            let next = b.add(here.thread, one);
                            let wraps = b.int(i64::from(THREADS));
                            let beyond = b.cmp(Cmp::Eq, next, wraps);
                            let next = b.select(beyond, zero, next);
                            let value = b.load(I32, at(ring, next));
                            b.barrier();
                            b.store(at(ring, here.thread), value);
                            vec![b.add(turn[0], one)]
                        },
                    )
                },
                |_| vec![zero],
            );
            let own = b.load(I32, at(ring, here.thread));
            let scaled = b.mul_int(turned[0], 100);
            let both = b.add(scaled, own);
            b.store(at(here.out, here.number), both);
        });
    });
    let expected = |n: i32| {
        let turns = if n / 8 % 2 == 1 { n / 8 } else { 0 };
        100 * turns + (n % 8 + turns) % 8
    };
    assert_eq!(outcome(&function).unwrap(), (0..ALL as i32).map(expected).collect::<Vec<_>>());
}

/// A function in which each thread stores its number, and the last block adds up the numbers of the same
/// thread of all blocks. `around` emits the statements before the ticket, for true, and after it. Blocks
/// count up to `count`.
fn added_by_last_block(count: i64, is_reset: bool, around: impl Fn(&mut Builder, bool)) -> Function {
    let mut b = Builder::with_index("k", Scalar::I32);
    let out = b.buffer("out", Space::Output, Scalar::I32);
    let (blocks, one, zero, word) = (b.int(BLOCKS), b.int(1), b.int(0), b.int(4));
    let bytes = b.int(4 * ALL);
    b.alloc("slots", Scalar::I32, bytes, |b, slots| {
        b.alloc_in(Space::Counters, "counters", Scalar::I32, word, |b, counters| {
            b.launch("work", [blocks, one, one], [THREADS, 1, 1], |b| {
                let (block, thread) = (b.id(BLOCK), b.id(THREAD));
                let before = b.mul_int(block, THREADS.into());
                let number = b.add(before, thread);
                b.store(at(slots, number), number);
                around(b, true);
                b.alloc_in(Space::Shared, "ticket", Scalar::I32, word, |b, shared| {
                    let ticket = b.ticket(at(counters, zero), shared);
                    let newest = b.int(count - 1);
                    let is_last = b.cmp(Cmp::Eq, ticket, newest);
                    b.when(is_last, |b| {
                        around(b, false);
                        let first = b.cmp(Cmp::Eq, thread, zero);
                        b.when(first, |b| {
                            if is_reset {
                                b.store(at(counters, zero), zero);
                            }
                        });
                        // Each thread reads the slots of another thread of the block.
                        let last = b.int(i64::from(THREADS) - 1);
                        let other = b.sub(last, thread);
                        let sum = b.for_loop((zero, blocks, 1), &[zero], |b, block, sum| {
                            let before = b.mul_int(block, THREADS.into());
                            let slot = b.add(before, other);
                            let slot = b.load(I32, at(slots, slot));
                            vec![b.add(sum[0], slot)]
                        });
                        for block in 0..BLOCKS {
                            let place = b.add_int(other, block * i64::from(THREADS));
                            b.store(at(out, place), sum[0]);
                        }
                    });
                });
            });
        });
    });
    b.finish()
}

/// The statements that order accesses: a barrier before a fence, and a fence before a barrier.
fn in_order(b: &mut Builder, is_before: bool) {
    if is_before {
        b.barrier();
        b.fence();
    } else {
        b.fence();
        b.barrier();
    }
}

#[test]
fn the_last_block_sees_what_others_wrote_before_their_tickets() {
    let sums = outcome(&added_by_last_block(BLOCKS, true, in_order)).unwrap();
    let sum = |n: i32| (0..4).map(|block| 8 * block + n % 8).sum::<i32>();
    assert_eq!(sums, (0..ALL as i32).map(sum).collect::<Vec<_>>());
}

#[test]
fn each_missing_fence_or_barrier_of_a_ticket_is_a_race() {
    let only = |has: [bool; 4]| {
        move |b: &mut Builder, is_before: bool| {
            let [barrier, fence] = if is_before { [has[0], has[1]] } else { [has[3], has[2]] };
            if is_before && barrier {
                b.barrier();
            }
            if fence {
                b.fence();
            }
            if !is_before && barrier {
                b.barrier();
            }
        }
    };
    for missing in 0..4 {
        let mut has = [true; 4];
        has[missing] = false;
        let race = race(&added_by_last_block(BLOCKS, true, only(has)));
        assert_eq!((race.threads, race.access.buffer.as_str()), (Some(THREADS), "slots"), "{missing}");
    }
    // A barrier on the wrong side orders nothing.
    race(&added_by_last_block(BLOCKS, true, |b, _| {
        b.fence();
        b.barrier();
    }));
}

#[test]
fn miscounted_blocks_and_kept_counters_are_found() {
    let early = call(&added_by_last_block(BLOCKS - 1, true, in_order), 0);
    assert!(matches!(early, Err(InterpreterError::Uninitialised(_))), "{early:?}");
    for function in
        [added_by_last_block(BLOCKS + 1, true, in_order), added_by_last_block(BLOCKS, false, in_order)]
    {
        let kept = InterpreterError::CounterKept { buffer: "counters".to_string() };
        assert_eq!(call(&function, 0), Err(kept.clone()));
        assert!(kept.to_string().contains("a counter of `counters` is not 0"));
    }
}

#[test]
fn tickets_are_for_counters_and_whole_blocks() {
    let with = |space: Space, some: bool| {
        let mut b = Builder::with_index("k", Scalar::I32);
        let (one, zero, bytes) = (b.int(1), b.int(0), b.int(4));
        b.alloc_in(space, "counters", Scalar::I32, bytes, |b, counters| {
            b.launch("work", [one; 3], [THREADS, 1, 1], |b| {
                b.alloc_in(Space::Shared, "ticket", Scalar::I32, bytes, |b, shared| {
                    let thread = b.id(THREAD);
                    let below = b.cmp(Cmp::Lt, thread, one);
                    let all = b.cmp(Cmp::Eq, zero, zero);
                    b.when(if some { below } else { all }, |b| {
                        b.ticket(at(counters, zero), shared);
                    });
                });
            });
        });
        b.finish()
    };
    verify(&with(Space::Counters, false)).unwrap();
    refused(&with(Space::Counters, true), "a ticket is in divergent control flow");
    refused(&with(Space::Private, false), "a ticket takes `counters` for Counters");
    let fence = launch(|b, here| {
        let three = b.int(3);
        let some = b.cmp(Cmp::Lt, here.thread, three);
        b.when(some, |b| b.fence());
    });
    refused(&fence, "a fence is in divergent control flow");
    let inside = launch(|b, _| {
        let bytes = b.int(4);
        b.alloc_in(Space::Counters, "c", Scalar::I32, bytes, |_, _| {});
    });
    refused(&inside, "the counters of buffer `c` are allocated inside a launch");
    let mut b = Builder::with_index("k", Scalar::I32);
    b.fence();
    refused(&b.finish(), "a fence is outside all launches");
}

#[test]
fn barriers_that_some_threads_miss_are_refused() {
    let below = |b: &mut Builder, here: &Here| {
        let three = b.int(3);
        b.cmp(Cmp::Lt, here.thread, three)
    };
    let choice = launch(|b, here| {
        let some = below(b, here);
        b.when(some, |b| b.barrier());
    });
    refused(&choice, "a barrier is in divergent control flow");
    let shared = launch(|b, here| {
        let some = below(b, here);
        let bytes = b.int(4);
        b.when(some, |b| b.alloc_in(Space::Shared, "s", Scalar::I32, bytes, |_, _| {}));
    });
    refused(&shared, "shared memory is in divergent control flow");
    let loop_over = launch(|b, here| {
        let zero = b.int(0);
        b.for_loop((zero, here.thread, 1), &[], |b, _, _| {
            b.barrier();
            Vec::new()
        });
    });
    refused(&loop_over, "a barrier is in divergent control flow");
    let from_memory = launch(|b, here| {
        let zero = b.int(0);
        b.store(at(here.out, here.number), here.number);
        let found = b.load(I32, at(here.out, here.number));
        let some = b.cmp(Cmp::Lt, zero, found);
        b.when(some, |b| b.barrier());
    });
    refused(&from_memory, "a barrier is in divergent control flow");
}

#[test]
fn values_that_leave_divergent_control_vary() {
    // The number of iterations differs between threads, and so does a counter in the loop.
    let after_loop = launch(|b, here| {
        let (zero, one, two) = (b.int(0), b.int(1), b.int(2));
        let count = b.for_loop((zero, here.thread, 1), &[zero], |b, _, count| vec![b.add(count[0], one)]);
        let some = b.cmp(Cmp::Lt, count[0], two);
        b.when(some, |b| b.barrier());
    });
    refused(&after_loop, "a barrier is in divergent control flow");
    let joined = launch(|b, here| {
        let (zero, one, three) = (b.int(0), b.int(1), b.int(3));
        let some = b.cmp(Cmp::Lt, here.thread, three);
        let value = b.if_else(some, |_| vec![zero], |_| vec![one]);
        let differs = b.cmp(Cmp::Eq, value[0], zero);
        b.when(differs, |b| b.barrier());
    });
    refused(&joined, "a barrier is in divergent control flow");
    // A carried value depends on the thread's number from the second iteration on.
    let carried = launch(|b, here| {
        let (zero, four) = (b.int(0), b.int(4));
        b.for_loop((zero, four, 1), &[zero, zero], |b, _, carried| {
            let first = b.cmp(Cmp::Eq, carried[1], zero);
            b.when(first, |b| b.barrier());
            vec![here.thread, carried[0]]
        });
    });
    refused(&carried, "a barrier is in divergent control flow");
}

#[test]
fn ill_formed_launches_are_refused() {
    let mut b = Builder::with_index("k", Scalar::I32);
    let one = b.int(1);
    b.launch("large", [one; 3], [32, 33, 1], |_| {});
    refused(&b.finish(), "launch `large` has blocks of 32 x 33 x 1 threads");
    let mut b = Builder::with_index("k", Scalar::I32);
    let one = b.int(1);
    b.launch("empty", [one; 3], [1, 0, 1], |_| {});
    refused(&b.finish(), "1 x 0 x 1 threads");
    let mut b = Builder::with_index("k", Scalar::I32);
    let one = b.int(1);
    b.launch("twice", [one; 3], [1; 3], |_| {});
    b.launch("twice", [one; 3], [1; 3], |_| {});
    let mut twice = b.finish();
    assert!(
        twice.to_string().contains("launch twice2 of"),
        "the builder gives the second one a number: {twice}"
    );
    for stmt in &mut twice.body {
        if let Stmt::Launch(launch) = stmt {
            launch.name = "twice".to_string();
        }
    }
    refused(&twice, "two launches are called `twice`");
    let mut b = Builder::with_index("k", Scalar::I32);
    let one = b.int(1);
    b.parallel(one, |b, _| b.launch("inner", [one; 3], [1; 3], |_| {}));
    refused(&b.finish(), "launch `inner` is inside a parallel loop or a launch");
    let mut b = Builder::with_index("k", Scalar::I32);
    b.barrier();
    refused(&b.finish(), "a barrier is outside all launches");
    let mut b = Builder::with_index("k", Scalar::I32);
    b.id(THREAD);
    refused(&b.finish(), Op::Id(THREAD).name());
    let mut b = Builder::with_index("k", Scalar::I32);
    let bytes = b.int(4);
    b.alloc_in(Space::Shared, "s", Scalar::I32, bytes, |_, _| {});
    refused(&b.finish(), "buffer `s` is allocated in shared memory outside a launch");
    let parallel = launch(|b, here| b.parallel(here.thread, |_, _| {}));
    refused(&parallel, "a parallel loop is inside a launch");
    let sized = launch(|b, here| b.alloc("m", Scalar::I32, here.thread, |_, _| {}));
    refused(&sized, "has a size that is not constant");
    let nested = launch(|b, here| b.launch("inner", [here.thread; 3], [1; 3], |_| {}));
    refused(&nested, "launch `inner` is inside");
}

#[test]
fn memory_and_time_are_limited() {
    let large = launch(|b, _| {
        let bytes = b.int(1 << 30);
        b.alloc_in(Space::Shared, "large", Scalar::I32, bytes, |_, _| {});
    });
    assert!(matches!(call(&large, 0), Err(InterpreterError::Allocation { .. })));
    let mut b = Builder::with_index("k", Scalar::I32);
    let many = b.int(1 << 30);
    b.launch("many", [many; 3], [1; 3], |_| {});
    assert!(matches!(call(&b.finish(), 0), Err(InterpreterError::TooLong { .. })));
}

#[test]
fn accesses_are_counted_by_warps() {
    // Each thread of two warps of four lanes writes its own word, and reads a word of another bank at 8
    // times the distance.
    let function = launch(|b, here| {
        let bytes = b.int(4 * 8 * 32);
        b.alloc_in(Space::Shared, "grid", Scalar::I32, bytes, |b, grid| {
            let far = b.mul_int(here.thread, 32);
            b.store(at(grid, far), here.number);
            b.barrier();
            let found = b.load(I32, at(grid, far));
            b.store(at(here.out, here.number), found);
        });
    });
    let mut output = vec![0; 4 * ALL as usize];
    let memory = CallMemory { rows: 1, input: &[], output: &mut output, tables: &[] };
    let launches = count_launches(&function, memory, &InterpreterOptions::default(), 4).unwrap();
    let [launch] = launches.as_slice() else { panic!("{launches:?}") };
    assert_eq!((launch.name.as_str(), launch.runs, launch.blocks), ("work", 1, BLOCKS as u64));
    assert_eq!((launch.grid, launch.block), ([BLOCKS as u64, 1, 1], [THREADS, 1, 1]));
    assert_eq!((launch.shared_bytes, launch.barriers), (4 * 8 * 32, BLOCKS as u64));
    let costs = &launch.accesses;
    let numbers: Vec<_> = costs
        .iter()
        .map(|cost| {
            (cost.buffer.as_str(), cost.is_shared, cost.warp_executions, cost.active_lanes, cost.transfers)
        })
        .collect();
    // Eight warps in all: their lanes read from one bank of shared memory, and write half a sector
    // each.
    assert_eq!(numbers, [("grid", true, 8, 32, 32), ("grid", true, 8, 32, 32), ("out", false, 8, 32, 8)]);
    assert!(costs[2].statement.starts_with("store out["), "{}", costs[2].statement);
}

/// Counts the lanes of a gather as separate accesses, each made by all threads of a warp together.
#[test]
fn lanes_with_separate_addresses_are_counted_separately() {
    let function = launch(|b, here| {
        let bytes = b.int(4 * 64);
        b.alloc_in(Space::Shared, "grid", Scalar::I32, bytes, |b, grid| {
            for part in 0..4 {
                let place = b.mul_int(here.thread, 4);
                let place = b.add_int(place, part);
                b.store(at(grid, place), place);
            }
            b.barrier();
            let lanes = Ty { scalar: Scalar::I32, lanes: 4 };
            let iota = b.iota(lanes);
            let base = b.mul_int(here.thread, 4);
            let gather = Gather { buffer: grid, base, index: iota, stride: 4, offset: 0, mask: None };
            let found = b.gather(Scalar::I32, gather);
            let last = b.extract(found, 3);
            b.store(at(here.out, here.number), last);
        });
    });
    let mut output = vec![0; 4 * ALL as usize];
    let memory = CallMemory { rows: 1, input: &[], output: &mut output, tables: &[] };
    let launches = count_launches(&function, memory, &InterpreterOptions::default(), 8).unwrap();
    let gather = launches[0].accesses.iter().find(|cost| cost.statement.contains("gather")).unwrap();
    // One warp per block; a lane of all its threads is in every fourth bank.
    assert_eq!((gather.warp_executions, gather.active_lanes, gather.transfers), (16, 128, 16), "{gather:?}");
}
