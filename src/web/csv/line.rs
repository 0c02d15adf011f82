//! Lines of CSV: parses request bodies into records and writes response lines
//! (docs/rules.md#rows-and-responses; S-01, S-02).
//!
//! The `csv` crate is not used here because it hides an unclosed quote and does not report the line in which
//! a record starts.

use std::borrow::Cow;

/// A record of a request body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Record<'b> {
    /// The line in which the record starts, counted from 1; blank lines count (S-02).
    pub(crate) line: usize,
    /// The values, at least one, or the error that the record is malformed.
    pub(crate) values: Result<Vec<Cow<'b, str>>, Malformed>,
}

/// The error of a record with unbalanced quotes or bytes that are not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Returns the records of a body, in order and without blank lines.
pub(crate) fn records(body: &[u8]) -> Records<'_> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    Records { rest: body, line: 1 }
}

/// Returns the first value of each record, as [`records`] would; `None` for a malformed record. The values identify the
/// kind of a body without parsing all of it.
pub(crate) fn first_values(body: &[u8]) -> impl Iterator<Item = Option<Cow<'_, str>>> {
    let mut records = records(body);
    std::iter::from_fn(move || records.next_text()).map(|(_, text, closed)| {
        let plain = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match text.get(plain) {
            None | Some(b',') if closed => std::str::from_utf8(&text[..plain]).ok().map(Cow::Borrowed),
            _ if closed => values(text).ok().map(|mut values| values.swap_remove(0)),
            _ => None,
        }
    })
}

/// The iterator that [`records`] returns.
#[derive(Debug)]
pub(crate) struct Records<'b> {
    rest: &'b [u8],
    line: usize,
}

impl<'b> Iterator for Records<'b> {
    type Item = Record<'b>;

    fn next(&mut self) -> Option<Record<'b>> {
        let (line, text, closed) = self.next_text()?;
        let values = if closed { values(text) } else { Err(Malformed) };
        Some(Record { line, values })
    }
}

impl<'b> Records<'b> {
    /// Returns line and text of the next record, and whether its quotes are balanced.
    fn next_text(&mut self) -> Option<(usize, &'b [u8], bool)> {
        while !self.rest.is_empty() {
            let line = self.line;
            let (text, closed) = self.take_record();
            if !text.iter().all(|byte| is_blank(*byte)) {
                return Some((line, text, closed));
            }
        }
        None
    }

    /// Returns the text up to a line end outside quotes, and whether its quotes are balanced. A line end
    /// inside quotes is part of the value (S-01).
    fn take_record(&mut self) -> (&'b [u8], bool) {
        let (text, mut quoted) = (self.rest, false);
        for (at, byte) in text.iter().enumerate() {
            match byte {
                b'"' => quoted = !quoted,
                b'\n' => {
                    self.line += 1;
                    if !quoted {
                        self.rest = &text[at + 1..];
                        return (&text[..at], true);
                    }
                }
                _ => {}
            }
        }
        self.rest = &[];
        (text, !quoted)
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

fn values(text: &[u8]) -> Result<Vec<Cow<'_, str>>, Malformed> {
    let mut text = std::str::from_utf8(text).map_err(|_| Malformed)?;
    let mut values = Vec::new();
    loop {
        let (value, rest) = take_value(text.trim_start_matches(BLANKS))?;
        values.push(value);
        match rest {
            Some(rest) => text = rest,
            None => return Ok(values),
        }
    }
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
            let values = record.values.ok().map(|values| values.into_iter().map(Cow::into_owned).collect());
            (record.line, values)
        };
        records(body.as_bytes()).map(values).collect()
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
        let mut found = records(b"1,\xff\n2,a\n");
        assert_eq!(found.next().map(|record| (record.line, record.values.is_err())), Some((1, true)));
        assert_eq!(found.next().map(|record| (record.line, record.values.is_ok())), Some((2, true)));
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
            let read: Vec<_> = records(text.as_bytes()).collect();
            proptest::prop_assert_eq!(read.len(), 1);
            let values = read[0].values.clone().expect("well formed");
            proptest::prop_assert_eq!(values, expected);
        }
    }
}
