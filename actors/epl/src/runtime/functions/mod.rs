//! The functions of the language.

pub(super) mod cast;
mod distances;
pub(super) mod fragments;
mod getters;
pub(super) mod like;
mod path;
#[cfg(test)]
mod tests;

use super::{Fault, Scope};
use crate::plan::expression::{Expression, Function, Scalar};
use crate::value::{Number, Plain, Seen, Value};
use getters::Wanted;

/// Calls a function. The result is null for unsuitable arguments.
///
/// # Errors
/// See [`Expression::evaluate`].
pub(super) fn call<'a>(
    function: Function,
    arguments: &'a [Expression],
    scope: &Scope<'a>,
) -> Result<Seen<'a>, Fault> {
    scope.world.evaluations.spend()?;
    let wanted = match function {
        Function::GetObject => Wanted::Object,
        Function::GetString => Wanted::Text,
        Function::GetNumber => Wanted::Number,
        Function::GetBoolean => Wanted::Boolean,
        Function::GetDate => Wanted::Date,
        Function::GetList => Wanted::List,
        Function::After | Function::Before => return distances::compare(function, arguments, scope),
        Function::CurrentTimestamp => return Ok(Seen::Number(Number::Integer(scope.world.now))),
        _ => {
            let Some(argument) = arguments.first() else { return Ok(Seen::Null) };
            return convert(function, argument.see(scope)?, scope);
        }
    };
    getters::get(wanted, arguments, scope)
}

/// Calls a function of one value.
fn convert<'a>(function: Function, value: Seen<'a>, scope: &Scope<'a>) -> Result<Seen<'a>, Fault> {
    Ok(match function {
        Function::ToDate => cast::cast(value, Scalar::Time),
        Function::Format => {
            let time = cast::cast(value, Scalar::Time);
            time.as_text().map_or(Seen::Null, |text| Seen::Made(Value::Text(text.into())))
        }
        Function::ToMillisec => match cast::time(&value) {
            Some(time) => Seen::Number(Number::Integer(cast::millis(time))),
            None => cast::cast(value, Scalar::Integer),
        },
        Function::ToDouble => cast::cast(value, Scalar::Double),
        Function::IdValue => match &value {
            Seen::Id(id) => Seen::Digits(id.number),
            Seen::Kept(Value::Id(id)) | Seen::Made(Value::Id(id)) => {
                Seen::Made(Value::Text(id.value.clone()))
            }
            seen if matches!(seen.plain(), Plain::Composite) => {
                value.member("value", scope.world.evaluations)?
            }
            _ => value,
        },
        Function::ToJson => {
            if value.is_null() {
                return Ok(Seen::Made(Value::Text("null".into())));
            }
            let text = value.to_json();
            scope.world.evaluations.spend_for(text.len())?;
            let text = Value::Text(text.into());
            text.size().within_limits()?;
            Seen::Made(text)
        }
        Function::ToNumberSetParameter => match value.plain() {
            Plain::Text(text) => cast::numbers(text).map_or(Seen::Null, Seen::Made),
            _ => Seen::Null,
        },
        _ => Seen::Null,
    })
}
