//! How the author of a module is told of a mistake: with the line it is in and a caret below the place.

use std::fmt;

use super::Mistake;

/// Characters of a line that are shown at most.
const WIDTH: usize = 100;
/// Characters before the place that are shown of a longer line.
const BEFORE: usize = 60;
/// Stands for what is left out.
const CUT: char = '…';

/// A mistake as its author is shown it: message, line and column (counted from 1, in characters), the line, and a caret below the
/// place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownMistake {
    pub(crate) message: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The line of the text, shortened around the place when it is long.
    pub(crate) excerpt: String,
    /// How many characters of the excerpt stand before the caret.
    pub(crate) caret: usize,
}

impl fmt::Display for ShownMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message, line, column, excerpt, caret } = self;
        write!(f, "{message}, line {line}, column {column}\n{excerpt}\n{:caret$}^", "")
    }
}

impl Mistake {
    /// The mistake with the line it is in.
    pub(crate) fn shown(&self, text: &str) -> ShownMistake {
        let place = text.floor_char_boundary((self.span.start as usize).min(text.len()));
        let start = text[..place].rfind('\n').map_or(0, |end| end + 1);
        let end = text[place..].find('\n').map_or(text.len(), |length| place + length);
        // A byte order mark is no character of the line.
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

/// What some editors write before the first character.
pub(super) const BYTE_ORDER_MARK: char = '\u{feff}';

/// What is shown of a line, and how many characters of it stand before the place.
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

/// A tab would move the caret, a control character the terminal.
fn visible(character: char) -> char {
    if character.is_control() { ' ' } else { character }
}
