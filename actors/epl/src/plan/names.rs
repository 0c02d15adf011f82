//! Resolves names.
//!
//! A name is looked up in this order: a parameter of the enclosing declared expression; an alias, a tag, or the
//! name of a stream without alias; the keys of the context; a variable; a property or column of a source, if
//! only one source has it; a declared expression without parameters; `current_timestamp`; a word of the
//! platform's enumerations, with any class path before it.

use super::catalog::enumerate;
use super::enumerations::words_of;
use super::expression::{Expression, Function};
use super::members::member_names;
use super::resolve::{Reach, Resolver, Typed, Visible};
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind, Name, Span};
use crate::value::Type;

impl Resolver<'_, '_> {
    /// Resolves `a.b.c` or members of another expression.
    pub(super) fn path(&mut self, tree: &syntax::Expression) -> Result<Typed, Mistake> {
        let (mut members, mut base) = (Vec::new(), tree);
        while let ExpressionKind::Member(receiver, name) = &base.kind {
            members.push(name);
            base = receiver;
        }
        members.reverse();
        let (mut typed, taken) = match &base.kind {
            ExpressionKind::Name(name) => self.root(name, base.span, &members)?,
            _ => (self.resolve(base)?, 0),
        };
        for member in members.into_iter().skip(taken) {
            typed = self.member(typed, member)?;
        }
        Ok(typed)
    }

    /// Resolves the first name of a path; also returns how many of the following names were consumed.
    fn root(&mut self, name: &str, span: Span, members: &[&Name]) -> Result<(Typed, usize), Mistake> {
        if let Some(argument) = self.parameters.as_ref().and_then(|parameters| parameters.get(name)) {
            return Ok((self.copy(argument, span)?, 0));
        }
        if let Some(event) = self.events().iter().find(|event| *event.name == *name) {
            return Ok((whole(event), 0));
        }
        if self.sight.match_alias == Some(name) && self.parameters.is_none() {
            return self.tag(members, span);
        }
        if name == "context" {
            return self.key(members, span);
        }
        if let Some(at) = self.planner.variable(name) {
            let type_ = self.planner.variables[at].type_.clone();
            return Ok((Typed::new(Expression::Variable(at), type_), 0));
        }
        if let Some(found) = self.unqualified(name, span)? {
            return Ok((found, 0));
        }
        if self.planner.has_expression(name) {
            let name = Name { text: name.into(), span };
            return Ok((self.declared(span, &name, &[])?, 0));
        }
        if name.eq_ignore_ascii_case("current_timestamp") {
            return Ok((
                Typed::new(Expression::Call(Function::CurrentTimestamp, Vec::new()), Type::Integer),
                0,
            ));
        }
        self.enumerated(name, members).unwrap_or_else(|| Err(self.unknown(name, span)))
    }

    /// Returns the visible events. A declared expression sees only its arguments.
    fn events(&self) -> &[Visible] {
        if self.parameters.is_some() { &[] } else { self.sight.events }
    }

    fn unqualified(&self, name: &str, span: Span) -> Result<Option<Typed>, Mistake> {
        let unqualified = self.events().iter().filter(|event| event.reach == Reach::Unqualified);
        let found: Vec<_> =
            unqualified.filter_map(|event| Some((event, self.property(&whole(event), name)?))).collect();
        match found.as_slice() {
            [] => Ok(None),
            [(_, typed)] => Ok(Some(typed.clone())),
            [(one, _), (other, _), ..] => {
                let message = format!("both {} and {} have a '{name}': say whose", one.name, other.name);
                Err(Mistake::new(span, message))
            }
        }
    }

    fn tag(&self, members: &[&Name], span: Span) -> Result<(Typed, usize), Mistake> {
        let tag = members
            .first()
            .ok_or_else(|| Mistake::new(span, "a pattern as a whole has no value; name a tag"))?;
        let event = self.events().iter().find(|event| event.name == tag.text);
        event.map(|event| (whole(event), 1)).ok_or_else(|| self.unknown(&tag.text, tag.span))
    }

    fn key(&self, members: &[&Name], span: Span) -> Result<(Typed, usize), Mistake> {
        let keys = self.sight.keys;
        if keys == 0 {
            return Err(Mistake::new(
                span,
                "there is no context here; a statement has one that begins with 'context'",
            ));
        }
        let place = members.first().and_then(|name| name.text.strip_prefix("key")?.parse::<usize>().ok());
        match place {
            Some(place) if (1..=keys).contains(&place) => {
                Ok((Typed::new(Expression::ContextKey(place - 1), Type::Any), 1))
            }
            _ => {
                let known = enumerate((1..=keys).map(|key| format!("context.key{key}")));
                let span = members.first().map_or(span, |name| name.span);
                Err(Mistake::new(span, format!("a context has keys only: {known}")))
            }
        }
    }

    fn enumerated(&self, name: &str, members: &[&Name]) -> Option<Result<(Typed, usize), Mistake>> {
        let segments = std::iter::once(name).chain(members.iter().map(|member| &*member.text));
        let (at, words) = segments.enumerate().find_map(|(at, segment)| Some((at, words_of(segment)?)))?;
        let word = members.get(at)?;
        Some(if words.contains(&&*word.text) {
            Ok((Typed::text(&word.text), at + 1))
        } else {
            Err(Mistake::new(word.span, format!("no '{}' among {}", word.text, enumerate(words))))
        })
    }

    fn unknown(&self, name: &str, span: Span) -> Mistake {
        let events = self.events();
        let message = match (self.parameters.as_ref(), events) {
            (Some(parameters), _) => {
                let mut known: Vec<_> = parameters.keys().collect();
                known.sort();
                format!(
                    "no '{name}' here; an expression sees variables and its parameters: {}",
                    enumerate(known)
                )
            }
            (None, [only]) if only.reach == Reach::Unqualified => {
                let known = enumerate(member_names(&only.type_));
                format!("no '{name}' here; {} has {known}", only.name)
            }
            (None, []) => {
                format!("no '{name}' here; there are variables: {}", enumerate(self.planner.variable_names()))
            }
            (None, events) => {
                format!("no '{name}' here; there are {}", enumerate(events.iter().map(|event| &event.name)))
            }
        };
        Mistake::new(span, message)
    }
}

/// Returns the event as a whole, or the list of the events for which a tag stands.
pub(super) fn whole(event: &Visible) -> Typed {
    if event.reach == Reach::Several {
        return Typed::new(Expression::Event(event.place), Type::List);
    }
    Typed::new(Expression::Event(event.place), Type::Event(Box::new(event.type_.clone())))
}
