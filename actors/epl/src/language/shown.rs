//! Formats a mistake for the author of a module: with its line and a caret below the position.

use std::fmt;

use super::Mistake;

/// The maximum number of characters of a line that are shown.
const WIDTH: usize = 100;
/// The number of characters shown before the position if the line is longer.
const BEFORE: usize = 60;
/// Marks a part of the line that is left out.
const CUT: char = '…';

/// A mistake as its author sees it: the message, line and column (counted from 1, in characters), the text of
/// the line, and a caret below the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownMistake {
    pub message: String,
    pub line: usize,
    pub column: usize,
    /// The line of the text; a long line is shortened around the position.
    pub excerpt: String,
    /// The number of characters of the excerpt before the caret.
    pub caret: usize,
}

impl fmt::Display for ShownMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column, excerpt, caret } = self;
        write!(f, "{message}, line {line}, column {column}\n{excerpt}\n{:caret$}^", "")
    }
}

impl Mistake {
    /// Returns the mistake with the line in which it occurs.
    pub fn shown(&self, text: &str) -> ShownMistake {
        let place = text.floor_char_boundary((self.span.start as usize).min(text.len()));
        let start = text[..place].rfind('\n').map_or(0, |end| end + 1);
        let end = text[place..].find('\n').map_or(text.len(), |length| place + length);
        // A byte order mark does not count as a character of the line.
        let before = text[start..place].trim_start_matches(BYTE_ORDER_MARK).chars().count();
        let line = text[start..end].trim_start_matches(BYTE_ORDER_MARK).trim_end_matches('\r');
        let (excerpt, caret) = shorten(line, before);
        ShownMistake {
            message: self.message.clone(),
            line: 1 + text[..start].bytes().filter(|byte| *byte == b'\n').count(),
            column: before + 1,
            excerpt,
            caret,
        }
    }
}

/// The byte order mark that some editors write at the start of a file.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// Shortens a line; also returns the number of remaining characters before the position.
fn shorten(line: &str, place: usize) -> (String, usize) {
    let length = line.chars().count();
    if length <= WIDTH {
        return (line.chars().map(visible).collect(), place);
    }
    let from = place.saturating_sub(BEFORE).min(length - WIDTH);
    let mut shown: Vec<char> = line.chars().skip(from).take(WIDTH).map(visible).collect();
    if from > 0 {
        shown[0] = CUT;
    }
    if from + WIDTH < length {
        shown[WIDTH - 1] = CUT;
    }
    (shown.into_iter().collect(), place - from)
}

/// Replaces tabs, which would misplace the caret, and control characters, which would affect the terminal.
fn visible(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}
