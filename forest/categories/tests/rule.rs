//! The table of `docs/categories.md`, cell by cell.

use sched_categories::{
    Categories, Cell, CellForm, CellOrigin, Choices, Label, Lookup, Names, Naming, NumbersAs, Refusal, Unseen,
};
use std::error::Error;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PAGE: &str = include_str!("../../../docs/categories.md");

fn names(model: &str) -> Result<Names> {
    let numbers = || [10, 20, 30].map(Label::Integer).to_vec();
    let texts = |names: &[&str]| names.iter().map(|name| Label::Text((*name).to_owned())).collect();
    Ok(match model {
        "T" => Names::listed(texts(&["red", "green"])),
        "N" => Names::listed(numbers()),
        "B" => Names::listed(vec![Label::Truth(false), Label::Truth(true)]),
        "D" => Names { labels: numbers(), naming: Naming::Doubtful },
        "C" => Names::spelled(["red", "5", "05"].map(String::from)),
        "P" => Names::texts(texts(&["red", "5", "05"])),
        other => return Err(format!("the page names a model {other}").into()),
    })
}

/// A cell as written on the page: its kind and its value.
#[derive(Clone, Copy)]
struct Written<'a> {
    kind: &'a str,
    text: &'a str,
}

impl<'a> Written<'a> {
    fn of(cell: &'a str) -> Result<Written<'a>> {
        if cell == "missing" {
            return Ok(Written { kind: "missing", text: "" });
        }
        let (kind, text) = cell.split_once(' ').ok_or("a cell has a kind and a value")?;
        Ok(Written {
            kind,
            text: text.strip_prefix('`').and_then(|text| text.strip_suffix('`')).unwrap_or(text),
        })
    }

    fn typed(self) -> Result<Cell<'a>> {
        Ok(match self.kind {
            "text" => Cell::Text(self.text),
            "number" if self.text.contains('.') => Cell::Number(self.text.parse()?),
            "number" => Cell::Integer(self.text.parse()?),
            "truth" => Cell::Truth(self.text == "true"),
            "missing" => Cell::Missing,
            other => return Err(format!("the page has a cell of kind {other}").into()),
        })
    }

    /// The code of this cell in a CSV file.
    fn in_csv(self, lookup: Lookup<'_>) -> std::result::Result<f64, Refusal> {
        lookup.code_of_untyped(self.text, || match self.kind {
            "missing" => Some(f64::NAN),
            "truth" => Some(1.0),
            _ => self.text.parse().ok(),
        })
    }
}

/// The outcome in the page's words.
fn outcome(found: std::result::Result<f64, Refusal>, cell: Written<'_>, names: &Names) -> String {
    match found {
        Err(Refusal::Unseen(_)) => "unknown".to_owned(),
        Err(_) => "refused".to_owned(),
        Ok(code) if code.is_nan() => "missing".to_owned(),
        Ok(code) => {
            let is_place = (0..names.labels.len()).any(|place| names.code(place) == code);
            let is_itself = cell.text.parse() == Ok(code) && names.naming != Naming::Spelled;
            if is_place && !is_itself { format!("code {code}") } else { "itself".to_owned() }
        }
    }
}

#[test]
fn every_cell_of_the_page_holds() -> Result<()> {
    let table =
        PAGE.split("## The table").nth(1).and_then(|rest| rest.split("## ").next()).ok_or("no table")?;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    let mut cells = 0;
    for row in rows.filter(|row| row.split(" | ").count() == 6 && !row.starts_with("model")) {
        let parts: Vec<&str> = row.split(" | ").collect();
        let names = names(parts[0])?;
        let categories = Categories::new([names.clone()], Choices::default(), Unseen::Error);
        let of = |origin| categories.lookup(0, origin).ok_or("a feature without names");
        let (table, array) = (of(CellOrigin::Table)?, of(CellOrigin::Array)?);
        let cell = Written::of(parts[1])?;
        let found = [
            cell.in_csv(table),
            table.code(cell.typed()?, CellForm::Plain),
            table.code(cell.typed()?, CellForm::Dictionary),
            array.code(cell.typed()?, CellForm::Plain),
        ];
        for (found, wanted) in found.into_iter().zip(&parts[2..]).filter(|(_, wanted)| **wanted != "-") {
            assert_eq!(outcome(found, cell, &names), *wanted, "{row}");
            cells += 1;
        }
    }
    assert!(cells > 100, "the page has {cells} cells");
    Ok(())
}

fn lookup_of(
    names: Names,
    choices: Choices,
    origin: CellOrigin,
    cell: Cell<'_>,
) -> std::result::Result<f64, Refusal> {
    let categories = Categories::new([names], choices, Unseen::Error);
    let lookup = categories.lookup(0, origin).ok_or(Refusal::Empty)?;
    lookup.code(cell, CellForm::Plain)
}

