//! Parses aliases without `as`, and the names of types.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::syntax::{Name, TypeName};
use super::Parser;
use super::found::is_near;

/// Keywords that begin the next clause of a statement, and so cannot be an alias without `as`.
const CLAUSES: [&str; 13] = [
    "from",
    "where",
    "group",
    "having",
    "output",
    "unidirectional",
    "order",
    "limit",
    "set",
    "delete",
    "inner",
    "join",
    "on",
];

impl Parser<'_> {
    /// Parses `as name`, or the name alone.
    pub(super) fn alias(&mut self) -> Result<Option<Name>, Mistake> {
        if self.accept("as") {
            return self.name("a name").map(Some);
        }
        let bare = match self.current.kind {
            Kind::Escaped => true,
            Kind::Word => !self.begins_clause() && !self.is_slip(),
            _ => false,
        };
        if !bare {
            return Ok(None);
        }
        self.name("a name").map(Some)
    }

    fn begins_clause(&self) -> bool {
        CLAUSES.iter().any(|word| self.at_word(word))
    }

    /// Returns whether the text contains a misspelt keyword, such as `form Stream` or `wehre a`: the word
    /// nearly matches an allowed keyword and the text continues as it would after that keyword.
    fn is_slip(&self) -> bool {
        let written = self.written(self.current.span).to_ascii_lowercase();
        let goes_on = match self.next.kind {
            Kind::Word => !CLAUSES.iter().any(|word| self.is_word(self.next, word)),
            kind => matches!(kind, Kind::Number | Kind::Text | Kind::Escaped | Kind::Symbol("(" | "*")),
        };
        goes_on && CLAUSES.iter().any(|word| is_near(&written, word))
    }

    /// Parses a type name: `string`, `java.lang.String` or `double[]`.
    pub(super) fn type_name(&mut self) -> Result<TypeName, Mistake> {
        let name = self.dotted_name("the name of a type")?;
        let is_list = self.accept("[");
        if is_list {
            self.expect("]")?;
        }
        Ok(TypeName { name, is_list })
    }

    /// Parses a name whose segments are separated by dots.
    pub(super) fn dotted_name(&mut self, what: &'static str) -> Result<Name, Mistake> {
        let first = self.name(what)?;
        if !self.at(".") {
            self.tried.push(".");
            return Ok(first);
        }
        let mut text = first.text.to_string();
        while self.accept(".") {
            text.push('.');
            text.push_str(&self.name("a name")?.text);
        }
        Ok(Name { text: text.into(), span: self.since(first.span) })
    }
}
