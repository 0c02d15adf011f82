//! Writes tables as comma-separated values that can be opened in a spreadsheet (RFC 4180; G-09).

use std::borrow::Cow;

use csv::Writer;

/// The media type of a table.
pub const MEDIA_TYPE: &str = "text/csv;charset=UTF-8;header=present";

/// A cell of a table.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// A value that this server generated: a time, an id, a number.
    Own(&'a str),
    /// A text that came from a device or a user. A spreadsheet would execute a text that begins like a formula, on the
    /// computer of the person who opens the table; a leading apostrophe prevents this.
    Foreign(&'a str),
}

/// A table that is being written.
#[derive(Debug)]
pub struct Table(Writer<Vec<u8>>);

impl Table {
    /// Creates a table with these column names.
    pub fn new(columns: &[&str]) -> Self {
        let mut table =
            Self(csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new()));
        table.0.write_record(columns).expect("writing to memory does not fail");
        table
    }

    /// Adds a line with one cell per column.
    pub fn line<const N: usize>(&mut self, cells: [Cell<'_>; N]) {
        let cells = cells.map(Cell::text);
        self.0.write_record(cells.iter().map(|cell| cell.as_bytes())).expect("each line has all the columns");
    }

    /// Adds a line with one cell per column, of which there are as many as the caller says.
    pub fn cells<'c>(&mut self, cells: impl Iterator<Item = Cell<'c>>) {
        let cells: Vec<Cow<'c, str>> = cells.map(Cell::text).collect();
        self.0.write_record(cells.iter().map(|cell| cell.as_bytes())).expect("each line has all the columns");
    }

    /// Returns the text of the table.
    pub fn finish(self) -> Vec<u8> {
        self.0.into_inner().expect("writing to memory does not fail")
    }
}

impl<'a> Cell<'a> {
    fn text(self) -> Cow<'a, str> {
        match self {
            Self::Foreign(text) => no_formula(text),
            Self::Own(text) => text.into(),
        }
    }
}

/// Returns a text that no spreadsheet executes.
pub fn no_formula(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}").into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be_and_formulas_are_text() {
        let mut table = Table::new(&["a", "b"]);
        table.line([Cell::Own("-1"), Cell::Foreign("=1+1")]);
        table.line([Cell::Own(""), Cell::Foreign("pump, \"old\"\n")]);
        let text = String::from_utf8(table.finish()).expect("UTF-8");
        assert_eq!(text, "a,b\r\n-1,'=1+1\r\n,\"pump, \"\"old\"\"\n\"\r\n");
    }
}
