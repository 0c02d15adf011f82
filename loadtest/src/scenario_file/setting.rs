//! Replaces values of a file with those of the command line, such as `--set group.trackers.count=500`.

use toml::de::{DeTable, DeValue};

use super::Source;
use crate::error::Error;

/// The end of a line that a setting has added to the text; such lines are not counted.
pub(super) const ADDED: &str = "# --set";
/// The keys of a file that have a default, so that a setting may add them.
const OPTIONAL: [&str; 4] = ["seed", "connections", "verify", "falsify"];

/// Returns the text of a file with a replaced value; all lines keep their numbers. The words of a path are keys, or the
/// name or the number of one of several tables.
///
/// # Errors
/// The file does not contain the value, or the new value is not TOML.
pub(super) fn replaced(source: &Source<'_>, setting: &str) -> Result<String, Error> {
    let refused = |reason: String| Error::Refused(format!("--set {setting}: {reason}"));
    let (path, value) = setting.split_once('=').ok_or_else(|| refused("write KEY=VALUE".to_owned()))?;
    if OPTIONAL.contains(&path.trim()) {
        return with_key(source, path.trim(), value.trim());
    }
    let table = DeTable::parse(source.text).map_err(|error| source.of_toml(&error))?;
    let words: Vec<&str> = path.trim().split('.').collect();
    let mut range = None;
    let mut tables = vec![DeValue::Table(table.into_inner())];
    for word in &words {
        let found = tables.last().and_then(|value| step(value, word));
        let (place, value) = found.ok_or_else(|| {
            refused(format!(
                "{} has no {word:?}; a value must be in the file to be replaced",
                source.file.display()
            ))
        })?;
        range = Some(place);
        tables.push(value);
    }
    let range = range.filter(|_| !matches!(tables.last(), Some(DeValue::Table(_) | DeValue::Array(_))));
    let range = range.ok_or_else(|| refused("that is not a single value".to_owned()))?;
    let value = quoted(value.trim());
    Ok(format!("{}{value}{}", &source.text[..range.start], &source.text[range.end..]))
}

/// Returns the text of a file with a key outside of all tables, which replaces the one of the file.
fn with_key(source: &Source<'_>, key: &str, value: &str) -> Result<String, Error> {
    let table = DeTable::parse(source.text).map_err(|error| source.of_toml(&error))?;
    let value = quoted(value);
    let found =
        table.get_ref().iter().find(|(known, _)| known.get_ref() == key).map(|(_, value)| value.span());
    Ok(match found {
        Some(range) => format!("{}{value}{}", &source.text[..range.start], &source.text[range.end..]),
        None => format!("{key} = {value} {ADDED}\n{}", source.text),
    })
}

/// Returns a value of TOML. Quotes around a text are optional.
fn quoted(value: &str) -> String {
    let parsed = toml::from_str::<toml::Table>(&format!("x = {value}"));
    if parsed.is_ok_and(|table| table.len() == 1) { value.to_owned() } else { format!("{value:?}") }
}

/// Returns the value of a key of a table, or the table with this name or number among several.
fn step<'a>(value: &DeValue<'a>, word: &str) -> Option<(std::ops::Range<usize>, DeValue<'a>)> {
    let found = match value {
        DeValue::Table(table) => table.iter().find(|(key, _)| key.get_ref() == word).map(|(_, value)| value),
        DeValue::Array(tables) => {
            let has_name = |value: &&toml::Spanned<DeValue<'_>>| {
                value.get_ref().get("name").and_then(|name| name.get_ref().as_str()) == Some(word)
            };
            let number = || word.parse::<usize>().ok()?.checked_sub(1);
            tables.iter().find(has_name).or_else(|| tables.get(number()?))
        }
        _ => None,
    }?;
    Some((found.span(), found.get_ref().clone()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str =
        "name = \"x\"\n[[group]]\nname = \"a\"\ncount = 7 # many\n[[group]]\nname = \"b.c\"\ncount = 8\n";

    fn set(setting: &str) -> Result<String, String> {
        replaced(&Source { file: Path::new("x.toml"), text: TEXT }, setting)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_replaced_in_place() {
        assert!(set("group.a.count=500").unwrap().contains("name = \"a\"\ncount = 500 # many\n"));
        assert!(set("group.2.count = 9").unwrap().ends_with("count = 9\n"));
        assert!(set("name=other words").unwrap().starts_with("name = \"other words\"\n"));
    }

    #[test]
    fn keys_with_a_default_need_not_be_in_the_file() {
        let text = set("verify=false").unwrap();
        assert!(text.starts_with("verify = false # --set\nname = \"x\"\n"), "{text}");
        let source = Source { file: Path::new("x.toml"), text: &text };
        let at = text.find("count = 7").unwrap();
        assert_eq!(source.error(at, "wrong").to_string(), "x.toml:4: wrong");
        let again = replaced(&source, "verify=true").unwrap();
        assert!(again.starts_with("verify = true # --set\nname"), "{again}");
        assert!(set("falsify=drop").unwrap().starts_with("falsify = \"drop\""));
    }

    #[test]
    fn setting_that_is_not_in_the_file_is_rejected() {
        for (setting, reason) in [
            ("group.a.size=1", "x.toml has no \"size\""),
            ("group.z.count=1", "x.toml has no \"z\""),
            ("group.a=1", "that is not a single value"),
            ("count", "write KEY=VALUE"),
        ] {
            let error = set(setting).unwrap_err();
            assert!(error.starts_with(&format!("--set {setting}: ")) && error.contains(reason), "{error}");
        }
    }
}
