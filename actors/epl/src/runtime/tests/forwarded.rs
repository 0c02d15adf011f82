//! Rows of other modules, whose columns may differ from those that this module was planned with.

use std::sync::Arc;

use super::bench::{Bench, Nothing, row};
use crate::runtime::Outcome;
use crate::value::{Columns, Type};

fn columns(columns: &[(&str, Type)]) -> Arc<Columns> {
    Arc::new(Columns(columns.iter().map(|(name, type_)| ((*name).into(), type_.clone())).collect()))
}

/// Feeds a row that another module forwards, and returns the outcome.
fn fed(bench: &mut Bench, columns: &Arc<Columns>, values: &str) -> String {
    let mut outcome = Outcome::default();
    bench.runtime.feed_row("S", &Arc::new(row(columns.clone(), values)), 0, &Nothing, &mut outcome);
    bench.written(&outcome)
}

#[test]
fn rows_of_other_columns_are_read_by_name_or_not_at_all() {
    use Type::{Any, Double, Integer, Text};
    let (k, v) = (("k", Text), ("v", Double));
    for (given, values, expected) in [
        (&[k.clone(), v.clone()][..], "a 1", "o a,1,null"),
        (&[v.clone(), k.clone()], "1 a", "o a,1,null"),
        (&[("new", Integer), k.clone(), v.clone()], "7 a 1", "o a,1,null"),
        (&[v.clone(), k.clone()], "1", "!o"),
        (&[k.clone(), ("w", Double)], "a 1", "!o"),
        (&[v], "1", "!o"),
        (&[k.clone(), ("v", Text)], "a b", "!o"),
        (&[k.clone(), ("v", Any)], "a b", "!o"),
        (&[], "", "!o"),
    ] {
        let mut bench = Bench::new(
            "create schema S(k string, v double); create variable object none; @Name('o') select k, v, none from S",
        );
        assert_eq!(fed(&mut bench, &columns(given), values), expected, "{given:?}");
    }
}

#[test]
fn column_of_type_object_accepts_any_type() {
    let mut bench = Bench::new("create schema S(x object, y int); @Name('o') select x from S");
    let given = columns(&[("y", Type::Integer), ("x", Type::Text)]);
    assert_eq!(fed(&mut bench, &given, "1 a"), "o a");
}

#[test]
fn unreadable_rows_are_reported_once_and_others_are_processed() {
    let mut bench = Bench::new("create schema S(k string); @Name('o') select k from S");
    let (old, older) = (columns(&[("q", Type::Text)]), columns(&[("p", Type::Text)]));
    let own = bench.columns("S");
    let outputs: Vec<_> = [&old, &old, &own, &old, &older, &older]
        .into_iter()
        .map(|given| fed(&mut bench, given, "a"))
        .collect();
    assert_eq!(outputs, ["!o", "", "o a", "", "!o", ""]);
}
