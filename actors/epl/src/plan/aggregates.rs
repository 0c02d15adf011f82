//! Resolves aggregates: the counts, sums and averages that a statement computes over the events it retains
//!

use super::expression::{Aggregate, AggregateKind, Expression};
use super::resolve::{Resolver, Typed};
use super::types::{self, describe};
use crate::language::Mistake;
use crate::language::syntax::{self, Name, Quantifier, Span};
use crate::value::Type;

/// Whether a clause may contain aggregates, and the aggregates found in it so far.
#[derive(Debug)]
pub(super) enum Aggregates {
    /// The named clause may not contain aggregates.
    Refused(&'static str),
    /// The aggregates of `select` and `having`; expressions refer to them by index.
    Collected(Vec<Aggregate>),
}

/// Returns the aggregate with this name. Case does not matter, as for keywords.
pub(super) fn of_name(name: &str) -> Option<AggregateKind> {
    const NAMES: [(&str, AggregateKind); 9] = [
        ("count", AggregateKind::Count),
        ("sum", AggregateKind::Sum),
        ("avg", AggregateKind::Avg),
        ("min", AggregateKind::Min),
        ("max", AggregateKind::Max),
        ("first", AggregateKind::First),
        ("last", AggregateKind::Last),
        ("median", AggregateKind::Median),
        ("stddev", AggregateKind::Stddev),
    ];
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, kind)| *kind)
}

impl Resolver<'_, '_> {
    /// Resolves `count(*)`.
    pub(super) fn count_all(&mut self, span: Span) -> Result<Typed, Mistake> {
        let aggregate = Aggregate { kind: AggregateKind::Count, argument: None, quantifier: Quantifier::All };
        self.collect(aggregate, Type::Integer, span)
    }

    /// Resolves an aggregate with one argument.
    pub(super) fn aggregate(
        &mut self,
        kind: AggregateKind,
        name: &Name,
        quantifier: Quantifier,
        arguments: &[syntax::Expression],
    ) -> Result<Typed, Mistake> {
        let [argument] = arguments else {
            let message = format!("'{}' takes one argument, here are {}", name.text, arguments.len());
            return Err(Mistake::new(name.span, message));
        };
        if let Aggregates::Refused(clause) = self.aggregates {
            return Err(refused(clause, name.span));
        }
        let collected = std::mem::replace(&mut self.aggregates, Aggregates::Refused("another aggregate"));
        let resolved = self.resolve(argument);
        self.aggregates = collected;
        let Typed { expression, type_ } = resolved?;
        let result = result(kind, &type_).ok_or_else(|| {
            let wanted = match kind {
                AggregateKind::Min | AggregateKind::Max => "values that have an order",
                _ => "numbers",
            };
            Mistake::new(
                argument.span,
                format!("'{}' takes {wanted}, this is {}", name.text, describe(&type_)),
            )
        })?;
        if quantifier == Quantifier::Distinct
            && (!types::is_key(&type_) || matches!(kind, AggregateKind::First | AggregateKind::Last))
        {
            return Err(Mistake::new(name.span, "'distinct' does not go with this"));
        }
        self.collect(Aggregate { kind, argument: Some(expression), quantifier }, result, name.span)
    }

    fn collect(&mut self, aggregate: Aggregate, type_: Type, span: Span) -> Result<Typed, Mistake> {
        match &mut self.aggregates {
            Aggregates::Refused(clause) => Err(refused(clause, span)),
            Aggregates::Collected(aggregates) => {
                aggregates.push(aggregate);
                Ok(Typed::new(Expression::Aggregate(aggregates.len() - 1), type_))
            }
        }
    }
}

fn refused(clause: &str, span: Span) -> Mistake {
    Mistake::new(span, format!("aggregates stand in 'select' and 'having', not in {clause}"))
}

fn result(kind: AggregateKind, argument: &Type) -> Option<Type> {
    match kind {
        AggregateKind::Count => Some(Type::Integer),
        AggregateKind::First | AggregateKind::Last => Some(argument.clone()),
        AggregateKind::Min | AggregateKind::Max => {
            types::may_order(argument, argument).then(|| argument.clone())
        }
        AggregateKind::Sum => types::is_number(argument).then(|| argument.clone()),
        AggregateKind::Avg | AggregateKind::Median | AggregateKind::Stddev => {
            types::is_number(argument).then_some(Type::Double)
        }
    }
}
