//! Hostile texts end soon, in a plan or a mistake.

use std::time::{Duration, Instant};

use super::planned;

fn soon(statements: &str) -> Result<(), String> {
    let start = Instant::now();
    let outcome = planned(statements).map(drop);
    // Without optimization it is many times as slow as it is at work.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    outcome
}

#[test]
fn expressions_that_explode_are_refused() {
    let mut text = "create expression f0(x) [x + x];\n".to_owned();
    for next in 1..60 {
        text += &format!("create expression f{next}(x) [f{0}(x) + f{0}(x)];\n", next - 1);
    }
    let mistake = soon(&text).expect_err("too many parts");
    assert!(mistake.contains("more than 1000000 parts"), "{mistake}");
}

#[test]
fn arguments_that_explode_are_refused() {
    let nested = format!("{}alarm.count{}", "f(".repeat(60), ")".repeat(60));
    let mistake = soon(&format!("create expression f(x) [x + x]; select {nested} as x from AlarmCreated;"));
    let mistake = mistake.expect_err("too many parts");
    assert!(mistake.contains("more than 1000000 parts"), "{mistake}");
}

#[test]
fn expressions_that_nest_too_deep_are_refused() {
    let deep = format!("{}x{}", "-(".repeat(30), ")".repeat(30));
    let mut text = format!("create expression f0(x) [{deep}];\n");
    for next in 1..20 {
        text += &format!("create expression f{next}(x) [f{}({deep})];\n", next - 1);
    }
    let mistake = soon(&text).expect_err("too deep");
    assert!(mistake.contains("nested more than 256 deep"), "{mistake}");
}

#[test]
fn types_that_explode_are_refused() {
    let mut text = "create schema S0(a int, b int);\n".to_owned();
    for next in 1..60 {
        text += &format!("create schema S{next}(a S{0}, b S{0});\n", next - 1);
    }
    let mistake = soon(&text).expect_err("too many columns");
    assert!(mistake.contains("rows of rows of too many columns"), "{mistake}");
}

#[test]
fn a_million_characters_are_planned() {
    let one =
        "select alarm.count + 1 as x, alarm.text || 'a' as y from AlarmCreated where alarm.count > 2;\n";
    soon(&one.repeat(999)).expect("a plan");
    let columns: Vec<String> = (0..30_000).map(|at| format!("alarm.count + {at} as c{at}")).collect();
    soon(&format!("select {} from AlarmCreated;", columns.join(", "))).expect("a plan");
    let operand =
        format!("case {} {} end", vec!["alarm.count"; 50].join(" + "), "when 1 then 2 ".repeat(50_000));
    let mistake = soon(&format!("select {operand} as x from AlarmCreated;")).expect_err("too many parts");
    assert!(mistake.contains("parts"), "{mistake}");
}