#[test]
fn numbers_are_what_the_user_says() -> Result<()> {
    let chosen = |numbers| Choices { numbers: Some(numbers), unseen: None };
    let cases = [
        ("N", NumbersAs::Codes, CellOrigin::Table, Err(Refusal::NameAmongCodes(20.0, 3))),
        ("N", NumbersAs::Codes, CellOrigin::Array, Err(Refusal::NameAmongCodes(20.0, 3))),
        ("N", NumbersAs::Names, CellOrigin::Array, Ok(1.0)),
        ("D", NumbersAs::Codes, CellOrigin::Table, Err(Refusal::NameAmongCodes(20.0, 3))),
        ("D", NumbersAs::Names, CellOrigin::Table, Ok(1.0)),
        ("T", NumbersAs::Codes, CellOrigin::Table, Ok(20.0)),
        ("T", NumbersAs::Names, CellOrigin::Array, Err(Refusal::NumberAmongOthers("20".into()))),
        ("C", NumbersAs::Codes, CellOrigin::Table, Err(Refusal::Unseen("20".into()))),
    ];
    for (model, numbers, origin, wanted) in cases {
        let found = lookup_of(names(model)?, chosen(numbers), origin, Cell::Integer(20));
        assert_eq!(found, wanted, "{model} {numbers:?} {origin:?}");
    }
    Ok(())
}

#[test]
fn the_treatment_of_unknown_categories_holds_for_codes() -> Result<()> {
    let code = |unseen, number| -> Result<f64> {
        let choices = Choices { unseen, numbers: None };
        let found = lookup_of(names("T")?, choices, CellOrigin::Array, Cell::Number(number));
        found.map_err(|refusal| format!("{refusal:?}").into())
    };
    assert_eq!(code(None, 99.0)?, 99.0);
    assert_eq!(code(Some(Unseen::Other), 99.0)?, -1.0);
    assert!(code(Some(Unseen::Missing), 99.0)?.is_nan());
    assert!(code(Some(Unseen::Error), 99.0).is_err());
    assert_eq!(code(Some(Unseen::Error), 1.0)?, 1.0);
    Ok(())
}

#[test]
fn numbers_and_truth_values_are_told_apart() {
    let mixed = Names::listed(vec![Label::Truth(true), Label::Number(2.5), Label::Integer(0)]);
    let code = |cell| lookup_of(mixed.clone(), Choices::default(), CellOrigin::Table, cell);
    assert_eq!(code(Cell::Integer(1)), Err(Refusal::NumberOrTruth(true)));
    assert_eq!(code(Cell::Truth(false)), Err(Refusal::NumberOrTruth(false)));
    assert_eq!([code(Cell::Truth(true)), code(Cell::Integer(0))], [Ok(0.0), Ok(2.0)]);
}

#[test]
fn codes_of_csv_are_found_before_names_that_look_like_numbers() -> Result<()> {
    let codes = Choices { numbers: Some(NumbersAs::Codes), unseen: None };
    let listed = Names::listed(["2", "1", "x"].map(|name| Label::Text(name.into())).to_vec());
    let categories = Categories::new([listed], codes, Unseen::Error);
    let lookup = categories.lookup(0, CellOrigin::Table).ok_or("a feature without names")?;
    for (cell, wanted) in [("2", 2.0), ("1.0", 1.0), ("x", 2.0)] {
        assert_eq!(lookup.code_of_untyped(cell, || None), Ok(wanted), "{cell}");
    }
    Ok(())
}

#[test]
fn unknown_names_are_what_the_user_says() -> Result<()> {
    let cases = [("T", Unseen::Other, -1.0), ("C", Unseen::Other, -0.25)];
    for (model, unseen, wanted) in cases {
        let choices = Choices { unseen: Some(unseen), numbers: None };
        assert_eq!(
            lookup_of(names(model)?, choices, CellOrigin::Table, Cell::Text("blue")),
            Ok(wanted),
            "{model}"
        );
    }
    Ok(())
}

/// A number in CSV is an unknown name if the model's own input holds texts, or if the user chose a treatment
/// of unknown names. A number of a typed column is refused unless the user chose one.
#[test]
fn numbers_are_unknown_names_of_models_that_read_texts() -> Result<()> {
    let labels = || vec![Label::Text("01".into()), Label::Text("02".into())];
    let chosen = Choices { unseen: Some(Unseen::Other), numbers: None };
    let unknown = || Ok(-1.0);
    let refused = || Err(Refusal::NumberAmongOthers("3".into()));
    let for_text = || Err(Refusal::NumberForText("3".into()));
    let cases = [
        (Names::listed(labels()), Choices::default(), refused(), refused()),
        (Names::listed(labels()), chosen, unknown(), unknown()),
        (Names::texts(labels()), Choices::default(), unknown(), for_text()),
        (Names::texts(labels()), chosen, unknown(), unknown()),
    ];
    for (names, choices, untyped, typed) in cases {
        let naming = names.naming;
        let categories = Categories::new([names], choices, Unseen::Other);
        let lookup = categories.lookup(0, CellOrigin::Table).ok_or("a feature without names")?;
        assert_eq!(lookup.code_of_untyped("3", || Some(3.0)), untyped, "{naming:?} {choices:?}");
        assert_eq!(lookup.code(Cell::Integer(3), CellForm::Plain), typed, "{naming:?} {choices:?}");
        assert_eq!(lookup.code_of_untyped("01", || Some(1.0)), Ok(0.0), "{naming:?}");
        assert_eq!(lookup.code_of_untyped(" 01", || Some(1.0)).is_ok(), choices.unseen.is_some());
    }
    Ok(())
}

