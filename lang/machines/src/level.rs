//! Processor levels: sets of instructions that code may use. `machines!` is the one table of them.

/// The level that every x86-64 processor has, as compilers call it. No code is generated for it.
pub const BASELINE: &str = "x86-64";

/// The word for the processor of this machine.
pub const NATIVE: &str = "native";

const KIB: u64 = 1024;

/// Declares the processor levels, the lowest first. A row is: variant, word, and the columns that the methods
/// of [`Level`] describe.
macro_rules! machines {
    ($($(#[$doc:meta])* $name:ident $word:literal {
        on: $on:expr, is_target: $is_target:literal, also: $also:expr,
        detect: [$($feature:tt)*], cpuid_only: $cpuid_only:expr, saved_state: $saved_state:literal,
        features: $features:expr, lacking: $lacking:literal,
        llvm_cpu: $llvm_cpu:literal, llvm_features: $llvm_features:literal,
        register_bits: $register_bits:literal, l2_kib: $l2_kib:literal,
        bin_picoseconds: $bin_picoseconds:literal, costs: $costs:literal,
    })*) => {
        /// A processor level. Each includes the level that it stands [on](Level::on).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Level {
            $($(#[$doc])* $name,)*
        }

        impl Level {
            /// All levels, the lowest first.
            pub const ALL: &'static [Level] = &[$(Level::$name),*];

            /// The word of the language and of `--cpu`.
            pub const fn word(self) -> &'static str {
                match self { $(Level::$name => $word),* }
            }

            /// The level that it extends. None: the baseline.
            pub const fn on(self) -> Option<Level> {
                match self { $(Level::$name => $on),* }
            }

            /// Whether users can ask for code of this level. Code of other levels is made with `native`
            /// alone.
            pub const fn is_target(self) -> bool {
                match self { $(Level::$name => $is_target),* }
            }

            /// Other words that a `target` line takes for the level.
            pub const fn also(self) -> &'static [&'static str] {
                match self { $(Level::$name => $also),* }
            }

            /// Features that the level adds and `cpuid` reports, by the names of
            /// [`Cpuid::of`](crate::Cpuid::of).
            pub const fn required(self) -> (&'static [&'static str], &'static [&'static str]) {
                match self { $(Level::$name => (&[$($feature),*], $cpuid_only)),* }
            }

            /// Bits of `XCR0` for the registers that the operating system must save.
            pub const fn saved_state(self) -> u64 {
                match self { $(Level::$name => $saved_state),* }
            }

            /// Instruction sets that the level adds, by the names that compilers use, such as `avx512vbmi`.
            /// If a newer set includes an older one, only the newer is listed. Locks and `schedc --version
            /// --verbose` print them.
            pub const fn features(self) -> &'static [&'static str] {
                match self { $(Level::$name => $features),* }
            }

            /// Name of the missing instructions in the runtime's error message.
            pub const fn lacking(self) -> &'static str {
                match self { $(Level::$name => $lacking),* }
            }

            /// Name of the generic processor of this level in LLVM.
            pub const fn llvm_cpu(self) -> &'static str {
                match self { $(Level::$name => $llvm_cpu),* }
            }

            /// Features and tuning hints for LLVM besides those of [`Level::llvm_cpu`].
            pub const fn llvm_features(self) -> &'static str {
                match self { $(Level::$name => $llvm_features),* }
            }

            /// Bits of its vector registers.
            pub const fn register_bits(self) -> u32 {
                match self { $(Level::$name => $register_bits),* }
            }

            /// Bytes of one core's second-level cache, typical of processors whose highest level this is.
            pub const fn l2(self) -> u64 {
                match self { $(Level::$name => $l2_kib * KIB),* }
            }

            /// Picoseconds in which one thread quantizes a value: measured on an EPYC with AVX-512, for
            /// models of 8 to 28 features and up to 255 thresholds of each.
            pub const fn bin_picoseconds(self) -> u64 {
                match self { $(Level::$name => $bin_picoseconds),* }
            }

            /// Costs of its instructions as the probes of the cost model measured them on a processor of 2023
            /// (Zen 4): JSON, by bits of the registers and kind of instruction.
            pub const fn costs(self) -> &'static str {
                match self { $(Level::$name => include_str!(concat!("../costs/", $costs))),* }
            }

            /// Whether this machine's processor has the features that the level adds.
            #[cfg(target_arch = "x86_64")]
            fn is_detected(self) -> bool {
                match self { $(Level::$name => true $(&& std::is_x86_feature_detected!($feature))*),* }
            }
        }
    };
}

