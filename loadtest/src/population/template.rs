//! Texts with placeholders, such as `{"type":"demo","value":{{random 1..6}}}`: bodies and paths that a scenario file
//! describes.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::feeder::{Feeder, Feeders};

/// The placeholders, for mistakes and explanations.
pub(crate) const PLACEHOLDERS: &str = "{{seq}}, the number of the post or read of its device from 0; {{device}}, the \
    number of the device; {{source}}, its id; {{time}}, the time now; {{random}}, a number from 0 to 999999, or \
    {{random 1..6}}; {{FEEDER.COLUMN}}, a value of the next row of a [[feeder]]";
/// The bounds of `{{random}}`.
const ANY: RangeInclusive<u64> = 0..=999_999;

/// A text with placeholders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// Whether it is a path, whose values are percent-encoded; otherwise it is JSON.
    form: Form,
}

/// The form of a text, by which values of feeders are escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Path,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Sequence,
    Device,
    Source,
    Time,
    Random(RangeInclusive<u64>),
    /// The feeder and its column, by number.
    Column(usize, usize),
}

/// The values of a post or a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) sequence: u64,
    pub(super) device: u32,
    pub(super) source: &'a str,
}

impl Template {
    /// Reads a text.
    ///
    /// # Errors
    /// A text that names the unknown placeholder and those that are allowed.
    pub(crate) fn parse(text: &str, form: Form, feeders: &[Feeder]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            // A body may close objects with `}}`, so only the first of them ends a placeholder.
            let (word, behind) =
                after.split_once("}}").ok_or_else(|| "a placeholder has no end; write }}".to_owned())?;
            pieces.push(Piece::Text(before.to_owned()));
            let piece = Piece::parse(word.trim(), feeders);
            pieces.push(piece.ok_or_else(|| {
                let columns: Vec<String> = feeders
                    .iter()
                    .flat_map(|feeder| {
                        feeder.columns.iter().map(|column| format!("{}.{column}", feeder.name))
                    })
                    .collect();
                let there =
                    if columns.is_empty() { "there is no [[feeder]]".to_owned() } else { columns.join(", ") };
                format!("{{{{{word}}}}} is not a placeholder; there are {PLACEHOLDERS} ({there})")
            })?);
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self { pieces, form })
    }

    /// Returns whether each post has another text, by its number.
    pub(crate) fn has_sequence(&self) -> bool {
        self.pieces.contains(&Piece::Sequence)
    }

    /// Returns the text of a post or a read, which takes one row of each feeder that it uses.
    pub(super) fn render(&self, values: Values<'_>, feeders: &Feeders) -> String {
        let mut rows: Vec<(usize, &[String])> = Vec::new();
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(fixed) => text += fixed,
                Piece::Sequence => text += &values.sequence.to_string(),
                Piece::Device => text += &values.device.to_string(),
                Piece::Source => text += values.source,
                Piece::Time => text += &now(),
                Piece::Random(within) => text += &fastrand::u64(within.clone()).to_string(),
                Piece::Column(feeder, column) => {
                    let row = match rows.iter().find(|(taken, _)| taken == feeder) {
                        Some((_, row)) => row,
                        None => {
                            rows.push((*feeder, feeders.next(*feeder)));
                            rows[rows.len() - 1].1
                        }
                    };
                    text += &self.form.escaped(&row[*column]);
                }
            }
        }
        text
    }

    /// Returns an example of the text, to check its form.
    pub(crate) fn example(&self, feeders: &[Feeder]) -> String {
        let values = Values { sequence: 0, device: 0, source: "1" };
        self.render(values, &Feeders::new(feeders, 0, 1))
    }
}

impl Piece {
    fn parse(word: &str, feeders: &[Feeder]) -> Option<Self> {
        if let Some(bounds) = word.strip_prefix("random ") {
            let (least, most) = bounds.split_once("..")?;
            let within = least.trim().parse().ok()?..=most.trim().parse().ok()?;
            return (!within.is_empty()).then_some(Self::Random(within));
        }
        match word {
            "seq" => Some(Self::Sequence),
            "device" => Some(Self::Device),
            "source" => Some(Self::Source),
            "time" => Some(Self::Time),
            "random" => Some(Self::Random(ANY)),
            _ => {
                let (name, column) = word.split_once('.')?;
                let feeder = feeders.iter().position(|feeder| feeder.name == name)?;
                let column = feeders[feeder].columns.iter().position(|known| known == column)?;
                Some(Self::Column(feeder, column))
            }
        }
    }
}

impl Form {
    /// Returns a value as a part of a text in quotes, or of a path.
    fn escaped(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                Cow::Owned(quoted[1..quoted.len() - 1].to_owned())
            }
            Self::Path => {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
                let encoded = |byte: u8| {
                    if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
                };
                Cow::Owned(value.bytes().map(encoded).collect())
            }
        }
    }
}

/// Returns the time now, to the millisecond.
pub(super) fn now() -> String {
    let now = OffsetDateTime::now_utc();
    let now = now.replace_millisecond(now.millisecond()).unwrap_or(now);
    now.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feeders() -> Vec<Feeder> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("f.csv");
        std::fs::write(&file, "kind,text\na b,\"say \"\"x\"\"\"\nc,d\n").unwrap();
        vec![Feeder::read("orders", &file).unwrap()]
    }

    #[test]
    fn placeholders_are_replaced_and_values_are_escaped() {
        let feeders = feeders();
        let all = Feeders::new(&feeders, 0, 1);
        let render = |text: &str, form| {
            let template = Template::parse(text, form, &feeders).unwrap();
            template.render(Values { sequence: 7, device: 3, source: "208" }, &all)
        };
        let body = render(r#"{"a":{{seq}},"b":{"c":"{{orders.kind}} {{orders.text}}"}}"#, Form::Json);
        assert_eq!(body, r#"{"a":7,"b":{"c":"a b say \"x\""}}"#);
        // The next text uses the next row, and the one after it the first row again.
        assert_eq!(
            render("/x?kind={{orders.kind}}&id={{source}}-{{ device }}", Form::Path),
            "/x?kind=c&id=208-3"
        );
        assert_eq!(render("/x?kind={{orders.kind}}", Form::Path), "/x?kind=a%20b");
        for _ in 0..50 {
            let number: u64 = render("{{random 1..6}}", Form::Json).parse().unwrap();
            assert!((1..=6).contains(&number), "{number}");
        }
        assert!(render("{{time}}", Form::Json).ends_with('Z'));
    }

    #[test]
    fn unknown_placeholder_is_rejected_with_those_that_exist() {
        for text in ["{{sequence}}", "{{orders.size}}", "{{random 6..1}}", "{{random a..b}}", "{{}}"] {
            let error = Template::parse(text, Form::Json, &feeders()).unwrap_err();
            assert!(error.contains("is not a placeholder; there are {{seq}}"), "{text}: {error}");
            assert!(error.contains("orders.kind, orders.text"), "{error}");
        }
        assert!(Template::parse("{{seq", Form::Json, &[]).unwrap_err().contains("has no end"));
    }
}
