//! The bits in which the `cpuid` instruction of x86 reports the features of processor levels.

/// A result of `cpuid`, in the order in which the C runtime keeps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// Leaf 1, `ecx`.
    Leaf1C,
    /// Leaf 0x80000001, `ecx`.
    ExtendedC,
    /// Leaf 7, `ebx`.
    Leaf7B,
    /// Leaf 7, `ecx`.
    Leaf7C,
}

/// Bits of the `cpuid` registers, one word for each [`Register`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpuid(pub [u32; 4]);

impl Cpuid {
    /// The bits that report these features. None if the table lacks one of them.
    pub fn of(features: &[&str]) -> Option<Cpuid> {
        let mut words = [0; 4];
        for feature in features {
            let (_, register, bit) = FEATURES.iter().find(|(name, ..)| name == feature)?;
            words[*register as usize] |= 1 << bit;
        }
        Some(Cpuid(words))
    }
}

/// Features by the names that compilers give them, each with its register and bit.
const FEATURES: &[(&str, Register, u32)] = &[
    ("sse3", Register::Leaf1C, 0),
    ("ssse3", Register::Leaf1C, 9),
    ("fma", Register::Leaf1C, 12),
    ("cmpxchg16b", Register::Leaf1C, 13),
    ("sse4.1", Register::Leaf1C, 19),
    ("sse4.2", Register::Leaf1C, 20),
    ("movbe", Register::Leaf1C, 22),
    ("popcnt", Register::Leaf1C, 23),
    ("xsave", Register::Leaf1C, 27), // OSXSAVE: the operating system uses it
    ("avx", Register::Leaf1C, 28),
    ("f16c", Register::Leaf1C, 29),
    ("lahf", Register::ExtendedC, 0),
    ("lzcnt", Register::ExtendedC, 5),
    ("bmi1", Register::Leaf7B, 3),
    ("avx2", Register::Leaf7B, 5),
    ("bmi2", Register::Leaf7B, 8),
    ("avx512f", Register::Leaf7B, 16),
    ("avx512dq", Register::Leaf7B, 17),
    ("avx512cd", Register::Leaf7B, 28),
    ("avx512bw", Register::Leaf7B, 30),
    ("avx512vl", Register::Leaf7B, 31),
    ("avx512vbmi", Register::Leaf7C, 1),
];
