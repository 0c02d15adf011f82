//! The mark that every posted row carries, by which it is recognised in notifications and lists without
//! parsing them.

use std::fmt;

use memchr::memmem;

/// The number of bits of the sequence in the mark of a measurement.
const SEQUENCE_BITS: u32 = 32;

/// A 64-bit float represents every whole number below 2^53.
const LARGEST_WHOLE: f64 = 9_007_199_254_740_992.0;

/// The name of the fragment that holds the mark.
pub(crate) const FRAGMENT: &str = "loadtest_Sequence";

/// The identity of a row, with its due time. It is sent as the text `run-device-sequence-due` in the fragment
/// `loadtest_Sequence`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The number of the run; notifications of other runs are ignored.
    pub(crate) run: u32,
    /// The index of the device in this run.
    pub(crate) device: u32,
    /// The position of the row among those of its device, from 0.
    pub(crate) sequence: u32,
    /// The time at which the row was due to be posted, in microseconds since the start of the run.
    pub(crate) due: u64,
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}-{}-{}", self.run, self.device, self.sequence, self.due)
    }
}

impl Mark {
    /// Returns the mark of a row after this one.
    pub(crate) fn following(self, rows: u32) -> Self {
        Self { sequence: self.sequence + rows, ..self }
    }

    /// Returns device and sequence as one number that a 64-bit float represents exactly. The mark of a
    /// measurement is a reading like its others, because a text would make it another kind of measurement.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.device) << SEQUENCE_BITS | u64::from(self.sequence)
    }

    /// Returns the mark of a measurement from its readings; `None` when they are not a mark.
    pub(crate) fn of_readings(run: f64, number: f64) -> Option<Self> {
        let whole = |reading: f64| {
            (reading.fract() == 0.0 && (0.0..LARGEST_WHOLE).contains(&reading)).then_some(reading as u64)
        };
        let (run, number) = (u32::try_from(whole(run)?).ok()?, whole(number)?);
        let device = u32::try_from(number >> SEQUENCE_BITS).ok()?;
        Some(Self { run, device, sequence: number as u32, due: 0 })
    }

    /// Parses the text of a mark.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '-');
        let mark = Self {
            run: parts.next()?.parse().ok()?,
            device: parts.next()?.parse().ok()?,
            sequence: parts.next()?.parse().ok()?,
            due: parts.next()?.parse().ok()?,
        };
        Some(mark)
    }

    /// Returns all marks in a JSON text, in order; everything else in the text is skipped.
    pub(crate) fn scan(text: &[u8]) -> impl Iterator<Item = Self> + '_ {
        let starts = memmem::find_iter(text, FRAGMENT);
        starts.filter_map(|start| Self::read(&text[start + FRAGMENT.len()..]))
    }

    /// Parses what follows the fragment's name: `":"1-2-3-4"`, with or without blanks.
    fn read(text: &[u8]) -> Option<Self> {
        let start = text.iter().take(8).position(u8::is_ascii_digit)?;
        let mut numbers = [0_u64; 4];
        let mut bytes = text[start..].iter().take(60);
        for (index, number) in numbers.iter_mut().enumerate() {
            let end = if index == 3 { b'"' } else { b'-' };
            loop {
                match *bytes.next()? {
                    digit @ b'0'..=b'9' => {
                        *number = number.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
                    }
                    byte if byte == end => break,
                    _ => return None,
                }
            }
        }
        let [run, device, sequence, due] = numbers;
        let narrow = |number: u64| u32::try_from(number).ok();
        Some(Self { run: narrow(run)?, device: narrow(device)?, sequence: narrow(sequence)?, due })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_in_any_layout() {
        let first = Mark { run: 4_000_000_000, device: 9999, sequence: 0, due: 30_000_000 };
        let second = Mark { run: 1, device: 0, sequence: 7, due: 0 };
        let text = format!(
            r#"[{{"data":{{"{FRAGMENT}":"{first}","x":1}}}},{{"{FRAGMENT}" : "{second}"}},{{"channel":"/meta/connect"}}]"#
        );
        assert_eq!(Mark::scan(text.as_bytes()).collect::<Vec<_>>(), [first, second]);
    }

    #[test]
    fn text_of_a_mark_is_read_back() {
        let mark = Mark { run: 4_000_000_000, device: 9999, sequence: 0, due: 30_000_000 };
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark));
        for text in ["", "1-2-3", "1-2-3-4-5", "1-2-x-4", "-1-2-3-4"] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }

    #[test]
    fn mark_of_a_measurement_survives_as_a_float() {
        let mark = Mark { run: u32::MAX, device: 100_000, sequence: u32::MAX, due: 0 };
        assert_eq!(Mark::of_readings(f64::from(mark.run), mark.number() as f64), Some(mark));
        for (run, number) in [(-1.0, 0.0), (0.5, 0.0), (5e9, 0.0), (0.0, 0.5), (0.0, 1e30), (f64::NAN, 0.0)] {
            assert_eq!(Mark::of_readings(run, number), None, "{run} {number}");
        }
    }

    #[test]
    fn malformed_marks_are_skipped() {
        for value in ["", "\":\"1-2-3\"", "\":\"1-2-x-4\"", "\":\"99999999999-1-1-1\"", "\":12"] {
            assert_eq!(Mark::scan(format!("{FRAGMENT}{value}").as_bytes()).count(), 0, "{value}");
        }
    }
}
