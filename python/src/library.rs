//! A library that `schedc build` made, loaded by nothing but its C interface (`docs/c-api.md`).

use elf::ElfStream;
use elf::endian::AnyEndian;
use rustix::fs::{MemfdFlags, memfd_create};
use std::ffi::{CStr, c_char, c_void};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;

/// What a call computes for each row. The numbers are those of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Predictions.
    Value = 0,
    /// Margins.
    Raw = 1,
    /// Classes.
    Class = 2,
    /// The leaf that each tree reaches.
    Leaf = 3,
    /// What each tree adds to its margin.
    Tree = 4,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Value, Kind::Raw, Kind::Class, Kind::Leaf, Kind::Tree];

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Value => "value",
            Kind::Raw => "raw",
            Kind::Class => "class",
            Kind::Leaf => "leaf",
            Kind::Tree => "tree",
        }
    }
}

/// The type of an element. The numbers are those of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// `float`.
    F32 = 0,
    /// `double`.
    F64 = 1,
    /// `int32_t`.
    I32 = 2,
}

/// The call structure of the C interface.
#[repr(C)]
struct Call {
    size: u32,
    kind: i32,
    rows: *const c_void,
    n_rows: i64,
    out: *mut c_void,
    dtype: i32,
    threads: i32,
    row_stride: i64,
    scratch: *mut c_void,
    scratch_size: i64,
    memory: i32,
    device: i32,
    stream: *mut c_void,
    missing: *const f64,
    base_margin: *const c_void,
    columns: *const Column,
}

/// Older libraries, which know a shorter structure, take a longer one if what is behind theirs is zero.
const CALL_SIZE: u32 = size_of::<Call>() as u32;

/// The type of a column's values. The numbers are those of the C interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// `float`.
    F32 = 0,
    /// `double`.
    F64 = 1,
    /// `int32_t`.
    I32 = 2,
    /// `int8_t`.
    I8 = 3,
    /// `int16_t`.
    I16 = 4,
    /// `int64_t`.
    I64 = 5,
    /// `uint8_t`.
    U8 = 6,
    /// `uint16_t`.
    U16 = 7,
    /// `uint32_t`.
    U32 = 8,
    /// `uint64_t`.
    U64 = 9,
    /// A byte: 0, or 1 for all others.
    Bool = 10,
    /// Packed bits, the least significant first.
    Bit = 11,
}

/// The values of one feature, as the C interface has them (`schedc_column` in `docs/c-api.md`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// At any address; null: the feature is missing in all rows.
    pub values: *const c_void,
    /// A bit for each row, the least significant first: 1 where there is a value; null: everywhere.
    pub validity: *const u8,
    /// The first bit of it.
    pub validity_offset: i64,
    /// Bytes from one value to the next; 0: packed.
    pub stride: i64,
    /// The number that each value stands for, where values are places in it; null: values are numbers.
    pub dictionary: *const f64,
    /// Entries of it. A value that is not below is missing.
    pub dictionary_size: i64,
    /// A [`ColumnType`].
    pub kind: i32,
    /// Of bits: the first one in `values`.
    pub values_offset: i32,
}

impl Column {
    /// A feature that is missing in all rows.
    pub const ABSENT: Column = Column {
        values: ptr::null(),
        validity: ptr::null(),
        validity_offset: 0,
        stride: 0,
        dictionary: ptr::null(),
        dictionary_size: 0,
        kind: ColumnType::F32 as i32,
        values_offset: 0,
    };

    /// Values of a type, `stride` bytes from each other; 0: packed.
    pub fn of(values: *const c_void, kind: ColumnType, stride: i64) -> Column {
        Column { values, stride, kind: kind as i32, ..Column::ABSENT }
    }
}

/// Rows in memory.
#[derive(Clone, Copy, Debug)]
pub struct RowSlice {
    /// The first value; any address if there are no rows.
    pub start: *const c_void,
    /// How many.
    pub count: usize,
    /// Elements from one row to the next.
    pub stride: usize,
    /// Their type: single or double precision.
    pub element: Element,
}

/// What a call predicts.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Rows one after the other.
    Rows(RowSlice),
    /// A column for each feature.
    Columns {
        /// The columns.
        columns: &'a [Column],
        /// Rows of each.
        count: usize,
    },
}

