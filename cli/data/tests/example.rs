//! The example model's rows are the same in both formats.

use std::path::PathBuf;

use schedc_data::{DataError, Expect, Rows, Source, read_rows};

/// Reads a file beside the example model, which has 30 features.
fn example(name: &str) -> Result<Rows, DataError> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../examples/model", name].iter().collect();
    read_rows(&Source::Path(path), Expect::unnamed(30))
}

#[test]
fn rows_of_both_formats_are_equal() -> Result<(), DataError> {
    let (text, array) = (example("rows.csv")?, example("rows.npy")?);
    assert_eq!((text.rows, array.rows), (171, 171));
    assert_eq!(text.names.as_ref().and_then(|names| names.first()).map(String::as_str), Some("mean radius"));
    let bits = |rows: Rows| rows.into_f32().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let (text, array) = (bits(text), bits(array));
    let missing = array.iter().filter(|&&bits| f32::from_bits(bits).is_nan()).count();
    assert!((200..320).contains(&missing), "about 5 % of 5130 cells: {missing}");
    assert_eq!(text, array);
    Ok(())
}
