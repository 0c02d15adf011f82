//! Resolves calls of built-in functions and of expressions that the module declares.

use std::collections::HashMap;

use super::aggregates;
use super::expression::{Expression, Function};
use super::finders;
use super::resolve::{Resolver, Typed};
use super::types::{self, describe};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, Quantifier, Span};
use crate::value::{StreamType, Type};

/// The values that a parameter accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accepts {
    Anything,
    /// A value that a path can select from: an event, an object or a map.
    Content,
    Text,
    /// An id, its text or number, or the object with that id.
    Id,
    /// A date, its text or milliseconds since 1970.
    Moment,
}

impl Accepts {
    fn takes(self, type_: &Type) -> bool {
        let wanted = match self {
            Self::Anything => true,
            Self::Content => matches!(type_, Type::Event(_) | Type::Object(_) | Type::Map),
            Self::Text => *type_ == Type::Text,
            Self::Id => matches!(type_, Type::Id | Type::Text | Type::Integer | Type::Object(_)),
            Self::Moment => matches!(type_, Type::Time | Type::Text | Type::Integer),
        };
        wanted || *type_ == Type::Any
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Anything => "anything",
            Self::Content => "an event, an object or a map",
            Self::Text => "text",
            Self::Id => "an id",
            Self::Moment => "a date",
        }
    }
}

/// The signature of a function: its parameters, how many of them are required, and its result.
struct Signature {
    name: &'static str,
    function: Function,
    parameters: &'static [Accepts],
    least: usize,
    result: Type,
}

const PATH: &[Accepts] = &[Accepts::Content, Accepts::Text, Accepts::Anything];

const fn getter(name: &'static str, function: Function, result: Type) -> Signature {
    Signature { name, function, parameters: PATH, least: 2, result }
}

/// The functions that depend only on their arguments and the clock.
static FUNCTIONS: [Signature; 9] = [
    getter("getObject", Function::GetObject, Type::Any),
    getter("getString", Function::GetString, Type::Text),
    getter("getNumber", Function::GetNumber, Type::Double),
    getter("getBoolean", Function::GetBoolean, Type::Boolean),
    getter("getDate", Function::GetDate, Type::Time),
    getter("getList", Function::GetList, Type::List),
    Signature {
        name: "current_timestamp",
        function: Function::CurrentTimestamp,
        parameters: &[],
        least: 0,
        result: Type::Integer,
    },
    Signature {
        name: "toJSON",
        function: Function::ToJson,
        parameters: &[Accepts::Anything],
        least: 1,
        result: Type::Text,
    },
    Signature {
        name: "toNumberSetParameter",
        function: Function::ToNumberSetParameter,
        parameters: &[Accepts::Text],
        least: 1,
        result: Type::List,
    },
];

fn find(name: &str) -> Option<&'static Signature> {
    FUNCTIONS
        .iter()
        .find(|known| known.name == name || known.least == 0 && known.name.eq_ignore_ascii_case(name))
}

/// Returns whether the name is a function already, so that no expression can be declared with it.
pub(super) fn is_function(name: &str) -> bool {
    name == "cast"
        || find(name).is_some()
        || aggregates::of_name(name).is_some()
        || finders::of_name(name).is_some()
}

impl Resolver<'_, '_> {
    /// Resolves a call `name(…)`.
    pub(super) fn call(
        &mut self,
        span: Span,
        name: &Name,
        quantifier: Quantifier,
        arguments: &[syntax::Expression],
    ) -> Result<Typed, Mistake> {
        if let Some(kind) = aggregates::of_name(&name.text) {
            return self.aggregate(kind, name, quantifier, arguments);
        }
        if quantifier == Quantifier::Distinct {
            return Err(Mistake::new(
                name.span,
                format!("'distinct' goes with aggregates, '{}' is none", name.text),
            ));
        }
        if self.planner.has_expression(&name.text) {
            return self.declared(span, name, arguments);
        }
        if let Some(signature) = find(&name.text) {
            let arguments = self.arguments(name, arguments, signature.parameters, signature.least)?;
            return Ok(self.function(signature, arguments));
        }
        match finders::of_name(&name.text) {
            Some(Ok(finder)) => {
                let found =
                    self.arguments(name, arguments, &finder.parameters(), finder.parameters().len())?;
                let found = found.into_iter().map(|argument| argument.expression).collect();
                finder.check(arguments)?;
                self.planner.looks_up.set(true);
                Ok(Typed::new(Expression::LookUp(finder.finder, found), finder.result))
            }
            Some(Err(message)) => Err(Mistake::new(name.span, message)),
            None => Err(self.no_function(name)),
        }
    }