machines! {
    /// SSE4.2 and POPCNT.
    V2 "x86-64-v2" {
        on: None, is_target: true, also: &[],
        detect: ["sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b"],
        cpuid_only: &["lahf"], saved_state: 0,
        features: &["sse4.2", "popcnt"], lacking: "SSE4.2 (x86-64-v2)",
        llvm_cpu: "x86-64-v2", llvm_features: "",
        register_bits: 128, l2_kib: 256,
        bin_picoseconds: 3400, costs: "x86-64-v2.json",
    }
    /// AVX2, BMI and FMA.
    V3 "x86-64-v3" {
        on: Some(Level::V2), is_target: true, also: &["avx2"],
        detect: ["avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave"],
        cpuid_only: &[], saved_state: 0x06,
        features: &["avx2", "bmi2", "f16c", "fma"], lacking: "AVX2 and FMA (x86-64-v3)",
        // Without this hint LLVM loads lane by lane, which takes a third longer in a walk.
        llvm_cpu: "x86-64-v3", llvm_features: "+fast-gather",
        register_bits: 256, l2_kib: 256,
        bin_picoseconds: 1400, costs: "x86-64-v3.json",
    }
    /// AVX-512 F, BW, CD, DQ and VL: tables of 32 words and more in registers.
    V4 "x86-64-v4" {
        on: Some(Level::V3), is_target: true, also: &["avx512"],
        detect: ["avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"], cpuid_only: &[], saved_state: 0xe6,
        features: &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
        lacking: "AVX-512 (x86-64-v4)",
        llvm_cpu: "x86-64-v4", llvm_features: "",
        register_bits: 512, l2_kib: 1024,
        bin_picoseconds: 700, costs: "x86-64-v4.json",
    }
    /// AVX-512 VBMI beyond `V4`: tables of 64 bytes and more in registers.
    Vbmi "avx512vbmi" {
        on: Some(Level::V4), is_target: false, also: &[],
        detect: ["avx512vbmi"], cpuid_only: &[], saved_state: 0xe6,
        features: &["avx512vbmi"], lacking: "AVX-512 VBMI",
        llvm_cpu: "x86-64-v4", llvm_features: "+avx512vbmi",
        register_bits: 512, l2_kib: 1024,
        bin_picoseconds: 700, costs: "avx512vbmi.json",
    }
}

impl Level {
    /// Bit for what the level adds, as artefacts record it.
    pub const fn bit(self) -> u64 {
        1 << self as u64
    }

    /// Bits of the level and of all levels below it.
    pub const fn needs(self) -> u64 {
        match self.on() {
            Some(below) => self.bit() | below.needs(),
            None => self.bit(),
        }
    }

    /// The highest level in a set of bits. None if the set is empty.
    pub fn of(needs: u64) -> Option<Level> {
        Level::ALL.iter().copied().rfind(|level| needs & level.bit() != 0)
    }

    /// The levels that users can ask for, the lowest first.
    pub fn targets() -> impl DoubleEndedIterator<Item = Level> {
        Level::ALL.iter().copied().filter(|level| level.is_target())
    }

    /// Bits of the levels that this machine's processor has.
    pub fn host() -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            let has = |have: u64, level: Level| {
                let below = level.on().map_or(0, Level::needs);
                have & below == below && level.is_detected()
            };
            let levels = Level::ALL.iter();
            levels.fold(0, |have, level| if has(have, *level) { have | level.bit() } else { have })
        }
        #[cfg(not(target_arch = "x86_64"))]
        0
    }
}

/// The words that a `target cpu` line takes, each with its level; `native` has none.
pub fn cpu_words() -> impl Iterator<Item = (&'static str, Option<Level>)> {
    let named = Level::targets().map(|level| (level.word(), Some(level)));
    let others = Level::targets().flat_map(|level| level.also().iter().map(move |word| (*word, Some(level))));
    std::iter::once((NATIVE, None)).chain(named).chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpuid;

    #[test]
    fn every_level_stands_on_a_lower_one_and_is_recognised() {
        for level in Level::ALL {
            assert!(level.on().is_none_or(|below| below < *level), "{level:?}");
            assert_eq!(Level::of(level.needs()), Some(*level));
            let (detected, cpuid_only) = level.required();
            let bits = [detected, cpuid_only].map(Cpuid::of);
            assert!(!detected.is_empty() && bits.iter().all(Option::is_some), "{level:?}: {bits:?}");
        }
        assert_eq!(Level::of(0), None);
    }

    #[test]
    fn words_are_unique() {
        let mut words: Vec<&str> = cpu_words().map(|(word, _)| word).collect();
        assert_eq!(words[..4], ["native", "x86-64-v2", "x86-64-v3", "x86-64-v4"]);
        words.sort();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]), "{words:?}");
    }

    #[test]
    fn the_host_has_the_levels_below_its_own() {
        let host = Level::host();
        assert!(
            Level::ALL.iter().filter(|level| host & level.bit() != 0).all(|level| level.needs() & !host == 0)
        );
    }
}
