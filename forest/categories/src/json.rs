//! Categories in the JSON description that a library holds of its model.

use serde_json::{Value, json};

use crate::choices::Unseen;
use crate::label::Label;
use crate::names::{Names, Naming};

/// The description of a model's categories: null if all features are plain numbers that the model reads.
pub fn to_json(features: &[Names], unseen: Unseen) -> Value {
    if features.iter().all(Names::are_codes) {
        return Value::Null;
    }
    let names = |names: &Names| names.labels.iter().map(json_of_label).collect::<Value>();
    json!({
        "names": features.iter().map(names).collect::<Value>(),
        "naming": features.iter().map(|names| word(names.naming)).collect::<Value>(),
        "unseen": unseen.word(),
    })
}

/// Reads what [`to_json`] made: the names of each feature, and the trainer's treatment of unknown names.
/// `None` if there are no categories.
pub fn from_json(about: &Value) -> Option<(Vec<Names>, Unseen)> {
    let lists = about.get("names")?.as_array()?;
    let unseen = about.get("unseen").and_then(Value::as_str).and_then(Unseen::of_word).unwrap_or_default();
    let names = |(feature, list): (usize, &Value)| Names {
        labels: list.as_array().into_iter().flatten().filter_map(label_of_json).collect(),
        naming: naming(about["naming"][feature].as_str().unwrap_or_default()),
    };
    Some((lists.iter().enumerate().map(names).collect(), unseen))
}

fn word(naming: Naming) -> &'static str {
    match naming {
        Naming::Listed => "listed",
        Naming::Doubtful => "doubtful",
        Naming::Spelled => "spelled",
        Naming::Texts => "texts",
        Naming::TextsAndEmpty => "texts and empty",
        Naming::Unread => "unread",
    }
}

/// The naming that a description calls by this word. Libraries of older releases have no such word: their
/// names are `Listed`.
fn naming(word: &str) -> Naming {
    match word {
        "doubtful" => Naming::Doubtful,
        "spelled" => Naming::Spelled,
        "texts" => Naming::Texts,
        "texts and empty" => Naming::TextsAndEmpty,
        "unread" => Naming::Unread,
        _ => Naming::Listed,
    }
}

/// A label as JSON: integers without a point, other numbers with one, NaN as null.
pub fn json_of_label(label: &Label) -> Value {
    match label {
        Label::Integer(number) => json!(number),
        Label::Number(number) => json!(number),
        Label::Truth(truth) => json!(truth),
        Label::Text(text) => json!(text),
    }
}

/// Reads a label from the JSON that [`json_of_label`] writes; `None` for other JSON.
pub fn label_of_json(value: &Value) -> Option<Label> {
    match value {
        Value::String(text) => Some(Label::Text(text.clone())),
        Value::Bool(truth) => Some(Label::Truth(*truth)),
        Value::Null => Some(Label::Number(f64::NAN)),
        _ => match value.as_i64() {
            Some(number) => Some(Label::Integer(number)),
            None => value.as_f64().map(Label::Number),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_json() {
        let all = [
            Names::listed(vec![
                Label::Integer(1),
                Label::Number(2.5),
                Label::Number(3.0),
                Label::Text("a".into()),
            ]),
            Names::listed(vec![Label::Truth(false), Label::Truth(true)]),
            Names::default(),
            Names { labels: vec![Label::Integer(4)], naming: Naming::Doubtful },
            Names::spelled(["07".to_owned()]),
            Names::texts(vec![Label::Text("07".into())]),
            Names { labels: vec![Label::Text(String::new())], naming: Naming::TextsAndEmpty },
            Names::unread(),
        ];
        let json = to_json(&all, Unseen::Other);
        assert_eq!(from_json(&json), Some((all.to_vec(), Unseen::Other)));
        assert_eq!(to_json(&[Names::default()], Unseen::Error), Value::Null);
        let unread = [Names::default(), Names::unread()];
        assert_eq!(from_json(&to_json(&unread, Unseen::Other)), Some((unread.to_vec(), Unseen::Other)));
        assert_eq!(from_json(&Value::Null), None);
    }

    #[test]
    fn libraries_of_older_releases_have_listed_names() {
        let about = json!({ "names": [[], ["a"]], "unseen": "missing" });
        let (names, unseen) = from_json(&about).unwrap_or_default();
        assert_eq!(names, [Names::default(), Names::listed(vec![Label::Text("a".into())])]);
        assert_eq!(unseen, Unseen::Missing);
    }
}
