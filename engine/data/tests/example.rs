//! The example model's rows are the same in all formats.

use std::path::PathBuf;

use schedc_data::{DataError, DataSource, Expect, Rows, read_rows};

/// Reads a file in the folder of the example model, which has 30 features.
fn example(name: &str, expect: Expect<'_>) -> Result<Rows, DataError> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../examples/model", name].iter().collect();
    read_rows(&DataSource::Path(path), expect)
}

#[test]
fn rows_of_all_formats_are_equal() -> Result<(), DataError> {
    let unnamed = Expect::unnamed(30);
    let (text, array) = (example("rows.csv", unnamed)?, example("rows.npy", unnamed)?);
    let names = text.names.clone().unwrap_or_default();
    // As pyarrow has written it, between columns that are not features.
    let table = example("rows.parquet", Expect::named(&names))?;
    assert_eq!((text.rows, array.rows, table.rows), (171, 171, 171));
    assert_eq!(names.first().map(String::as_str), Some("mean radius"));
    assert_eq!(table.names.as_deref(), Some(names.as_slice()));
    let bits = |rows: Rows| rows.into_f32().into_iter().map(f32::to_bits).collect::<Vec<_>>();
    let (text, array, table) = (bits(text), bits(array), bits(table));
    let missing = array.iter().filter(|&&bits| f32::from_bits(bits).is_nan()).count();
    assert!((200..320).contains(&missing), "about 5 % of 5130 cells: {missing}");
    assert_eq!(text, array);
    assert_eq!(text, table);
    Ok(())
}
