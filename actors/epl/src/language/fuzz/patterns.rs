//! Generates patterns of every kind.

use proptest::prelude::*;

use super::super::syntax::*;
use super::expressions::{expression, name, period_of};

pub(super) fn period() -> impl Strategy<Value = Period> {
    period_of(expression().boxed())
}

/// Generates some values of a field; an empty list stands for all of them.
fn field(low: u8, high: u8) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::btree_set(low..=high, 0..5).prop_map(|values| values.into_iter().collect())
}

fn schedule() -> impl Strategy<Value = Schedule> {
    (field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6), field(0, 59)).prop_map(
        |(minutes, hours, days_of_month, months, days_of_week, seconds)| Schedule {
            minutes,
            hours,
            days_of_month,
            months,
            days_of_week,
            seconds,
        },
    )
}

pub(super) fn pattern() -> impl Strategy<Value = Pattern> {
    let leaf = prop_oneof![
        4 => (prop::option::of(name()), name(), prop::option::of(expression()))
            .prop_map(|(tag, stream, filter)| Pattern::Event { tag, stream, filter }),
        1 => period().prop_map(Pattern::Interval),
        1 => schedule().prop_map(|schedule| Pattern::At(Box::new(schedule), Span::default())),
    ];
    leaf.prop_recursive(4, 12, 3, |inner| {
        let parts = prop::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            inner.clone().prop_map(|inner| Pattern::Every(Box::new(inner))),
            inner.clone().prop_map(|inner| Pattern::Not(Box::new(inner), Span::default())),
            (inner.clone(), inner).prop_map(|(repeated, end)| Pattern::Until {
                repeated: Box::new(repeated),
                end: Box::new(end)
            }),
            parts.clone().prop_map(Pattern::And),
            parts.clone().prop_map(Pattern::Or),
            parts.prop_map(Pattern::FollowedBy),
        ]
    })
}
