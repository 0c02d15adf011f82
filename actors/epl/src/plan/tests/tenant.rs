//! Tests of the modules of a tenant that are planned against each other.

use std::sync::Arc;

use platform_model::id::ModuleId;

use super::super::tenant::plan_all;

/// Plans modules `m1`, `m2`, … in order of precedence; returns the rejected ones with the first line of the
/// reason.
fn refused(modules: &[&str]) -> Vec<(usize, String)> {
    let texts: Vec<(ModuleId, Arc<str>, Arc<str>)> = modules
        .iter()
        .enumerate()
        .map(|(at, text)| {
            let id = ModuleId(i64::try_from(at + 1).expect("a small number"));
            (id, format!("m{}", at + 1).into(), format!("module x; {text}").into())
        })
        .collect();
    let planned = plan_all(&texts);
    assert_eq!(planned.plans.len() + planned.refused.len(), modules.len());
    let line = |why: &String| why.lines().next().unwrap_or_default().to_owned();
    let numbered = texts.iter().enumerate();
    numbered.filter_map(|(at, (id, ..))| Some((at + 1, line(planned.refused.get(id)?)))).collect()
}

fn contains(refused: &[(usize, String)], module: usize, message: &str) {
    assert!(refused.len() == 1 && refused[0].0 == module && refused[0].1.contains(message), "{refused:?}");
}

const MAKES: &str = "insert into A select alarm.count as x from AlarmCreated;";
const READS: &str = "insert into B select x from A;";
const READS_ON: &str = "create window B.win:length(1) as W; insert into W select * from B; select x from W;";

#[test]
fn their_order_does_not_matter() {
    let modules = [MAKES, READS, READS_ON];
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(refused(&order.map(|at| modules[at])), []);
    }
}

#[test]
fn module_that_needs_a_missing_module_is_rejected() {
    let refused = refused(&[READS_ON, READS]);
    assert_eq!(refused.len(), 2);
    assert!(refused[0].1.starts_with("neither 'B' nor 'W' is a stream"), "{refused:?}");
    assert!(refused[1].1.starts_with("no stream 'A'"), "{refused:?}");
}

#[test]
fn first_of_two_contradicting_modules_wins() {
    let text = "insert into A select alarm.text as x from AlarmCreated;";
    contains(&refused(&[MAKES, text]), 2, "'x' of 'A' (module m1) is a whole number, this is text");
    contains(&refused(&[text, MAKES]), 2, "'x' of 'A' (module m1) is text, this is a whole number");
    contains(
        &refused(&[MAKES, "create schema A(x string);"]),
        2,
        "module 'm1' declares 'A' otherwise: x (a whole number)",
    );
}

#[test]
fn the_first_wins_even_if_it_waits_for_a_third() {
    let first = "insert into A select y as x from C;";
    let later = "insert into A select alarm.text as x from AlarmCreated;";
    let third = "create schema C(y int);insert into D select alarm.count as y from AlarmCreated;";
    contains(&refused(&[first, later, third]), 2, "'x' of 'A' (module m1)");
    let third = "insert into C select alarm.count as y from AlarmCreated;";
    contains(&refused(&[first, later, third]), 2, "'x' of 'A' (module m1)");
}

#[test]
fn modules_that_read_from_each_other_need_schemas() {
    let [one, other] = ["insert into A select x from B;", "insert into B select x from A;"];
    let schemas = ["create schema A(x int);", "create schema B(x int);"];
    let with = |schema: &str, text: &str| format!("{schema} {text}");
    let (one_with, other_with) = (with(schemas[0], one), with(schemas[1], other));
    assert_eq!(refused(&[&one_with, &other_with]), []);
    assert_eq!(refused(&[one, other]).len(), 2);
}

#[test]
fn schemas_of_a_rejected_module_do_not_exist_for_others() {
    let wrong = "create schema A(x int); select foo from AlarmCreated;";
    let refused = refused(&[wrong, READS, MAKES.replace('A', "Z").as_str()]);
    assert_eq!(refused.len(), 3, "{refused:?}");
}

#[test]
fn schemas_may_name_streams_of_others() {
    assert_eq!(refused(&["create schema S(a A); select a.x from S;", MAKES]), []);
}
