//! Resolves braces, which contain either pairs of a path and a value, or a list.

use super::expression::Expression;
use super::resolve::{Resolver, Typed};
use super::types::{describe, is_text};
use crate::language::Mistake;
use crate::language::syntax::{self, ExpressionKind, Span};
use crate::value::Type;

impl Resolver<'_, '_> {
    /// Resolves `{ "path", value, … } as fragments`.
    ///
    /// # Errors
    /// Returns a mistake if the number of elements is odd, or if a path is not text or has empty segments.
    pub(super) fn fragments(
        &mut self,
        elements: &[syntax::Expression],
        span: Span,
    ) -> Result<Typed, Mistake> {
        if !elements.len().is_multiple_of(2) {
            let message =
                format!("fragments are pairs of a path and a value; here are {} elements", elements.len());
            return Err(Mistake::new(span, message));
        }
        let pair = |pair: &[syntax::Expression]| {
            let [path, value] = pair else { return Err(Mistake::new(span, "fragments are pairs")) };
            if let ExpressionKind::Text(text) = &path.kind
                && text.split('.').any(str::is_empty)
            {
                return Err(Mistake::new(path.span, "the path of a fragment has empty parts"));
            }
            let Typed { expression, type_ } = self.resolve(path)?;
            if !is_text(&type_) {
                return Err(Mistake::new(
                    path.span,
                    format!("the path of a fragment is text, this is {}", describe(&type_)),
                ));
            }
            Ok((expression, self.resolve(value)?.expression))
        };
        let pairs = elements.chunks(2).map(pair).collect::<Result<_, _>>()?;
        Ok(Typed::new(Expression::Fragments(pairs), Type::Map))
    }

    /// Resolves braces that are a value: `{}` is the empty object, anything else a list.
    pub(super) fn list(&mut self, elements: &[syntax::Expression]) -> Result<Typed, Mistake> {
        if elements.is_empty() {
            return Ok(Typed::new(Expression::Fragments(Vec::new()), Type::Map));
        }
        let elements = elements.iter().map(|element| Ok(self.resolve(element)?.expression));
        Ok(Typed::new(Expression::List(elements.collect::<Result<_, Mistake>>()?), Type::List))
    }
}
