//! Launches as code objects of AMD's GPUs: kernels link, their metadata agree with the launches, and several
//! loads are issued before the first wait. If LLD is missing, the tests that need it report that they were
//! skipped.

use crate::launches::{ALL, DIRECT, WALKS, compiled, examples, model, schedules};
use sched_forest::Forest;
use sched_ir::lir::{Block, Launch, Module, Stmt};
use sched_llvm::{CodeObject, Cpu, Gpu, amdgpu_text, asm_text, code_object, codes, ptx_text};
use sched_machines::{GpuKind, Maker};
use sched_testing::schedules::Rng;
use sched_testing::{forests, in_turn};

/// The GPUs of AMD in the table.
fn gpus() -> impl Iterator<Item = &'static GpuKind> {
    GpuKind::of_maker(Maker::Amd)
}

/// The GPUs of AMD for case `number`.
fn gpus_in_turn(number: usize) -> Vec<&'static GpuKind> {
    in_turn(number, &gpus().collect::<Vec<_>>()).to_vec()
}

fn gpu(name: &str) -> Gpu {
    name.parse().expect("a GPU")
}

fn lir(forest: &Forest, schedule: &str) -> Module {
    compiled(forest, schedule, &ALL).expect("the schedule is legal").lir
}

fn linked(module: &Module, gpu: Gpu) -> Option<CodeObject> {
    match code_object(module, gpu) {
        Ok(object) => Some(object),
        Err(error) if error.code == codes::NO_TOOL => {
            println!("left out: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// All launches of a module, with the names of their kernels.
fn launches_of(module: &Module) -> Vec<(String, &Launch)> {
    fn find<'m>(body: &'m Block, found: &mut Vec<&'m Launch>) {
        for stmt in body {
            match stmt {
                Stmt::Launch(launch) => found.push(launch),
                other => other.blocks().into_iter().for_each(|block| find(block, found)),
            }
        }
    }
    let mut all = Vec::new();
    for (_, function) in &module.kernels {
        let mut found = Vec::new();
        find(&function.body, &mut found);
        all.extend(
            found.into_iter().map(|launch| (format!("schedc_{}_{}", function.name, launch.name), launch)),
        );
    }
    all
}

#[test]
fn kernels_link_and_list_their_parameters() {
    let models = [model(), forests::forest(&mut Rng(1))];
    let cases = models.iter().flat_map(|f| examples().into_iter().map(move |e| (f, e)));
    for (number, (forest, (name, schedule))) in cases.enumerate() {
        let Some(module) = compiled(forest, &schedule, &ALL).map(|compiled| compiled.lir) else { continue };
        for kind in gpus_in_turn(number) {
            let gpu = gpu(kind.name);
            let Some(object) = linked(&module, gpu) else { return };
            let launches = launches_of(&module);
            assert_eq!(object.kernels.len(), launches.len(), "{name}");
            for (kernel, launch) in launches {
                let found =
                    object.kernels.iter().find(|k| k.name == kernel).expect("the kernel is described");
                assert_eq!(found.max_threads, launch.threads(), "{name}, {gpu}: {found:?}");
                assert_eq!(found.wavefront_threads, kind.warp, "{gpu}");
                let spills = (found.vector_spills, found.scalar_spills, found.stack_bytes);
                assert_eq!(spills, (0, 0, 0), "{name}, {gpu}: {found:?}");
                // The kernel that packs columns takes nine numbers for each of eight columns.
                let most = if kernel == "schedc_pack_columns" { 640 } else { 100 };
                assert!((4..most).contains(&found.parameter_bytes), "{name}, {gpu}: {found:?}");
            }
        }
    }
}

#[test]
fn copies_of_rows_are_in_shared_memory_between_fences() {
    let module = lir(&model(), &format!("{DIRECT}cache(b0)\n"));
    for name in gpus().map(|kind| kind.name) {
        if let Some(object) = linked(&module, gpu(name)) {
            let kernel = object.kernels.iter().find(|k| k.name == "schedc_raw_b0").expect("a kernel");
            // The trees test 28 of 30 features.
            assert_eq!(kernel.shared_bytes, 128 * 28 * 4, "{kernel:?}");
        }
        let text = amdgpu_text(&module, gpu(name)).expect("assembly");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let mut compared = 0;
        for at in (0..lines.len()).filter(|at| lines[*at].starts_with("s_barrier")) {
            let stores = |line: &str| line.starts_with("ds_write") || line.starts_with("ds_store");
            let Some(stored) = lines[..at].iter().rposition(|line| stores(line)) else { continue };
            // A thread's writes are complete before it waits at the barrier.
            let waits = |line: &str| line.starts_with("s_waitcnt") && line.contains("lgkmcnt(0)");
            assert!(lines[stored..at].iter().any(|line| waits(line)), "{text}");
            compared += 1;
        }
        assert!(compared > 0, "{text}");
        assert!(text.contains("ds_write") || text.contains("ds_store"), "{text}");
        assert!(!text.contains("s_swappc") && !text.contains("schedc_barrier@"), "calls are left: {text}");
    }
}

#[test]
fn nothing_is_fused_and_nothing_flushed_to_zero() {
    for (number, (_, schedule)) in examples().into_iter().enumerate() {
        for name in gpus_in_turn(number).into_iter().map(|kind| kind.name) {
            let module = compiled(&model(), &schedule, &WALKS).expect("the schedule is legal").lir;
            let text = amdgpu_text(&module, gpu(name)).expect("assembly");
            let fused =
                |line: &&str| ["v_fma", "v_mad_f", "v_mac_f", "v_pk_fma"].iter().any(|op| line.contains(op));
            assert_eq!(text.lines().find(fused), None, "{name}");
            assert!(text.contains(".amdhsa_float_denorm_mode_32 3"), "{text}");
            assert!(text.contains(".amdhsa_float_round_mode_32 0"), "{text}");
        }
    }
}

/// The code of every schedule has no function calls, also with atomic additions.
#[test]
fn every_schedule_has_code() {
    for (number, (name, schedule)) in schedules().into_iter().enumerate() {
        let module = lir(&model(), &schedule);
        for of in gpus_in_turn(number).into_iter().map(|kind| kind.name) {
            let text = amdgpu_text(&module, gpu(of)).expect("assembly");
            assert_eq!(text.matches(".amdhsa_kernel ").count(), launches_of(&module).len(), "{name}, {of}");
            assert!(!text.contains("s_swappc"), "{name}, {of}: {text}");
            let takes_tickets =
                module.kernels.iter().any(|(_, kernel)| kernel.to_string().contains(" = ticket of "));
            let has_atomics = takes_tickets || schedule.contains("atomicReduce");
            assert_eq!(text.contains("global_atomic_"), has_atomics, "{name}, {of}: {text}");
        }
    }
}

/// Each thread's slots are complete on the device before the block takes a ticket. The last block drops what
/// its caches hold before it loads slots.
#[test]
fn the_last_block_folds_behind_fences() {
    let schedule = "tile(batch, b0, b1, 128)\ntile(tree, t0, t1, 25)\nreorder(b0, t0, b1, t1)\n\
                    gpuDimension(b0, grid.x)\ngpuDimension(t0, grid.y)\ngpuDimension(b1, block.x)\n";
    let module = lir(&model(), schedule);
    for name in gpus().map(|kind| kind.name) {
        let text = amdgpu_text(&module, gpu(name)).expect("assembly");
        let start = text.find("\nschedc_raw_b0:").expect("the kernel of margins");
        let lines: Vec<&str> =
            text[start..].lines().map(str::trim).take_while(|line| !line.starts_with("s_endpgm")).collect();
        let first = |from: usize, words: &[&str]| {
            let has = |line: &&str| words.iter().any(|word| line.starts_with(word));
            lines[from..].iter().position(has).map(|at| from + at)
        };
        let stored = first(0, &["global_store_"]).expect("a slot is stored");
        let count = first(stored, &["global_atomic_add"]).expect("a ticket");
        let complete = |line: &&str| {
            line.starts_with("s_waitcnt") && (line.contains("vmcnt(0)") || line.contains("vscnt null, 0x0"))
        };
        assert!(lines[stored..count].iter().any(complete), "{name}: {text}");
        let invalidations = ["buffer_wbinvl1", "buffer_inv sc1", "buffer_gl1_inv"];
        let dropped = first(count, &invalidations).expect("caches are dropped");
        let loaded = first(count, &["global_load_"]).expect("slots are loaded");
        assert!(dropped < loaded, "{name}: {text}");
        assert!(first(count, &["s_barrier"]).is_some(), "{name}: {text}");
        assert!(!text.contains("s_swappc") && !text.contains("schedc_fence@"), "calls are left: {text}");
    }
}

/// The loads of interleaved walks of several trees are issued before any is waited for. With LLVM's switches
/// for x86, code would wait for each load before the next one. So other threads generate code for x86 during
/// the test.
#[test]
fn loads_are_issued_together_also_while_code_for_x86_is_made() {
    let schedule = format!("{DIRECT}tile(tree, t0, t1, 4)\nunrollWalk(t1, 2)\ninterleave(t1, 4)\n");
    let module = lir(&model(), &schedule);
    let on_cpu = module_for_processors();
    let alone = amdgpu_text(&module, gpu("gfx90a")).expect("assembly");
    let most = most_loads_before_a_wait(&alone);
    assert!(most >= 8, "at most {most} loads are under way together: {alone}");
    std::thread::scope(|scope| {
        let busy = || (0..4).for_each(|_| drop(asm_text(&on_cpu, Cpu::X86_64V3).expect("assembly")));
        scope.spawn(busy);
        for _ in 0..4 {
            assert_eq!(amdgpu_text(&module, gpu("gfx90a")).expect("assembly"), alone);
        }
    });
}

/// The example model for processors.
fn module_for_processors() -> Module {
    let options = sched_lang::CheckOptions {
        model: Some(forests::model_info(&model()).into()),
        purpose: sched_lang::CheckPurpose::Compile,
        ..sched_lang::CheckOptions::default()
    };
    let nest = sched_lang::check("interleave(tree, 4)\n", &options).nests.expect("the schedule is legal");
    let compiled = sched_ir::compile(model(), None, nest, &ALL, &sched_ir::Budget::default());
    compiled.expect("there is code for it").lir
}

/// The largest number of loads between two waits, in the order of the text.
fn most_loads_before_a_wait(text: &str) -> usize {
    let mut most = 0;
    let mut loads = 0;
    for line in text.lines().map(str::trim) {
        if line.starts_with("global_load") {
            loads += 1;
            most = most.max(loads);
        } else if line.starts_with("s_waitcnt") {
            loads = 0;
        }
    }
    most
}

#[test]
fn each_maker_has_its_form_of_code() {
    let module = lir(&model(), DIRECT);
    let ptx = ptx_text(&module, gpu("gfx90a")).expect_err("AMD has no PTX");
    assert_eq!(ptx.code, codes::UNKNOWN_CPU);
    for error in [
        amdgpu_text(&module, Gpu::default()).expect_err("NVIDIA has other code"),
        code_object(&module, Gpu::default()).expect_err("NVIDIA has other code"),
    ] {
        assert_eq!(error.code, codes::UNKNOWN_CPU);
        assert!(error.message.contains("sm_80"), "{error}");
    }
    for name in gpus().map(|kind| kind.name) {
        assert_eq!(gpu(name).to_string(), name);
        assert_eq!(gpu(name).maker(), Maker::Amd);
    }
}
