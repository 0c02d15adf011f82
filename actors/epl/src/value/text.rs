//! Converts values to text, for `||`, `cast` and everything else that needs text.

use std::borrow::Cow;
use std::cmp::Ordering;

use platform_model::data::measurement;

use super::arithmetic::Number;
use super::{Plain, Seen, Value};

impl Value {
    /// Returns the value as text, or `None` for null. An id is the text of its value, a time is ISO 8601, and a
    /// composite value is JSON.
    pub fn as_text(&self) -> Option<Cow<'_, str>> {
        match self.plain() {
            Plain::Composite => Some(self.to_json().into()),
            plain => plain.text(),
        }
    }
}

impl Seen<'_> {
    /// Converts to text; see [`Value::as_text`].
    pub(crate) fn as_text(&self) -> Option<Cow<'_, str>> {
        match self.plain() {
            Plain::Composite => self.value().ok()?.as_text().map(|text| text.into_owned().into()),
            plain => plain.text(),
        }
    }
}

impl<'a> Plain<'a> {
    /// Returns the text of a scalar value, or `None` for other values.
    pub(crate) fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null | Self::Composite => None,
            Self::Boolean(value) => Some(if value { "true" } else { "false" }.into()),
            Self::Number(Number::Integer(number)) | Self::Digits(number) => Some(number.to_string().into()),
            Self::Number(Number::Double(number)) => Some(double(number).into()),
            Self::Text(text) => Some(text.into()),
            Self::Time(time) => Some(time.to_string().into()),
        }
    }
}

/// Formats a double as JSON does (`20`, not `20.0`), and also the values for which JSON has no number.
fn double(number: f64) -> String {
    match number {
        _ if number.is_finite() => serde_json::to_string(&measurement::Number(number)).unwrap_or_default(),
        _ if number.is_nan() => "NaN".into(),
        _ if number > 0.0 => "Infinity".into(),
        _ => "-Infinity".into(),
    }
}

/// Compares the decimal text of a number with a text without an allocation.
pub(super) fn cmp_digits(number: i64, text: &str) -> Ordering {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    digits[start..].cmp(text.as_bytes())
}