    fn function(&self, signature: &Signature, mut arguments: Vec<Typed>) -> Typed {
        // For a row made by `select *` from an input, the path refers to the payload, as it does for the input
        // itself.
        if let (PATH, Some(content)) = (signature.parameters, arguments.first_mut())
            && let Type::Event(event) = &content.type_
            && matches!(event.as_ref(), StreamType::Rows(_))
            && let Some(payload) = self.property(content, "payload")
            && payload.type_ == Type::Map
        {
            *content = payload;
        }
        let result = match (signature.function, arguments.get(2)) {
            (Function::GetNumber, Some(default)) => types::either(Type::Double, default.type_.clone()),
            (_, Some(default)) if default.type_ != Type::Any => {
                types::either(signature.result.clone(), default.type_.clone())
            }
            _ => signature.result.clone(),
        };
        let arguments = arguments.into_iter().map(|argument| argument.expression).collect();
        Typed::new(Expression::Call(signature.function, arguments), result)
    }

    fn arguments(
        &mut self,
        name: &Name,
        arguments: &[syntax::Expression],
        parameters: &[Accepts],
        least: usize,
    ) -> Result<Vec<Typed>, Mistake> {
        check_number(name, arguments.len(), least, parameters.len())?;
        let one = |(argument, accepts): (&syntax::Expression, &Accepts)| {
            let resolved = self.resolve(argument)?;
            if accepts.takes(&resolved.type_) {
                Ok(resolved)
            } else {
                let (wanted, given) = (accepts.describe(), describe(&resolved.type_));
                Err(Mistake::new(
                    argument.span,
                    format!("'{}' takes {wanted} here, this is {given}", name.text),
                ))
            }
        };
        arguments.iter().zip(parameters).map(one).collect()
    }

    /// Expands a declared expression: returns its body with the parameters replaced by the arguments.
    pub(super) fn declared(
        &mut self,
        span: Span,
        name: &Name,
        arguments: &[syntax::Expression],
    ) -> Result<Typed, Mistake> {
        let declared = self.planner.expression(&name.text).ok_or_else(|| self.no_function(name))?;
        check_number(name, arguments.len(), declared.parameters.len(), declared.parameters.len())?;
        let resolved =
            arguments.iter().map(|argument| self.resolve(argument)).collect::<Result<Vec<_>, _>>()?;
        let names = declared.parameters.iter().map(|parameter| parameter.text.clone());
        let outer = self.parameters.replace(names.zip(resolved).collect::<HashMap<_, _>>());
        let body = self.resolve(declared.body);
        self.parameters = outer;
        // The body was checked at its declaration, so the mistake lies in the arguments of this call.
        let body = body.map_err(|mistake| {
            Mistake::new(span, format!("in '{}', as it is used here: {}", name.text, mistake.message))
        })?;
        let Some(wanted) = &declared.type_ else { return Ok(body) };
        let given = describe(&body.type_);
        let expression = types::fit(body, wanted).ok_or_else(|| {
            Mistake::new(span, format!("'{}' is {}, as it is used here {given}", name.text, describe(wanted)))
        })?;
        Ok(Typed::new(expression, wanted.clone()))
    }

    fn no_function(&self, name: &Name) -> Mistake {
        if self.declaring.as_ref() == Some(&name.text) {
            return Mistake::new(name.span, format!("'{}' uses itself", name.text));
        }
        let similar = |known: &&str| known.eq_ignore_ascii_case(&name.text);
        let known = FUNCTIONS.iter().map(|known| known.name);
        let known = known.chain(finders::FIXED.iter().map(|(known, ..)| *known));
        let meant = known.clone().find(similar).map(|known| format!("; did you mean '{known}'?"));
        let meant = meant.unwrap_or_else(|| {
            format!(
                "; there are cast, {}, aggregates, finders and declared expressions",
                known.collect::<Vec<_>>().join(", ")
            )
        });
        Mistake::new(name.span, format!("no function '{}'{meant}", name.text))
    }
}

fn check_number(name: &Name, given: usize, least: usize, most: usize) -> Result<(), Mistake> {
    if (least..=most).contains(&given) {
        return Ok(());
    }
    let wanted = if least == most { least.to_string() } else { format!("{least} or {most}") };
    let noun = if wanted == "1" { "argument" } else { "arguments" };
    Err(Mistake::new(name.span, format!("'{}' takes {wanted} {noun}, here are {given}", name.text)))
}
