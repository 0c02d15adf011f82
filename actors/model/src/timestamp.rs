//! Timestamps: `YYYY-MM-DDThh:mm:ss.SSS±hh:mm`, a zone is mandatory (docs/rules.md#bodies-and-media-types; C-11 to
//! C-12b).

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::macros::datetime;
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcOffset};

use crate::error::{Error, Result};

/// An instant with the offset in which it was given.
///
/// Years 0001 to 9999 and offsets up to ±14:00 are valid (C-12b); instants are compared in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(OffsetDateTime);

const FORM: &str =
    "a timestamp YYYY-MM-DDThh:mm:ss[.SSS]±hh:mm of the years 0001 to 9999, in UTC at most 9999";
const DATE_FORM: &str = "a date YYYY-MM-DD of the calendar, of the years 0001 to 9999";
/// The first and the last year of a timestamp, as the sender writes it (C-12b).
const YEARS: RangeInclusive<i32> = 1..=9999;

impl Timestamp {
    /// The first instant of the year 1 in UTC.
    pub const FIRST: Self = Self(datetime!(0001-01-01 00:00 UTC));

    /// Returns the server's time in UTC, truncated to milliseconds as it is stored and shown.
    pub fn now() -> Self {
        let now = OffsetDateTime::now_utc();
        Self(now.replace_millisecond(now.millisecond()).unwrap_or(now))
    }

    /// Parses a member of a body or a query parameter; errors name `member`.
    ///
    /// Accepts `Z` or an offset (`+hh:mm`, `+hhmm`), 0 to 9 fraction digits, and a blank where a `+` was lost in
    /// URL decoding. The fraction is cut off after microseconds, because the database has no finer ones.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and the format.
    pub fn parse(member: &str, text: &str) -> Result<Self> {
        parse_instant(text.as_bytes()).map(Self).ok_or_else(|| Error::invalid_value(member, text, FORM))
    }

    /// Does the same as [`Timestamp::parse`], with UTC as the default zone.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and the format.
    pub fn parse_or_utc(member: &str, text: &str) -> Result<Self> {
        Self::parse(member, text).or_else(|error| Self::parse(member, &format!("{text}Z")).map_err(|_| error))
    }

    /// Does the same as [`Timestamp::parse`]; a date alone means its first instant in UTC (C-12). The last hours of the
    /// year 9999 west of Greenwich, which no record can have, mean the last instant of that year in UTC.
    ///
    /// # Errors
    /// `Invalid` names the member, the value and the formats.
    pub fn parse_bound(member: &str, text: &str) -> Result<Self> {
        if text.len() == 10 {
            let date =
                parse_date(text.as_bytes()).ok_or_else(|| Error::invalid_value(member, text, DATE_FORM))?;
            return Ok(Self(PrimitiveDateTime::new(date, Time::MIDNIGHT).assume_utc()));
        }
        let (local, offset) =
            parse_parts(text.as_bytes()).ok_or_else(|| Error::invalid_value(member, text, FORM))?;
        Ok(Self(instant_of(local, offset).unwrap_or_else(|| last_day_until(local).assume_utc())))
    }

    /// Returns the instant with its offset, for the store.
    pub fn instant(self) -> OffsetDateTime {
        self.0
    }

    /// Returns the local time of the sender.
    pub fn local(self) -> PrimitiveDateTime {
        PrimitiveDateTime::new(self.0.date(), self.0.time())
    }

    /// Creates a timestamp from an instant and the sender's local time.
    pub fn of_local(instant: OffsetDateTime, local: PrimitiveDateTime) -> Self {
        let offset = local.assume_utc() - instant;
        Self::stored(instant, offset.whole_minutes().clamp(-840, 840) as i16)
    }

    /// Returns the sender's offset in minutes east of UTC.
    pub fn offset_minutes(self) -> i16 {
        self.0.offset().whole_minutes()
    }

    /// Restores a stored instant in the offset in which it was sent.
    pub fn stored(instant: OffsetDateTime, offset_minutes: i16) -> Self {
        let offset = UtcOffset::from_whole_seconds(i32::from(offset_minutes) * 60).unwrap_or(UtcOffset::UTC);
        Self(instant.checked_to_offset(offset).unwrap_or(instant))
    }
}

/// Returns an instant in microseconds since 1970.
pub fn micros(instant: OffsetDateTime) -> i64 {
    i64::try_from(instant.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX)
}

