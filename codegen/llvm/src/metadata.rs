//! Metadata of kernels in code objects for AMD's GPUs: a note of the ELF file, in MessagePack.

use elf::ElfBytes;
use elf::endian::LittleEndian;
use elf::note::Note;
use std::fmt;

/// Metadata of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeObjectKernel {
    /// The kernel's name.
    pub name: String,
    /// Vector registers of a thread.
    pub vector_registers: u32,
    /// Scalar registers, which the threads of a wavefront share.
    pub scalar_registers: u32,
    /// Vector registers that a thread spills to memory.
    pub vector_spills: u32,
    /// Scalar registers that a wavefront spills.
    pub scalar_spills: u32,
    /// Stack memory of a thread, in bytes.
    pub stack_bytes: u32,
    /// Shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Threads of a wavefront.
    pub wavefront_threads: u32,
    /// Largest number of threads of a block.
    pub max_threads: u32,
    /// Bytes of the kernel's parameters.
    pub parameter_bytes: u32,
}

impl fmt::Display for CodeObjectKernel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let CodeObjectKernel { name, vector_registers, scalar_registers, shared_bytes, .. } = self;
        write!(f, "{name}: {vector_registers} vector and {scalar_registers} scalar registers, ")?;
        write!(f, "{shared_bytes} bytes of shared memory")?;
        match (self.vector_spills, self.scalar_spills) {
            (0, 0) => write!(f, ", no spills"),
            (vector, scalar) => write!(f, ", {vector} vector and {scalar} scalar registers spilled"),
        }
    }
}

/// Number of the note's type.
const METADATA_NOTE_TYPE: u64 = 32;

/// A value of MessagePack, of the kinds that occur in these notes.
enum MessagePackValue {
    Number(u64),
    Text(String),
    List(Vec<MessagePackValue>),
    Map(Vec<(MessagePackValue, MessagePackValue)>),
    Other,
}

/// Returns the kernels that a code object describes; none if the bytes are no code object.
pub(crate) fn kernels(file: &[u8]) -> Option<Vec<CodeObjectKernel>> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(file).ok()?;
    let header = file.section_header_by_name(".note").ok()??;
    let mut notes = file.section_data_as_notes(&header).ok()?;
    let note = notes.find_map(|note| match note {
        Note::Unknown(note) if note.n_type == METADATA_NOTE_TYPE => Some(note.desc),
        _ => None,
    })?;
    let all = read_value(&mut &note[..], 0)?;
    let MessagePackValue::List(kernels) = all.get("amdhsa.kernels")? else { return None };
    kernels.iter().map(kernel).collect()
}

fn kernel(item: &MessagePackValue) -> Option<CodeObjectKernel> {
    let number = |key: &str| match item.get(key)? {
        MessagePackValue::Number(number) => u32::try_from(*number).ok(),
        _ => None,
    };
    let MessagePackValue::Text(name) = item.get(".name")? else { return None };
    Some(CodeObjectKernel {
        name: name.clone(),
        vector_registers: number(".vgpr_count")?,
        scalar_registers: number(".sgpr_count")?,
        vector_spills: number(".vgpr_spill_count")?,
        scalar_spills: number(".sgpr_spill_count")?,
        stack_bytes: number(".private_segment_fixed_size")?,
        shared_bytes: number(".group_segment_fixed_size")?,
        wavefront_threads: number(".wavefront_size")?,
        max_threads: number(".max_flat_workgroup_size")?,
        parameter_bytes: number(".kernarg_segment_size")?,
    })
}

impl MessagePackValue {
    /// Returns the value of a key.
    fn get(&self, wanted: &str) -> Option<&MessagePackValue> {
        let MessagePackValue::Map(entries) = self else { return None };
        entries
            .iter()
            .find(|(key, _)| matches!(key, MessagePackValue::Text(key) if key == wanted))
            .map(|(_, value)| value)
    }
}

/// Deepest nesting of lists and maps that the reader follows.
const MAX_NESTING: u32 = 16;

