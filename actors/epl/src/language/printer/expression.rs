//! Prints expressions with all their parentheses.

use super::super::syntax::*;
use super::{list, name, period, text, type_name};

/// Prints an expression without parentheses around the whole of it.
pub(in super::super) fn print(value: &Expression) -> String {
    let printed = expression(value);
    match printed.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => inner.to_owned(),
        None => printed,
    }
}

pub(super) fn expression(value: &Expression) -> String {
    match &value.kind {
        ExpressionKind::Null => "null".to_owned(),
        ExpressionKind::Boolean(value) => value.to_string(),
        ExpressionKind::Integer(value) => value.to_string(),
        ExpressionKind::Double(value) => format!("{value:?}"),
        ExpressionKind::Text(value) => text(value),
        ExpressionKind::Name(value) => name(value),
        ExpressionKind::Member(receiver, member) => {
            format!("{}.{}", expression(receiver), name(&member.text))
        }
        ExpressionKind::Index(receiver, index) => format!("{}[{}]", expression(receiver), expression(index)),
        ExpressionKind::Method(receiver, method, arguments) => {
            format!("{}.{}({})", expression(receiver), name(&method.text), list(arguments, expression))
        }
        ExpressionKind::Call { name: function, quantifier, arguments } => {
            let distinct = if *quantifier == Quantifier::Distinct { "distinct " } else { "" };
            let function = match &*function.text {
                known @ ("count" | "current_timestamp") => known.to_owned(),
                other => name(other),
            };
            format!("{function}({distinct}{})", list(arguments, expression))
        }
        ExpressionKind::CountAll => "count(*)".to_owned(),
        ExpressionKind::Cast(value, type_) => format!("cast({}, {})", expression(value), type_name(type_)),
        ExpressionKind::Not(value) => format!("(not {})", expression(value)),
        ExpressionKind::Negate(value) => format!("(-{})", expression(value)),
        ExpressionKind::Binary(operator, left, right) => {
            format!("({} {} {})", expression(left), operator.word(), expression(right))
        }
        ExpressionKind::Case { operand, branches, otherwise } => case(operand, branches, otherwise),
        ExpressionKind::Period(time) => period(time),
        ExpressionKind::Braces(items) => format!("{{{}}}", list(items, expression)),
        ExpressionKind::IsNull { .. }
        | ExpressionKind::In { .. }
        | ExpressionKind::Between { .. }
        | ExpressionKind::Like { .. } => format!("({})", test(&value.kind)),
    }
}

fn test(kind: &ExpressionKind) -> String {
    let not = |negated: &bool| if *negated { "not " } else { "" };
    match kind {
        ExpressionKind::IsNull { value, negated } => format!("{} is {}null", expression(value), not(negated)),
        ExpressionKind::In { value, among, negated } => {
            format!("{} {}in ({})", expression(value), not(negated), list(among, expression))
        }
        ExpressionKind::Between { value, low, high, negated } => {
            let (value, low, high) = (expression(value), expression(low), expression(high));
            format!("{value} {}between {low} and {high}", not(negated))
        }
        ExpressionKind::Like { value, pattern, escape, negated } => {
            let escape =
                escape.map(|escape| format!(" escape {}", text(&escape.to_string()))).unwrap_or_default();
            format!("{} {}like {}{escape}", expression(value), not(negated), expression(pattern))
        }
        other => panic!("{other:?} is no test"),
    }
}

fn case(
    operand: &Option<Box<Expression>>,
    branches: &[(Expression, Expression)],
    otherwise: &Option<Box<Expression>>,
) -> String {
    let part = |word: &str, part: &Expression| format!("{word} {} ", expression(part));
    let mut printed = operand.as_ref().map_or("case ".to_owned(), |operand| part("case", operand));
    for (condition, value) in branches {
        printed += &part("when", condition);
        printed += &part("then", value);
    }
    printed += &otherwise.as_ref().map(|otherwise| part("else", otherwise)).unwrap_or_default();
    printed + "end"
}
