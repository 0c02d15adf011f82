//! Feeders: tables whose rows the requests of a scenario file use in order, from the first one again after the last.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::protocol::csv::lines::lines;

/// The longest file, in bytes.
const LONGEST: u64 = 64 << 20;

/// A table with named columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Feeder {
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Feeder {
    /// Reads a file of CSV whose first line names the columns.
    ///
    /// # Errors
    /// A text that names what is wrong: the file cannot be read, is longer than 64 MiB, is not CSV, has no row, or
    /// has a
    /// row with another number of values than columns.
    pub(crate) fn read(name: &str, file: &Path) -> Result<Self, String> {
        let refused = |reason: String| format!("{}: {reason}", file.display());
        let length = fs::metadata(file).map_err(|error| refused(error.to_string()))?.len();
        if length > LONGEST {
            return Err(refused(format!("{length} bytes; allowed are at most {LONGEST}")));
        }
        let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        Self::parse(name, &text).map_err(refused)
    }

    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let text = text.replace("\r\n", "\n");
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let all = lines(format!("{text}{end}").as_bytes());
        let mut rows = all.map_err(|_| "not CSV: a quote is not closed, or within a value".to_owned())?;
        rows.retain(|row| row.as_slice() != [""]);
        if rows.len() < 2 {
            return Err("it needs a line with the names of the columns, and a row".to_owned());
        }
        let columns = rows.remove(0);
        if let Some(column) = columns.iter().find(|column| !is_name(column)) {
            return Err(format!("line 1: column {column:?}: allowed are letters, digits, - and _"));
        }
        let wrong = (2..).zip(&rows).find(|(_, row)| row.len() != columns.len());
        if let Some((line, row)) = wrong {
            return Err(format!("row {line}: {} values for {} columns", row.len(), columns.len()));
        }
        Ok(Self { name: name.to_owned(), columns, rows })
    }
}

/// Returns whether a text may name a feeder or a column.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The feeders of a run with their next rows. Several generators share the rows: each takes those of its share.
#[derive(Debug, Default)]
pub(super) struct Feeders {
    all: Vec<(Feeder, AtomicUsize)>,
    step: usize,
}

impl Feeders {
    /// Starts with the first row of a generator's share.
    pub(super) fn new(feeders: &[Feeder], first: usize, step: usize) -> Self {
        let all = feeders.iter().map(|feeder| (feeder.clone(), AtomicUsize::new(first))).collect();
        Self { all, step: step.max(1) }
    }

    /// Takes the next row of a feeder.
    pub(super) fn next(&self, feeder: usize) -> &[String] {
        let (Feeder { rows, .. }, next) = &self.all[feeder];
        &rows[next.fetch_add(self.step, Ordering::Relaxed) % rows.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_used_in_order_and_again_from_the_first_one() {
        let feeder = Feeder::parse("f", "kind,text\na,\"x, y\"\r\nb,z").unwrap();
        assert_eq!(feeder.columns, ["kind", "text"]);
        let feeders = Feeders::new(std::slice::from_ref(&feeder), 0, 1);
        let firsts: Vec<&str> = (0..3).map(|_| feeders.next(0)[0].as_str()).collect();
        assert_eq!(firsts, ["a", "b", "a"]);
        assert_eq!(feeders.next(0), ["b", "z"]);
        // The second of two generators.
        assert_eq!(Feeders::new(&[feeder], 1, 2).next(0)[1], "z");
    }

    #[test]
    fn file_with_a_mistake_is_rejected() {
        for (text, reason) in [
            ("", "and a row"),
            ("a,b\n", "and a row"),
            ("a,b c\n1,2\n", "line 1: column \"b c\""),
            ("a,b\n1,2\n3\n", "row 3: 1 values for 2 columns"),
            ("a\n\"1\n", "not CSV"),
        ] {
            let error = Feeder::parse("f", text).unwrap_err();
            assert!(error.contains(reason), "{text:?}: {error}");
        }
        assert!(Feeder::read("f", Path::new("/nowhere/f.csv")).unwrap_err().starts_with("/nowhere/f.csv: "));
    }
}
