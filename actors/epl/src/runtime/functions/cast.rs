//! Converts values to another type; the result is null where that is impossible.

use platform_model::timestamp::Timestamp;

use crate::plan::expression::Scalar;
use crate::value::{Number, Plain, Seen, Value, time_of};

/// The maximum count of numbers in one text of numbers.
const MAX_NUMBERS: usize = 1000;

/// `cast(value, type)`.
pub(in crate::runtime) fn cast(value: Seen<'_>, scalar: Scalar) -> Seen<'_> {
    let made = match scalar {
        Scalar::Same => return value,
        Scalar::Boolean => boolean(value.plain()).map(Seen::Boolean),
        Scalar::Integer => integer(value.plain()).map(|number| Seen::Number(Number::Integer(number))),
        Scalar::Double => double(value.plain()).map(|number| Seen::Number(Number::Double(number))),
        Scalar::Time => time(&value).or_else(|| of_millis(&value)).map(Seen::Time),
        Scalar::Text => match value {
            Seen::Text(_) | Seen::Digits(_) | Seen::Kept(Value::Text(_)) | Seen::Made(Value::Text(_)) => {
                Some(value)
            }
            value => value.as_text().map(|text| Seen::Made(Value::Text(text.into()))),
        },
    };
    made.unwrap_or(Seen::Null)
}

fn boolean(value: Plain<'_>) -> Option<bool> {
    match value {
        Plain::Boolean(value) => Some(value),
        Plain::Text(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Plain::Text(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

/// Returns the value as an integer. Fractions are cut off; a text must be a whole number.
fn integer(value: Plain<'_>) -> Option<i64> {
    match value {
        Plain::Number(number) => number.whole(),
        Plain::Text(text) => text.trim().parse().ok(),
        Plain::Digits(number) => Some(number),
        Plain::Time(time) => Some(millis(time)),
        _ => None,
    }
}

fn double(value: Plain<'_>) -> Option<f64> {
    match value {
        Plain::Number(number) => Some(number.double()),
        // Rust's parser accepts words such as "inf" and "nan" as numbers; the language does not.
        Plain::Text(text) => {
            let text = text.trim();
            let is_number = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
            is_number.then(|| text.parse().ok()).flatten()
        }
        Plain::Digits(number) => Some(number as f64),
        Plain::Time(time) => Some(millis(time) as f64),
        _ => None,
    }
}

/// Returns the time that a value holds or that its text denotes.
pub(super) fn time(value: &Seen<'_>) -> Option<Timestamp> {
    match value.plain() {
        Plain::Time(time) => Some(time),
        Plain::Text(text) if text.len() <= 64 => Timestamp::parse("time", text).ok(),
        _ => None,
    }
}

/// Returns the time that is this number of milliseconds after 1970.
fn of_millis(value: &Seen<'_>) -> Option<Timestamp> {
    let Plain::Number(number) = value.plain() else { return None };
    time_of(number.whole()?)
}

/// Returns the milliseconds since 1970.
pub(super) fn millis(time: Timestamp) -> i64 {
    let millis = time.instant().unix_timestamp_nanos().div_euclid(1_000_000);
    i64::try_from(millis).expect("the years of a timestamp are few")
}

/// Implements `toNumberSetParameter`: parses "1,3,5-7" into a list of whole numbers; `None` when the text is invalid.
pub(super) fn numbers(text: &str) -> Option<Value> {
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.trim().split_once('-') {
            Some((first, last)) if !first.is_empty() => (number(first)?, number(last)?),
            _ => (number(part)?, number(part)?),
        };
        let count = usize::try_from(last.checked_sub(first)?).ok()?;
        if count >= MAX_NUMBERS - numbers.len().min(MAX_NUMBERS) {
            return None;
        }
        numbers.extend((first..=last).map(Value::Integer));
    }
    Some(Value::List(numbers.into()))
}

fn number(text: &str) -> Option<i64> {
    text.trim().parse().ok()
}
