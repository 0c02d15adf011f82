//! Names that something is called by without a word before them, and names of types.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::syntax::{Name, TypeName};
use super::Parser;
use super::found::is_near;

/// Words that begin the next part of a statement: none of them is a name that has no `as` before it.
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
    /// `as name`, or the name alone.
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

    /// Whether `form Stream` or `wehre a` stands here: a word that is nearly one that goes on, and goes on like it.
    fn is_slip(&self) -> bool {
        let written = self.written(self.current.span).to_ascii_lowercase();
        let goes_on = match self.next.kind {
            Kind::Word => !CLAUSES.iter().any(|word| self.is_word(self.next, word)),
            kind => matches!(kind, Kind::Number | Kind::Text | Kind::Escaped | Kind::Symbol("(" | "*")),
        };
        goes_on && CLAUSES.iter().any(|word| is_near(&written, word))
    }

    /// `string`, `java.lang.String`, `double[]`.
    pub(super) fn type_name(&mut self) -> Result<TypeName, Mistake> {
        let name = self.dotted_name("the name of a type")?;
        let is_list = self.accept("[");
        if is_list {
            self.expect("]")?;
        }
        Ok(TypeName { name, is_list })
    }

    /// A name whose parts have dots between them.
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
