//! Derives the name of a column that has no alias from its expression, as Esper does. A path is kept as
//! written; any other expression is printed with single spaces, single-quoted strings and only the necessary
//! parentheses.

use std::fmt::{self, Write};

use crate::language::syntax::{Binding, Expression, ExpressionKind, Period, Quantifier, Unit};

/// Returns the expression as text, or `None` if the text is longer than `most` bytes.
pub(super) fn written(expression: &Expression, most: usize) -> Option<String> {
    let mut short = Short { text: String::new(), most };
    write_expression(&mut short, expression, 0).ok().map(|()| short.text)
}

/// A text buffer that rejects further input once it exceeds its limit.
struct Short {
    text: String,
    most: usize,
}

impl Write for Short {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.len() + more.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// Returns the precedence of an expression.
fn binding(kind: &ExpressionKind) -> u8 {
    let binding = match kind {
        ExpressionKind::Binary(operator, ..) => operator.binding(),
        ExpressionKind::Not(_) => Binding::Not,
        ExpressionKind::IsNull { .. }
        | ExpressionKind::In { .. }
        | ExpressionKind::Between { .. }
        | ExpressionKind::Like { .. } => Binding::Comparison,
        ExpressionKind::Negate(_) => Binding::Sign,
        _ => Binding::Operand,
    };
    binding as u8
}

fn write_expression(out: &mut Short, expression: &Expression, around: u8) -> fmt::Result {
    let own = binding(&expression.kind);
    if own < around {
        out.write_str("(")?;
        write_expression(out, expression, 0)?;
        return out.write_str(")");
    }
    match &expression.kind {
        ExpressionKind::Null => out.write_str("null"),
        ExpressionKind::Boolean(value) => write!(out, "{value}"),
        ExpressionKind::Integer(value) => write!(out, "{value}"),
        ExpressionKind::Double(value) => write!(out, "{value}"),
        ExpressionKind::Text(text) => write!(out, "'{text}'"),
        ExpressionKind::Name(name) => out.write_str(name),
        ExpressionKind::Member(receiver, name) => {
            write_expression(out, receiver, own)?;
            write!(out, ".{}", name.text)
        }
        ExpressionKind::Index(receiver, index) => {
            write_expression(out, receiver, own)?;
            write_list(out, "[", std::slice::from_ref(index.as_ref()), "]")
        }
        ExpressionKind::Method(receiver, name, arguments) => {
            write_expression(out, receiver, own)?;
            write!(out, ".{}", name.text)?;
            write_list(out, "(", arguments, ")")
        }
        ExpressionKind::Call { name, quantifier, arguments } => {
            out.write_str(&name.text)?;
            let opening = match quantifier {
                Quantifier::All => "(",
                Quantifier::Distinct => "(distinct ",
            };
            write_list(out, opening, arguments, ")")
        }
        ExpressionKind::CountAll => out.write_str("count(*)"),
        ExpressionKind::Cast(value, type_) => {
            out.write_str("cast(")?;
            write_expression(out, value, 0)?;
            write!(out, ", {}{})", type_.name.text, if type_.is_list { "[]" } else { "" })
        }
        ExpressionKind::Not(inner) => {
            out.write_str("not ")?;
            write_expression(out, inner, own)
        }
        ExpressionKind::Negate(inner) => {
            out.write_str("-")?;
            write_expression(out, inner, own + 1)
        }
        ExpressionKind::Binary(operator, one, other) => {
            write_expression(out, one, own)?;
            write!(out, " {} ", operator.word())?;
            write_expression(out, other, own + 1)
        }
        ExpressionKind::Braces(elements) => write_list(out, "{", elements, "}"),
        ExpressionKind::Case { operand, branches, otherwise } => {
            out.write_str("case")?;
            if let Some(operand) = operand {
                write_after(out, " ", operand)?;
            }
            for (when, then) in branches {
                write_after(out, " when ", when)?;
                write_after(out, " then ", then)?;
            }
            if let Some(otherwise) = otherwise {
                write_after(out, " else ", otherwise)?;
            }
            out.write_str(" end")
        }
        _ => write_test(out, expression, own),
    }
}

/// Writes a period: its numbers in the longest unit of which they are a multiple, then its other amounts.
fn write_period(out: &mut Short, period: &Period) -> fmt::Result {
    let is_multiple = |unit: &Unit| (period.millis as f64) % unit.millis() == 0.0;
    let unit = Unit::ALL.into_iter().find(is_multiple).unwrap_or(Unit::Millisecond);
    let mut before = "";
    if period.millis > 0 || period.amounts.is_empty() {
        write!(out, "{} {}", period.millis as f64 / unit.millis(), unit.word())?;
        before = " ";
    }
    for (amount, unit) in &period.amounts {
        out.write_str(before)?;
        write_expression(out, amount, Binding::Operand as u8)?;
        write!(out, " {}", unit.word())?;
        before = " ";
    }
    Ok(())
}

fn write_test(out: &mut Short, expression: &Expression, own: u8) -> fmt::Result {
    let (value, negated) = match &expression.kind {
        ExpressionKind::Period(period) => return write_period(out, period),
        ExpressionKind::IsNull { value, negated }
        | ExpressionKind::In { value, negated, .. }
        | ExpressionKind::Between { value, negated, .. }
        | ExpressionKind::Like { value, negated, .. } => (value, *negated),
        _ => return Ok(()),
    };
    write_expression(out, value, own + 1)?;
    match &expression.kind {
        ExpressionKind::IsNull { .. } => out.write_str(if negated { " is not null" } else { " is null" }),
        ExpressionKind::In { among, .. } => {
            write_list(out, if negated { " not in (" } else { " in (" }, among, ")")
        }
        ExpressionKind::Between { low, high, .. } => {
            write_side(out, if negated { " not between " } else { " between " }, low, own + 1)?;
            write_side(out, " and ", high, own + 1)
        }
        ExpressionKind::Like { pattern, escape, .. } => {
            write_side(out, if negated { " not like " } else { " like " }, pattern, own + 1)?;
            escape.map_or(Ok(()), |escape| write!(out, " escape '{escape}'"))
        }
        _ => Ok(()),
    }
}

fn write_after(out: &mut Short, before: &str, expression: &Expression) -> fmt::Result {
    write_side(out, before, expression, 0)
}

fn write_side(out: &mut Short, before: &str, expression: &Expression, around: u8) -> fmt::Result {
    out.write_str(before)?;
    write_expression(out, expression, around)
}

fn write_list(out: &mut Short, before: &str, elements: &[Expression], after: &str) -> fmt::Result {
    out.write_str(before)?;
    for (at, element) in elements.iter().enumerate() {
        write_after(out, if at == 0 { "" } else { ", " }, element)?;
    }
    out.write_str(after)
}
