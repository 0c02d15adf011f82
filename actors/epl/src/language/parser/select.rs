//! Parses `[context C] [insert into S] select … from … [where] [group by] [having] [output …]`.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::syntax::{Column, Every, Expression, ExpressionKind, Name, Output, OutputKind, Select};
use super::Parser;

/// The maximum number of sources of a statement.
const MAX_SOURCES: usize = 2;

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Result<Select, Mistake> {
        let context = if self.accept("context") { Some(self.name("the name of a context")?) } else { None };
        let into = if self.accept("insert") { Some(self.stream_inserted_into()?) } else { None };
        self.expect("select")?;
        self.refuse_removed()?;
        let columns = self.listed(Self::column)?;
        self.expect("from")?;
        let sources = self.listed(Self::source)?;
        if let Some(source) = sources.get(MAX_SOURCES) {
            return Err(Mistake::new(source.span, format!("a statement has at most {MAX_SOURCES} sources")));
        }
        let condition = self.condition("where")?;
        let mut group_by = Vec::new();
        if self.accept("group") {
            self.expect("by")?;
            group_by = self.listed(Self::expression)?;
        }
        let having = self.condition("having")?;
        let output = self.output()?;
        Ok(Select { context, into, columns, sources, condition, group_by, having, output })
    }

    fn stream_inserted_into(&mut self) -> Result<Name, Mistake> {
        self.expect("into")?;
        self.name("the name of a stream or a window")
    }

    /// Rejects Esper's keywords for rows that leave a window, which this language does not support.
    fn refuse_removed(&self) -> Result<(), Mistake> {
        let is_column =
            matches!(self.next.kind, Kind::Symbol("," | "." | "(" | "[")) || self.is_word(self.next, "from");
        match ["irstream", "istream", "rstream"].into_iter().find(|word| !is_column && self.at_word(word)) {
            Some(word) => Err(Mistake::new(
                self.current.span,
                format!("'{word}' is not supported, expected a column or '*'"),
            )),
            None => Ok(()),
        }
    }

    fn column(&mut self) -> Result<Column, Mistake> {
        let star = self.current.span;
        if self.accept("*") {
            return Ok(Column::Everything(star));
        }
        let expression = self.expression()?;
        let is_everything = self.at(".") && self.next.kind == Kind::Symbol("*");
        if is_everything && let ExpressionKind::Name(alias) = &expression.kind {
            let name = Name { text: alias.clone(), span: expression.span };
            self.advance();
            self.advance();
            return Ok(Column::EverythingOf(name));
        }
        Ok(Column::Expression { expression, name: self.alias()? })
    }

    /// Parses an expression that follows its keyword, if the keyword is present.
    pub(super) fn condition(&mut self, word: &'static str) -> Result<Option<Expression>, Mistake> {
        if self.accept(word) { self.expression().map(Some) } else { Ok(None) }
    }

    fn output(&mut self) -> Result<Option<Output>, Mistake> {
        let start = self.current.span;
        if !self.accept("output") {
            return Ok(None);
        }
        let mut kind = OutputKind::Default;
        let kinds = [
            ("all", OutputKind::All),
            ("last", OutputKind::Last),
            ("first", OutputKind::First),
            ("snapshot", OutputKind::Snapshot),
        ];
        for (word, named) in kinds {
            if kind == OutputKind::Default && self.accept(word) {
                kind = named;
            }
        }
        self.expect("every")?;
        let every = self.every()?;
        Ok(Some(Output { kind, every, span: self.since(start) }))
    }

    fn every(&mut self) -> Result<Every, Mistake> {
        let counts_events = self.is_word(self.next, "events") || self.is_word(self.next, "event");
        if !counts_events {
            return Ok(Every::Time(self.period()?));
        }
        let events = self.count("a number of events")?;
        self.advance();
        Ok(Every::Events(events))
    }
}
