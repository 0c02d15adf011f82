//! Reads a table of a file key by key. A key with an invalid value, an unknown key and a lacking one are mistakes that
//! are collected; the reading continues with the next key.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistakes::Mistakes;
use crate::population::plan::Between;
use crate::traffic::schedule::curve::Curve;
use crate::traffic::schedule::quantity::{Unit, parse};

/// The longest value that a mistake quotes, in characters.
const LONGEST_QUOTE: usize = 60;

/// A value with its position.
pub(super) type Found<'t> = Spanned<DeValue<'t>>;

/// A table of a file that is being read.
#[derive(Debug)]
pub(super) struct Fields<'t> {
    /// The name of the table in mistakes, such as `group "meters"`.
    what: String,
    /// The position of the table.
    pub(super) at: usize,
    table: &'t DeTable<'t>,
    mistakes: &'t Mistakes<'t>,
    /// The keys that were read, which are those that the table may have.
    known: RefCell<Vec<&'static str>>,
    /// The keys with a mistake.
    wrong: RefCell<Vec<String>>,
}

impl<'t> Fields<'t> {
    /// Starts to read a table at a position. `what` and its key `name` are how mistakes call it.
    pub(super) fn new(what: &str, at: usize, table: &'t DeTable<'t>, mistakes: &'t Mistakes<'t>) -> Self {
        let name = table.get("name").and_then(|name| name.get_ref().as_str());
        let what = match (what, name) {
            ("", _) | (_, None) => what.to_owned(),
            (what, Some(name)) => format!("{what} {name:?}"),
        };
        Self { what, at, table, mistakes, known: RefCell::default(), wrong: RefCell::default() }
    }

    /// Returns the value of a key, which the table may have from then on.
    pub(super) fn value(&self, key: &'static str) -> Option<&'t Found<'t>> {
        self.know(key);
        self.table.get(key)
    }

    fn know(&self, key: &'static str) {
        let mut known = self.known.borrow_mut();
        if !known.contains(&key) {
            known.push(key);
        }
    }

    /// Reads the value of a key, if the table has it and the value is valid.
    pub(super) fn read<T>(
        &self,
        key: &'static str,
        read: impl FnOnce(&'t DeValue<'t>) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.value(key)?;
        read(value.get_ref()).map_err(|reason| self.refuse_value(key, value, &reason)).ok()
    }

    /// Reads the value of a key that the table must have.
    pub(super) fn required<T>(
        &self,
        key: &'static str,
        allowed: &str,
        read: impl FnOnce(&'t DeValue<'t>) -> Result<T, String>,
    ) -> Option<T> {
        if !self.table.contains_key(key) {
            self.know(key);
            self.wrong.borrow_mut().push(key.to_owned());
            self.mistakes.add_lacking(self.at, self.named(&format!("`{key}` is missing; write {allowed}")));
            return None;
        }
        self.read(key, read)
    }

    /// Notes that the value of a key is not allowed.
    pub(super) fn refuse_value(&self, key: &str, value: &Found<'t>, reason: &str) {
        self.wrong.borrow_mut().push(key.to_owned());
        if value.span().is_empty() {
            // The value is where the file is not valid TOML, which is a mistake of its own.
            return;
        }
        let quoted = quoted(self.mistakes.text(value.span()));
        self.mistakes.add(value.span().start, self.named(&format!("{key} = {quoted}: {reason}")));
    }

    /// Notes a mistake at a key, or at the table if it lacks the key.
    pub(super) fn refuse(&self, key: &str, reason: &str) {
        self.wrong.borrow_mut().push(key.to_owned());
        let at = self.table.get_key_value(key).map_or(self.at, |(key, _)| key.span().start);
        self.mistakes.add(at, self.named(reason));
    }

    /// Notes that the table lacks something.
    pub(super) fn refuse_lacking(&self, reason: &str) {
        self.mistakes.add_lacking(self.at, self.named(reason));
    }

    /// Returns whether one of these keys has a mistake, or any key is unknown.
    pub(super) fn has_doubts(&self, keys: &[&str]) -> bool {
        let known = self.known.borrow();
        self.wrong.borrow().iter().any(|wrong| keys.contains(&wrong.as_str()))
            || self.table.keys().any(|key| !known.contains(&key.get_ref().as_ref()))
    }

    /// Returns the tables below a key that is written as `[[key]]`.
    pub(super) fn tables(&self, key: &'static str, heading: &str) -> Vec<(usize, &'t DeTable<'t>)> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let all: Option<Vec<_>> = value.get_ref().as_array().and_then(|all| {
            all.iter().map(|one| Some((one.span().start, one.get_ref().as_table()?))).collect()
        });
        all.unwrap_or_else(|| {
            self.refuse(key, &format!("{key} is a list of tables; write {heading}"));
            Vec::new()
        })
    }

    /// Returns the table below a key.
    pub(super) fn table(&self, key: &'static str) -> Option<(usize, &'t DeTable<'t>)> {
        let value = self.value(key)?;
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.refuse(key, &format!("{key} is a table of keys and values"));
        }
        Some((value.span().start, table?))
    }

    /// Notes the keys that the table may not have.
    pub(super) fn end(self) {
        let known = self.known.borrow();
        for key in self.table.keys().filter(|key| !known.contains(&key.get_ref().as_ref())) {
            let allowed = known.join(", ");
            self.mistakes.add(
                key.span().start,
                self.named(&format!("{:?} is not a key here; allowed are {allowed}", key.get_ref())),
            );
        }
    }

    fn named(&self, reason: &str) -> String {
        if self.what.is_empty() { reason.to_owned() } else { format!("{}: {reason}", self.what) }
    }
}

