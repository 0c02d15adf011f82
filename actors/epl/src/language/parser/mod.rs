//! Parses the tokens of a module into its tree by recursive descent, with one file for each part of the
//! grammar.
//!
//! The parser looks one token ahead. A mistake lists as allowed the tokens that the parser tried at the
//! position.

mod create;
mod expression;
mod found;
mod names;
mod on;
mod operand;
mod pattern;
mod period;
mod schedule;
mod select;
mod source;
mod statement;

pub(crate) use period::LONGEST as LONGEST_PERIOD;

use super::lexer::{Kind, Lexer, Token};
use super::syntax::{Name, Span};
use super::{MAX_NAME, MAX_NESTING, Mistake};

/// The text and the position of the parser in it.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// The current token.
    current: Token,
    /// The token after the current one.
    next: Token,
    /// The end of the previous token.
    end: u32,
    /// The tokens that would have been allowed at the position.
    tried: Vec<&'static str>,
    /// The nesting depth at the position.
    nesting: usize,
    /// The height of the expression that was parsed last.
    height: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut lexer = Lexer::new(text);
        let (current, next) = (lexer.next(), lexer.next());
        Self { text, lexer, current, next, end: 0, tried: Vec::new(), nesting: 0, height: 0 }
    }

    fn advance(&mut self) -> Token {
        let passed = self.current;
        self.current = self.next;
        self.next = self.lexer.next();
        self.end = passed.span.end;
        self.tried.clear();
        passed
    }

    fn written(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    /// Returns the span from a start to the end of the previous token.
    fn since(&self, start: Span) -> Span {
        Span { start: start.start, end: self.end.max(start.start) }
    }

    /// Returns whether the current token is this symbol.
    fn at(&self, symbol: &str) -> bool {
        matches!(self.current.kind, Kind::Symbol(stands) if stands == symbol)
    }

    /// Returns whether the current token is this keyword.
    fn at_word(&self, word: &str) -> bool {
        self.is_word(self.current, word)
    }

    fn is_word(&self, token: Token, word: &str) -> bool {
        token.kind == Kind::Word && self.written(token.span).eq_ignore_ascii_case(word)
    }

    /// Consumes a symbol or a keyword if it is the current token.
    fn accept(&mut self, expected: &'static str) -> bool {
        let stands = if expected.starts_with(|first: char| first.is_ascii_alphabetic()) {
            self.at_word(expected)
        } else {
            self.at(expected)
        };
        if stands {
            self.advance();
        } else {
            self.tried.push(expected)
        }
        stands
    }

    fn expect(&mut self, expected: &'static str) -> Result<(), Mistake> {
        if self.accept(expected) { Ok(()) } else { Err(self.found()) }
    }

    /// Consumes a name; any word is one.
    fn name(&mut self, what: &'static str) -> Result<Name, Mistake> {
        let Token { kind, span } = self.current;
        let text = match kind {
            Kind::Word => self.written(span),
            Kind::Escaped => self.written(span).trim_matches('`'),
            _ => return Err(self.found_instead_of(what)),
        };
        if text.chars().count() > MAX_NAME {
            return Err(Mistake::new(span, format!("the name is longer than {MAX_NAME} characters")));
        }
        self.advance();
        Ok(Name { text: text.into(), span })
    }

    /// Parses something that is nested in the current construct, and counts the nesting depth.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Mistake>) -> Result<T, Mistake> {
        if self.nesting == MAX_NESTING {
            let message = format!("nested more than {MAX_NESTING} deep");
            return Err(Mistake::new(self.current.span, message));
        }
        self.nesting += 1;
        let read = read(self);
        self.nesting -= 1;
        read
    }

    /// Parses one or more items separated by commas.
    fn listed<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Mistake>,
    ) -> Result<Vec<T>, Mistake> {
        let mut items = vec![read(self)?];
        while self.accept(",") {
            items.push(read(self)?);
        }
        Ok(items)
    }
}
