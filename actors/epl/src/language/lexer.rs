//! Splits the text of a module into tokens: words, numbers, texts and symbols. Invalid input also becomes a
//! token, so that mistakes are reported in the order of the text.

use super::Mistake;
use super::shown::BYTE_ORDER_MARK;
use super::syntax::Span;

/// A token of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyword or a name, depending on its position.
    Word,
    /// A name in backticks, which is never a keyword.
    Escaped,
    /// An integer or a decimal, including its suffix.
    Number,
    /// A text, including its quotes.
    Text,
    Symbol(&'static str),
    End,
    Wrong(Wrong),
}

/// The reason why a token is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wrong {
    Character(char),
    OpenText,
    OpenName,
    EmptyName,
    OpenComment,
}

impl Wrong {
    pub(super) fn at(self, span: Span) -> Mistake {
        let message = match self {
            Self::Character(character) if character.is_control() || character.is_whitespace() => {
                format!(
                    "the character U+{:04X} has no meaning outside of texts and comments",
                    u32::from(character)
                )
            }
            Self::Character(character) => {
                format!("the character '{character}' has no meaning outside of texts and comments")
            }
            Self::OpenText => "the text that begins here has no closing quote".to_owned(),
            Self::OpenName => {
                "the name that begins here has no closing backtick before the next control character"
                    .to_owned()
            }
            Self::EmptyName => "there is no name between the backticks".to_owned(),
            Self::OpenComment => "the comment that begins here has no closing '*/'".to_owned(),
        };
        Mistake::new(span, message)
    }
}

/// The symbols. A longer symbol comes before its prefixes.
const SYMBOLS: [&str; 26] = [
    "->", "||", "!=", "<>", "<=", ">=", "(", ")", "[", "]", "{", "}", ",", ";", ".", ":", "@", "=", "<", ">",
    "+", "-", "*", "/", "%", "?",
];

/// The text and the position up to which it was read.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len_utf8() } else { 0 } }
    }

    /// Returns the next token. At the end of the text and after an invalid token it returns the same token
    /// every time.
    pub(super) fn next(&mut self) -> Token {
        if let Some(open) = self.skip_blanks() {
            return Token { kind: Kind::Wrong(Wrong::OpenComment), span: open };
        }
        let start = self.at;
        let Some(first) = self.rest().chars().next() else {
            let end = self.text.trim_end().len();
            return Token { kind: Kind::End, span: span(end, end) };
        };
        let (kind, length) = match first {
            '\'' | '"' => self.quoted(first),
            '`' => self.escaped(),
            _ if starts_word(first) => {
                (Kind::Word, self.length_while(|next| starts_word(next) || next.is_numeric()))
            }
            _ if first.is_ascii_digit() || self.starts_fraction() => (Kind::Number, self.number()),
            _ => match SYMBOLS.into_iter().find(|symbol| self.rest().starts_with(symbol)) {
                Some(symbol) => (Kind::Symbol(symbol), symbol.len()),
                None => (Kind::Wrong(Wrong::Character(first)), first.len_utf8()),
            },
        };
        if !matches!(kind, Kind::Wrong(_)) {
            self.at += length;
        }
        Token { kind, span: span(start, start + length) }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips blanks and comments; returns the start of a comment that is not closed.
    fn skip_blanks(&mut self) -> Option<Span> {
        loop {
            self.at += self.length_while(|next| matches!(next, ' ' | '\t' | '\r' | '\n' | '\x0c'));
            if self.rest().starts_with("//") {
                self.at += self.length_while(|next| next != '\n');
            } else if self.rest().starts_with("/*") {
                match self.rest()[2..].find("*/") {
                    Some(length) => self.at += 2 + length + 2,
                    None => return Some(span(self.at, self.at + 2)),
                }
            } else {
                return None;
            }
        }
    }

    fn length_while(&self, belongs: impl Fn(char) -> bool) -> usize {
        let rest = self.rest();
        rest.find(|next| !belongs(next)).unwrap_or(rest.len())
    }

    /// Reads a text up to its closing quote. Doubled quotes and escaped characters do not end it.
    fn quoted(&self, quote: char) -> (Kind, usize) {
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((at, character)) = characters.next() {
            if character == '\\' {
                characters.next();
            } else if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
                return (Kind::Text, at + 1);
            }
        }
        (Kind::Wrong(Wrong::OpenText), 1)
    }

    fn escaped(&self) -> (Kind, usize) {
        let rest = &self.rest()[1..];
        match rest.find(|next: char| next == '`' || next.is_control()) {
            Some(0) if rest.starts_with('`') => (Kind::Wrong(Wrong::EmptyName), 2),
            Some(length) if rest[length..].starts_with('`') => (Kind::Escaped, length + 2),
            _ => (Kind::Wrong(Wrong::OpenName), 1),
        }
    }

    /// Returns whether the text continues with a fraction such as `.5`.
    fn starts_fraction(&self) -> bool {
        let mut bytes = self.rest().bytes();
        bytes.next() == Some(b'.') && bytes.next().is_some_and(|next| next.is_ascii_digit())
    }

    /// Returns the length of a number: `12`, `1.5`, `.5` or `1e-3`, with an optional suffix `L`, `f` or `d`.
    fn number(&self) -> usize {
        let bytes = self.rest().as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut length = digits(0);
        if bytes.get(length) == Some(&b'.') && bytes.get(length + 1).is_some_and(u8::is_ascii_digit) {
            length += 1 + digits(length + 1);
        }
        if matches!(bytes.get(length), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
            let exponent = digits((length + 1 + sign).min(bytes.len()));
            length += if exponent > 0 { 1 + sign + exponent } else { 0 };
        }
        let ends_word =
            |at: usize| !self.rest()[at..].starts_with(|next: char| starts_word(next) || next.is_numeric());
        let suffixed = matches!(bytes.get(length), Some(b'l' | b'L' | b'f' | b'F' | b'd' | b'D'));
        length + usize::from(suffixed && ends_word(length + 1))
    }
}

fn starts_word(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$')
}

/// Creates a span. The positions fit because a text has at most [`MAX_TEXT`](super::MAX_TEXT) bytes.
fn span(start: usize, end: usize) -> Span {
    let position = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: position(start), end: position(end) }
}
