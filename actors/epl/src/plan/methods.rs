//! Resolves the methods that values have (Q-12; Q-10a): accessors that Java requires, which return the value
//! unchanged or convert its representation, getters, and comparisons of times.

use std::sync::Arc;

use super::expression::{Expression, Function};
use super::resolve::{Resolver, Typed};
use super::types::{describe, is_number};
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind, Name};
use crate::value::Type;

/// The supported methods.
const METHODS: &str = ".getValue(), .getId(), .getName() and the like, .name(), .toDate(), .toMillisec(), \
                       .doubleValue(), .format(), .after(…) and .before(…)";

impl Resolver<'_, '_> {
    /// Resolves `receiver.name(…)`.
    pub(super) fn method(
        &mut self,
        receiver: Typed,
        name: &Name,
        arguments: &[syntax::Expression],
    ) -> Result<Typed, Mistake> {
        let comparison = match &*name.text {
            "after" => Some(Function::After),
            "before" => Some(Function::Before),
            _ => None,
        };
        if let Some(function) = comparison {
            return self.compared(function, receiver, name, arguments);
        }
        let member = getter(&name.text);
        let is_known = member.is_some()
            || matches!(&*name.text, "toDate" | "toMillisec" | "doubleValue" | "format" | "name");
        if !is_known {
            return Err(Mistake::new(name.span, format!("no method '{}'; there are {METHODS}", name.text)));
        }
        if let Some(argument) = arguments.first() {
            return Err(Mistake::new(argument.span, format!("'{}' takes no arguments", name.text)));
        }
        match member {
            Some(member) => self.gotten(receiver, name, member),
            None => converted(receiver, name),
        }
    }

    /// Resolves `receiver.getName()`, the member `name` of an object.
    fn gotten(&self, receiver: Typed, name: &Name, member: Arc<str>) -> Result<Typed, Mistake> {
        let has_member = match &receiver.type_ {
            Type::Id if &*member == "id" => return Ok(receiver),
            Type::Text | Type::Boolean | Type::Integer | Type::Double if &*member == "value" => {
                return Ok(receiver);
            }
            Type::Any | Type::Map if &*member == "value" => {
                return Ok(Typed::new(
                    Expression::Call(Function::IdValue, vec![receiver.expression]),
                    Type::Any,
                ));
            }
            Type::Object(kind) => kind.members().contains(&&*member),
            Type::Id => matches!(&*member, "value" | "type" | "name"),
            Type::Any | Type::Map => true,
            _ => false,
        };
        if !has_member {
            return Err(no_method(&receiver.type_, name));
        }
        self.member(receiver, &Name { text: member, span: name.span })
    }

    /// Resolves `time.after(other)` and `time.before(other)`. They may have a least distance and a greatest one.
    fn compared(
        &mut self,
        function: Function,
        receiver: Typed,
        name: &Name,
        arguments: &[syntax::Expression],
    ) -> Result<Typed, Mistake> {
        if !is_moment(&receiver.type_) {
            return Err(no_method(&receiver.type_, name));
        }
        let ([other], distances) = arguments.split_at(arguments.len().min(1)) else {
            let message = format!("'{}' takes a date and up to two periods", name.text);
            return Err(Mistake::new(name.span, message));
        };
        let moment = self.resolve(other)?;
        if !is_moment(&moment.type_) {
            let message = format!("'{}' takes a date here, this is {}", name.text, describe(&moment.type_));
            return Err(Mistake::new(other.span, message));
        }
        if let Some(superfluous) = distances.get(2) {
            let message = format!("'{}' takes a date and up to two periods", name.text);
            return Err(Mistake::new(superfluous.span, message));
        }
        let mut operands = vec![receiver.expression, moment.expression];
        for distance in distances {
            let ExpressionKind::Period(period) = &distance.kind else {
                let message = format!("'{}' takes a period such as 15 minutes here", name.text);
                return Err(Mistake::new(distance.span, message));
            };
            operands.push(self.millis(period)?);
        }
        Ok(Typed::new(Expression::Call(function, operands), Type::Boolean))
    }
}

/// Returns the member that a getter names: `name` of `getName`.
fn getter(method: &str) -> Option<Arc<str>> {
    let rest = method.strip_prefix("get")?;
    let first = rest.chars().next().filter(char::is_ascii_uppercase)?;
    Some(format!("{}{}", first.to_ascii_lowercase(), &rest[1..]).into())
}

/// Resolves a method that returns the value itself in another representation.
fn converted(receiver: Typed, name: &Name) -> Result<Typed, Mistake> {
    let Typed { expression, type_ } = receiver;
    let (function, result) = match (&*name.text, &type_) {
        ("toDate", Type::Integer | Type::Double | Type::Text | Type::Time | Type::Any) => {
            (Function::ToDate, Type::Time)
        }
        ("toMillisec", Type::Integer | Type::Time | Type::Any) => (Function::ToMillisec, Type::Integer),
        ("doubleValue", number) if is_number(number) => (Function::ToDouble, Type::Double),
        ("format", Type::Time | Type::Integer | Type::Any) => (Function::Format, Type::Text),
        // Severities and statuses are texts.
        ("name", Type::Text | Type::Any) => return Ok(Typed::new(expression, type_)),
        _ => return Err(no_method(&type_, name)),
    };
    Ok(Typed::new(Expression::Call(function, vec![expression]), result))
}

fn is_moment(type_: &Type) -> bool {
    matches!(type_, Type::Time | Type::Integer | Type::Any)
}

fn no_method(type_: &Type, name: &Name) -> Mistake {
    Mistake::new(name.span, format!("{} has no method '{}'", describe(type_), name.text))
}
