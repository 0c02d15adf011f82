//! From the text of a module to its tree: the subset of EPL of.
//!
//! The parser knows the forms of statements and nothing of what names stand for; that is [`plan`](super::plan)'s.
//!
//! # Reading order
//!
//! [`syntax`] is the tree; [`lexer`] cuts the text into words, numbers, texts and symbols, [`literal`] says what they stand for;
//! [`parser`] makes the tree; [`shown`] is how its author is told of a mistake.

#[cfg(test)]
mod fuzz;
mod lexer;
mod literal;
mod parser;
#[cfg(test)]
mod printer;
mod shown;
pub(crate) mod syntax;
#[cfg(test)]
mod tests;

use syntax::Span;

/// Bytes of a text at most.
pub(crate) const MAX_TEXT: usize = 1 << 20;
/// Statements of a module at most.
pub(crate) const MAX_STATEMENTS: usize = 1000;
/// How deep parentheses, arguments, `not`, `every` and their like may be inside each other.
pub(crate) const MAX_NESTING: usize = 64;
/// How high the tree of an expression may be: `a + b + c` grows by one with each operator, though nothing is nested. What walks
/// a tree may thus call itself.
pub(crate) const MAX_HEIGHT: usize = 200;
/// Characters of a name at most.
pub(crate) const MAX_NAME: usize = 254;

/// Why a text is no module: what is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mistake {
    /// What is wrong and what is allowed; one sentence without the place.
    pub(crate) message: String,
    /// Where it stands.
    pub(crate) span: Span,
}

impl Mistake {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), span }
    }
}

/// Reads a module.
///
/// # Errors
/// The first mistake.
pub(crate) fn parse(text: &str) -> Result<syntax::Module, Mistake> {
    if text.len() > MAX_TEXT {
        return Err(Mistake::new(Span::default(), format!("the text is longer than {MAX_TEXT} bytes")));
    }
    parser::Parser::new(text).module()
}