/// The length of the longest text of a timestamp.
const LONGEST: usize = "YYYY-MM-DDThh:mm:ss.SSS+hh:mm".len();

impl Timestamp {
    /// Writes the timestamp into a buffer and returns its text. Lists consist of timestamps to a good part, and the
    /// formatter of the standard library needs several times the instructions.
    fn text(self, buffer: &mut [u8; LONGEST]) -> &str {
        let (year, month, day) = self.0.to_calendar_date();
        let (hour, minute, second, milli) = self.0.to_hms_milli();
        let mut text = Text { buffer, length: 0 };
        text.number::<4>(year.unsigned_abs());
        text.part::<2>(b'-', u8::from(month).into());
        text.part::<2>(b'-', day.into());
        text.part::<2>(b'T', hour.into());
        text.part::<2>(b':', minute.into());
        text.part::<2>(b':', second.into());
        text.part::<3>(b'.', milli.into());
        match self.0.offset().whole_minutes() {
            0 => text.byte(b'Z'),
            minutes => {
                let offset = u32::from(minutes.unsigned_abs());
                text.part::<2>(if minutes < 0 { b'-' } else { b'+' }, offset / 60);
                text.part::<2>(b':', offset % 60);
            }
        }
        let Text { buffer, length } = text;
        str::from_utf8(&buffer[..length]).unwrap_or_default()
    }
}

/// The beginning of the text of a timestamp.
struct Text<'b> {
    buffer: &'b mut [u8; LONGEST],
    length: usize,
}

impl Text<'_> {
    fn byte(&mut self, byte: u8) {
        self.buffer[self.length] = byte;
        self.length += 1;
    }

    /// Appends a separator and a number.
    fn part<const DIGITS: usize>(&mut self, separator: u8, number: u32) {
        self.byte(separator);
        self.number::<DIGITS>(number);
    }

    /// Appends a number with leading zeros.
    fn number<const DIGITS: usize>(&mut self, mut number: u32) {
        for digit in self.buffer[self.length..self.length + DIGITS].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.length += DIGITS;
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(&mut [0; LONGEST]))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text(&mut [0; LONGEST]))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        Self::parse("time", &text).map_err(de::Error::custom)
    }
}

fn parse_instant(text: &[u8]) -> Option<OffsetDateTime> {
    let (local, offset) = parse_parts(text)?;
    instant_of(local, offset)
}

/// Returns `None` for an instant after the year 9999 in UTC. The first hours of the year 1 east of Greenwich are valid:
/// they are a clock that was never set.
fn instant_of(local: PrimitiveDateTime, offset: UtcOffset) -> Option<OffsetDateTime> {
    let given = local.assume_offset(offset);
    let utc = given.checked_to_offset(UtcOffset::UTC)?;
    (utc.year() <= *YEARS.end()).then_some(given)
}

/// Returns the last microsecond of this day.
fn last_day_until(local: PrimitiveDateTime) -> PrimitiveDateTime {
    let last = Time::from_hms_micro(23, 59, 59, 999_999).expect("it is a time of a day");
    local.replace_time(last)
}

fn parse_parts(text: &[u8]) -> Option<(PrimitiveDateTime, UtcOffset)> {
    let date = parse_date(text.get(..10)?)?;
    if !matches!(text.get(10)?, b'T' | b't') || *text.get(13)? != b':' || *text.get(16)? != b':' {
        return None;
    }
    let (hour, minute, second) = (number(&text[11..13])?, number(&text[14..16])?, number(text.get(17..19)?)?);
    let mut rest = &text[19..];
    let mut nanos = 0;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let digits = fraction.iter().take_while(|b| b.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return None;
        }
        nanos = number(&fraction[..digits])? * 10_u32.pow(9 - digits as u32) / 1000 * 1000;
        rest = &fraction[digits..];
    }
    let time = Time::from_hms_nano(hour as u8, minute as u8, second as u8, nanos).ok()?;
    Some((PrimitiveDateTime::new(date, time), parse_offset(rest)?))
}

fn parse_date(text: &[u8]) -> Option<Date> {
    if text.len() != 10 || text[4] != b'-' || text[7] != b'-' {
        return None;
    }
    let month = Month::try_from(number(&text[5..7])? as u8).ok()?;
    let date = Date::from_calendar_date(number(&text[..4])? as i32, month, number(&text[8..])? as u8).ok()?;
    YEARS.contains(&date.year()).then_some(date)
}

