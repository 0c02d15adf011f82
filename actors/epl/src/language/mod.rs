//! Parses the text of a module into its syntax tree: the subset of EPL that define.
//!
//! The parser knows the syntax of statements but not the meaning of names, which [`plan`](super::plan)
//! resolves.
//!
//! # Reading order
//!
//! [`syntax`] defines the tree; [`lexer`] splits the text into tokens, and [`literal`] evaluates number and
//! text tokens; [`parser`] builds the tree; [`shown`] formats a mistake for the author.

#[cfg(test)]
mod fuzz;
mod lexer;
mod literal;
mod parser;
mod period;
#[cfg(test)]
mod printer;
mod shown;
pub mod syntax;
#[cfg(test)]
mod tests;

pub(crate) use parser::LONGEST_PERIOD;
use syntax::Span;

/// The maximum length of a text in bytes.
pub const MAX_TEXT: usize = 1 << 20;
/// The maximum number of statements of a module.
pub const MAX_STATEMENTS: usize = 1000;
/// The maximum nesting depth of parentheses, arguments, `not`, `every` and similar constructs.
pub const MAX_NESTING: usize = 64;
/// The maximum height of an expression tree: `a + b + c` grows by one with each operator although nothing is
/// nested. The limit makes it safe to traverse a tree recursively.
pub const MAX_HEIGHT: usize = 200;
/// The maximum length of a name in characters.
pub const MAX_NAME: usize = 254;

/// The reason why a text is not a valid module, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// One sentence that says what is wrong and what is allowed, without the position.
    pub message: String,
    /// The position of the mistake in the text.
    pub span: Span,
}

impl Mistake {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), span }
    }
}

/// Parses a module.
///
/// # Errors
/// Returns the first mistake.
pub fn parse(text: &str) -> Result<syntax::Module, Mistake> {
    if text.len() > MAX_TEXT {
        return Err(Mistake::new(Span::default(), format!("the text is longer than {MAX_TEXT} bytes")));
    }
    parser::Parser::new(text).module()
}
