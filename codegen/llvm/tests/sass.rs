//! Numbers of instructions of the loops of kernels in NVIDIA's machine code, by pipe: the part of a
//! multiprocessor that runs them. Files of `tests/sass` have the expected numbers for one version of `ptxas`;
//! `UPDATE=1` rewrites them. Without that version of `ptxas`, or without `nvdisasm`, the test reports that it
//! was skipped.

use crate::launches::{compiled, examples, model};
use sched_ir::lir::OutputKind;
use sched_llvm::{Gpu, Ptxas, ptx_text};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

/// The version of `ptxas` for which numbers are stored.
const VERSION: &str = "13.5.37";

/// The part of a multiprocessor that runs an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Pipe {
    Shared,
    Global,
    Constant,
    Alu,
    Fma,
    Double,
    Special,
    Uniform,
    Branch,
    Barrier,
}

impl Pipe {
    fn of(instruction: &str) -> Pipe {
        let name = instruction.split(['.', ' ']).next().unwrap_or(instruction);
        match name {
            "LDS" | "STS" | "LDSM" | "ATOMS" => Pipe::Shared,
            "LDG" | "STG" | "LD" | "ST" | "ATOM" | "ATOMG" | "RED" => Pipe::Global,
            "LDC" | "ULDC" => Pipe::Constant,
            "IMAD" | "FADD" | "FMUL" | "FFMA" | "HFMA2" | "IDP" => Pipe::Fma,
            "DADD" | "DMUL" | "DFMA" | "DSETP" => Pipe::Double,
            "MUFU" | "I2F" | "F2I" | "F2F" | "I2I" | "FRND" | "POPC" | "FLO" => Pipe::Special,
            "BRA" | "BSSY" | "BSYNC" | "EXIT" | "CALL" | "RET" | "WARPSYNC" | "YIELD" | "BREAK" => {
                Pipe::Branch
            }
            "BAR" | "MEMBAR" | "DEPBAR" | "ERRBAR" | "CCTL" => Pipe::Barrier,
            "S2R" | "S2UR" | "R2UR" | "CS2R" => Pipe::Uniform,
            name if name.starts_with('U') => Pipe::Uniform,
            _ => Pipe::Alu,
        }
    }
}

/// A kernel in the disassembler's output.
struct Kernel {
    name: String,
    /// Instructions without their predicates.
    code: Vec<String>,
    /// For each label, the instruction after it.
    labels: BTreeMap<String, usize>,
}

fn kernels(text: &str) -> Vec<Kernel> {
    let mut all: Vec<Kernel> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix(".text.").and_then(|line| line.strip_suffix(':')) {
            all.push(Kernel { name: name.to_string(), code: Vec::new(), labels: BTreeMap::new() });
        }
        let Some(kernel) = all.last_mut() else { continue };
        if let Some(label) = line.strip_suffix(':') {
            kernel.labels.insert(label.to_string(), kernel.code.len());
        }
        let Some((_, rest)) = line.strip_prefix("/*").and_then(|line| line.split_once("*/")) else {
            continue;
        };
        let code = rest.trim().trim_end_matches(';').trim();
        let code =
            if code.starts_with('@') { code.split_once(' ').map_or(code, |(_, code)| code) } else { code };
        kernel.code.push(code.trim().to_string());
    }
    // Instructions after the last exit are padding.
    for kernel in &mut all {
        let used = kernel.code.iter().rposition(|code| code.starts_with("EXIT")).map_or(0, |last| last + 1);
        kernel.code.truncate(used);
    }
    all
}

impl Kernel {
    /// Innermost loops, from a label to a branch back to it.
    fn loops(&self) -> Vec<Range<usize>> {
        let back = |(at, code): (usize, &String)| {
            let label = code.strip_prefix("BRA")?.split(['(', ')']).nth(1)?;
            let to = *self.labels.get(label)?;
            (to <= at).then_some(to..at + 1)
        };
        let all: Vec<Range<usize>> = self.code.iter().enumerate().filter_map(back).collect();
        let inner = |range: &&Range<usize>| {
            !all.iter().any(|other| other != *range && range.start <= other.start && other.end <= range.end)
        };
        all.iter().filter(inner).cloned().collect()
    }

    /// The longest run of instructions without branches and labels.
    fn longest_part(&self, range: Range<usize>) -> Range<usize> {
        let mut longest = range.start..range.start;
        let mut start = range.start;
        for at in range.clone() {
            if self.labels.values().any(|label| *label == at) {
                start = at;
            }
            if self.code[at].starts_with("BRA") {
                start = at + 1;
            } else if at + 1 - start > longest.len() {
                longest = start..at + 1;
            }
        }
        longest
    }

    /// Describes code: numbers of instructions by pipe, and the number for each step of a walk.
    fn summary(&self, range: Range<usize>, walked: Option<(Pipe, usize, usize)>) -> String {
        let code = &self.code[range.clone()];
        let parts: Vec<String> = self
            .pipes(range)
            .iter()
            .map(|(pipe, count)| format!("{pipe:?} {count}").to_lowercase())
            .collect();
        let mut out = format!("{}: {}", code.len(), parts.join(", "));
        let shares = code.iter().any(|code| code.starts_with("STS"));
        if let Some((pipe, loads, of_steps)) = walked.filter(|_| !shares) {
            let made = code.iter().filter(|code| code.starts_with("LD") && Pipe::of(code) == pipe).count();
            let steps = made * of_steps / loads;
            if steps > 0 {
                write!(out, "; {:.1} a step", code.len() as f64 / steps as f64).expect("text");
            }
        }
        out
    }

