//! Lines of CSV: parses request bodies into records, each body once, and writes response lines
//! (docs/rules.md#rows-and-responses; S-01, S-02).
//!
//! The `csv` crate is not used here because it hides an unclosed quote and does not report the line in which
//! a record starts.

use std::borrow::Cow;

/// A request body, parsed once: its records in order, without blank lines.
///
/// All values are in one vector, so a body needs two allocations, however many records it has, and one for each value
/// with a doubled quote.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    values: Vec<Cow<'b, str>>,
    places: Vec<Place>,
}

/// The place of a record, in its body and among the values.
#[derive(Debug)]
struct Place {
    line: usize,
    /// The end of its values, which begin where those of the record before end.
    end: usize,
    /// Whether it is malformed. It has its first value at most.
    is_malformed: bool,
}

/// A record of a request body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'r> {
    /// The line in which the record starts, counted from 1; blank lines count (S-02).
    pub(crate) line: usize,
    /// The values, at least one, or the error that the record is malformed.
    pub(crate) values: Result<&'r [Cow<'r, str>], Malformed>,
    first: Option<&'r str>,
}

/// The error of a record with unbalanced quotes or bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

impl<'b> Records<'b> {
    /// Parses a body.
    pub(crate) fn parse(body: &'b [u8]) -> Self {
        let ends = |end: u8| body.iter().filter(|byte| **byte == end).count();
        let (commas, lines) = (ends(b','), ends(b'\n') + 1);
        let mut parsed =
            Self { values: Vec::with_capacity(commas + lines), places: Vec::with_capacity(lines) };
        let mut rest = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
        let mut line = 1;
        while !rest.is_empty() {
            let Split { text, closed, lines, behind } = split(rest);
            if !text.iter().all(|byte| is_blank(*byte)) {
                let begin = parsed.values.len();
                let is_malformed = !closed || add_values(text, &mut parsed.values).is_err();
                if is_malformed {
                    parsed.values.truncate(begin);
                    parsed.values.extend(leading_digits(text).filter(|_| closed).map(Cow::Borrowed));
                }
                parsed.places.push(Place { line, end: parsed.values.len(), is_malformed });
            }
            (rest, line) = (behind, line + lines);
        }
        parsed
    }

    /// Returns the records in order.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = Record<'_>> {
        let mut begin = 0;
        self.places.iter().map(move |place| {
            let values = &self.values[std::mem::replace(&mut begin, place.end)..place.end];
            let first = values.first().map(|first| &**first);
            Record {
                line: place.line,
                values: if place.is_malformed { Err(Malformed) } else { Ok(values) },
                first,
            }
        })
    }
}

impl<'r> Record<'r> {
    /// Returns the first value, which tells the kind of a body. A malformed record has one if it begins with digits and
    /// a comma, and its quotes are balanced.
    pub(crate) fn first(&self) -> Option<&'r str> {
        self.first
    }
}

/// The first record of a text.
struct Split<'b> {
    text: &'b [u8],
    /// Whether its quotes are balanced.
    closed: bool,
    /// The number of line ends up to its end.
    lines: usize,
    /// The text after it.
    behind: &'b [u8],
}

/// Splits a text behind the first line end outside quotes. A line end inside quotes is part of the value (S-01).
fn split(text: &[u8]) -> Split<'_> {
    let (mut quoted, mut lines) = (false, 0);
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' => {
                lines += 1;
                if !quoted {
                    return Split { text: &text[..at], closed: true, lines, behind: &text[at + 1..] };
                }
            }
            _ => {}
        }
    }
    Split { text, closed: !quoted, lines, behind: &[] }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

/// Adds the values of a record.
///
/// # Errors
/// `Malformed`; some values may have been added.
fn add_values<'b>(text: &'b [u8], values: &mut Vec<Cow<'b, str>>) -> Result<(), Malformed> {
    let mut text = std::str::from_utf8(text).map_err(|_| Malformed)?;
    loop {
        let (value, rest) = take_value(text.trim_start_matches(BLANKS))?;
        values.push(value);
        match rest {
            Some(rest) => text = rest,
            None => return Ok(()),
        }
    }
}

/// Returns the digits before the first comma, if there is nothing else.
fn leading_digits(text: &[u8]) -> Option<&str> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_value = text.get(count) == Some(&b',');
    is_value.then(|| std::str::from_utf8(&text[..count]).ok())?
}

const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Returns the first value, and the text after its comma.
fn take_value(text: &str) -> Result<(Cow<'_, str>, Option<&str>), Malformed> {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = match text.split_once(',') {
            Some((value, rest)) => (value, Some(rest)),
            None => (text, None),
        };
        let value = value.trim_end_matches(BLANKS);
        return if value.contains('"') { Err(Malformed) } else { Ok((value.into(), rest)) };
    };
    let mut end = 0;
    while let Some(at) = quoted[end..].find('"') {
        end += at + 1;
        match quoted[end..].strip_prefix('"') {
            Some(_) => end += 1,
            None => break,
        }
    }
    // The number of quotes is even, so the last one found closes the value.
    let value = quoted.get(..end.saturating_sub(1)).ok_or(Malformed)?;
    let value = if value.contains('"') { value.replace("\"\"", "\"").into() } else { Cow::Borrowed(value) };
    let rest = quoted[end..].trim_start_matches(BLANKS);
    match rest.strip_prefix(',') {
        Some(rest) => Ok((value, Some(rest))),
        None if rest.is_empty() => Ok((value, None)),
        None => Err(Malformed),
    }
}