/// What goes along with a call.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Where results go.
    pub out: *mut c_void,
    /// The most threads; 0 leaves the number to the library.
    pub threads: i32,
    /// What sums begin with; null: the model's own base values.
    pub base_margin: *const c_void,
}

/// A library in this process.
pub struct Library {
    num_features: usize,
    takes_columns: bool,
    num_outputs: unsafe extern "C" fn(i32) -> i32,
    output_type: unsafe extern "C" fn(i32) -> i32,
    feature_name: unsafe extern "C" fn(i32) -> *const c_char,
    predict_ex: unsafe extern "C" fn(*const Call) -> i32,
    error: unsafe extern "C" fn(i32) -> *const c_char,
    info: unsafe extern "C" fn() -> *const c_char,
    /// The file that was loaded, whatever has become of its name since.
    file: File,
    // The functions above are part of it.
    _library: libloading::Library,
}

impl Library {
    /// Loads the library of this name.
    ///
    /// # Errors
    /// When there is no such file, or it is not a library that `schedc build` made for this machine.
    pub fn open(path: &Path) -> Result<Library, String> {
        let shown = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        // A bare name would be searched for in the system's folders.
        let full = std::path::absolute(path).map_err(|error| format!("{shown}: {error}"))?;
        Library::of_file(file, full, &shown)
    }

    /// Loads a library from its bytes.
    ///
    /// # Errors
    /// As [`Library::open`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Library, String> {
        let shown = "the library in memory";
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let memory = memfd_create("schedc", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let mut file = File::from(memory);
        file.write_all(bytes).map_err(failed)?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Library::of_file(file, path, shown)
    }

    fn of_file(file: File, path: PathBuf, shown: &str) -> Result<Library, String> {
        let prefix = prefix_of(&file).ok_or_else(|| {
            format!("{shown} is not a library of schedc; make one with `schedc build model.json -o model.so`")
        })?;
        // SAFETY: whoever asks for a library trusts it, since libraries run code as they are loaded.
        let library = unsafe { libloading::Library::new(path) };
        let library = library.map_err(|error| format!("{shown} cannot be loaded: {error}"))?;
        let num_features: unsafe extern "C" fn() -> i32 = symbol(&library, &prefix, "num_features")?;
        let mut library = Library {
            // SAFETY: the function is ours and takes nothing.
            num_features: usize::try_from(unsafe { num_features() }).unwrap_or(0),
            takes_columns: false,
            num_outputs: symbol(&library, &prefix, "num_outputs")?,
            output_type: symbol(&library, &prefix, "output_type")?,
            feature_name: symbol(&library, &prefix, "feature_name")?,
            predict_ex: symbol(&library, &prefix, "predict_ex")?,
            error: symbol(&library, &prefix, "error")?,
            info: symbol(&library, &prefix, "info")?,
            file,
            _library: library,
        };
        library.takes_columns = library.knows_columns();
        Ok(library)
    }

    /// The bytes of the file that was loaded.
    ///
    /// # Errors
    /// When it can no longer be read.
    pub fn bytes(&self) -> std::io::Result<Vec<u8>> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Columns of a row.
    pub fn num_features(&self) -> usize {
        self.num_features
    }

    /// The names of the columns; none if the model has none.
    pub fn feature_names(&self) -> Option<Vec<String>> {
        // SAFETY: the function is ours and takes any number.
        let name = |feature| unsafe { text((self.feature_name)(feature)) };
        (0..i32::try_from(self.num_features).ok()?).map(name).collect()
    }

    /// Columns of an output; 0 if the model has none of the kind.
    pub fn num_outputs(&self, kind: Kind) -> usize {
        // SAFETY: the function is ours and takes any number.
        usize::try_from(unsafe { (self.num_outputs)(kind as i32) }).unwrap_or(0)
    }

    /// The type of an output's elements.
    pub fn output_type(&self, kind: Kind) -> Element {
        // SAFETY: the function is ours and takes any number.
        match unsafe { (self.output_type)(kind as i32) } {
            1 => Element::F64,
            2 => Element::I32,
            _ => Element::F32,
        }
    }