#[test]
fn truth_values_are_numbers_to_catboost() {
    let code = |names: &[&str], cell| {
        let names = Names::spelled(names.iter().map(|name| (*name).to_owned()));
        lookup_of(names, Choices::default(), CellOrigin::Table, cell)
    };
    assert_eq!(code(&["0", "1"], Cell::Truth(true)), Ok(1.0));
    assert_eq!(code(&["0", "1", "True"], Cell::Truth(false)), Ok(0.0));
    assert_eq!(code(&["False", "True"], Cell::Truth(true)), Err(Refusal::Truth(true)));
    assert_eq!(code(&["a"], Cell::Truth(true)), Err(Refusal::Unseen("True".into())));
}

#[test]
fn texts_and_numbers_of_one_spelling_are_told_apart_by_type() {
    let mixed = Names::listed(vec![Label::Integer(1), Label::Text("1".into()), Label::Text("a".into())]);
    let categories = Categories::new([mixed], Choices::default(), Unseen::Missing);
    let lookup = categories.lookup(0, CellOrigin::Table);
    let code = |cell| lookup.map(|lookup| lookup.code(cell, CellForm::Plain));
    assert_eq!(code(Cell::Text("1")), Some(Ok(1.0)));
    assert_eq!(code(Cell::Integer(1)), Some(Ok(0.0)));
    let untyped = lookup.map(|lookup| lookup.code_of_untyped("1", || Some(1.0)));
    assert_eq!(untyped, Some(Err(Refusal::TextAndNumber("1".into()))));
}

#[test]
fn numbers_that_pandas_writes_for_missing_values_are_no_codes() -> Result<()> {
    let codes = Choices { numbers: Some(NumbersAs::Codes), unseen: None };
    let of = |origin| Ok::<_, Box<dyn Error>>(lookup_of(names("N")?, codes, origin, Cell::Integer(-1)));
    assert_eq!(of(CellOrigin::Table)?, Err(Refusal::MissingCode));
    assert_eq!(of(CellOrigin::Array)?, Ok(-1.0));
    // A negative number in an array that is a name is not read as a code.
    let negative = Names::listed(vec![Label::Integer(-3), Label::Integer(0)]);
    let found = lookup_of(negative, Choices::default(), CellOrigin::Array, Cell::Number(-3.0));
    assert_eq!(found, Err(Refusal::NameAmongCodes(-3.0, 2)));
    Ok(())
}

#[test]
fn whole_numbers_keep_all_digits() {
    let large = 9_007_199_254_740_993;
    let listed = Names::listed(vec![Label::Integer(large - 1), Label::Integer(large)]);
    let of = |names: &Names, origin, cell| lookup_of(names.clone(), Choices::default(), origin, cell);
    assert_eq!(of(&listed, CellOrigin::Table, Cell::Integer(large)), Ok(1.0));
    assert_eq!(
        of(&listed, CellOrigin::Table, Cell::Number(large as f64)),
        Err(Refusal::Inexact(large as f64))
    );
    let spelled = Names::spelled([(large - 1).to_string(), large.to_string()]);
    assert_eq!(of(&spelled, CellOrigin::Table, Cell::Integer(large)), Ok(-1.5));
    assert_eq!(
        of(&spelled, CellOrigin::Array, Cell::Number(large as f64)),
        Err(Refusal::Inexact(large as f64))
    );
    let unsigned = Names::listed(vec![Label::Integer(1), Label::Text(u64::MAX.to_string())]);
    assert_eq!(of(&unsigned, CellOrigin::Table, Cell::Unsigned(u64::MAX)), Ok(1.0));
}

#[test]
fn empty_cells_are_refused_where_a_name_is_empty() {
    let categories = Categories::new([Names::spelled([String::new()])], Choices::default(), Unseen::Other);
    let lookup = categories.lookup(0, CellOrigin::Table);
    let untyped = lookup.map(|lookup| lookup.code_of_untyped("", || Some(f64::NAN)));
    assert_eq!(untyped, Some(Err(Refusal::Empty)));
    assert_eq!(lookup.map(|lookup| lookup.code(Cell::Text(""), CellForm::Plain)), Some(Ok(-0.5)));
}