    fn pipes(&self, range: Range<usize>) -> BTreeMap<Pipe, usize> {
        let mut pipes = BTreeMap::new();
        for code in &self.code[range] {
            *pipes.entry(Pipe::of(code)).or_default() += 1;
        }
        pipes
    }
}

/// For each example schedule: a pipe, its number of loads, and the number of steps of a walk that make these
/// loads. Code that reads features in shared memory reads nothing else there. Without a copy of rows, a step
/// loads the number of the feature, its value and the threshold. A thread with four rows loads a word at each
/// of the first seven nodes, and a byte for each row at the nodes of the two levels below.
const LOADS_OF_STEPS: [(&str, Pipe, usize, usize); 9] = [
    ("direct", Pipe::Global, 3, 1),
    ("four_rows", Pipe::Shared, 15, 20),
    ("hybrid", Pipe::Shared, 1, 1),
    ("quantized", Pipe::Shared, 1, 1),
    ("shared_data", Pipe::Shared, 1, 1),
    ("shared_rows", Pipe::Shared, 1, 1),
    ("template", Pipe::Shared, 1, 1),
    ("tree_groups", Pipe::Shared, 1, 1),
    ("tree_pieces", Pipe::Global, 3, 1),
];

/// Describes all innermost loops. For loops with branches, describes their longest part without branches.
/// Code counts as a walk if it makes the loads of a step and stores nothing to shared memory.
fn report(sass: &str, walked: Option<(Pipe, usize, usize)>) -> String {
    let mut out = String::new();
    for kernel in kernels(sass) {
        writeln!(out, "{}: {} instructions", kernel.name, kernel.code.len()).expect("text");
        for range in kernel.loops() {
            let part = kernel.longest_part(range.clone());
            let has_choices = part.len() + 1 < range.len();
            let of_whole = walked.filter(|_| !has_choices);
            writeln!(out, "  loop of {}", kernel.summary(range, of_whole)).expect("text");
            if has_choices {
                writeln!(out, "    part of {}", kernel.summary(part, walked)).expect("text");
            }
        }
    }
    out
}

#[test]
fn loops_equal_their_goldens() {
    let Some(ptxas) = Ptxas::find() else {
        println!("left out: ptxas is not in the search path, and PTXAS names none");
        return;
    };
    let version = ptxas.version().expect("a version");
    if version != VERSION {
        println!("left out: instructions are kept for ptxas {VERSION}, and this is {version}");
        return;
    }
    let Some(nvdisasm) = ptxas.disassembler() else {
        println!("left out: nvdisasm is not beside ptxas, and NVDISASM names none");
        return;
    };
    let (forest, folder) = (model(), Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sass"));
    let update = std::env::var_os("UPDATE").is_some();
    for (name, schedule) in examples() {
        let walked = LOADS_OF_STEPS.iter().find(|(of, ..)| *of == name);
        let walked = walked.map(|(_, pipe, loads, steps)| (*pipe, *loads, *steps));
        let lir = compiled(&forest, &schedule, &[OutputKind::Raw]).expect("the schedule is legal").lir;
        let mut found = format!("ptxas {VERSION}\n");
        for gpu in ["sm_80", "sm_90"] {
            let gpu: Gpu = gpu.parse().expect("a GPU");
            let cubin = ptxas.assemble(&ptx_text(&lir, gpu).expect("PTX"), gpu).expect("machine code");
            write!(found, "\n{gpu}\n{}", report(&nvdisasm.text(&cubin).expect("SASS"), walked))
                .expect("text");
        }
        let kept = folder.join(format!("{name}.txt"));
        if update {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&kept, &found).expect("goldens can be written");
        }
        let expected = std::fs::read_to_string(&kept).unwrap_or_default();
        assert!(found == expected, "{} differs; look at it and run with UPDATE=1\n{found}", kept.display());
    }
}

#[test]
fn loops_and_pipes_are_found() {
    let text = "
        .section .text.k
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
        /*0010*/                   LDG.E R2, desc[UR4][R2.64] ;
.L_x_2:
        /*0020*/               @P0 LDS R21, [R21] ;
        /*0030*/                   IMAD R21, R21, 0x80, R0 ;
        /*0040*/              @!P0 BRA `(.L_x_2) ;
        /*0050*/                   LOP3.LUT R18, R13, 0xff, RZ, 0xc0, !PT ;
        /*0060*/               @P1 BRA `(.L_x_1) ;
        /*0070*/                   EXIT ;
.L_x_3:
        /*0080*/                   BRA `(.L_x_3);
        /*0090*/                   NOP;
";
    let found = report(text, Some((Pipe::Shared, 1, 1)));
    assert_eq!(found, "k: 8 instructions\n  loop of 3: shared 1, fma 1, branch 1; 3.0 a step\n");
}
