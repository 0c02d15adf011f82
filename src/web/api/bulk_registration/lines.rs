//! A reader of CSV records that knows the line each record begins in, and that rejects unreadable files
//! before they fill the memory.
//!
//! The CSV library reports neither: its position is where it began to scan, including blank lines before a
//! record, and an unclosed quote silently swallows the rest of the file. So the bytes it consumes are kept
//! until their record is complete, and a sentinel line is appended to the file: a record that swallows the
//! sentinel had an unclosed quote.

use std::collections::VecDeque;
use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

/// The largest record in bytes.
pub(super) const MAX_RECORD: usize = 1 << 20;
/// The text that is appended to the file: it ends the last line if necessary and adds one more.
const SENTINEL: &[u8] = b"\nE\n";

/// A reader of the records of a file, one after the other.
pub(super) struct RecordReader<R> {
    reader: Reader<RecordBuffer<R>>,
    separator: u8,
    record: FileRecord,
    taken: u64,
}

/// A record of a file.
#[derive(Default)]
pub(super) struct FileRecord {
    fields: ByteRecord,
    /// Whether each cell is in quotes.
    quoted: Vec<bool>,
}

impl FileRecord {
    /// Returns the cells. Blanks around a cell that is not in quotes are dropped (N-12a).
    pub(super) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let quoted = self.quoted.iter().copied().chain(std::iter::repeat(false));
        self.fields.iter().zip(quoted).map(|(cell, quoted)| if quoted { cell } else { cell.trim_ascii() })
    }

    /// Returns the bytes of all cells.
    pub(super) fn length(&self) -> usize {
        self.fields.as_slice().len()
    }

    fn is_blank(&self) -> bool {
        self.fields.len() == 1 && self.fields[0].trim_ascii().is_empty()
    }
}

/// The next item of a file.
pub(super) enum NextRecord<'a> {
    /// A record, with the line it begins in.
    Record(u64, &'a FileRecord),
    /// A record that is too long or has an unclosed quote begins in this line. The rest of the file cannot be
    /// read.
    Unreadable(u64),
    /// The end of the file.
    End,
}

impl<R: Read> RecordReader<R> {
    pub(super) fn new(file: R, separator: u8) -> Self {
        let buffer =
            RecordBuffer { file, bytes: VecDeque::new(), line: 1, after_cr: false, taken: 0, end: None };
        let reader =
            ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(buffer);
        Self { reader, separator, record: FileRecord::default(), taken: 0 }
    }

    /// Returns the next record and skips blank lines.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<NextRecord<'_>> {
        loop {
            match self.reader.read_byte_record(&mut self.record.fields) {
                Ok(true) => {}
                Ok(false) => return Ok(NextRecord::End),
                Err(_) if self.reader.get_ref().is_full() => return Ok(self.unreadable()),
                Err(error) => return Err(error.into()),
            }
            let end = self.reader.position().byte();
            let buffer = self.reader.get_mut();
            if buffer.has_swallowed_the_end(end - self.taken) {
                return Ok(self.unreadable());
            }
            buffer.find_quotes(end - self.taken, self.separator, &mut self.record.quoted);
            let begin = buffer.pass(end - self.taken);
            self.taken = end;
            match begin {
                RecordStart::Sentinel => return Ok(NextRecord::End),
                RecordStart::Line(_) if self.record.is_blank() => {}
                RecordStart::Line(line) => return Ok(NextRecord::Record(line, &self.record)),
            }
        }
    }

    fn unreadable(&mut self) -> NextRecord<'_> {
        let buffer = self.reader.get_mut();
        match buffer.pass(buffer.blank() + 1) {
            RecordStart::Line(line) => NextRecord::Unreadable(line),
            RecordStart::Sentinel => NextRecord::End,
        }
    }
}

/// The place where a record begins.
enum RecordStart {
    Line(u64),
    /// The record is the sentinel behind the file.
    Sentinel,
}

/// The file as the CSV reader sees it: with the sentinel, and with the bytes of the current record buffer.
struct RecordBuffer<R> {
    file: R,
    /// The bytes that the reader consumed and that belong to no complete record yet.
    bytes: VecDeque<u8>,
    /// The line of the first of these bytes.
    line: u64,
    after_cr: bool,
    /// The number of bytes before them.
    taken: u64,
    /// The length of the file, once it is known.
    end: Option<u64>,
}

impl<R> RecordBuffer<R> {
    fn is_full(&self) -> bool {
        self.bytes.len() > MAX_RECORD
    }

    /// Returns the number of line ends at the beginning.
    fn blank(&self) -> u64 {
        self.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count() as u64
    }

    /// Returns whether a record of this many bytes began in the file and consumed more of the sentinel than
    /// the end of the last line.
    fn has_swallowed_the_end(&self, count: u64) -> bool {
        self.end.is_some_and(|end| self.taken + self.blank() < end && self.taken + count > end + 1)
    }

    /// Finds which cells of a record of this many bytes are in quotes, which the CSV library does not tell. A quote
    /// begins only at the begin of a cell, and two of them inside are one character.
    fn find_quotes(&self, count: u64, separator: u8, quoted: &mut Vec<bool>) {
        quoted.clear();
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = self.bytes.iter().take(count).skip(usize::try_from(self.blank()).unwrap_or_default());
        let (mut begins, mut inside) = (true, false);
        for byte in bytes {
            if begins {
                inside = *byte == b'"';
                quoted.push(inside);
                begins = *byte == separator;
            } else {
                inside ^= *byte == b'"' && quoted.last() == Some(&true);
                begins = *byte == separator && !inside;
            }
        }
    }

