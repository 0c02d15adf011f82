//! Resolves members of values and elements of lists.

use platform_model::realtime::input_stream::InputStream;

use super::catalog::enumerate;
use super::expression::{Expression, Function};
use super::inputs;
use super::resolve::{Access, Resolver, Typed};
use super::types::describe;
use crate::language::Mistake;
use crate::language::syntax::{self, Name};
use crate::value::{Columns, StreamType, Type};

impl Resolver<'_, '_> {
    /// Resolves `receiver.name`.
    pub(super) fn member(&self, receiver: Typed, name: &Name) -> Result<Typed, Mistake> {
        let Typed { expression, type_ } = receiver;
        let typed = match &type_ {
            Type::Event(event) => {
                let receiver = Typed::new(expression, type_.clone());
                let found = self.property(&receiver, &name.text);
                return found.ok_or_else(|| {
                    let owner = match event.as_ref() {
                        StreamType::Input(stream) => stream.words().0,
                        StreamType::Rows(_) => "this row",
                    };
                    let known = enumerate(member_names(event));
                    Mistake::new(
                        name.span,
                        format!("no property '{}' of {owner}; there are {known}", name.text),
                    )
                });
            }
            Type::Object(kind) => {
                let member = kind.member(&name.text);
                if member == Type::Any {
                    self.planner.warn_of_member(*kind, name);
                }
                Some(member)
            }
            Type::Map | Type::Any => Some(Type::Any),
            Type::Id if &*name.text == "value" => {
                return Ok(Typed::new(Expression::Call(Function::IdValue, vec![expression]), Type::Text));
            }
            Type::Id => matches!(&*name.text, "type" | "name").then_some(Type::Text),
            Type::Text | Type::Boolean | Type::Integer | Type::Double if &*name.text == "value" => {
                return Ok(Typed::new(expression, type_));
            }
            _ => None,
        };
        match typed {
            Some(member) => {
                Ok(Typed::new(Expression::Member(Box::new(expression), name.text.clone()), member))
            }
            None if type_ == Type::Id => Err(Mistake::new(
                name.span,
                format!("no '{}' of an id; there are value, type, name", name.text),
            )),
            None => Err(Mistake::new(name.span, format!("{} has no '{}'", describe(&type_), name.text))),
        }
    }

    /// Returns a property or column of an event.
    pub(super) fn property(&self, event: &Typed, name: &str) -> Option<Typed> {
        let Type::Event(type_) = &event.type_ else { return None };
        let by_name = || Expression::Member(Box::new(event.expression.clone()), name.into());
        match (type_.as_ref(), &event.expression) {
            (StreamType::Input(stream), Expression::Event(place)) => {
                let (property, type_) = inputs::property(*stream, name)?;
                Some(Typed::new(Expression::Property(*place, property), type_))
            }
            (StreamType::Input(stream), _) => Some(Typed::new(by_name(), inputs::property(*stream, name)?.1)),
            (StreamType::Rows(columns), _) => {
                let at = columns.position(name)?;
                Some(self.column_at(event, at, name, &columns.0[at].1))
            }
        }
    }

    /// Returns a column of an event that is a row.
    pub(super) fn column_at(&self, event: &Typed, at: usize, name: &str, type_: &Type) -> Typed {
        let column = match &event.expression {
            Expression::Event(place) if self.access(&event.expression) == Access::ByIndex => {
                Expression::Column(*place, at)
            }
            whole => Expression::Member(Box::new(whole.clone()), name.into()),
        };
        Typed::new(column, type_.clone())
    }

    fn access(&self, event: &Expression) -> Access {
        let Expression::Event(place) = event else { return Access::ByName };
        let known = self.sight.events.iter().find(|event| event.place == *place);
        known.map_or(Access::ByName, |event| event.access)
    }

    /// Resolves `receiver[index]`.
    pub(super) fn index(
        &mut self,
        list: &syntax::Expression,
        at: &syntax::Expression,
    ) -> Result<Typed, Mistake> {
        let (receiver, index) = (self.resolve(list)?, self.resolve(at)?);
        if !matches!(receiver.type_, Type::List | Type::Any) {
            return Err(Mistake::new(list.span, format!("{} has no elements", describe(&receiver.type_))));
        }
        if !matches!(index.type_, Type::Integer | Type::Any) {
            return Err(Mistake::new(
                at.span,
                format!("elements are counted from 0, this is {}", describe(&index.type_)),
            ));
        }
        let type_ = self.element_type(&receiver.expression);
        let element = Expression::Index(Box::new(receiver.expression), Box::new(index.expression));
        Ok(Typed::new(element, type_))
    }

    /// Returns the type of a list's elements: a tag before `until` stands for events of one stream.
    fn element_type(&self, list: &Expression) -> Type {
        let Expression::Event(place) = list else { return Type::Any };
        let known = self.sight.events.iter().find(|event| event.place == *place);
        known.map_or(Type::Any, |event| Type::Event(Box::new(event.type_.clone())))
    }
}

/// Returns the names of the members that events of a type have.
pub(super) fn member_names(type_: &StreamType) -> Vec<String> {
    let of_rows = |columns: &Columns| columns.0.iter().map(|(name, _)| name.to_string()).collect();
    let of_input = |stream: &InputStream| {
        inputs::properties(*stream).into_iter().map(|(name, ..)| name.to_owned()).collect()
    };
    match type_ {
        StreamType::Rows(columns) => of_rows(columns),
        StreamType::Input(stream) => of_input(stream),
    }
}