/// The lines of a response; a line feed ends each record.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Lines {
    text: String,
}

impl Lines {
    /// Adds a record and quotes values where necessary (S-01).
    pub(crate) fn push<V: AsRef<str>>(&mut self, values: impl IntoIterator<Item = V>) {
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            self.push_value(value.as_ref());
        }
        self.text.push('\n');
    }

    /// Adds a record verbatim.
    pub(crate) fn push_text(&mut self, record: &str) {
        self.text.push_str(record);
        self.text.push('\n');
    }

    fn push_value(&mut self, value: &str) {
        let edge = |c: char| c.is_whitespace() || c == '\u{feff}';
        let quoted =
            value.contains(['"', ',', '\n', '\r', '\t']) || value.starts_with(edge) || value.ends_with(edge);
        if !quoted {
            return self.text.push_str(value);
        }
        self.text.push('"');
        self.text.push_str(&value.replace('"', "\"\""));
        self.text.push('"');
    }

    /// Adds all records of another response.
    pub(crate) fn append(&mut self, other: &Self) {
        self.text.push_str(&other.text);
    }

    /// Returns the number of lines; a record with line breaks has several.
    pub(crate) fn count(&self) -> usize {
        self.text.bytes().filter(|byte| *byte == b'\n').count()
    }

    /// Returns the size of the text in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Returns whether there are no lines.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns the text of the response.
    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Vec<(usize, Option<Vec<String>>)> {
        let values = |record: Record<'_>| {
            let values =
                record.values.ok().map(|values| values.iter().map(|value| value.to_string()).collect());
            (record.line, values)
        };
        Records::parse(body.as_bytes()).iter().map(values).collect()
    }

    fn row(line: usize, values: &[&str]) -> (usize, Option<Vec<String>>) {
        (line, Some(values.iter().map(|value| (*value).to_owned()).collect()))
    }

    #[test]
    fn records_know_their_line_and_their_values() {
        for (body, records) in [
            ("", vec![]),
            ("\n \r\n\t\n", vec![]),
            ("100,a\n", vec![row(1, &["100", "a"])]),
            ("\u{feff}100,a", vec![row(1, &["100", "a"])]),
            ("100,a\r\n\r\n101,b\r\n", vec![row(1, &["100", "a"]), row(3, &["101", "b"])]),
            (" 100 , a b ,\t", vec![row(1, &["100", "a b", ""])]),
            ("100,", vec![row(1, &["100", ""])]),
            ("100, \" a,\"\"b\"\"\" ,c", vec![row(1, &["100", " a,\"b\"", "c"])]),
            ("100,\"a\nb\"\n101", vec![row(1, &["100", "a\nb"]), row(3, &["101"])]),
            ("100,\"\",\"\"\"\"", vec![row(1, &["100", "", "\""])]),
            ("100,\"a\"b\n101", vec![(1, None), row(2, &["101"])]),
            ("100,a\"\"b\n101", vec![(1, None), row(2, &["101"])]),
            ("101\n100,\"a\n102\n", vec![row(1, &["101"]), (2, None)]),
            ("\"", vec![(1, None)]),
        ] {
            assert_eq!(read(body), records, "{body:?}");
        }
    }

    #[test]
    fn line_that_is_not_utf_8_is_malformed_and_the_others_are_parsed() {
        let records = Records::parse(b"1,\xff\n2,a\n");
        let mut found = records.iter();
        assert_eq!(found.next().map(|record| (record.line, record.values.is_err())), Some((1, true)));
        assert_eq!(found.next().map(|record| (record.line, record.values.is_ok())), Some((2, true)));
    }

    #[test]
    fn malformed_record_still_shows_the_kind_of_its_body() {
        for (body, first) in [
            ("15,\"a\"b", Some("15")),
            ("15,a\"\"", Some("15")),
            ("15", Some("15")),
            ("15,\"a", None),
            ("15 ,a\"\"", None),
            ("\"15\",a\"\"", None),
            ("x,a\"\"", None),
        ] {
            let records = Records::parse(body.as_bytes());
            let found: Vec<_> = records.iter().map(|record| record.first()).collect();
            assert_eq!(found, [first], "{body:?}");
        }
        let records = Records::parse(b"15,\xff\n\"16\"");
        assert_eq!(records.iter().map(|record| record.first()).collect::<Vec<_>>(), [Some("15"), Some("16")]);
    }

    #[test]
    fn values_are_quoted_where_they_must_be() {
        let mut lines = Lines::default();
        lines.push(["200", "1", "a b", "a,b", "a\"b", " a", "a\t", "a\nb", ""]);
        assert_eq!(lines.into_text(), "200,1,a b,\"a,b\",\"a\"\"b\",\" a\",\"a\t\",\"a\nb\",\n");
    }

    proptest::proptest! {
        #[test]
        fn written_values_are_read_back(values in proptest::collection::vec("[ -~\t\r\n\"äöü,\u{1f600}]{0,8}", 1..6)) {
            let mut lines = Lines::default();
            let first = std::iter::once("7").chain(values.iter().map(String::as_str));
            lines.push(first.clone());
            let text = lines.into_text();
            let expected: Vec<&str> = first.collect();
            let records = Records::parse(text.as_bytes());
            let read: Vec<_> = records.iter().map(|record| record.values.expect("well formed")).collect();
            proptest::prop_assert_eq!(read, [expected]);
        }
    }
}
