//! Parses a module: its name and its statements with their annotations.

use std::collections::HashSet;
use std::sync::Arc;

use platform_model::realtime::module::check_name;

use super::super::lexer::Kind;
use super::super::syntax::{Module, Name, Span, Statement, StatementKind};
use super::super::{MAX_NAME, MAX_STATEMENTS, Mistake, literal};
use super::Parser;

impl Parser<'_> {
    /// Parses the whole text.
    pub(in super::super) fn module(&mut self) -> Result<Module, Mistake> {
        if !self.accept("module") {
            self.tried.clear();
            return Err(self.found_instead_of("'module <name>;' at the beginning"));
        }
        let name = self.dotted_name("the name of the module")?;
        if name.text.chars().count() > MAX_NAME {
            return Err(Mistake::new(name.span, format!("the name is longer than {MAX_NAME} characters")));
        }
        if check_name(&name.text).is_err() {
            let message = format!("no module may be called '{}'", name.text);
            return Err(Mistake::new(name.span, message));
        }
        self.end_of_statement()?;
        let mut statements: Vec<Statement> = Vec::new();
        let mut names: HashSet<Arc<str>> = HashSet::new();
        loop {
            while self.at(";") {
                self.advance();
            }
            if self.current.kind == Kind::End {
                return Ok(Module { name, statements });
            }
            if statements.len() == MAX_STATEMENTS {
                let message = format!("a module has at most {MAX_STATEMENTS} statements");
                return Err(Mistake::new(self.current.span, message));
            }
            let statement = self.statement(statements.len() + 1)?;
            if !names.insert(statement.name.text.clone()) {
                let message = format!("another statement is called '{}'", statement.name.text);
                return Err(Mistake::new(statement.name.span, message));
            }
            statements.push(statement);
        }
    }

    fn end_of_statement(&mut self) -> Result<(), Mistake> {
        match self.current.kind {
            Kind::End => Ok(()),
            _ => self.expect(";"),
        }
    }

    fn statement(&mut self, number: usize) -> Result<Statement, Mistake> {
        let mut name = None;
        while self.at("@") {
            self.annotation(&mut name)?;
        }
        let first = self.current.span;
        let kind = self.statement_kind()?;
        let span = self.since(first);
        self.end_of_statement()?;
        let name = name.unwrap_or_else(|| Name { text: format!("statement_{number}").into(), span });
        Ok(Statement { name, span, kind })
    }

    /// Parses `@Name('x')` or `@Resilient`.
    fn annotation(&mut self, name: &mut Option<Name>) -> Result<(), Mistake> {
        let at = self.advance().span;
        if self.accept("Resilient") {
            return Ok(());
        }
        let word = self.current.span;
        if !self.accept("Name") {
            let written = match self.current.kind {
                Kind::Word => self.written(word),
                _ => "",
            };
            let message = format!("found '@{written}', expected '@Name('…')' or '@Resilient'");
            return Err(Mistake::new(Span { start: at.start, end: at.end.max(word.end) }, message));
        }
        self.expect("(")?;
        let span = self.current.span;
        if self.current.kind != Kind::Text {
            return Err(self.found_instead_of("a name in quotes"));
        }
        let text = literal::text(self.written(span), span)?;
        if name.is_some() {
            return Err(Mistake::new(span, "the statement has a name already"));
        }
        check_statement_name(&text, span)?;
        self.advance();
        *name = Some(Name { text: text.into(), span });
        self.expect(")")
    }

    fn statement_kind(&mut self) -> Result<StatementKind, Mistake> {
        if self.at_word("create") {
            self.advance();
            return self.create();
        }
        if self.at_word("on") {
            self.advance();
            return self.on();
        }
        let begins = ["select", "insert", "context"].into_iter().any(|word| self.at_word(word));
        if !begins {
            self.tried.extend(["select", "insert", "context", "create", "on", "@"]);
            return Err(self.found());
        }
        Ok(StatementKind::Select(Box::new(self.select()?)))
    }
}

/// Checks the name of a statement, which becomes the second segment of its channel.
fn check_statement_name(name: &str, span: Span) -> Result<(), Mistake> {
    let length = name.chars().count();
    if length == 0 || length > MAX_NAME {
        return Err(Mistake::new(span, format!("the name of a statement has 1 to {MAX_NAME} characters")));
    }
    if name.contains(['/', '*']) || name.contains(char::is_control) {
        Err(Mistake::new(span, "the name of a statement has no '/', '*' or control character"))
    } else {
        Ok(())
    }
}
