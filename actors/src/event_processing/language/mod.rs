//! From the text of a module to its tree: the subset of EPL of.
//!
//! The parser knows the forms of statements and nothing of what names stand for; that is [`plan`](super::plan)'s.

pub(crate) mod syntax;

use std::fmt;

use syntax::Span;

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

/// Reads a module.
///
/// # Errors
/// The first mistake.
pub(crate) fn parse(text: &str) -> Result<syntax::Module, Mistake> {
    let _ = text;
    Err(Mistake::new(Span::default(), "not yet"))
}

impl Mistake {
    /// The mistake with the line it is in.
    pub(crate) fn shown(&self, text: &str) -> ShownMistake {
        let _ = text;
        ShownMistake { message: self.message.clone(), line: 1, column: 1, excerpt: String::new(), caret: 0 }
    }
}
