use super::{mistake, understood};

fn pattern(written: &str) -> String {
    let statement = understood(&format!("select * from pattern [{written}]")).remove(0);
    let inner = statement.strip_prefix("select * from pattern [").and_then(|rest| rest.strip_suffix(']'));
    inner.expect("a pattern").to_owned()
}

#[test]
fn parts_of_patterns_bind_by_their_order() {
    for (written, understood) in [
        ("every a=A -> b=B", "(every a=A -> b=B)"),
        ("every (a=A -> b=B)", "every (a=A -> b=B)"),
        ("A or B and not C -> D", "((A or (B and not C)) -> D)"),
        ("every not A and B", "(every not A and B)"),
        ("A(x = 1, y > 2)", "A(((x = 1) and (y > 2)))"),
        (
            "every o=O -> (timer:interval(10 minutes) and not U(id = o.id))",
            "(every o=O -> (timer:interval(600000 msec) and not U((id = o.id))))",
        ),
        ("every timer:interval(1.5 sec)", "every timer:interval(1500 msec)"),
        ("timer:interval(1 day 2 hours 3 min 4 seconds 5 msec)", "timer:interval(93784005 msec)"),
        ("timer:interval(10)", "timer:interval(10000 msec)"),
        ("timer:interval(secs seconds)", "timer:interval(0 msec (secs) seconds)"),
        ("timer:interval(secs)", "timer:interval(0 msec (secs) seconds)"),
        ("timer:interval(a.b.c min 5 sec)", "timer:interval(5000 msec (a.b.c) minutes)"),
        ("timer:interval(1 hour n minutes)", "timer:interval(3600000 msec (n) minutes)"),
        ("timer:interval(minutes minutes)", "timer:interval(0 msec (minutes) minutes)"),
        ("timer:interval((n * 2 + 1) sec)", "timer:interval(0 msec (((n * 2) + 1)) seconds)"),
        ("timer:interval(getNumber(a, 'x') days)", "timer:interval(0 msec (getNumber(a, 'x')) days)"),
        ("A until B", "(A until B)"),
        ("every A until B", "(every A until B)"),
        ("every (A until B)", "every (A until B)"),
        ("A and B until C and D", "(A and (B until C) and D)"),
        ("every (a=A -> b=B) -> C until d=D(x = a.x)", "(every (a=A -> b=B) -> (C until d=D((x = a.x))))"),
    ] {
        assert_eq!(pattern(written), understood, "{written}");
    }
}

#[test]
fn schedules_hold_the_values_that_are_allowed() {
    for (written, understood) in [
        ("*, *, *, *, *", "*, *, *, *, *, [0]"),
        ("*/10, 0, *, *, *", "[0, 10, 20, 30, 40, 50], [0], *, *, *, [0]"),
        ("[3, 1, 3], (1-3), *, *, [1-5], *", "[1, 3], [1, 2, 3], *, *, [1, 2, 3, 4, 5], *"),
        ("0, 8-10, */10, 1:2, *, */30", "[0], [8, 9, 10], [10, 20, 30], [1, 2], *, [0, 30]"),
        ("0, 0, *, *, (1-7)", "[0], [0], *, *, *, [0]"),
        ("0, 0, *, *, [5-7]", "[0], [0], *, *, [0, 5, 6], [0]"),
    ] {
        assert_eq!(pattern(&format!("timer:at({written})")), format!("timer:at({understood})"), "{written}");
    }
}

#[test]
fn invalid_schedule_is_a_mistake() {
    for (written, message) in [
        ("60, *, *, *, *", "found '60', expected minutes from 0 to 59"),
        ("0, 5-3, *, *, *", "a range begins with its lower end, expected 3-5"),
        ("0, 0, *, */13, *", "found '13', expected months from 1 to 12"),
        ("0, 0, 0, *, *", "found '0', expected days of the month from 1 to 31"),
        ("*/0, 0, *, *, *", "found '0', expected minutes from 1 to 59"),
        ("0, 0, *, *", "found ')', expected '/' or ','"),
        ("0, 0, *, *, x", "found 'x', expected a number, '[', '(' or '*'"),
    ] {
        assert_eq!(
            mistake(&format!("select * from pattern [timer:at({written})]")).message,
            message,
            "{written}"
        );
    }
}
