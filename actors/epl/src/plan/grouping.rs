//! Determines which rows a statement produces, from its select list and its `group by`, as Esper does.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Rows;
use super::expression::{Aggregate, Expression};
use super::targets::Selected;

/// Returns when rows are produced. There is one row per group if every property outside of aggregates is part
/// of `group by`.
pub(super) fn rows(
    selected: &[Selected],
    having: Option<&Expression>,
    group_by: &[Expression],
    aggregates: &[Aggregate],
) -> Rows {
    let groups: HashSet<u64> = group_by.iter().map(|group| inspect(group, &HashSet::new()).0).collect();
    let is_grouped = |expression: &Expression| inspect(expression, &groups).1;
    let all_grouped = selected.iter().all(|one| is_grouped(&one.typed.expression));
    match (group_by.is_empty(), aggregates.is_empty()) {
        (true, true) => Rows::PerEvent,
        (true, false) if all_grouped => Rows::ForAll,
        (false, _) if all_grouped && having.is_none_or(is_grouped) => Rows::PerGroup,
        (true, false) | (false, false) => Rows::PerEventWithAggregates,
        (false, true) => Rows::PerEvent,
    }
}

/// Returns a hash of the expression, which is equal for equal expressions, and whether the expression has the
/// same value for all events of a group.
fn inspect(expression: &Expression, groups: &HashSet<u64>) -> (u64, bool) {
    let mut print = DefaultHasher::new();
    std::mem::discriminant(expression).hash(&mut print);
    let (mut parts, mut all_grouped) = (0usize, true);
    expression.for_each_part(&mut |part| {
        let (part, grouped) = inspect(part, groups);
        part.hash(&mut print);
        parts += 1;
        all_grouped &= grouped;
    });
    let own = match expression {
        Expression::Member(_, name) => name.to_string(),
        Expression::Binary(operator, ..) => format!("{operator:?}"),
        Expression::Cast(_, scalar) => format!("{scalar:?}"),
        Expression::Call(function, _) => format!("{function:?}"),
        Expression::LookUp(finder, _) => format!("{finder:?}"),
        Expression::Like { escape, negated, .. } => format!("{escape:?}{negated}"),
        Expression::IsNull { negated, .. }
        | Expression::In { negated, .. }
        | Expression::Between { negated, .. } => negated.to_string(),
        Expression::Case { otherwise, .. } => otherwise.is_some().to_string(),
        leaf if parts == 0 => format!("{leaf:?}"),
        _ => String::new(),
    };
    (own, parts).hash(&mut print);
    let print = print.finish();
    let is_of_event =
        matches!(expression, Expression::Event(_) | Expression::Column(..) | Expression::Property(..));
    (print, groups.contains(&print) || all_grouped && !is_of_event)
}
