//! Quantities as documents write them (`2 ms`, `10 000 entries`) and as the code does (`Duration::from_millis(2)`).

use std::collections::BTreeSet;
use std::fmt;

/// A number of something.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Quantity {
    Seconds(f64),
    /// A number of bytes or of anything else, because the code does not distinguish these.
    Number(f64),
}

/// The units of times, in seconds.
const TIMES: [(&[&str], f64); 7] = [
    (&["ns"], 1e-9),
    (&["µs", "microseconds"], 1e-6),
    (&["ms", "millisecond", "milliseconds"], 1e-3),
    (&["s", "second", "seconds"], 1.0),
    (&["min", "minute", "minutes"], 60.0),
    (&["h", "hour", "hours"], 3600.0),
    (&["d", "day", "days"], 86400.0),
];
/// The units of sizes, in bytes.
const SIZES: [(&[&str], f64); 8] = [
    (&["B", "byte", "bytes"], 1.0),
    (&["kB"], 1e3),
    (&["MB"], 1e6),
    (&["GB"], 1e9),
    (&["KiB"], 1024.0),
    (&["MiB"], 1_048_576.0),
    (&["GiB"], 1_073_741_824.0),
    (&["TiB"], 1_099_511_627_776.0),
];
const WORDS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

impl Quantity {
    /// Parses the text of a document: a number with words, of which one may be a unit.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let (number, units) = numeral(text)?;
        let known = |units: &[(&[&str], f64)], name: &str| {
            units.iter().find(|(names, _)| names.contains(&name)).map(|(_, factor)| *factor)
        };
        let time = units.iter().find_map(|name| known(&TIMES, name));
        let size = units.iter().find_map(|name| known(&SIZES, name)).unwrap_or(1.0);
        Some(time.map_or(Self::Number(number * size), |seconds| Self::Seconds(number * seconds)))
    }

    /// Returns whether the text of a document is this value of the code. The unit of a plain number is not in the code.
    pub(crate) fn is_quoted_by(self, text: &str) -> bool {
        let plain = numeral(text).map(|(number, _)| Self::Number(number));
        Self::of_text(text).into_iter().chain(plain).any(|quoted| quoted.equals(self))
    }

    pub(crate) fn equals(self, other: Self) -> bool {
        let near = |a: f64, b: f64| (a - b).abs() <= b.abs() * 1e-9;
        match (self, other) {
            (Self::Seconds(a), Self::Seconds(b)) | (Self::Number(a), Self::Number(b)) => near(a, b),
            _ => false,
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seconds(seconds) => write!(f, "{seconds} s"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Splits a text into its number and its words after that.
fn numeral(text: &str) -> Option<(f64, Vec<&str>)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let first = words.first()?;
    let split = first.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')).unwrap_or(first.len());
    let (digits, attached) = first.split_at(split);
    if digits.is_empty() {
        let number = WORDS.iter().position(|word| *word == first.to_lowercase())? + 1;
        return Some((number as f64, words[1..].to_vec()));
    }
    let is_part = |word: &&&str| word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let parts = if attached.is_empty() { words[1..].iter().take_while(is_part).count() } else { 0 };
    let number = [&[digits], &words[1..=parts]].concat().concat().replace(',', "").parse().ok()?;
    Some((number, [&[attached], &words[parts + 1..]].concat()))
}

/// Returns the numbers with a unit of time or bytes in a text, with their offsets.
pub(crate) fn with_units(text: &str) -> Vec<(usize, &str)> {
    let units: BTreeSet<&str> =
        TIMES.iter().chain(&SIZES).flat_map(|(names, _)| names.iter().copied()).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find(|c: char| c.is_ascii_digit()).map(|digit| at + digit) {
        let after = |from: usize, is_part: fn(char) -> bool| {
            from + text[from..].find(|c| !is_part(c)).unwrap_or(text.len() - from)
        };
        let end = after(begin, |c| c.is_ascii_digit() || matches!(c, '.' | ',' | ' ' | '\n'));
        let unit_end = after(end, char::is_alphanumeric);
        let is_own = !text[..begin].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if is_own && units.contains(&text[end..unit_end]) {
            found.push((begin, &text[begin..unit_end]));
        }
        at = end;
    }
    found
}

#[test]
fn quantities_of_documents_are_parsed() {
    let cases = [
        ("2 ms", Some(Quantity::Seconds(0.002))),
        ("0.9 s", Some(Quantity::Seconds(0.9))),
        ("90 minutes", Some(Quantity::Seconds(5400.0))),
        ("3 more seconds", Some(Quantity::Seconds(3.0))),
        ("8 KiB", Some(Quantity::Number(8192.0))),
        ("256MiB", Some(Quantity::Number(268_435_456.0))),
        ("10 000 entries", Some(Quantity::Number(10_000.0))),
        ("1,000 rows", Some(Quantity::Number(1000.0))),
        ("Two servers", Some(Quantity::Number(2.0))),
        ("some", None),
    ];
    for (text, expected) in cases {
        assert_eq!(Quantity::of_text(text), expected, "{text}");
    }
    assert_eq!(with_units("at 2 ms, u2 s and 10 000 days of 7 rows"), [(3, "2 ms"), (18, "10 000 days")]);
}
