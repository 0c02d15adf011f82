//! The types of arguments (docs/rules.md#templates; S-23, S-25), and their numbers as JSON (S-24a).

use platform_model::timestamp::Timestamp;
use serde_json::value::RawValue;

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Any text that is not empty.
    String,
    /// Digits.
    Unsigned,
    /// Digits, optionally after a minus sign.
    Integer,
    /// A decimal number with optional sign, fraction and exponent.
    Number,
    /// An ISO 8601 date or date-time, with or without zone and fraction.
    Date,
    /// The server's time, which takes no argument.
    Now,
}

impl Kind {
    const ALL: [Self; 6] = [Self::String, Self::Unsigned, Self::Integer, Self::Number, Self::Date, Self::Now];

    /// Parses the type's name in a template; `None` for an unknown one.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Returns the type's name in templates and error lines.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::String => "STRING",
            Self::Unsigned => "UNSIGNED",
            Self::Integer => "INTEGER",
            Self::Number => "NUMBER",
            Self::Date => "DATE",
            Self::Now => "NOW",
        }
    }

    /// Returns whether values of this type are numbers.
    pub(crate) fn is_numeric(self) -> bool {
        matches!(self, Self::Unsigned | Self::Integer | Self::Number)
    }

    /// Returns whether a value is of this type.
    pub(crate) fn accepts(self, value: &str) -> bool {
        match self {
            Self::String => !value.is_empty(),
            Self::Unsigned => is_digits(value),
            Self::Integer => is_digits(value.strip_prefix('-').unwrap_or(value)),
            Self::Number => is_number(value),
            Self::Date => is_date(value),
            Self::Now => true,
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let some_digits = is_digits(whole) || (whole.is_empty() && fraction.is_some_and(is_digits));
    let exponent = exponent.is_none_or(|text| is_digits(text.strip_prefix(['+', '-']).unwrap_or(text)));
    some_digits && fraction.is_none_or(|fraction| fraction.is_empty() || is_digits(fraction)) && exponent
}

fn is_date(text: &str) -> bool {
    Timestamp::parse_bound("", text).is_ok() || Timestamp::parse_or_utc("", text).is_ok()
}

/// A number in JSON spelling: `+1`, `.5`, `1.` and `007` are numbers in a row but not in JSON. All other
/// digits are preserved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonNumber<'r>([&'r str; 5]);

impl<'r> JsonNumber<'r> {
    /// Parses a text that [`Kind::Number`] accepts.
    pub(crate) fn of(text: &'r str) -> Self {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", text.strip_prefix('+').unwrap_or(text)),
        };
        let end = digits.find(['e', 'E']).unwrap_or(digits.len());
        let (number, exponent) = digits.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let whole = whole.trim_start_matches('0');
        let whole = if whole.is_empty() { "0" } else { whole };
        let point = if fraction.is_empty() { "" } else { "." };
        Self([sign, whole, point, fraction, exponent])
    }

    /// Appends the number to a text.
    pub(crate) fn push_to(self, json: &mut String) {
        json.extend(self.0);
    }

    /// Appends the number to a body.
    pub(crate) fn write(self, json: &mut Vec<u8>) {
        self.0.into_iter().for_each(|part| json.extend_from_slice(part.as_bytes()));
    }

    pub(crate) fn to_raw(self) -> Box<RawValue> {
        RawValue::from_string(self.0.concat()).expect("what is left of a number is one")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_accept_what_their_rule_lists() {
        for (kind, accepted, refused) in [
            (Kind::String, vec!["a", " "], vec![""]),
            (
                Kind::Unsigned,
                vec!["0", "007", "123456789012345678901234567890"],
                vec!["", "-1", "+1", "1.0", "١"],
            ),
            (Kind::Integer, vec!["0", "-7"], vec!["", "-", "+1", "--1", "1.0", "1e3"]),
            (
                Kind::Number,
                vec!["1", "-1.5", "+2", ".5", "1.", "1e3", "1.5E-7"],
                vec!["", ".", "e3", "1e", "1,5", "NaN", "inf", "0x1", "1.2.3", "+-1"],
            ),
            (
                Kind::Date,
                vec![
                    "2024-03-10",
                    "2024-03-10T02:30:00",
                    "2024-03-10T02:30:00.123",
                    "2024-03-10T02:30:00Z",
                    "2024-03-10T02:30:00.000+01:00",
                ],
                vec!["", "today", "2024-13-10", "2024-03-10T25:00:00Z", "10.03.2024"],
            ),
        ] {
            assert!(accepted.iter().all(|value| kind.accepts(value)), "{kind:?} {accepted:?}");
            assert!(!refused.iter().any(|value| kind.accepts(value)), "{kind:?} {refused:?}");
        }
        assert_eq!(Kind::parse("NOW"), Some(Kind::Now));
        assert_eq!(Kind::parse("number"), None);
    }

    #[test]
    fn numbers_of_any_spelling_are_json_with_their_digits() {
        for (text, json) in [
            ("1.50", "1.50"),
            ("-7", "-7"),
            ("+1", "1"),
            (".5", "0.5"),
            ("-.5e3", "-0.5e3"),
            ("1.", "1"),
            ("007", "7"),
            ("-0", "-0"),
            ("00.0", "0.0"),
        ] {
            assert!(Kind::Number.accepts(text), "{text}");
            assert_eq!(JsonNumber::of(text).to_raw().get(), json, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn every_number_of_a_row_is_one_of_json(text in "[+-]?[0-9]{0,4}(\\.[0-9]{0,4})?([eE][+-]?[0-9]{1,2})?") {
            if Kind::Number.accepts(&text) {
                let json = JsonNumber::of(&text).to_raw();
                proptest::prop_assert!(serde_json::from_str::<f64>(json.get()).is_ok(), "{}", json);
            }
        }
    }
}
