//! Quantities: numbers, bytes and times. Bytes and times may have a unit; the default unit is in the name of the flag.

use std::ops::RangeInclusive;
use std::time::Duration;

use bytesize::ByteSize;
use clap::builder::TypedValueParser;

/// The meaning of a number, and its unit if none is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Items,
    Bytes,
    Milliseconds,
    Seconds,
}

/// The units that bytes are displayed in, and their sizes in bytes.
const BYTES: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
/// The units that times are displayed in, and their sizes in milliseconds.
const TIMES: [(&str, u64); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000), ("ms", 1)];

impl Unit {
    /// Returns the unit in the name of a flag.
    pub(super) fn of(flag: &str) -> Self {
        match flag {
            _ if flag.ends_with("-ms") => Self::Milliseconds,
            _ if flag.ends_with("-seconds") => Self::Seconds,
            _ if flag.contains("bytes") => Self::Bytes,
            _ => Self::Items,
        }
    }

    /// Returns the placeholder of a value in help.
    pub(super) fn value_name(self) -> &'static str {
        match self {
            Self::Items => "COUNT",
            Self::Bytes => "BYTES",
            Self::Milliseconds => "MS",
            Self::Seconds => "SECONDS",
        }
    }

    /// Formats a number of items, bytes or milliseconds in the largest unit that divides it.
    pub(super) fn write(self, value: u64) -> String {
        let units = match self {
            Self::Items => return value.to_string(),
            Self::Bytes => &BYTES,
            Self::Milliseconds | Self::Seconds => &TIMES,
        };
        let divides = |(_, size): &&(&str, u64)| *size <= value && value.is_multiple_of(*size);
        let (name, size) = units.iter().find(divides).unwrap_or(&units[units.len() - 1]);
        format!("{}{name}", value / size)
    }

    /// Parses a number of items, bytes or milliseconds. A time must be a multiple of the flag's unit, because it would
    /// otherwise be rounded.
    fn parse(self, text: &str) -> Option<u64> {
        let size = if self == Self::Seconds { 1000 } else { 1 };
        if let Ok(number) = text.parse::<u64>() {
            return number.checked_mul(size);
        }
        match self {
            Self::Items => None,
            Self::Bytes => text.parse().ok().map(|bytes: ByteSize| bytes.as_u64()),
            Self::Milliseconds | Self::Seconds => {
                let time = humantime::parse_duration(text).ok()?;
                let milliseconds = u64::try_from(time.as_millis()).ok()?;
                let whole = milliseconds.is_multiple_of(size) && time == Duration::from_millis(milliseconds);
                whole.then_some(milliseconds)
            }
        }
    }

    /// Returns the description of allowed values for an error.
    fn expected(self, range: &RangeInclusive<u64>) -> String {
        let notation = match self {
            Self::Items => "",
            Self::Bytes => ": a number of bytes, or one with a unit such as 64KiB or 16MB",
            Self::Milliseconds => {
                ": a number of milliseconds, or one with a unit such as 250ms, 10s or 90min"
            }
            Self::Seconds => ": a whole number of seconds, or one with a unit such as 10s, 90min or 7d",
        };
        format!("expected {} to {}{notation}", self.write(*range.start()), self.write(*range.end()))
    }
}

/// Parses a quantity within bounds, all of them in items, bytes or milliseconds.
pub(super) fn quantity(unit: Unit, range: RangeInclusive<u64>) -> impl TypedValueParser<Value = u64> {
    move |text: &str| {
        let value = unit.parse(text.trim()).filter(|value| range.contains(value));
        value.ok_or_else(|| unit.expected(&range))
    }
}

/// Parses a number of items within bounds.
pub(super) fn count(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = usize> {
    quantity(Unit::Items, range).map(size)
}

/// Parses a number of bytes in memory within bounds.
pub(super) fn bytes_in_memory(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = usize> {
    quantity(Unit::Bytes, range).map(size)
}

/// Parses a number of bytes on disk within bounds.
pub(super) fn bytes(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = u64> {
    quantity(Unit::Bytes, range)
}

/// Parses a time of whole seconds within bounds.
pub(super) fn seconds(range: RangeInclusive<u64>) -> impl TypedValueParser<Value = Duration> {
    quantity(Unit::Seconds, range.start() * 1000..=range.end() * 1000).map(Duration::from_millis)
}

fn size(number: u64) -> usize {
    // No bound exceeds a 64-bit size.
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unit_of_a_bare_number_is_the_one_of_its_flag() {
        for (flag, text, expected) in [
            ("batch-rows", "512", Some(512)),
            ("body-bytes", "1024", Some(1024)),
            ("body-bytes-per-second", "250", Some(250)),
            ("guess-delay-ms", "100", Some(100)),
            ("keep-alive-seconds", "600", Some(600_000)),
            ("keep-alive-seconds", "18446744073709551615", None),
        ] {
            assert_eq!(Unit::of(flag).parse(text), expected, "{flag} {text}");
        }
    }

    #[test]
    fn bytes_and_times_may_have_a_unit() {
        use Unit::{Bytes, Items, Milliseconds, Seconds};
        for (unit, text, expected) in [
            (Bytes, "16MB", Some(16_000_000)),
            (Bytes, "64KiB", Some(65_536)),
            (Bytes, "1.5 GiB", Some(3 << 29)),
            (Milliseconds, "250ms", Some(250)),
            (Milliseconds, "10s", Some(10_000)),
            (Seconds, "90min", Some(5_400_000)),
            (Seconds, "1h 30m", Some(5_400_000)),
            (Seconds, "7d", Some(604_800_000)),
            // Times that would be rounded are rejected.
            (Seconds, "1500ms", None),
            (Milliseconds, "1500us", None),
            // A unit of another kind is rejected.
            (Bytes, "10s", None),
            (Seconds, "10KiB", None),
            (Items, "10k", None),
            (Bytes, "", None),
            (Bytes, "-1", None),
            (Bytes, "NaN", None),
            (Seconds, "", None),
            (Seconds, "s", None),
            (Seconds, "99999999999999999999d", None),
        ] {
            assert_eq!(unit.parse(text), expected, "{unit:?} {text:?}");
        }
    }

    #[test]
    fn quantities_are_written_in_the_largest_unit_and_read_again() {
        use Unit::{Bytes, Items, Milliseconds, Seconds};
        for (unit, value, expected) in [
            (Items, 10_000, "10000"),
            (Bytes, 16 << 20, "16MiB"),
            (Bytes, 1 << 40, "1TiB"),
            (Bytes, 1000, "1000B"),
            (Bytes, 0, "0B"),
            (Milliseconds, 10_500, "10500ms"),
            (Milliseconds, 5_400_000, "90min"),
            (Seconds, 7 * 86_400_000, "7d"),
            (Seconds, 0, "0ms"),
        ] {
            assert_eq!(unit.write(value), expected);
            assert_eq!(unit.parse(expected), Some(value), "{expected}");
        }
    }
}
