//! User settings: the section `schedc` of the editor's settings.

use sched_lang::Target;
use serde_json::Value;

/// The section that holds the settings.
pub const SECTION: &str = "schedc";

/// The settings of a workspace folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The model of schedules that name none, relative to the workspace folder.
    pub model: Option<String>,
    /// The target to check for, instead of the schedule's `target` line.
    pub target: Option<Target>,
    /// Whether a condition that the checker cannot decide is an error.
    pub strict: bool,
    /// Whether inlay hints show the ranges of the indices of new loops.
    pub range_hints: bool,
    /// Whether inlay hints show the numbers of iterations of new loops.
    pub iteration_hints: bool,
    /// Whether inlay hints show the names of arguments.
    pub parameter_hints: bool,
    /// Whether inlay hints show the values of params and model properties.
    pub value_hints: bool,
    /// Whether a schedule has code lenses.
    pub code_lens: bool,
    /// The code lenses of a schedule.
    pub lenses: Lenses,
    /// Whether the gains of directives are measured each time a schedule is saved.
    pub ledger_on_save: bool,
}

/// Switches of the code lenses: commands that editors show above a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lenses {
    /// Whether *show nest* is above the schedule.
    pub nest: bool,
    /// Whether *build* is above the schedule.
    pub build: bool,
    /// Whether *bench* is above the schedule.
    pub bench: bool,
    /// Whether *ledger* is above the schedule.
    pub ledger: bool,
    /// Whether *try values* is above each param.
    pub sweep: bool,
}

impl Default for Lenses {
    fn default() -> Self {
        Lenses { nest: true, build: true, bench: true, ledger: true, sweep: true }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            model: None,
            target: None,
            strict: false,
            range_hints: true,
            iteration_hints: true,
            parameter_hints: true,
            value_hints: true,
            code_lens: true,
            lenses: Lenses::default(),
            ledger_on_save: false,
        }
    }
}

impl Settings {
    /// Reads settings from the section itself or from an object that contains it. Absent or wrong values keep
    /// their defaults. The second result lists the errors.
    pub fn read(value: &Value) -> (Settings, Vec<String>) {
        let section = value.get(SECTION).unwrap_or(value);
        let mut reader = SettingsReader { section, wrong: Vec::new() };
        let mut settings = Settings { model: reader.text("model"), ..Settings::default() };
        if let Some(text) = reader.text("target") {
            settings.target = text.parse().ok();
            if settings.target.is_none() {
                reader.wrong.push(format!(
                    "the setting schedc.target is `{text}`; write what stands in a `target` line, such as \
                     `cpu(avx512)`"
                ));
            }
        }
        match reader.text("ledger").as_deref() {
            Some("save") => settings.ledger_on_save = true,
            Some("demand") | None => {}
            Some(other) => reader
                .wrong
                .push(format!("the setting schedc.ledger is `{other}` and must be `save` or `demand`")),
        }
        reader.flag("strict", &mut settings.strict);
        reader.flag("inlayHints.ranges", &mut settings.range_hints);
        // Switching off ranges also switches off iterations, unless the settings have a value for iterations.
        settings.iteration_hints = settings.range_hints;
        reader.flag("inlayHints.iterations", &mut settings.iteration_hints);
        reader.flag("inlayHints.parameters", &mut settings.parameter_hints);
        reader.flag("inlayHints.values", &mut settings.value_hints);
        reader.flag("codeLens", &mut settings.code_lens);
        let Lenses { nest, build, bench, ledger, sweep } = &mut settings.lenses;
        reader.flag("lenses.nest", nest);
        reader.flag("lenses.build", build);
        reader.flag("lenses.bench", bench);
        reader.flag("lenses.ledger", ledger);
        reader.flag("lenses.sweep", sweep);
        (settings, reader.wrong)
    }
}

struct SettingsReader<'v> {
    section: &'v Value,
    wrong: Vec<String>,
}

impl SettingsReader<'_> {
    /// Finds a setting by its name. A dot in the name may lead into an object or be part of the key.
    fn get(&self, name: &str) -> Option<&Value> {
        let nested = || name.split('.').try_fold(self.section, |value, key| value.get(key));
        self.section.get(name).or_else(nested).filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Option<String> {
        let value = self.get(name)?;
        match value.as_str().map(str::trim) {
            Some(text) => Some(text.to_owned()).filter(|text| !text.is_empty()),
            None => {
                let wrong = format!("the setting schedc.{name} is {value} and must be a text");
                self.wrong.push(wrong);
                None
            }
        }
    }

    fn flag(&mut self, name: &str, into: &mut bool) {
        let Some(value) = self.get(name) else { return };
        match value.as_bool() {
            Some(on) => *into = on,
            None => {
                let wrong = format!("the setting schedc.{name} is {value} and must be true or false");
                self.wrong.push(wrong);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn settings_are_read_from_every_shape_that_editors_send() {
        let expected = Settings {
            model: Some("m.json".to_owned()),
            target: Some(Target::gpu()),
            strict: true,
            value_hints: false,
            lenses: Lenses { build: false, ..Lenses::default() },
            ..Settings::default()
        };
        let nested = json!({ "model": "m.json", "target": "gpu", "strict": true,
            "inlayHints": { "values": false }, "lenses": { "build": false } });
        let flat = json!({ "model": "m.json", "target": "gpu", "strict": true,
            "inlayHints.values": false, "lenses.build": false });
        for value in [nested.clone(), flat, json!({ "schedc": nested })] {
            assert_eq!(Settings::read(&value), (expected.clone(), Vec::new()));
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_does_not_hide_the_rest() {
        let (settings, wrong) =
            Settings::read(&json!({ "model": 3, "target": "tpu", "strict": 1, "codeLens": false }));
        assert_eq!(settings, Settings { code_lens: false, ..Settings::default() });
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert_eq!(Settings::read(&Value::Null), (Settings::default(), Vec::new()));
        let on_save = Settings { ledger_on_save: true, ..Settings::default() };
        assert_eq!(Settings::read(&json!({ "ledger": "save" })), (on_save, Vec::new()));
        assert_eq!(Settings::read(&json!({ "ledger": "often" })).1.len(), 1);
        assert_eq!(
            Settings::read(&json!({ "model": "", "target": null })),
            (Settings::default(), Vec::new())
        );
    }
}
