//! A library that `schedc build` made, from its file or its bytes.

use elf::ElfStream;
use elf::endian::AnyEndian;
use rustix::fs::{MemfdFlags, memfd_create};
use sched_library::{Call, Dtype, Kind, LibraryFunctions, RawColumn, Refusal};
use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr;

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
    pub element: Dtype,
}

/// What a call predicts.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Rows one after the other.
    Rows(RowSlice),
    /// A column for each feature.
    Columns {
        /// The columns.
        columns: &'a [RawColumn],
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
    /// Its functions.
    pub loaded: LibraryFunctions,
    takes_columns: bool,
    /// The file that was loaded, whatever has become of its name since.
    file: File,
}

impl Library {
    /// Loads the library of this name.
    ///
    /// # Errors
    /// When there is no such file, or it is not a library that `schedc build` made for this machine.
    pub fn open(path: &Path) -> Result<Library, String> {
        let shown = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        Library::of_file(file, path, &shown)
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
        Library::of_file(file, &path, shown)
    }

    fn of_file(file: File, path: &Path, shown: &str) -> Result<Library, String> {
        let prefix = prefix_of(&file).ok_or_else(|| {
            format!("{shown} is not a library of schedc; make one with `schedc build model.json -o model.so`")
        })?;
        // SAFETY: whoever asks for a library trusts it, since libraries run code as they are loaded.
        let loaded = unsafe { LibraryFunctions::open(path, &prefix) }.map_err(|refusal| match refusal {
            Refusal::NotLoaded(reason) => format!("{shown} cannot be loaded: {reason}"),
            Refusal::NoFunction(name) => {
                format!("the library has no function `{name}`; build it again with this version of schedc")
            }
        })?;
        Ok(Library { takes_columns: loaded.takes_columns(), loaded, file })
    }

    /// Whether calls may have columns, as the library has said when it was loaded.
    pub fn takes_columns(&self) -> bool {
        self.takes_columns
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

    /// Makes a call.
    ///
    /// # Errors
    /// What the library says of the call; libraries that were built before there were columns refuse these.
    ///
    /// # Safety
    /// The input is readable; the output has room for `num_outputs(kind)` elements of `output_type(kind)` for each row, and
    /// nobody else uses it; a base margin has `num_outputs(Kind::Raw)` numbers of the type of margins for each.
    pub unsafe fn predict(&self, kind: Kind, input: Input<'_>, sent: Sent) -> Result<(), String> {
        let features = self.loaded.num_features();
        let of = |rows, dtype, count| Call {
            threads: sent.threads,
            base_margin: sent.base_margin,
            ..Call::new(kind, dtype, rows, i64::try_from(count).unwrap_or(-1), sent.out)
        };
        let call = match input {
            Input::Rows(rows) => Call {
                row_stride: i64::try_from(rows.stride).unwrap_or(-1),
                ..of(rows.start, rows.element, rows.count)
            },
            Input::Columns { columns, .. } if columns.len() != features => {
                return Err(format!("there are {} columns, and the model has {features}", columns.len()));
            }
            Input::Columns { columns, count } => {
                Call { columns: columns.as_ptr(), ..of(ptr::null(), Dtype::F32, count) }
            }
        };
        // SAFETY: as the caller promises.
        unsafe { self.loaded.call(&call) }
    }
}

/// What the functions of the library begin with: that of its general call, without `_predict_ex`.
fn prefix_of(file: &File) -> Option<String> {
    let mut stream = ElfStream::<AnyEndian, _>::open_stream(file.try_clone().ok()?).ok()?;
    let (symbols, names) = stream.dynamic_symbol_table().ok()??;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined());
    let mut names = defined.filter_map(|symbol| names.get(symbol.st_name as usize).ok());
    names.find_map(|name| name.strip_suffix("_predict_ex").map(str::to_owned))
}
