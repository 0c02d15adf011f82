//! Resolves operators and checks the types of their operands.

use super::expression::Expression;
use super::resolve::{Resolver, Typed};
use super::types::{self, describe};
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind, Operator, Span, TypeName};
use crate::value::Type;

impl Resolver<'_, '_> {
    /// Resolves an operator expression.
    pub(super) fn operator(&mut self, tree: &syntax::Expression) -> Result<Typed, Mistake> {
        let boolean = |expression| Ok(Typed::new(expression, Type::Boolean));
        match &tree.kind {
            ExpressionKind::Not(inner) => boolean(Expression::Not(Box::new(self.condition(inner, "'not'")?))),
            ExpressionKind::Negate(inner) => {
                let Typed { expression, type_ } = self.number(inner, "-")?;
                Ok(Typed::new(Expression::Negate(Box::new(expression)), type_))
            }
            ExpressionKind::Binary(operator, one, other) => self.binary(*operator, one, other, tree.span),
            ExpressionKind::IsNull { value, negated } => {
                let value = Box::new(self.resolve(value)?.expression);
                boolean(Expression::IsNull { value, negated: *negated })
            }
            ExpressionKind::In { value, among, negated } => {
                let value = self.resolve(value)?;
                let one = |tree: &syntax::Expression| {
                    let one = self.resolve(tree)?;
                    check(types::may_equal(&value.type_, &one.type_), "in", &value, &one, tree.span)?;
                    Ok(one.expression)
                };
                let among = among.iter().map(one).collect::<Result<_, _>>()?;
                boolean(Expression::In { value: Box::new(value.expression), among, negated: *negated })
            }
            ExpressionKind::Between { value, low, high, negated } => {
                let (value, low, high) = (self.resolve(value)?, self.resolve(low)?, self.resolve(high)?);
                check(types::may_order(&value.type_, &low.type_), "between", &value, &low, tree.span)?;
                check(types::may_order(&value.type_, &high.type_), "between", &value, &high, tree.span)?;
                let [value, low, high] = [value, low, high].map(|typed| Box::new(typed.expression));
                boolean(Expression::Between { value, low, high, negated: *negated })
            }
            ExpressionKind::Like { value, pattern, escape, negated } => {
                let (value, pattern) = (self.resolve(value)?, self.resolve(pattern)?);
                let fits = [&value, &pattern].into_iter().all(|side| types::is_text(&side.type_));
                check(fits, "like", &value, &pattern, tree.span)?;
                let [value, pattern] = [value, pattern].map(|typed| Box::new(typed.expression));
                boolean(Expression::Like { value, pattern, escape: *escape, negated: *negated })
            }
            _ => Err(Mistake::new(tree.span, "this cannot stand here")),
        }
    }

    fn binary(
        &mut self,
        operator: Operator,
        one: &syntax::Expression,
        other: &syntax::Expression,
        span: Span,
    ) -> Result<Typed, Mistake> {
        if let Operator::And | Operator::Or = operator {
            let clause = format!("'{}'", operator.word());
            let sides = (self.condition(one, &clause)?, self.condition(other, &clause)?);
            return Ok(Typed::new(joined(operator, sides.0, sides.1), Type::Boolean));
        }
        let (one, other) = (self.resolve(one)?, self.resolve(other)?);
        let (fits, type_) = result(operator, &one.type_, &other.type_);
        check(fits, operator.word(), &one, &other, span)?;
        Ok(Typed::new(joined(operator, one.expression, other.expression), type_))
    }

    fn number(&mut self, tree: &syntax::Expression, operator: &str) -> Result<Typed, Mistake> {
        let typed = self.resolve(tree)?;
        if types::is_number(&typed.type_) {
            Ok(typed)
        } else {
            Err(Mistake::new(
                tree.span,
                format!("'{operator}' takes numbers, this is {}", describe(&typed.type_)),
            ))
        }
    }

