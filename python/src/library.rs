//! Libraries of `schedc build`, loaded from a file or from bytes.

use elf::ElfStream;
use elf::endian::AnyEndian;
use rustix::fs::{MemfdFlags, memfd_create};
use sched_library::{
    Call, Dtype, LibraryFunctions, LoadError, ModelFunctions, ModelHandle, OutputKind, RawColumn,
};
use std::ffi::c_void;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr;

/// Rows in memory.
#[derive(Clone, Copy, Debug)]
pub struct RowSlice {
    /// The first value; any address if there are no rows.
    pub start: *const c_void,
    /// Number of rows.
    pub count: usize,
    /// Distance between rows, in elements.
    pub stride: usize,
    /// Type of the values: single or double precision.
    pub element: Dtype,
}

/// The input of a call.
#[derive(Clone, Copy, Debug)]
pub enum CallInput<'a> {
    /// Rows in row-major order.
    Rows(RowSlice),
    /// Columns, one for each feature.
    Columns {
        /// The columns.
        columns: &'a [RawColumn],
        /// Number of rows.
        count: usize,
    },
}

/// The other arguments of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallOptions {
    /// The address of the results.
    pub out: *mut c_void,
    /// The largest number of threads; 0 leaves the number to the library.
    pub threads: i32,
    /// The base margin; null for the model's own base values.
    pub base_margin: *const c_void,
    /// The number of the GPU, for models that run on one.
    pub device: i32,
}

/// Properties of a library's code, from its own description.
#[derive(Clone, Copy, Debug)]
pub struct LibraryProperties {
    /// The NumPy type to which arrays of integers are converted.
    pub integer_type: &'static str,
    /// Whether calls may run on a GPU.
    pub runs_on_gpu: bool,
    /// The NumPy type of the rows that the code reads.
    pub row_type: &'static str,
}

impl LibraryProperties {
    /// Reads the library's JSON about its model. Libraries of older releases lack some of it.
    pub fn of(info: &str) -> LibraryProperties {
        let about: serde_json::Value = serde_json::from_str(info).unwrap_or_default();
        let model = &about["model"];
        LibraryProperties {
            integer_type: if model["whole_numbers"]["arrays"] == "f32" { "float32" } else { "float64" },
            runs_on_gpu: about["runs_on"] == "gpu",
            row_type: if model["types"]["rows"] == "f64" { "float64" } else { "float32" },
        }
    }
}

/// A library in this process, or a model that another Python module of this process has.
pub struct LoadedLibrary {
    /// Its functions.
    pub functions: Box<dyn ModelFunctions + Send + Sync>,
    /// The names of the features; `None` if the model has no names.
    pub feature_names: Option<Vec<String>>,
    takes_columns: bool,
    /// The library's open file, from which `bytes` and `section` read even if its path has a new file. `None`
    /// for a model that another Python module compiled in memory.
    file: Option<File>,
}

impl LoadedLibrary {
    /// Loads the library at a path.
    ///
    /// # Errors
    /// The file does not exist, or is not a library of `schedc build` for this machine.
    pub fn open(path: &Path) -> Result<LoadedLibrary, String> {
        let shown = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        LoadedLibrary::of_file(file, &shown)
    }

