//! Records of a file, each with the line it begins in; what no file means is refused before it fills the memory.
//!
//! The CSV reader tells neither: its positions are where it began to scan, blank lines before a record included, and a quote
//! that nobody closes swallows the rest of the file without a word. So the bytes it takes are kept until their record is
//! complete, and behind the file follows a line of our own: whoever swallows that was not closed.

use std::collections::VecDeque;
use std::io::{self, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};

/// Bytes of one record.
pub(super) const MAX_RECORD: usize = 1 << 20;
/// What follows the file: its last line ends, if it did not, and there is one more.
const SENTINEL: &[u8] = b"\nE\n";

/// Records of a file, one after the other.
pub(super) struct Lines<R> {
    reader: Reader<Kept<R>>,
    record: ByteRecord,
    taken: u64,
}

/// What comes next of a file.
pub(super) enum Next<'a> {
    /// A record, with the line it begins in.
    Record(u64, &'a ByteRecord),
    /// A record that is too long or not closed begins in this line: nobody knows where the next begins.
    Unreadable(u64),
    /// Nothing.
    End,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(file: R, separator: u8) -> Self {
        let kept = Kept { file, bytes: VecDeque::new(), line: 1, after_cr: false, taken: 0, end: None };
        let reader =
            ReaderBuilder::new().has_headers(false).flexible(true).delimiter(separator).from_reader(kept);
        Self { reader, record: ByteRecord::new(), taken: 0 }
    }

    /// The next record; blank lines are passed over.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn next(&mut self) -> io::Result<Next<'_>> {
        loop {
            match self.reader.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(Next::End),
                Err(_) if self.reader.get_ref().is_full() => return Ok(self.unreadable()),
                Err(error) => return Err(error.into()),
            }
            let end = self.reader.position().byte();
            let kept = self.reader.get_mut();
            if kept.has_swallowed_the_end(end - self.taken) {
                return Ok(self.unreadable());
            }
            let begin = kept.pass(end - self.taken);
            self.taken = end;
            match begin {
                Begin::Sentinel => return Ok(Next::End),
                Begin::Line(_) if is_blank(&self.record) => {}
                Begin::Line(line) => return Ok(Next::Record(line, &self.record)),
            }
        }
    }

    fn unreadable(&mut self) -> Next<'_> {
        let kept = self.reader.get_mut();
        match kept.pass(kept.blank() + 1) {
            Begin::Line(line) => Next::Unreadable(line),
            Begin::Sentinel => Next::End,
        }
    }
}

fn is_blank(record: &ByteRecord) -> bool {
    record.len() == 1 && record[0].trim_ascii().is_empty()
}

/// Where a record begins.
enum Begin {
    Line(u64),
    /// Behind the file.
    Sentinel,
}

/// A file on its way to the CSV reader.
struct Kept<R> {
    file: R,
    /// What the reader took and no record has used up.
    bytes: VecDeque<u8>,
    /// The line of the first of them.
    line: u64,
    after_cr: bool,
    /// How many went before them.
    taken: u64,
    /// Length of the file, once it is known.
    end: Option<u64>,
}

impl<R> Kept<R> {
    fn is_full(&self) -> bool {
        self.bytes.len() > MAX_RECORD
    }

    /// How many line ends come first.
    fn blank(&self) -> u64 {
        self.bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count() as u64
    }

    /// Whether a record of so many bytes began in the file and took more of the sentinel than the end of the last line.
    fn has_swallowed_the_end(&self, count: u64) -> bool {
        self.end.is_some_and(|end| self.taken + self.blank() < end && self.taken + count > end + 1)
    }

    /// Uses up the bytes of a record, line ends before it included.
    fn pass(&mut self, count: u64) -> Begin {
        let mut begin = None;
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(self.bytes.len());
        for byte in self.bytes.drain(..count) {
            match byte {
                b'\n' if self.after_cr => {}
                b'\r' | b'\n' => self.line += 1,
                _ if begin.is_none() => {
                    let behind = self.end.is_some_and(|end| self.taken >= end);
                    begin = Some(if behind { Begin::Sentinel } else { Begin::Line(self.line) });
                }
                _ => {}
            }
            self.after_cr = byte == b'\r';
            self.taken += 1;
        }
        begin.unwrap_or(Begin::Line(self.line))
    }
}

impl<R: Read> Read for Kept<R> {
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

    /// Lines and cells of a text; an unreadable record is one `!`.
    fn read(text: &[u8]) -> Vec<(u64, Vec<String>)> {
        let mut lines = Lines::new(text, b';');
        let mut records = Vec::new();
        loop {
            match lines.next().expect("memory can be read") {
                Next::End => return records,
                Next::Unreadable(line) => {
                    records.push((line, vec!["!".into()]));
                    return records;
                }
                Next::Record(line, record) => {
                    let cells = record.iter().map(|cell| String::from_utf8_lossy(cell).into_owned());
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
        fn lines_are_counted_as_people_count(cells in proptest::collection::vec("[a-z]{1,3}", 1..20), blanks in proptest::collection::vec(0_usize..3, 20)) {
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