fn parse_offset(text: &[u8]) -> Option<UtcOffset> {
    let (sign, digits) = match text.split_first()? {
        (b'Z' | b'z', []) => return Some(UtcOffset::UTC),
        (b'+' | b' ', digits) => (1, digits),
        (b'-', digits) => (-1, digits),
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        5 if digits[2] == b':' => (number(&digits[..2])?, number(&digits[3..])?),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    let total = (hours * 60 + minutes) as i32;
    (minutes < 60 && total <= 14 * 60).then(|| UtcOffset::from_whole_seconds(sign * total * 60).ok())?
}

fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0_u32, |n, b| b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_forms_are_shown_with_milliseconds_and_their_offset() {
        for (given, shown) in [
            ("2024-03-10T02:30:00+01:00", "2024-03-10T02:30:00.000+01:00"),
            ("2024-03-10T02:30:00.5Z", "2024-03-10T02:30:00.500Z"),
            ("2024-03-10T02:30:00.123456789-0530", "2024-03-10T02:30:00.123-05:30"),
            ("2024-03-10T02:30:00 01:00", "2024-03-10T02:30:00.000+01:00"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59.000Z"),
            ("1970-01-01T00:00:00+01:00", "1970-01-01T00:00:00.000+01:00"),
            ("1900-01-01T00:00:00Z", "1900-01-01T00:00:00.000Z"),
            ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999Z"),
            ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00.000+14:00"),
        ] {
            assert_eq!(Timestamp::parse("time", given).expect(given).to_string(), shown);
        }
    }

    #[test]
    fn invalid_formats_are_rejected_with_the_member_and_the_value() {
        for given in [
            "",
            "2024-03-10",
            "2024-03-10T02:30:00",
            "2024-13-10T02:30:00Z",
            "2024-02-30T02:30:00Z",
            "2024-03-10T24:00:00Z",
            "2024-03-10T02:30:00.1234567890Z",
            "2024-03-10T02:30:00+15:00",
            "0000-12-31T23:59:59Z",
            "-001-12-31T23:59:59Z",
            "9999-12-31T23:59:59-14:00",
            "2024-03-10T02:30:00Zjunk",
            "２024-03-10T02:30:00Z",
        ] {
            let error = Timestamp::parse("time", given).expect_err(given).to_string();
            assert!(error.contains("'time'"), "{error}");
        }
    }

    #[test]
    fn date_alone_is_its_first_instant_in_utc() {
        let bound = Timestamp::parse_bound("dateFrom", "2024-03-10").expect("a date");
        assert_eq!(bound.to_string(), "2024-03-10T00:00:00.000Z");
        for never in ["0000-01-01", "2024-02-30", "24-03-10T1"] {
            let error = Timestamp::parse_bound("dateFrom", never).expect_err(never).to_string();
            assert!(error.ends_with(&format!("{never}; allowed: {DATE_FORM}")), "{error}");
        }
    }

    #[test]
    fn bound_after_the_last_instant_is_the_last_instant() {
        let bound = Timestamp::parse_bound("dateTo", "9999-12-31T23:59:59-05:00").expect("a bound");
        assert_eq!(bound.to_string(), "9999-12-31T23:59:59.999Z");
        let last = Timestamp::parse("time", "9999-12-31T23:59:59.999999Z").expect("a time");
        assert!(bound >= last);
    }

    #[test]
    fn zone_is_optional_only_where_utc_is_the_default() {
        for (given, shown) in [
            ("2024-03-10T02:30:00", "2024-03-10T02:30:00.000Z"),
            ("2024-03-10T02:30:00.5", "2024-03-10T02:30:00.500Z"),
            ("2024-03-10T02:30:00+01:00", "2024-03-10T02:30:00.000+01:00"),
        ] {
            assert_eq!(Timestamp::parse_or_utc("startDate", given).expect(given).to_string(), shown);
        }
        let error = Timestamp::parse_or_utc("startDate", "2024-03-10T02:30").expect_err("no seconds");
        assert!(error.to_string().contains("2024-03-10T02:30;"), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected_without_a_panic(text in ".{0,40}") {
            let _ = Timestamp::parse("time", &text);
            let _ = Timestamp::parse_bound("time", &text);
            let _ = Timestamp::parse_or_utc("time", &text);
        }
    }
}