    /// Loads a library from its bytes.
    ///
    /// # Errors
    /// See [`LoadedLibrary::open`].
    pub fn from_bytes(bytes: &[u8]) -> Result<LoadedLibrary, String> {
        let shown = "the library in memory";
        let failed = |error: std::io::Error| format!("{shown}: {error}");
        let memory = memfd_create("schedc", MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        let mut file = File::from(memory);
        file.write_all(bytes).map_err(failed)?;
        LoadedLibrary::of_file(file, shown)
    }

    /// Wraps a model that another Python module compiled in memory. The owner of the handle must keep the
    /// model alive.
    pub fn of_handle(handle: ModelHandle, feature_names: Option<Vec<String>>) -> LoadedLibrary {
        LoadedLibrary { functions: Box::new(handle), feature_names, takes_columns: true, file: None }
    }

    fn of_file(file: File, shown: &str) -> Result<LoadedLibrary, String> {
        let prefix = prefix_of(&file).ok_or_else(|| {
            format!("{shown} is not a library of schedc; make one with `schedc build model.json -o model.so`")
        })?;
        // By the descriptor: if a path has a new file, the loader would still return the old library.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        // SAFETY: callers must trust the library, since loading it runs its code.
        let loaded = unsafe { LibraryFunctions::open(Path::new(&path), &prefix) };
        let loaded = loaded.map_err(|refusal| match refusal {
            LoadError::NotLoaded(reason) => {
                format!("{shown} cannot be loaded: {}", reason.replace(&path, shown))
            }
            LoadError::NoFunction(name) => {
                format!("the library has no function `{name}`; build it again with this version of schedc")
            }
        })?;
        Ok(LoadedLibrary {
            takes_columns: loaded.takes_columns(),
            feature_names: loaded.feature_names(),
            functions: Box::new(loaded),
            file: Some(file),
        })
    }

    /// Whether the model is a library in a file, and so is compiled.
    pub fn has_file(&self) -> bool {
        self.file.is_some()
    }

    /// Whether calls accept columns, from the library's information at load time.
    pub fn takes_columns(&self) -> bool {
        self.takes_columns
    }

    /// The bytes of the file that was loaded.
    ///
    /// # Errors
    /// The file can no longer be read, or there is none.
    pub fn bytes(&self) -> std::io::Result<Vec<u8>> {
        let none = || {
            std::io::Error::other(
                "the model is not compiled yet, and has no library; wait() for the compilation",
            )
        };
        let mut file = self.file.as_ref().ok_or_else(none)?.try_clone()?;
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The content of the section of this name; None if there is none.
    ///
    /// # Errors
    /// The file can no longer be read.
    pub fn section(&self, name: &str) -> std::io::Result<Option<Vec<u8>>> {
        let Some(file) = &self.file else { return Ok(None) };
        let Ok(mut stream) = ElfStream::<AnyEndian, _>::open_stream(file.try_clone()?) else {
            return Ok(None);
        };
        let Ok(Some(header)) = stream.section_header_by_name(name).map(Option::<&_>::copied) else {
            return Ok(None);
        };
        Ok(stream.section_data(&header).ok().map(|(content, _)| content.to_vec()))
    }

    /// Makes a call.
    ///
    /// # Errors
    /// The library's error. Old libraries do not support columns, and refuse them.
    ///
    /// # Safety
    /// The input is readable; the output has room for `num_outputs(kind)` elements of `output_type(kind)` for
    /// each row, and is not aliased. A base margin has `num_outputs(OutputKind::Raw)` numbers of the type of
    /// margins for each row.
    pub unsafe fn predict(
        &self,
        kind: OutputKind,
        input: CallInput<'_>,
        options: CallOptions,
    ) -> Result<(), String> {
        let features = self.functions.num_features();
        let of = |rows, dtype, count| Call {
            threads: options.threads,
            base_margin: options.base_margin,
            device: options.device,
            ..Call::new(kind, dtype, rows, i64::try_from(count).unwrap_or(-1), options.out)
        };
        let call = match input {
            CallInput::Rows(rows) => Call {
                row_stride: i64::try_from(rows.stride).unwrap_or(-1),
                ..of(rows.start, rows.element, rows.count)
            },
            CallInput::Columns { columns, .. } if columns.len() != features => {
                return Err(format!("there are {} columns, and the model has {features}", columns.len()));
            }
            CallInput::Columns { columns, count } => {
                Call { columns: columns.as_ptr(), ..of(ptr::null(), Dtype::F32, count) }
            }
        };
        // SAFETY: the caller guarantees this.
        unsafe { self.functions.call(&call) }.map_err(|error| error.message)
    }
}

/// Prefix of the library's functions: the name of its general call without `_predict_ex`.
fn prefix_of(file: &File) -> Option<String> {
    let mut stream = ElfStream::<AnyEndian, _>::open_stream(file.try_clone().ok()?).ok()?;
    let (symbols, names) = stream.dynamic_symbol_table().ok()??;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined());
    let mut names = defined.filter_map(|symbol| names.get(symbol.st_name as usize).ok());
    names.find_map(|name| name.strip_suffix("_predict_ex").map(str::to_owned))
}
