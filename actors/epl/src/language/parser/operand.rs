//! Parses operands: literals, names, calls, member chains, `case` and braces.

use super::super::Mistake;
use super::super::lexer::Kind;
use super::super::literal;
use super::super::syntax::{Binding, Expression, ExpressionKind, Name, Quantifier};
use super::Parser;

/// Words that cannot begin an expression unless they are in backticks, so that a missing name is reported at
/// the position where it is missing.
const RESERVED: [&str; 20] = [
    "and",
    "or",
    "in",
    "is",
    "like",
    "between",
    "as",
    "when",
    "then",
    "else",
    "end",
    "select",
    "insert",
    "from",
    "where",
    "having",
    "into",
    "unidirectional",
    "create",
    "escape",
];

impl Parser<'_> {
    /// Parses an operand with its sign, or `not` with its operand.
    pub(super) fn operand(&mut self) -> Result<Expression, Mistake> {
        let start = self.current.span;
        let is_not = self.at_word("not");
        if !is_not && !self.at("-") {
            return self.chained();
        }
        self.advance();
        let operand = Box::new(self.nested(|parser| {
            if is_not { parser.expression_binding(Binding::Comparison) } else { parser.operand() }
        })?);
        self.height = self.grown(self.height, start)?;
        let kind = if is_not { ExpressionKind::Not(operand) } else { ExpressionKind::Negate(operand) };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// Parses an operand with the `.member`, `.method(…)` and `[index]` that follow it.
    pub(super) fn chained(&mut self) -> Result<Expression, Mistake> {
        let start = self.current.span;
        self.height = 0;
        let mut receiver = self.primary()?;
        loop {
            let height = self.height;
            let kind = if self.at("[") {
                self.advance();
                let index = self.nested(Self::expression)?;
                self.expect("]")?;
                ExpressionKind::Index(Box::new(receiver), Box::new(index))
            } else if self.at(".") && self.next.kind != Kind::Symbol("*") {
                self.advance();
                let name = self.name("the name of a member")?;
                self.member(receiver, name)?
            } else {
                return Ok(receiver);
            };
            self.height = self.grown(height.max(self.height), start)?;
            receiver = Expression { kind, span: self.since(start) };
        }
    }

    fn member(&mut self, receiver: Expression, name: Name) -> Result<ExpressionKind, Mistake> {
        self.height = 0;
        if !self.at("(") {
            return Ok(ExpressionKind::Member(Box::new(receiver), name));
        }
        self.advance();
        if self.accept(")") {
            return Ok(ExpressionKind::Method(Box::new(receiver), name, Vec::new()));
        }
        let arguments = self.nested(Self::method_arguments)?;
        self.expect(")")?;
        Ok(ExpressionKind::Method(Box::new(receiver), name, arguments))
    }

    fn arguments_up_to(&mut self, closing: &'static str) -> Result<Vec<Expression>, Mistake> {
        if self.accept(closing) {
            return Ok(Vec::new());
        }
        let arguments = self.nested(Self::arguments)?;
        self.expect(closing)?;
        Ok(arguments)
    }

    fn primary(&mut self) -> Result<Expression, Mistake> {
        let start = self.current.span;
        let kind = match self.current.kind {
            Kind::Number => literal::number(self.written(start), start)?,
            Kind::Text => ExpressionKind::Text(literal::text(self.written(start), start)?.into()),
            Kind::Symbol("(") => {
                self.advance();
                let inner = self.nested(Self::expression)?;
                self.expect(")")?;
                return Ok(inner);
            }
            Kind::Symbol("{") => {
                self.advance();
                let items = self.arguments_up_to("}")?;
                return self.finished(ExpressionKind::Braces(items), start);
            }
            Kind::Word if self.at_word("case") => return self.case(),
            Kind::Word if RESERVED.iter().any(|word| self.at_word(word)) => {
                return Err(self.found_no_expression());
            }
            Kind::Word | Kind::Escaped => return self.name_or_call(),
            _ => return Err(self.found_no_expression()),
        };
        self.advance();
        Ok(Expression { kind, span: start })
    }

    fn found_no_expression(&mut self) -> Mistake {
        self.tried.retain(|tried| *tried == "*" || *tried == ")" || *tried == "}");
        self.found_instead_of("an expression")
    }

    /// Returns a node whose height is one more than the maximum height of its parts.
    fn finished(
        &mut self,
        kind: ExpressionKind,
        start: super::super::syntax::Span,
    ) -> Result<Expression, Mistake> {
        self.height = self.grown(self.height, start)?;
        Ok(Expression { kind, span: self.since(start) })
    }

    fn name_or_call(&mut self) -> Result<Expression, Mistake> {
        let is_escaped = self.current.kind == Kind::Escaped;
        let name = self.name("a name")?;
        let start = name.span;
        let word = if is_escaped { String::new() } else { name.text.to_ascii_lowercase() };
        let kind = match word.as_str() {
            "null" => ExpressionKind::Null,
            "true" => ExpressionKind::Boolean(true),
            "false" => ExpressionKind::Boolean(false),
            "current_timestamp" => {
                if self.accept("(") {
                    self.expect(")")?;
                }
                let name = Name { text: word.into(), span: start };
                ExpressionKind::Call { name, quantifier: Quantifier::All, arguments: Vec::new() }
            }
            word if self.at("(") => return self.call(name, word),
            _ => ExpressionKind::Name(name.text),
        };
        Ok(Expression { kind, span: self.since(start) })
    }

    /// Parses a call after its name.
    fn call(&mut self, name: Name, word: &str) -> Result<Expression, Mistake> {
        let start = name.span;
        self.advance();
        if word == "count" && self.at("*") && self.next.kind == Kind::Symbol(")") {
            self.advance();
            self.advance();
            return Ok(Expression { kind: ExpressionKind::CountAll, span: self.since(start) });
        }
        if word == "cast" {
            let value = Box::new(self.nested(Self::expression)?);
            self.expect(",")?;
            let type_ = self.type_name()?;
            self.expect(")")?;
            return self.finished(ExpressionKind::Cast(value, type_), start);
        }
        let is_distinct = self.at_word("distinct")
            && matches!(
                self.next.kind,
                Kind::Word | Kind::Escaped | Kind::Number | Kind::Text | Kind::Symbol("(" | "{")
            );
        let quantifier = if is_distinct { Quantifier::Distinct } else { Quantifier::All };
        if is_distinct {
            self.advance();
        }
        let arguments = self.arguments_up_to(")")?;
        self.finished(ExpressionKind::Call { name, quantifier, arguments }, start)
    }

    /// Parses `case [operand] when … then … [else …] end`.
    fn case(&mut self) -> Result<Expression, Mistake> {
        let start = self.advance().span;
        let mut highest = 0;
        let mut part = |parser: &mut Self| {
            let part = parser.nested(Self::expression)?;
            highest = highest.max(parser.height);
            Ok(part)
        };
        let operand = if self.at_word("when") { None } else { Some(Box::new(part(self)?)) };
        let mut branches = Vec::new();
        self.expect("when")?;
        loop {
            let condition = part(self)?;
            self.expect("then")?;
            branches.push((condition, part(self)?));
            if !self.accept("when") {
                break;
            }
        }
        let otherwise = if self.accept("else") { Some(Box::new(part(self)?)) } else { None };
        self.expect("end")?;
        self.height = highest;
        self.finished(ExpressionKind::Case { operand, branches, otherwise }, start)
    }
}
