//! Resolves expressions: turns parsed expressions into ones that can be evaluated, and determines their types.

use std::collections::HashMap;
use std::sync::Arc;

use super::aggregates::Aggregates;
use super::expression::{EventPlace, Expression};
use super::module::Planner;
use super::types;
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind, Span};
use crate::value::{StreamType, Type, Value};

/// The maximum nesting depth of an expression after declared expressions are expanded, because the evaluator is
/// recursive.
const MAX_DEPTH: usize = 256;

/// A resolved expression and its type.
#[derive(Debug, Clone)]
pub(super) struct Typed {
    pub(super) expression: Expression,
    pub(super) type_: Type,
}

impl Typed {
    pub(super) fn new(expression: Expression, type_: Type) -> Self {
        Self { expression, type_ }
    }

    pub(super) fn null() -> Self {
        Self::new(Expression::Literal(Value::Null), Type::Any)
    }

    pub(super) fn text(text: &str) -> Self {
        Self::new(Expression::Literal(Value::Text(text.into())), Type::Text)
    }
}

/// An event that an expression can refer to.
#[derive(Debug, Clone)]
pub(super) struct Visible {
    /// The alias, the tag or the name of the stream.
    pub(super) name: Arc<str>,
    pub(super) place: EventPlace,
    pub(super) type_: StreamType,
    pub(super) access: Access,
    pub(super) reach: Reach,
}

/// The way in which the columns of a row are accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// By index: all rows of the stream have the same columns.
    ByIndex,
    /// By name: rows of output streams have only some of the columns.
    ByName,
}

/// Whether properties of the event can be used without qualification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    Unqualified,
    /// Only with qualification: events of patterns are referred to by their tags.
    ByNameOnly,
    /// Only by tag and index: the tag stands for a list of events, one for each repetition before `until`.
    Several,
}

/// Everything that is in scope for an expression.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight<'p> {
    pub(super) events: &'p [Visible],
    /// The alias of a pattern: `p.a` is the event with tag `a`.
    pub(super) match_alias: Option<&'p str>,
    /// The number of keys of the statement's context; 0 if there is no context.
    pub(super) keys: usize,
}

impl<'p> Sight<'p> {
    pub(super) fn of(events: &'p [Visible], keys: usize) -> Self {
        Self { events, match_alias: None, keys }
    }
}

/// Resolves the expressions of one clause after another.
pub(super) struct Resolver<'p, 'a> {
    pub(super) planner: &'p Planner<'a>,
    pub(super) sight: Sight<'p>,
    pub(super) aggregates: Aggregates,
    /// The arguments of the declared expression that is being expanded, if there is one.
    pub(super) parameters: Option<HashMap<Arc<str>, Typed>>,
    /// The name of the declared expression whose body is being resolved. It must not refer to itself.
    pub(super) declaring: Option<Arc<str>>,
    depth: usize,
}

impl<'p, 'a> Resolver<'p, 'a> {
    /// Creates a resolver. Messages name the `clause` in which the expressions occur if aggregates are not
    /// allowed there.
    pub(super) fn new(planner: &'p Planner<'a>, sight: Sight<'p>, clause: &'static str) -> Self {
        let aggregates = Aggregates::Refused(clause);
        Self { planner, sight, aggregates, parameters: None, declaring: None, depth: 0 }
    }

    /// # Errors
    /// Returns the first mistake: an unknown name or incompatible types.
    pub(super) fn resolve(&mut self, tree: &syntax::Expression) -> Result<Typed, Mistake> {
        self.planner.spend(1, tree.span)?;
        self.depth += 1;
        self.check_depth(self.depth, tree.span)?;
        let resolved = self.resolve_kind(tree)?;
        self.depth -= 1;
        Ok(resolved)
    }

    /// Resolves an expression that must be boolean.
    pub(super) fn condition(
        &mut self,
        tree: &syntax::Expression,
        clause: &str,
    ) -> Result<Expression, Mistake> {
        let Typed { expression, type_ } = self.resolve(tree)?;
        if types::is_condition(&type_) {
            Ok(expression)
        } else {
            let message = format!("{clause} takes true or false, this is {}", types::describe(&type_));
            Err(Mistake::new(tree.span, message))
        }
    }

    /// Resolves the expressions that are used as keys.
    pub(super) fn keys(
        &mut self,
        trees: &[syntax::Expression],
        clause: &str,
    ) -> Result<Vec<Expression>, Mistake> {
        let key = |tree: &syntax::Expression| {
            let Typed { expression, type_ } = self.resolve(tree)?;
            if types::is_key(&type_) {
                Ok(expression)
            } else {
                let message = format!(
                    "{clause} tells events apart by simple values, this is {}",
                    types::describe(&type_)
                );
                Err(Mistake::new(tree.span, message))
            }
        };
        trees.iter().map(key).collect()
    }

    /// Copies a resolved expression; counts its nodes and checks its nesting depth at the new position.
    pub(super) fn copy(&self, typed: &Typed, span: Span) -> Result<Typed, Mistake> {
        let (size, depth) = typed.expression.extent();
        self.planner.spend(size, span)?;
        self.check_depth(self.depth + depth, span)?;
        Ok(typed.clone())
    }

    fn check_depth(&self, depth: usize, span: Span) -> Result<(), Mistake> {
        if depth > MAX_DEPTH {
            Err(Mistake::new(
                span,
                format!("nested more than {MAX_DEPTH} deep, with declared expressions put in"),
            ))
        } else {
            Ok(())
        }
    }

    fn resolve_kind(&mut self, tree: &syntax::Expression) -> Result<Typed, Mistake> {
        let literal = |value, type_| Ok(Typed::new(Expression::Literal(value), type_));
        match &tree.kind {
            ExpressionKind::Null => Ok(Typed::null()),
            ExpressionKind::Boolean(value) => literal(Value::Boolean(*value), Type::Boolean),
            ExpressionKind::Integer(value) => literal(Value::Integer(*value), Type::Integer),
            ExpressionKind::Double(value) => literal(Value::Double(*value), Type::Double),
            ExpressionKind::Text(value) => literal(Value::Text(value.clone()), Type::Text),
            ExpressionKind::Name(_) | ExpressionKind::Member(..) => self.path(tree),
            ExpressionKind::Index(list, index) => self.index(list, index),
            ExpressionKind::Method(receiver, name, arguments) => {
                let receiver = self.resolve(receiver)?;
                self.method(receiver, name, arguments)
            }
            ExpressionKind::Call { name, quantifier, arguments } => {
                self.call(tree.span, name, *quantifier, arguments)
            }
            ExpressionKind::CountAll => self.count_all(tree.span),
            ExpressionKind::Cast(value, type_) => self.cast(value, type_),
            ExpressionKind::Braces(elements) => self.list(elements),
            ExpressionKind::Period(_) => {
                Err(Mistake::new(tree.span, "a period is an argument of '.after(…)' and '.before(…)' only"))
            }
            ExpressionKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            _ => self.operator(tree),
        }
    }
}
