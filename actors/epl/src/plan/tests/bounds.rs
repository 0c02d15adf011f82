//! Planning terminates for hostile texts, with a plan or a mistake. The tests measure no time: without the
//! limits, planning would not terminate at all.

use super::examples::FORMS;
use super::planned;

fn soon(statements: &str) -> Result<(), String> {
    planned(statements).map(drop)
}

#[test]
fn expressions_that_explode_are_rejected() {
    let mut text = "create expression f0(x) [x + x];\n".to_owned();
    for next in 1..60 {
        text += &format!("create expression f{next}(x) [f{0}(x) + f{0}(x)];\n", next - 1);
    }
    let mistake = soon(&text).expect_err("too many parts");
    assert!(mistake.contains("at most 100000 parts"), "{mistake}");
}

#[test]
fn arguments_that_explode_are_rejected() {
    let nested = format!("{}alarm.count{}", "f(".repeat(60), ")".repeat(60));
    let mistake = soon(&format!("create expression f(x) [x + x]; select {nested} as x from AlarmCreated;"));
    let mistake = mistake.expect_err("too many parts");
    assert!(mistake.contains("at most 100000 parts"), "{mistake}");
}

#[test]
fn expressions_that_nest_too_deep_are_rejected() {
    let deep = format!("{}x{}", "-(".repeat(30), ")".repeat(30));
    let mut text = format!("create expression f0(x) [{deep}];\n");
    for next in 1..20 {
        text += &format!("create expression f{next}(x) [f{}({deep})];\n", next - 1);
    }
    let mistake = soon(&text).expect_err("too deep");
    assert!(mistake.contains("nested more than 256 deep"), "{mistake}");
}

#[test]
fn types_that_explode_are_rejected() {
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
    let mistake =
        soon(&format!("select {} from AlarmCreated;", columns.join(", "))).expect_err("too many columns");
    assert!(mistake.ends_with("at most 500 columns, here are 30000"), "{mistake}");
    let operand =
        format!("case {} {} end", vec!["alarm.count"; 50].join(" + "), "when 1 then 2 ".repeat(50_000));
    let mistake = soon(&format!("select {operand} as x from AlarmCreated;")).expect_err("too many parts");
    assert!(mistake.contains("parts"), "{mistake}");
}

#[test]
fn repeated_selection_of_all_columns_is_bounded() {
    let columns: Vec<String> = (0..500).map(|at| format!("c{at} int")).collect();
    let schema = format!("create schema S({});", columns.join(", "));
    let mistake = soon(&format!("{schema}{}", "select * from S;".repeat(900))).expect_err("too many parts");
    assert!(mistake.contains("at most 100000 parts"), "{mistake}");
    soon(&format!("{schema}{}", "insert into S select 1 as c1 from AlarmCreated;".repeat(900)))
        .expect("a plan");
}

#[test]
fn patterns_of_many_parts_are_planned() {
    let parts: Vec<String> =
        (0..20_000).map(|at| format!("t{}=AlarmCreated(alarm.count = {at})", at % 100)).collect();
    soon(&format!("select 1 as x from pattern [{}];", parts.join(" -> "))).expect("a plan");
}

/// Words of the language in random order: most texts are nonsense, and each gives a plan or a mistake that can
/// be shown.
#[test]
fn nonsense_is_rejected_with_a_mistake() {
    let statements: Vec<Vec<&str>> = FORMS
        .iter()
        .flat_map(|form| form.split(';'))
        .map(|statement| statement.split_inclusive(' ').collect())
        .collect();
    let mut state = 42u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits") % below.max(1)
    };
    let mut good = 0;
    for _ in 0..3000 {
        let mut text = String::new();
        for _ in 0..=random(3) {
            let mut words = statements[random(statements.len())].clone();
            if words.is_empty() {
                continue;
            }
            for _ in 0..random(3) {
                let other = &statements[random(statements.len())];
                if let Some(word) = other.get(random(other.len())) {
                    let at = random(words.len());
                    words[at] = word;
                }
            }
            text += &words.concat();
            text += ";\n";
        }
        good += usize::from(planned(&text).is_ok());
    }
    assert!(good > 100, "{good} of them have a plan");
}
