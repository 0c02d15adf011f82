//! Placeholders: a text is cut once, at registration, and put together for each row (S-23, S-24).

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use platform_actors::model::timestamp::Timestamp;

use crate::csv::kind::Kind;

/// What is percent-encoded in a value that stands in a URI; what is not ASCII is, too (S-24).
const IN_URI: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'&').add(b'?').add(b'+');
/// The same in a value that must not become other segments of the path.
const IN_SEGMENT: &AsciiSet = &IN_URI.add(b'/');

/// A text with places for values.
#[derive(Debug)]
pub(super) struct Text {
    parts: Vec<Part>,
}

#[derive(Debug)]
enum Part {
    Constant(String),
    Value {
        kind: Kind,
        /// It is the whole segment of a path.
        segment: bool,
    },
}

/// The values of a row, in the order in which they are used up.
#[derive(Debug)]
pub(super) struct Filling<'r> {
    arguments: std::slice::Iter<'r, Cow<'r, str>>,
    now: Option<String>,
}

/// How often a placeholder occurs in a text; an empty one nowhere.
pub(super) fn occurrences(text: &str, placeholder: &str) -> usize {
    if placeholder.is_empty() { 0 } else { text.matches(placeholder).count() }
}

impl Text {
    /// Cuts a text at its placeholders, from left to right; each takes one of the kinds, in order.
    pub(super) fn cut(text: &str, placeholder: &str, kinds: &mut impl Iterator<Item = Kind>) -> Self {
        let mut parts = Vec::new();
        let constants = if placeholder.is_empty() { vec![text] } else { text.split(placeholder).collect() };
        for (at, constant) in constants.into_iter().enumerate() {
            if at > 0 {
                parts.extend(kinds.next().map(|kind| Part::Value { kind, segment: false }));
            }
            if !constant.is_empty() {
                parts.push(Part::Constant(constant.to_owned()));
            }
        }
        Self { parts }
    }

    /// The same of a path and its query: finds out which values are whole segments.
    pub(super) fn cut_uri(text: &str, placeholder: &str, kinds: &mut impl Iterator<Item = Kind>) -> Self {
        let Self { mut parts } = Self::cut(text, placeholder, kinds);
        let mut in_path = true;
        for at in 0..parts.len() {
            let opened = matches!(parts[..at].last(), Some(Part::Constant(before)) if before.ends_with('/'));
            let closed = match parts.get(at + 1) {
                Some(Part::Constant(behind)) => behind.starts_with(['/', '?', '#']),
                Some(Part::Value { .. }) => false,
                None => true,
            };
            match &mut parts[at] {
                Part::Value { segment, .. } => *segment = in_path && opened && closed,
                Part::Constant(constant) => in_path &= !constant.contains(['?', '#']),
            }
        }
        Self { parts }
    }

    /// The path, when no value changes it.
    pub(super) fn constant_path(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Constant(path)] => Some(path.split('?').next().unwrap_or(path)),
            [Part::Constant(start), ..] => start.split_once('?').map(|(path, _)| path),
            _ => None,
        }
    }

    /// The text with values as they came.
    pub(super) fn fill(&self, filling: &mut Filling<'_>) -> String {
        self.fill_with(filling, |value, _, text| text.push_str(value))
    }

    /// The text with values that stay what they are in a URI.
    pub(super) fn fill_uri(&self, filling: &mut Filling<'_>) -> String {
        self.fill_with(filling, |value, segment, text| {
            let set = if segment && value.contains("..") { IN_SEGMENT } else { IN_URI };
            text.extend(utf8_percent_encode(value, set));
        })
    }

    fn fill_with(&self, filling: &mut Filling<'_>, insert: impl Fn(&str, bool, &mut String)) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Constant(constant) => text.push_str(constant),
                Part::Value { kind, segment } => insert(filling.next(*kind), *segment, &mut text),
            }
        }
        text
    }
}

impl<'r> Filling<'r> {
    /// Of arguments that were counted.
    pub(super) fn new(arguments: &'r [Cow<'r, str>]) -> Self {
        Self { arguments: arguments.iter(), now: None }
    }

    /// The next value; all that are the time are the same time (S-23).
    fn next(&mut self, kind: Kind) -> &str {
        match kind {
            Kind::Now => self.now.get_or_insert_with(now),
            _ => self.arguments.next().expect("a row's arguments are counted before they are used"),
        }
    }
}

/// The server's time in the form of S-23.
fn now() -> String {
    let time = Timestamp::now().to_string();
    format!("{}+00:00", time.trim_end_matches('Z'))
}
