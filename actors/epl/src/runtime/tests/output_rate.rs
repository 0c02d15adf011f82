//! The time at which rows are put out, for every kind of statement; the events are the same each time.

use super::bench::run;

/// Feeds events of `S` and compares the output after each; a dash marks the time of an output.
fn check(select: &str, outputs: [&str; 9]) {
    let events = [
        (200, "S a 25"),
        (800, "S b 9"),
        (1200, ""),
        (1500, "S a 24"),
        (1600, "S c 1"),
        (2100, "S a 26"),
        (2200, ""),
        (3200, ""),
        // The first event left at 3700.
        (4200, ""),
    ];
    let text = format!("create schema S(k string, v double); @Name('o') select {select}");
    let script: Vec<_> = events.iter().zip(outputs).map(|((at, what), out)| (*at, *what, out)).collect();
    run(&text, &script);
}

#[test]
fn all_rows_are_output_without_a_keyword() {
    check(
        "k, v from S.win:time(3500 milliseconds) output every 1 seconds",
        ["", "", "o a,25 o b,9", "", "", "", "o a,24 o c,1 o a,26", "", ""],
    );
    check(
        "sum(v) as s from S.win:time(3500 milliseconds) output every 1 seconds",
        ["", "", "o 25 o 34", "", "", "", "o 58 o 59 o 85", "o 85", "o 60"],
    );
    check(
        "k, sum(v) as s from S.win:time(3500 milliseconds) group by k output every 1 seconds",
        ["", "", "o a,25 o b,9", "", "", "", "o a,49 o c,1 o a,75", "", "o a,50"],
    );
}

#[test]
fn all_shows_every_group() {
    check(
        "k, sum(v) as s from S.win:time(3500 milliseconds) group by k output all every 1 seconds",
        [
            "",
            "",
            "o a,25 o b,9",
            "",
            "",
            "",
            "o a,75 o b,9 o c,1",
            "o a,75 o b,9 o c,1",
            "o a,50 o b,9 o c,1",
        ],
    );
    check(
        "k, v, sum(v) as s from S.win:time(3500 milliseconds) group by k output all every 1 seconds",
        [
            "",
            "",
            "o a,25,25 o b,9,9",
            "",
            "",
            "",
            "o a,24,49 o c,1,1 o a,26,75 o b,9,9",
            "o a,26,75 o b,9,9 o c,1,1",
            "o a,26,50 o b,9,9 o c,1,1",
        ],
    );
    check(
        "k, v from S.win:time(3500 milliseconds) output all every 1 seconds",
        ["", "", "o a,25 o b,9", "", "", "", "o a,24 o c,1 o a,26", "", ""],
    );
}

#[test]
fn last_shows_the_current_row() {
    check(
        "k, v from S.win:time(3500 milliseconds) output last every 1 seconds",
        ["", "", "o b,9", "", "", "", "o a,26", "", ""],
    );
    check(
        "sum(v) as s from S.win:time(3500 milliseconds) output last every 1 seconds",
        ["", "", "o 34", "", "", "", "o 85", "o 85", "o 60"],
    );
    check(
        "k, sum(v) as s from S.win:time(3500 milliseconds) group by k output last every 1 seconds",
        ["", "", "o a,25 o b,9", "", "", "", "o a,75 o c,1", "", "o a,50"],
    );
    check(
        "k, v, sum(v) as s from S.win:time(3500 milliseconds) group by k output last every 1 seconds",
        ["", "", "o a,25,25 o b,9,9", "", "", "", "o a,26,75 o c,1,1", "", ""],
    );
}

#[test]
fn first_is_output_at_once_and_holds_later_rows_back() {
    check(
        "k, v from S.win:time(3500 milliseconds) output first every 1 seconds",
        ["o a,25", "", "", "o a,24", "", "", "", "", ""],
    );
    check(
        "sum(v) as s from S.win:time(3500 milliseconds) output first every 1 seconds",
        ["o 25", "", "", "o 58", "", "", "", "", "o 60"],
    );
    check(
        "k, sum(v) as s from S.win:time(3500 milliseconds) group by k output first every 1 seconds",
        ["o a,25", "o b,9", "", "o a,49", "o c,1", "", "", "", "o a,50"],
    );
}

#[test]
fn snapshot_shows_the_events_in_the_window() {
    check(
        "k, v from S.win:time(3500 milliseconds) output snapshot every 1 seconds",
        [
            "",
            "",
            "o a,25 o b,9",
            "",
            "",
            "",
            "o a,25 o b,9 o a,24 o c,1 o a,26",
            "o a,25 o b,9 o a,24 o c,1 o a,26",
            "o b,9 o a,24 o c,1 o a,26",
        ],
    );
    check(
        "sum(v) as s from S.win:time(3500 milliseconds) output snapshot every 1 seconds",
        ["", "", "o 34", "", "", "", "o 85", "o 85", "o 60"],
    );
    check(
        "k, sum(v) as s from S.win:time(3500 milliseconds) group by k output snapshot every 1 seconds",
        [
            "",
            "",
            "o a,25 o b,9",
            "",
            "",
            "",
            "o a,75 o b,9 o c,1",
            "o a,75 o b,9 o c,1",
            "o a,50 o b,9 o c,1",
        ],
    );
}

#[test]
fn counted_output_happens_at_its_last_event() {
    let text = "create schema S(k string, v double); @Name('o') select k, sum(v) as s from S group by k output last \
        every 3 events";
    run(
        text,
        &[
            (0, "S a 1", ""),
            (0, "S b 2", ""),
            (0, "S a 4", "o a,5 o b,2"),
            (0, "S b 1", ""),
            (0, "S b 1", ""),
            (0, "S b 1", "o b,5"),
        ],
    );
    let text =
        "create schema S(k string, v double); @Name('o') select first v from S output first every 3 events";
    let text = &text.replace("first v", "v");
    run(text, &[(0, "S a 1", "o 1"), (0, "S a 2", ""), (0, "S a 3", ""), (0, "S a 4", "o 4")]);
}

#[test]
fn a_group_whose_last_event_left_is_shown_once_more() {
    for kind in ["all", "last"] {
        let text = format!(
            "create schema S(k string, v double);
            @Name('o') select k, count(*) as n from S.win:time(500 milliseconds) group by k output {kind} every 1 \
            seconds"
        );
        run(
            &text,
            &[
                (0, "S a 1", ""),
                (1000, "", "o a,0"),
                (2000, "", ""),
                (2500, "S b 1", ""),
                (3000, "", "o b,0"),
            ],
        );
    }
}

#[test]
fn an_event_leaves_before_an_output_of_the_same_time() {
    let text = "create schema S(k string, v double);
        @Name('o') select count(*) as n from S.win:time(1 seconds) output last every 1 seconds";
    run(text, &[(0, "S a 1", ""), (500, "S a 1", ""), (1000, "", "o 1"), (5000, "", "o 0 o 0 o 0 o 0")]);
}
