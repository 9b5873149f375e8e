//! Standard output of commands.

use schedc_data::unwritable;
use schedc_driver::Failure;
use std::io::Write;
use std::path::Path;

/// Prints to standard output. A reader that has closed the pipe, such as `head`, is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output like [`print()`].
pub fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(unwritable(Path::new("standard output"), &error).into())
        }
        _ => Ok(()),
    }
}
