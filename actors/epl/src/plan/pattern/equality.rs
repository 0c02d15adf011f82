//! Finds conditions of the form "a property of the event equals something matched earlier" in a filter. They
//! serve as an index key, so that an event finds the instances it can match without testing all waiting ones.

use crate::language::syntax::Operator;
use crate::plan::expression::{EventPlace, Expression, Function};

/// Pairs that must all be equal for the filter to match: an expression on the event and one on the match.
#[derive(Debug, Default)]
pub struct Equality {
    pub(crate) event: Vec<Expression>,
    pub(crate) matched: Vec<Expression>,
}

/// The sources that an expression reads.
#[derive(Debug, Clone, Copy, Default)]
struct Sources {
    matched: bool,
    event: bool,
}

impl Equality {
    /// Returns the equality pairs of a condition, if there are any.
    pub(super) fn of(condition: &Expression) -> Option<Self> {
        let mut found = Self::default();
        let mut rest = vec![condition];
        while let Some(part) = rest.pop() {
            match part {
                Expression::Binary(Operator::And, left, right) => rest.extend([&**left, &**right]),
                Expression::Binary(Operator::Equal, left, right) => found.note(left, right),
                _ => {}
            }
        }
        (!found.event.is_empty()).then_some(found)
    }

    fn note(&mut self, left: &Expression, right: &Expression) {
        let (Some(of_left), Some(of_right)) = (simple(left), simple(right)) else { return };
        let (event, matched) = match (of_left, of_right) {
            (Sources { event: true, matched: false }, Sources { event: false, .. }) => (left, right),
            (Sources { event: false, .. }, Sources { event: true, matched: false }) => (right, left),
            _ => return,
        };
        self.event.push(event.clone());
        self.matched.push(matched.clone());
    }
}

/// Returns the sources that an expression reads, if it is deterministic and cannot fail.
fn simple(expression: &Expression) -> Option<Sources> {
    let mut sources = Sources::default();
    let mut rest = vec![expression];
    while let Some(part) = rest.pop() {
        match part {
            Expression::Literal(_) | Expression::ContextKey(_) => {}
            Expression::Event(place) | Expression::Column(place, _) | Expression::Property(place, _) => {
                sources.note(*place);
            }
            Expression::Member(inner, _) => rest.push(inner),
            Expression::Index(list, index) => rest.extend([&**list, &**index]),
            Expression::Call(Function::CurrentTimestamp | Function::ToNumberSetParameter, _) => return None,
            Expression::Call(_, arguments) => rest.extend(arguments),
            _ => return None,
        }
    }
    Some(sources)
}

impl Sources {
    fn note(&mut self, place: EventPlace) {
        if place.source == 0 {
            self.matched = true;
        } else {
            self.event = true;
        }
    }
}

/// Returns whether the condition reads events that were matched earlier.
pub(super) fn depends_on_match(condition: &Expression) -> bool {
    match condition {
        Expression::Event(place) | Expression::Column(place, _) | Expression::Property(place, _) => {
            place.source == 0
        }
        condition => {
            let mut asks = false;
            condition.for_each_part(&mut |part| asks |= depends_on_match(part));
            asks
        }
    }
}