    /// Drops the bytes of a record, including the line ends before it.
    fn pass(&mut self, count: u64) -> RecordStart {
        let mut begin = None;
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.bytes.len());
        for byte in self.bytes.drain(..count) {
            match byte {
                b'\n' if self.after_cr => {}
                b'\r' | b'\n' => self.line += 1,
                _ if begin.is_none() => {
                    let behind = self.end.is_some_and(|end| self.taken >= end);
                    begin = Some(if behind { RecordStart::Sentinel } else { RecordStart::Line(self.line) });
                }
                _ => {}
            }
            self.after_cr = byte == b'\r';
            self.taken += 1;
        }
        begin.unwrap_or(RecordStart::Line(self.line))
    }
}

impl<R: Read> Read for RecordBuffer<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.is_full() {
            return Err(io::Error::other("a record is too long"));
        }
        let mut count = match self.end {
            Some(_) => 0,
            None => self.file.read(buffer)?,
        };
        if count == 0 && self.end.is_none() {
            self.end = Some(self.taken + self.bytes.len() as u64);
            count = SENTINEL.len();
            buffer[..count].copy_from_slice(SENTINEL);
        }
        self.bytes.extend(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lines and cells of a text; an unreadable record is a single `!`.
    fn read(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        let mut lines = RecordReader::new(text, b';');
        let mut records = Vec::new();
        loop {
            match lines.next().expect("memory can be read") {
                NextRecord::End => return records,
                NextRecord::Unreadable(line) => {
                    records.push((line, vec!["!".into()]));
                    return records;
                }
                NextRecord::Record(line, record) => {
                    let cells = record.cells().map(|cell| String::from_utf8_lossy(cell).into_owned());
                    records.push((line, cells.collect()));
                }
            }
        }
    }

    fn lines(text: &str) -> Vec<(u64, String)> {
        read(text.as_bytes()).into_iter().map(|(line, cells)| (line, cells.join("|"))).collect()
    }

    fn expected(records: &[(u64, &str)]) -> Vec<(u64, String)> {
        records.iter().map(|(line, cells)| (*line, (*cells).to_owned())).collect()
    }

    #[test]
    fn records_know_the_line_they_begin_in() {
        for end in ["\n", "\r\n", "\r"] {
            let text = "a;b\n\n\n\"c\n\nd\";e\n  \n\nf;g\nh;\"i\"\"j\"\n\n".replace('\n', end);
            let broken = format!("c{end}{end}d|e");
            let records = [(1, "a|b"), (4, &*broken), (9, "f|g"), (10, "h|i\"j")];
            assert_eq!(lines(&text), expected(&records), "{end:?}");
        }
        assert_eq!(lines("\n\n\na"), expected(&[(4, "a")]));
        assert_eq!(lines("a\r\n\n\rb"), expected(&[(1, "a"), (4, "b")]));
    }

    #[test]
    fn blanks_are_dropped_around_cells_without_quotes() {
        let text = " a ; \"b\" ;\" c \";\" d;\"\" ;e\n\"; \tf\r\n\n;\"g \";;h \n; \";\" i \"";
        let records = [(1, "a|\"b\"| c | d;\" ;e\n|f"), (4, "|g ||h"), (5, "|\"| i ")];
        assert_eq!(lines(text), expected(&records));
        // Text after the closing quote belongs to the cell.
        assert_eq!(lines("\"a \" ;b \n"), expected(&[(1, "a  |b")]));
    }

    #[test]
    fn files_without_records_have_none() {
        for text in ["", "\n", "\r\n\r\n", "  \n\t\n", "\r", "\"\""] {
            assert_eq!(lines(text), expected(&[]), "{text:?}");
        }
    }

    #[test]
    fn quote_that_is_not_closed_makes_its_record_unreadable() {
        assert_eq!(lines("a;b\n\nc;\"d\ne;f\n"), expected(&[(1, "a|b"), (3, "!")]));
        assert_eq!(lines("a;\""), expected(&[(1, "!")]));
        assert_eq!(lines("\n\""), expected(&[(2, "!")]));
        assert_eq!(lines("a;\"b\""), expected(&[(1, "a|b")]));
        assert_eq!(lines("a;\"b\"\"\n"), expected(&[(1, "!")]));
    }

    #[test]
    fn record_that_fills_the_memory_is_unreadable() {
        let fits = format!("a;{}", "x".repeat(MAX_RECORD - 100));
        assert_eq!(lines(&format!("{fits}\nb")).len(), 2);
        for begin in ["a;\"", "a;"] {
            let text = format!("x;y\n{begin}{}", "x\n".repeat(2).repeat(MAX_RECORD).replace('\n', "y"));
            assert_eq!(lines(&text), expected(&[(1, "x|y"), (2, "!")]), "{begin}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(text in r#"[a;"\r\n ]{0,40}"#) {
            let records = read(text.as_bytes());
            let lines: Vec<u64> = records.iter().map(|(line, _)| *line).collect();
            proptest::prop_assert!(lines.is_sorted());
        }

        #[test]
        fn lines_are_counted_as_people_count(cells in proptest::collection::vec("[a-z]{1,3}", 1..20),
            blanks in proptest::collection::vec(0_usize..3, 20)) {
            let (mut text, mut wanted, mut line) = (String::new(), Vec::new(), 1);
            for (cell, blank) in cells.iter().zip(blanks) {
                text += &"\n".repeat(blank);
                line += blank as u64;
                wanted.push((line, cell.clone()));
                text += &format!("{cell}\n");
                line += 1;
            }
            proptest::prop_assert_eq!(lines(&text), wanted);
        }
    }
}
