//! Placeholders: a text is split once, at registration, and filled in for each row (S-23 to S-24a).

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use platform_model::timestamp::Timestamp;

use crate::csv::kind::{JsonNumber, Kind};

/// The characters that are percent-encoded in a value of a URI, in addition to those that are not ASCII
/// (S-24).
const IN_URI: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'<').add(b'>').add(b'&').add(b'?').add(b'+');
/// The same for a value that must not become several segments of the path.
const IN_SEGMENT: &AsciiSet = &IN_URI.add(b'/');

/// A text with placeholders.
#[derive(Debug)]
pub(super) struct TemplateText {
    parts: Vec<TemplatePart>,
}

#[derive(Debug)]
enum TemplatePart {
    Constant(String),
    Value {
        kind: Kind,
        /// Whether the value is a whole segment of the path.
        segment: bool,
        /// Whether the value is inside a JSON string.
        quoted: bool,
    },
}

/// The values of a row, in the order in which they are used.
#[derive(Debug)]
pub(super) struct Filling<'r> {
    arguments: std::slice::Iter<'r, Cow<'r, str>>,
    now: Option<String>,
}

/// Returns how often a placeholder occurs in a text; an empty placeholder never does.
pub(super) fn occurrences(text: &str, placeholder: &str) -> usize {
    if placeholder.is_empty() { 0 } else { text.matches(placeholder).count() }
}

impl TemplateText {
    /// Splits a text at its placeholders from left to right; each takes the next type.
    pub(super) fn cut(text: &str, placeholder: &str, kinds: &mut impl Iterator<Item = Kind>) -> Self {
        let (mut parts, mut quoted) = (Vec::new(), false);
        let constants = if placeholder.is_empty() { vec![text] } else { text.split(placeholder).collect() };
        for (at, constant) in constants.into_iter().enumerate() {
            if at > 0 {
                parts.extend(kinds.next().map(|kind| TemplatePart::Value { kind, segment: false, quoted }));
            }
            quoted ^= changes_quotes(constant);
            if !constant.is_empty() {
                parts.push(TemplatePart::Constant(constant.to_owned()));
            }
        }
        Self { parts }
    }

    /// Splits a path with its query, and determines which values are whole segments.
    pub(super) fn cut_uri(text: &str, placeholder: &str, kinds: &mut impl Iterator<Item = Kind>) -> Self {
        let Self { mut parts } = Self::cut(text, placeholder, kinds);
        let mut in_path = true;
        for at in 0..parts.len() {
            let opened =
                matches!(parts[..at].last(), Some(TemplatePart::Constant(before)) if before.ends_with('/'));
            let closed = match parts.get(at + 1) {
                Some(TemplatePart::Constant(behind)) => behind.starts_with(['/', '?', '#']),
                Some(TemplatePart::Value { .. }) => false,
                None => true,
            };
            match &mut parts[at] {
                TemplatePart::Value { segment, .. } => *segment = in_path && opened && closed,
                TemplatePart::Constant(constant) => in_path &= !constant.contains(['?', '#']),
            }
        }
        Self { parts }
    }

    /// Returns the path, if no value changes it.
    pub(super) fn constant_path(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [TemplatePart::Constant(path)] => Some(path.split('?').next().unwrap_or(path)),
            [TemplatePart::Constant(start), ..] => start.split_once('?').map(|(path, _)| path),
            _ => None,
        }
    }

    /// Returns the body with the values verbatim. A number outside of JSON strings is written as the JSON number that
    /// it means (S-24a), because rows may spell it `+1`, `007`, `.5` or `5.`.
    pub(super) fn fill(&self, filling: &mut Filling<'_>) -> String {
        self.fill_with(filling, |value, part, text| match part {
            TemplatePart::Value { kind, quoted: false, .. } if kind.is_numeric() => {
                JsonNumber::of(value).push_to(text);
            }
            _ => text.push_str(value),
        })
    }

    /// Returns the text with percent-encoded values.
    pub(super) fn fill_uri(&self, filling: &mut Filling<'_>) -> String {
        self.fill_with(filling, |value, part, text| {
            let is_segment = matches!(part, TemplatePart::Value { segment: true, .. });
            let set = if is_segment && value.contains("..") { IN_SEGMENT } else { IN_URI };
            text.extend(utf8_percent_encode(value, set));
        })
    }

    fn fill_with(
        &self,
        filling: &mut Filling<'_>,
        insert: impl Fn(&str, &TemplatePart, &mut String),
    ) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                TemplatePart::Constant(constant) => text.push_str(constant),
                TemplatePart::Value { kind, .. } => insert(filling.next(*kind), part, &mut text),
            }
        }
        text
    }
}

/// Returns whether a part of a JSON text has an odd number of quotes that begin or end a string.
fn changes_quotes(text: &str) -> bool {
    let (mut odd, mut escaped) = (false, false);
    for byte in text.bytes() {
        odd ^= byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
    }
    odd
}

impl<'r> Filling<'r> {
    /// Starts with the first argument; the number of arguments was checked.
    pub(super) fn new(arguments: &'r [Cow<'r, str>]) -> Self {
        Self { arguments: arguments.iter(), now: None }
    }

    /// Returns the next value. Every `NOW` of a row is the same time (S-23).
    fn next(&mut self, kind: Kind) -> &str {
        match kind {
            Kind::Now => self.now.get_or_insert_with(now),
            _ => self.arguments.next().expect("a row's arguments are counted before they are used"),
        }
    }
}

/// Returns the server's time in the format of S-23.
fn now() -> String {
    let time = Timestamp::now().to_string();
    format!("{}+00:00", time.trim_end_matches('Z'))
}