/// Returns a value of the file in one line.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Reads a text that is not empty.
pub(super) fn text(value: &DeValue<'_>) -> Result<String, String> {
    let text = value.as_str().filter(|text| !text.trim().is_empty());
    text.map(str::to_owned).ok_or_else(|| "allowed is a text in quotes, which is not empty".to_owned())
}

/// Reads `true` or `false`.
pub(super) fn yes_or_no(value: &DeValue<'_>) -> Result<bool, String> {
    value.as_bool().ok_or_else(|| "allowed are true and false".to_owned())
}

/// Returns a reader of whole numbers within a range.
pub(super) fn whole(within: RangeInclusive<u64>) -> impl Fn(&DeValue<'_>) -> Result<u64, String> {
    move |value| {
        let number = value.as_integer().and_then(|number| {
            let digits = number.as_str().replace('_', "");
            u64::from_str_radix(&digits, number.radix()).ok()
        });
        let refused = || format!("allowed are whole numbers from {} to {}", within.start(), within.end());
        number.filter(|number| within.contains(number)).ok_or_else(refused)
    }
}

/// Reads a number, with or without decimals.
pub(super) fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(number) => number.as_str().replace('_', "").parse().ok(),
        DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
        _ => None,
    }
}

/// Reads a time such as `"10s"`.
pub(super) fn time(value: &DeValue<'_>) -> Result<Duration, String> {
    let milliseconds = value.as_str().and_then(|text| parse(text, Unit::Time).ok());
    let time = milliseconds.map(|milliseconds| Duration::from_micros((milliseconds * 1000.0) as u64));
    time.ok_or_else(|| "allowed is a time such as \"200ms\", \"10s\" or \"5min\"".to_owned())
}

/// Reads a time, or two that bound a random one, such as `"5s..9s"`.
pub(super) fn between(value: &DeValue<'_>) -> Result<Between, String> {
    let one = |text: &str| time(&DeValue::String(text.to_owned().into())).ok();
    let read = |text: &str| match text.split_once("..") {
        Some((least, most)) => Some(Between { least: one(least)?, most: one(most)? }),
        None => one(text).map(|time| Between { least: time, most: time }),
    };
    let between = value.as_str().and_then(read).filter(|between| between.least <= between.most);
    between.ok_or_else(|| "allowed is a time such as \"10s\", or a random one such as \"5s..9s\"".to_owned())
}

/// Reads a rate.
pub(super) fn rate(value: &DeValue<'_>) -> Result<Curve, String> {
    let text = value.as_str().map(str::to_owned);
    let text = text.or_else(|| number(value).map(|number| number.to_string()));
    Curve::parse(&text.unwrap_or_else(|| value.type_str().to_owned()))
}

/// Returns the value that one of some words means.
///
/// # Errors
/// Another word; the error lists those that are allowed.
pub(super) fn meaning<T: Copy>(word: Option<&str>, words: &[(&'static str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(known, _)| Some(*known) == word).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        let allowed: Vec<String> = words.iter().map(|(word, _)| format!("{word:?}")).collect();
        format!("allowed are {}", allowed.join(", "))
    })
}

/// Reads one word, or a list of several.
pub(super) fn one_or_more<T: Copy>(
    value: &DeValue<'_>,
    words: &[(&'static str, T)],
) -> Result<Vec<T>, String> {
    let all: Vec<Option<&str>> = match value.as_array() {
        Some(all) => all.iter().map(|one| one.get_ref().as_str()).collect(),
        None => vec![value.as_str()],
    };
    if all.is_empty() {
        return meaning(None, words).map(|one| vec![one]);
    }
    all.into_iter().map(|word| meaning(word, words)).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Source;
    use super::*;

    #[test]
    fn mistakes_of_all_keys_are_collected() {
        let text = "name = 5\ncount = 32\nshare = [1,\n  2]\nwhat = true\nsize = -3\n";
        let source = Source { file: Path::new("x.toml"), text };
        let table = DeTable::parse(text).unwrap();
        let mistakes = Mistakes::new(&source);
        let fields = Fields::new("thing", 0, table.get_ref(), &mistakes);
        assert_eq!(fields.required("name", "a name", super::text), None);
        assert_eq!(fields.read("count", whole(1..=31)), None);
        assert_eq!(fields.read("size", whole(1..=31)), None);
        assert_eq!(fields.read("share", |_| Err::<(), _>("no".to_owned())), None);
        assert_eq!(fields.required("lasts", "a time", time), None);
        assert!(fields.has_doubts(&["size"]));
        fields.end();
        let error = mistakes.refuse().unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(
            lines,
            [
                "6 mistakes",
                "x.toml:1: thing: `lasts` is missing; write a time",
                "x.toml:1: thing: name = 5: allowed is a text in quotes, which is not empty",
                "x.toml:2: thing: count = 32: allowed are whole numbers from 1 to 31",
                "x.toml:3: thing: share = [1, 2]: no",
                "x.toml:5: thing: \"what\" is not a key here; allowed are name, count, size, share, lasts",
                "x.toml:6: thing: size = -3: allowed are whole numbers from 1 to 31",
            ]
        );
    }
}