/// Reads one value from the beginning of `bytes`, and advances `bytes` past it.
fn read_value(bytes: &mut &[u8], depth: u32) -> Option<MessagePackValue> {
    let kind = read_number(bytes, 1)?;
    let low = |mask: u64| (kind & mask) as usize;
    Some(match kind {
        0x00..=0x7f => MessagePackValue::Number(kind),
        0x80..=0x8f => read_map(bytes, low(0x0f), depth)?,
        0x90..=0x9f => read_list(bytes, low(0x0f), depth)?,
        0xa0..=0xbf => read_text(bytes, low(0x1f))?,
        // Null, a truth value, or a small negative number.
        0xc0 | 0xc2 | 0xc3 | 0xe0..=0xff => MessagePackValue::Other,
        0xcc..=0xcf => MessagePackValue::Number(read_number(bytes, 1 << (kind - 0xcc))?),
        // Signed numbers, none of which is negative in these notes.
        0xd0..=0xd3 => MessagePackValue::Number(read_number(bytes, 1 << (kind - 0xd0))?),
        0xd9..=0xdb => {
            let length = read_number(bytes, 1 << (kind - 0xd9))?;
            read_text(bytes, usize::try_from(length).ok()?)?
        }
        0xdc | 0xdd => {
            let length = read_number(bytes, 2 << (kind - 0xdc))?;
            read_list(bytes, usize::try_from(length).ok()?, depth)?
        }
        0xde | 0xdf => {
            let length = read_number(bytes, 2 << (kind - 0xde))?;
            read_map(bytes, usize::try_from(length).ok()?, depth)?
        }
        _ => return None,
    })
}

/// Reads a number of `count` bytes, the highest byte first.
fn read_number(bytes: &mut &[u8], count: usize) -> Option<u64> {
    let (number, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(number.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn read_text(bytes: &mut &[u8], length: usize) -> Option<MessagePackValue> {
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(MessagePackValue::Text(String::from_utf8(text.to_vec()).ok()?))
}

fn read_list(bytes: &mut &[u8], length: usize, depth: u32) -> Option<MessagePackValue> {
    let deeper = Some(depth + 1).filter(|depth| *depth <= MAX_NESTING)?;
    (0..length)
        .map(|_| read_value(bytes, deeper))
        .collect::<Option<Vec<MessagePackValue>>>()
        .map(MessagePackValue::List)
}

fn read_map(bytes: &mut &[u8], length: usize, depth: u32) -> Option<MessagePackValue> {
    let deeper = Some(depth + 1).filter(|depth| *depth <= MAX_NESTING)?;
    let entry = |_| Some((read_value(bytes, deeper)?, read_value(bytes, deeper)?));
    (0..length)
        .map(entry)
        .collect::<Option<Vec<(MessagePackValue, MessagePackValue)>>>()
        .map(MessagePackValue::Map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind_are_read() {
        // { "a": [1, 300, "xy"], "long": true }
        let bytes = b"\x82\xa1a\x93\x01\xcd\x01\x2c\xd9\x02xy\xa4long\xc3";
        let item = read_value(&mut &bytes[..], 0).expect("a map");
        let Some(MessagePackValue::List(list)) = item.get("a") else { panic!("no list") };
        assert!(matches!(
            list[..],
            [MessagePackValue::Number(1), MessagePackValue::Number(300), MessagePackValue::Text(_)]
        ));
        assert!(matches!(item.get("long"), Some(MessagePackValue::Other)));
        assert!(item.get("b").is_none());
    }

    #[test]
    fn truncated_or_deep_values_are_refused() {
        for bytes in [&b""[..], b"\x93\x01", b"\xa5abc", b"\xcd\x01", b"\xc1", &[0x91; 40]] {
            assert!(read_value(&mut &bytes[..], 0).is_none(), "{bytes:?}");
        }
        assert_eq!(kernels(b"no ELF file"), None);
    }
}
