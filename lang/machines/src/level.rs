//! Processor levels: sets of instructions that code may use. `machines!` is the one table of them.

/// The level that every x86-64 processor has, as compilers call it. No code is generated for it.
pub const BASELINE: &str = "x86-64";

/// The word for the processor of this machine.
pub const NATIVE: &str = "native";

const KIB: u64 = 1024;

/// Declares the processor levels, the lowest first. The columns of the table come first, each with the
/// comment of its method. A row is: variant, word, features that `cpuid` reports, and the other columns.
macro_rules! machines {
    (
        { $($(#[$meaning:meta])* $column:ident: $ty:ty,)* }
        $($(#[$doc:meta])* $name:ident $word:literal {
            detect: [$($feature:tt)*], cpuid_only: $cpuid_only:expr, $($field:ident: $value:expr,)*
        })*
    ) => {
        /// A processor level. Each includes the level that it [extends](Level::extends).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Level {
            $($(#[$doc])* $name,)*
        }

        /// A row of the table.
        struct LevelRow {
            $($column: $ty,)*
        }

        impl Level {
            /// All levels, the lowest first.
            pub const ALL: &'static [Level] = &[$(Level::$name),*];

            const fn row(self) -> &'static LevelRow {
                match self { $(Level::$name => const { &LevelRow { $($field: $value,)* } },)* }
            }

            /// The word of the language and of `--cpu`.
            pub const fn word(self) -> &'static str {
                match self { $(Level::$name => $word),* }
            }

            /// Features that the level adds and `cpuid` reports, by the names of
            /// [`Cpuid::of`](crate::Cpuid::of).
            pub const fn added_features(self) -> (&'static [&'static str], &'static [&'static str]) {
                match self { $(Level::$name => (&[$($feature),*], $cpuid_only)),* }
            }

            $($(#[$meaning])* pub const fn $column(self) -> $ty {
                self.row().$column
            })*

            /// Whether this machine's processor has the features that the level adds, except those that only
            /// `cpuid` reports. Features of the levels below are not checked.
            #[cfg(target_arch = "x86_64")]
            fn is_detected(self) -> bool {
                match self { $(Level::$name => true $(&& std::is_x86_feature_detected!($feature))*),* }
            }
        }
    };
}

