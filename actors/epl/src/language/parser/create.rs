//! Parses declarations: schemas, contexts, variables, named windows and expressions.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::syntax::{Binding, Name, Partition, StatementKind, VariableKind};
use super::Parser;

impl Parser<'_> {
    /// Parses the rest of a statement after `create`.
    pub(super) fn create(&mut self) -> Result<StatementKind, Mistake> {
        if self.accept("schema") {
            self.schema()
        } else if self.accept("context") {
            self.context()
        } else if self.accept("window") {
            self.window()
        } else if self.accept("variable") {
            self.variable(VariableKind::Variable)
        } else if self.accept("constant") {
            self.expect("variable")?;
            self.variable(VariableKind::Constant)
        } else if self.accept("expression") {
            self.declared_expression()
        } else {
            Err(self.found())
        }
    }

    fn schema(&mut self) -> Result<StatementKind, Mistake> {
        let name = self.name("the name of a schema")?;
        self.accept("as");
        self.expect("(")?;
        let columns =
            self.listed(|parser| Ok((parser.name("the name of a column")?, parser.type_name()?)))?;
        self.expect(")")?;
        Ok(StatementKind::CreateSchema { name, columns })
    }

    fn context(&mut self) -> Result<StatementKind, Mistake> {
        let name = self.name("the name of a context")?;
        self.expect("partition")?;
        self.accept("by");
        let partitions = self.listed(|parser| {
            let keys = parser.keys()?;
            parser.expect("from")?;
            Ok(Partition { keys, stream: parser.stream()? })
        })?;
        Ok(StatementKind::CreateContext { name, partitions })
    }

    /// Parses keys separated by `and`.
    fn keys(&mut self) -> Result<Vec<super::super::syntax::Expression>, Mistake> {
        let mut keys = vec![self.expression_binding(Binding::Comparison)?];
        while self.accept("and") {
            keys.push(self.expression_binding(Binding::Comparison)?);
        }
        Ok(keys)
    }

    fn window(&mut self) -> Result<StatementKind, Mistake> {
        let first = self.name("the name of a window or a stream")?;
        let Some(view) = self.view()? else { return Err(self.found()) };
        self.expect("as")?;
        let second = self.name("the name of a window or a stream")?;
        Ok(StatementKind::CreateWindow { first, view, second })
    }

    fn variable(&mut self, kind: VariableKind) -> Result<StatementKind, Mistake> {
        let type_ = self.type_name()?;
        let name = self.name("the name of a variable")?;
        let value = if self.accept("=") { Some(self.expression()?) } else { None };
        Ok(StatementKind::CreateVariable { kind, type_, name, value })
    }

    fn declared_expression(&mut self) -> Result<StatementKind, Mistake> {
        self.refuse_script()?;
        let is_typed = self.next.kind != Kind::Symbol("(");
        let type_ = if is_typed { Some(self.type_name()?) } else { None };
        self.refuse_script()?;
        let name = self.name("the name of an expression")?;
        self.expect("(")?;
        let mut parameters: Vec<Name> = Vec::new();
        if !self.accept(")") {
            parameters = self.listed(|parser| parser.name("the name of a parameter"))?;
            self.expect(")")?;
        }
        self.expect("[")?;
        let body = self.expression()?;
        self.expect("]")?;
        Ok(StatementKind::CreateExpression { type_, name, parameters, body })
    }

    /// Rejects scripts such as `js:`.
    fn refuse_script(&self) -> Result<(), Mistake> {
        if self.current.kind != Kind::Word || self.next.kind != Kind::Symbol(":") {
            return Ok(());
        }
        let language = self.written(self.current.span);
        let message = format!(
            "found '{language}:', script bodies are not supported, expected an expression of this language"
        );
        Err(Mistake::new(self.current.span, message))
    }
}