    /// Resolves `case`. If it has an operand, each branch is compared with the operand.
    pub(super) fn case(
        &mut self,
        operand: Option<&syntax::Expression>,
        branches: &[(syntax::Expression, syntax::Expression)],
        otherwise: Option<&syntax::Expression>,
    ) -> Result<Typed, Mistake> {
        let operand = operand.map(|operand| self.resolve(operand)).transpose()?;
        let (mut resolved, mut type_) = (Vec::new(), None);
        for (when, then) in branches {
            let condition = match &operand {
                None => self.condition(when, "'when'")?,
                Some(operand) => {
                    let value = self.resolve(when)?;
                    check(
                        types::may_equal(&operand.type_, &value.type_),
                        "when",
                        operand,
                        &value,
                        when.span,
                    )?;
                    joined(Operator::Equal, self.copy(operand, when.span)?.expression, value.expression)
                }
            };
            let then = self.resolve(then)?;
            type_ = unite(type_, &then);
            resolved.push((condition, then.expression));
        }
        let otherwise = otherwise.map(|otherwise| self.resolve(otherwise)).transpose()?;
        let type_ = otherwise.iter().fold(type_, unite).unwrap_or(Type::Any);
        let otherwise = otherwise.map(|typed| Box::new(typed.expression));
        Ok(Typed::new(Expression::Case { branches: resolved, otherwise }, type_))
    }

    /// Resolves `cast(value, type)`.
    pub(super) fn cast(&mut self, tree: &syntax::Expression, to: &TypeName) -> Result<Typed, Mistake> {
        let Typed { expression, type_ } = self.resolve(tree)?;
        let wanted = types::of_word(to).unwrap_or(Type::Any);
        let scalar = types::scalar(&wanted);
        let from_simple = types::is_key(&type_) || wanted == Type::Text;
        if scalar != super::expression::Scalar::Same && !from_simple {
            let message = format!("{} cannot be made {}", describe(&type_), describe(&wanted));
            return Err(Mistake::new(tree.span, message));
        }
        // A class name that stands for any type adds nothing, so the type of the value is kept.
        let type_ = if wanted == Type::Any { type_ } else { wanted };
        Ok(Typed::new(Expression::Cast(Box::new(expression), scalar), type_))
    }
}

/// Returns the common type of the branches so far and the next one. Null belongs to every type, so it changes
/// nothing.
fn unite(so_far: Option<Type>, next: &Typed) -> Option<Type> {
    use crate::value::Value;
    if matches!(next.expression, Expression::Literal(Value::Null)) {
        return so_far;
    }
    Some(so_far.map_or_else(|| next.type_.clone(), |type_| types::either(type_, next.type_.clone())))
}

/// Returns whether an operator accepts the two types, and the type of the result.
fn result(operator: Operator, one: &Type, other: &Type) -> (bool, Type) {
    let numbers = types::is_number(one) && types::is_number(other);
    match operator {
        Operator::And | Operator::Or => {
            (types::is_condition(one) && types::is_condition(other), Type::Boolean)
        }
        Operator::Equal | Operator::NotEqual => (types::may_equal(one, other), Type::Boolean),
        Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            (types::may_order(one, other), Type::Boolean)
        }
        Operator::Concatenate => (types::is_key(one) && types::is_key(other), Type::Text),
        Operator::Divide => (numbers, Type::Double),
        Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Modulo => {
            (numbers, types::either(one.clone(), other.clone()))
        }
    }
}

fn check(fits: bool, operator: &str, one: &Typed, other: &Typed, span: Span) -> Result<(), Mistake> {
    if fits {
        return Ok(());
    }
    let (one, other) = (&one.type_, &other.type_);
    let hint = match (operator, one, other) {
        ("+", Type::Text, _) | ("+", _, Type::Text) => "; texts are joined by '||'",
        (_, Type::Time, Type::Integer) | (_, Type::Integer, Type::Time) => {
            "; of a date .toMillisec() gives the milliseconds"
        }
        _ => "",
    };
    let message = format!("'{operator}' does not go with {} and {}{hint}", describe(one), describe(other));
    Err(Mistake::new(span, message))
}

fn joined(operator: Operator, one: Expression, other: Expression) -> Expression {
    Expression::Binary(operator, Box::new(one), Box::new(other))
}
