//! Parses expressions by operator precedence.

use super::super::lexer::Kind;
use super::super::literal;
use super::super::syntax::{Binding, Expression, ExpressionKind, Operator, Span};
use super::super::{MAX_HEIGHT, Mistake};
use super::Parser;

/// A left operand and its operator, waiting for the right operand.
#[derive(Debug)]
struct Waiting {
    left: Expression,
    /// The height of the left operand.
    height: usize,
    operator: Operator,
}

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Result<Expression, Mistake> {
        self.expression_binding(Binding::Or)
    }

    /// Parses an expression whose operators have at least this precedence.
    ///
    /// Left operands are kept on an explicit stack, so that a nested expression costs one recursive call
    /// instead of one per precedence level.
    pub(super) fn expression_binding(&mut self, binding: Binding) -> Result<Expression, Mistake> {
        let mut waiting: Vec<Waiting> = Vec::new();
        let mut right = self.operand()?;
        loop {
            if let Some(operator) = self.operator().filter(|operator| operator.binding() >= binding) {
                right = self.joined(&mut waiting, right, operator.binding())?;
                self.advance();
                waiting.push(Waiting { left: right, height: self.height, operator });
                right = self.operand()?;
            } else if binding <= Binding::Comparison && self.at_test() {
                right = self.joined(&mut waiting, right, Binding::Comparison)?;
                right = self.test(right)?;
            } else {
                right = self.joined(&mut waiting, right, binding)?;
                self.tried.push("an operator");
                return Ok(right);
            }
        }
    }

    /// Combines the waiting left operands with their right operand, as long as their operators have at least
    /// this precedence.
    fn joined(
        &mut self,
        waiting: &mut Vec<Waiting>,
        mut right: Expression,
        binding: Binding,
    ) -> Result<Expression, Mistake> {
        while let Some(Waiting { left, height, operator }) =
            waiting.pop_if(|last| last.operator.binding() >= binding)
        {
            let span = Span { start: left.span.start, end: right.span.end };
            self.height = self.grown(height.max(self.height), span)?;
            let kind = ExpressionKind::Binary(operator, Box::new(left), Box::new(right));
            right = Expression { kind, span };
        }
        Ok(right)
    }

    /// Returns the height of a node above a child of this height, or a mistake if the tree is too high.
    pub(super) fn grown(&self, height: usize, start: Span) -> Result<usize, Mistake> {
        if height < MAX_HEIGHT {
            Ok(height + 1)
        } else {
            let message = format!("the expression has more than {MAX_HEIGHT} operators one upon the other");
            Err(Mistake::new(self.since(start), message))
        }
    }

    fn operator(&self) -> Option<Operator> {
        let symbol = match self.current.kind {
            Kind::Symbol(symbol) => symbol,
            Kind::Word if self.at_word("and") => return Some(Operator::And),
            Kind::Word if self.at_word("or") => return Some(Operator::Or),
            _ => return None,
        };
        Some(match symbol {
            "=" => Operator::Equal,
            "!=" | "<>" => Operator::NotEqual,
            "<" => Operator::Less,
            "<=" => Operator::LessOrEqual,
            ">" => Operator::Greater,
            ">=" => Operator::GreaterOrEqual,
            "||" => Operator::Concatenate,
            "+" => Operator::Add,
            "-" => Operator::Subtract,
            "*" => Operator::Multiply,
            "/" => Operator::Divide,
            "%" => Operator::Modulo,
            _ => return None,
        })
    }

    /// Returns whether the next tokens are `is`, `in`, `between` or `like`, with or without `not`.
    fn at_test(&self) -> bool {
        let negated = self.at_word("not");
        let word = if negated { self.next } else { self.current };
        (!negated && self.is_word(word, "is"))
            || ["in", "between", "like"].iter().any(|test| self.is_word(word, test))
    }

    /// Parses a test that follows a value.
    fn test(&mut self, value: Expression) -> Result<Expression, Mistake> {
        let (start, height) = (value.span, self.height);
        self.height = 0;
        let kind = self.test_of(Box::new(value))?;
        self.height = self.grown(height.max(self.height), start)?;
        Ok(Expression { kind, span: self.since(start) })
    }

    fn test_of(&mut self, value: Box<Expression>) -> Result<ExpressionKind, Mistake> {
        if self.accept("is") {
            let negated = self.accept("not");
            self.expect("null")?;
            return Ok(ExpressionKind::IsNull { value, negated });
        }
        let negated = self.accept("not");
        if self.accept("in") {
            self.expect("(")?;
            let among = self.nested(Self::arguments)?;
            self.expect(")")?;
            return Ok(ExpressionKind::In { value, among, negated });
        }
        if self.accept("between") {
            let low = self.expression_binding(Binding::Concatenate)?;
            let height = self.height;
            self.expect("and")?;
            let high = self.expression_binding(Binding::Concatenate)?;
            self.height = self.height.max(height);
            return Ok(ExpressionKind::Between { value, low: Box::new(low), high: Box::new(high), negated });
        }
        self.expect("like")?;
        let pattern = Box::new(self.expression_binding(Binding::Concatenate)?);
        let escape = if self.accept("escape") { Some(self.escape()?) } else { None };
        Ok(ExpressionKind::Like { value, pattern, escape, negated })
    }

    /// Parses expressions separated by commas; the resulting height is the maximum of theirs.
    pub(super) fn arguments(&mut self) -> Result<Vec<Expression>, Mistake> {
        self.listed_arguments(Self::expression)
    }

    /// Parses the arguments of a method, which may be periods (Q-10a).
    pub(super) fn method_arguments(&mut self) -> Result<Vec<Expression>, Mistake> {
        self.listed_arguments(|parser| {
            let argument = parser.expression()?;
            parser.period_of_argument(argument)
        })
    }

    fn listed_arguments(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<Expression, Mistake>,
    ) -> Result<Vec<Expression>, Mistake> {
        let mut highest = 0;
        let arguments = self.listed(|parser| {
            let argument = read(parser)?;
            highest = highest.max(parser.height);
            Ok(argument)
        })?;
        self.height = highest;
        Ok(arguments)
    }

    fn escape(&mut self) -> Result<char, Mistake> {
        let span = self.current.span;
        if self.current.kind != Kind::Text {
            return Err(self.found_instead_of("one character in quotes"));
        }
        let text = literal::text(self.written(span), span)?;
        let mut characters = text.chars();
        let (Some(escape), None) = (characters.next(), characters.next()) else {
            return Err(self.found_instead_of("one character in quotes"));
        };
        self.advance();
        Ok(escape)
    }
}