    /// Whether calls may have columns: libraries that were built before there were columns refuse them.
    pub fn takes_columns(&self) -> bool {
        self.takes_columns
    }

    fn knows_columns(&self) -> bool {
        let columns = vec![Column::ABSENT; self.num_features];
        let sent = Sent { out: ptr::null_mut(), threads: 0, base_margin: ptr::null() };
        let call = Call { columns: columns.as_ptr(), ..Call::new(Kind::Value, 0, sent) };
        // SAFETY: there is a column for each feature, and there are no rows.
        unsafe { self.call(&call) }.is_ok()
    }

    /// What the library says of its model and schedule, as JSON.
    pub fn info(&self) -> String {
        // SAFETY: the function is ours and takes nothing.
        unsafe { text((self.info)()) }.unwrap_or_default()
    }

    /// Makes a call.
    ///
    /// # Errors
    /// What the library says of the call; libraries that were built before there were columns refuse these.
    ///
    /// # Safety
    /// The input is readable; the output has room for `num_outputs(kind)` elements of `output_type(kind)` for each row, and
    /// nobody else uses it; a base margin has `num_outputs(Kind::Raw)` numbers of the type of margins for each.
    pub unsafe fn predict(&self, kind: Kind, input: Input<'_>, sent: Sent) -> Result<(), String> {
        let features = self.num_features;
        let call = match input {
            Input::Rows(rows) => Call {
                rows: rows.start,
                dtype: rows.element as i32,
                row_stride: i64::try_from(rows.stride).unwrap_or(-1),
                ..Call::new(kind, rows.count, sent)
            },
            Input::Columns { columns, .. } if columns.len() != features => {
                return Err(format!("there are {} columns, and the model has {features}", columns.len()));
            }
            Input::Columns { columns, count } => {
                Call { columns: columns.as_ptr(), ..Call::new(kind, count, sent) }
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.call(&call) }
    }

    /// # Safety
    /// What the call points to is as the C interface wants it.
    unsafe fn call(&self, call: &Call) -> Result<(), String> {
        // SAFETY: as the caller promises.
        match unsafe { (self.predict_ex)(call) } {
            0 => Ok(()),
            // SAFETY: the function is ours and takes any number.
            status => Err(unsafe { text((self.error)(status)) }.unwrap_or_default()),
        }
    }
}

impl Call {
    /// A call whose rows are still to be named.
    fn new(kind: Kind, n_rows: usize, sent: Sent) -> Call {
        let Sent { out, threads, base_margin } = sent;
        Call {
            size: CALL_SIZE,
            kind: kind as i32,
            rows: ptr::null(),
            n_rows: i64::try_from(n_rows).unwrap_or(-1),
            out,
            dtype: Element::F32 as i32,
            threads,
            row_stride: 0,
            scratch: ptr::null_mut(),
            scratch_size: 0,
            memory: 0,
            device: 0,
            stream: ptr::null_mut(),
            missing: ptr::null(),
            base_margin,
            columns: ptr::null(),
        }
    }
}

/// # Safety
/// `chars` is null or a NUL-terminated text.
unsafe fn text(chars: *const c_char) -> Option<String> {
    // SAFETY: as the caller promises.
    (!chars.is_null()).then(|| unsafe { CStr::from_ptr(chars) }.to_string_lossy().into_owned())
}

/// What the functions of the library begin with: that of its general call, without `_predict_ex`.
fn prefix_of(file: &File) -> Option<String> {
    let mut stream = ElfStream::<AnyEndian, _>::open_stream(file.try_clone().ok()?).ok()?;
    let (symbols, names) = stream.dynamic_symbol_table().ok()??;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined());
    let mut names = defined.filter_map(|symbol| names.get(symbol.st_name as usize).ok());
    names.find_map(|name| name.strip_suffix("_predict_ex").map(str::to_owned))
}

fn symbol<T: Copy>(library: &libloading::Library, prefix: &str, name: &str) -> Result<T, String> {
    // SAFETY: a symbol of this name in a library of ours has this type.
    let found = unsafe { library.get::<T>(format!("{prefix}_{name}\0").as_bytes()) };
    found.map(|symbol| *symbol).map_err(|_| {
        format!("the library has no function `{prefix}_{name}`; build it again with this version of schedc")
    })
}
