//! Determines which equalities of a join's `where` serve to look up the matching events of the other side.

use crate::language::syntax::Operator;
use crate::plan::expression::{Expression, Function};

/// For each side of a join, the expressions whose values must equal those of the other side, in the same order.
/// Without any, every event of the other side is examined.
#[derive(Debug, Default)]
pub(super) struct JoinKeys(pub(super) [Vec<Expression>; 2]);

impl JoinKeys {
    pub(super) fn of(condition: Option<&Expression>) -> Self {
        let mut keys = Self::default();
        let mut open: Vec<&Expression> = condition.into_iter().collect();
        while let Some(expression) = open.pop() {
            match expression {
                Expression::Binary(Operator::And, left, right) => {
                    open.extend([right.as_ref(), left.as_ref()])
                }
                Expression::Binary(Operator::Equal, left, right) => match (side_of(left), side_of(right)) {
                    (Some(0), Some(1)) => keys.push(left, right),
                    (Some(1), Some(0)) => keys.push(right, left),
                    _ => {}
                },
                _ => {}
            }
        }
        keys
    }

    fn push(&mut self, first: &Expression, second: &Expression) {
        self.0[0].push(first.clone());
        self.0[1].push(second.clone());
    }
}

/// Returns the one side that an expression reads, if it reads nothing else: its value is then fixed when the event
/// enters.
fn side_of(expression: &Expression) -> Option<u8> {
    let mut side = None;
    let mut open = vec![expression];
    while let Some(expression) = open.pop() {
        match expression {
            Expression::Event(place) | Expression::Column(place, _) | Expression::Property(place, _) => {
                if *side.get_or_insert(place.source) != place.source {
                    return None;
                }
            }
            Expression::Literal(_) | Expression::ContextKey(_) => {}
            Expression::Member(of, _) | Expression::Negate(of) | Expression::Cast(of, _) => open.push(of),
            Expression::Index(of, index) => open.extend([of.as_ref(), index.as_ref()]),
            Expression::Binary(_, left, right) => open.extend([left.as_ref(), right.as_ref()]),
            Expression::Call(Function::CurrentTimestamp, _) => return None,
            Expression::Call(_, arguments) => open.extend(arguments),
            _ => return None,
        }
    }
    side
}