machines! {
    {
        /// The level that this one extends; `None` for the lowest, which extends the baseline.
        extends: Option<Level>,
        /// Whether users can ask for code of this level. Code of other levels is made with `native` alone.
        is_target: bool,
        /// Other words that a `target` line takes for the level.
        aliases: &'static [&'static str],
        /// Bits of `XCR0` for the registers that the operating system must save.
        saved_state: u64,
        /// Instruction sets that the level adds, by the names that compilers use, such as `avx512vbmi`. If a
        /// newer set includes an older one, only the newer is listed. Locks and `schedc --version --verbose`
        /// print them.
        features: &'static [&'static str],
        /// Name of the missing instructions in the runtime's error message.
        missing_instructions: &'static str,
        /// Name of the generic processor of this level in LLVM.
        llvm_cpu: &'static str,
        /// Features and tuning hints for LLVM besides those of [`Level::llvm_cpu`].
        llvm_features: &'static str,
        /// Bits of the level's vector registers.
        register_bits: u32,
        /// Bytes of one core's second-level cache, typical of processors whose highest level this is.
        l2: u64,
        /// Picoseconds in which one thread quantizes a value: measured on an EPYC with AVX-512, for models of
        /// 8 to 28 features and up to 255 thresholds of each.
        bin_picoseconds: u64,
        /// Costs of its instructions as the probes of the cost model measured them on a processor of 2023
        /// (Zen 4): JSON, by bits of the registers and kind of instruction.
        costs: &'static str,
    }
    /// SSE4.2 and POPCNT.
    V2 "x86-64-v2" {
        detect: ["sse3" "ssse3" "sse4.1" "sse4.2" "popcnt" "cmpxchg16b"],
        cpuid_only: &["lahf"],
        extends: None, is_target: true, aliases: &[],
        saved_state: 0,
        features: &["sse4.2", "popcnt"], missing_instructions: "SSE4.2 (x86-64-v2)",
        llvm_cpu: "x86-64-v2", llvm_features: "",
        register_bits: 128, l2: 256 * KIB,
        bin_picoseconds: 3400, costs: include_str!("../costs/x86-64-v2.json"),
    }
    /// AVX2, BMI and FMA.
    V3 "x86-64-v3" {
        detect: ["avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe" "xsave"],
        cpuid_only: &[],
        extends: Some(Level::V2), is_target: true, aliases: &["avx2"],
        saved_state: 0x06,
        features: &["avx2", "bmi2", "f16c", "fma"], missing_instructions: "AVX2 and FMA (x86-64-v3)",
        // Without this hint LLVM loads lane by lane, which takes a third longer in a walk.
        llvm_cpu: "x86-64-v3", llvm_features: "+fast-gather",
        register_bits: 256, l2: 256 * KIB,
        bin_picoseconds: 1400, costs: include_str!("../costs/x86-64-v3.json"),
    }
    /// AVX-512 F, BW, CD, DQ and VL: tables of 32 words and more in registers.
    V4 "x86-64-v4" {
        detect: ["avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl"],
        cpuid_only: &[],
        extends: Some(Level::V3), is_target: true, aliases: &["avx512"],
        saved_state: 0xe6,
        features: &["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"],
        missing_instructions: "AVX-512 (x86-64-v4)",
        llvm_cpu: "x86-64-v4", llvm_features: "",
        register_bits: 512, l2: 1024 * KIB,
        bin_picoseconds: 700, costs: include_str!("../costs/x86-64-v4.json"),
    }
    /// AVX-512 VBMI beyond `V4`: tables of 64 bytes and more in registers.
    Vbmi "avx512vbmi" {
        detect: ["avx512vbmi"],
        cpuid_only: &[],
        extends: Some(Level::V4), is_target: false, aliases: &[],
        saved_state: 0xe6,
        features: &["avx512vbmi"], missing_instructions: "AVX-512 VBMI",
        llvm_cpu: "x86-64-v4", llvm_features: "+avx512vbmi",
        register_bits: 512, l2: 1024 * KIB,
        bin_picoseconds: 700, costs: include_str!("../costs/avx512vbmi.json"),
    }
}

impl Level {
    /// Bit for what the level adds, as artefacts record it.
    pub const fn bit(self) -> u64 {
        1 << self as u64
    }

    /// Bits of the level and of all levels that it includes.
    pub const fn needs(self) -> u64 {
        match self.extends() {
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
                let below = level.extends().map_or(0, Level::needs);
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
    let others =
        Level::targets().flat_map(|level| level.aliases().iter().map(move |word| (*word, Some(level))));
    std::iter::once((NATIVE, None)).chain(named).chain(others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cpuid;

    #[test]
    fn every_level_stands_on_a_lower_one_and_is_recognised() {
        for level in Level::ALL {
            assert!(level.extends().is_none_or(|below| below < *level), "{level:?}");
            assert_eq!(Level::of(level.needs()), Some(*level));
            let (detected, cpuid_only) = level.added_features();
            let bits = [detected, cpuid_only].map(Cpuid::of);
            assert!(!detected.is_empty() && bits.iter().all(Option::is_some), "{level:?}: {bits:?}");
        }
        assert_eq!(Level::of(0), None);
    }

    /// Code of columns divides by fused products where registers are this long.
    #[test]
    fn long_registers_come_with_fused_products() {
        for level in Level::ALL {
            let included = Level::ALL.iter().filter(|below| level.needs() & below.bit() != 0);
            let has_fma = included.flat_map(|level| level.features()).any(|feature| *feature == "fma");
            assert_eq!(level.register_bits() >= 256, has_fma, "{level:?}");
        }
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
