//! Every view, with rows that show its contents.

use super::bench::run;

const STREAM: &str = "create schema S(k string, v double);";

#[test]
fn oldest_event_leaves_a_length_window() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s, count(*) as n from S.win:length(2)");
    run(
        &text,
        &[
            (0, "S a 1", "o 1,1"),
            (0, "S a 2", "o 3,2"),
            (0, "S a 4", "o 6,2"),
            (0, "S a null", "o 4,2"),
            (0, "S a null", "o null,2"),
        ],
    );
}

#[test]
fn events_leave_a_time_window_exactly_at_their_deadline() {
    let text = format!("{STREAM} @Name('o') select count(*) as n, sum(v) as s from S.win:time(5 seconds)");
    run(
        &text,
        &[
            (1000, "S a 1", "o 1,1"),
            (2000, "S a 2", "o 2,3"),
            (5999, "", ""),
            (6000, "", "o 1,2"),
            (7000, "S a 4", "o 0,null o 1,4"),
            (20_000, "", "o 0,null"),
            (30_000, "", ""),
        ],
    );
}

#[test]
fn events_that_leave_together_make_one_change() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s from S.win:time(1 seconds)");
    run(&text, &[(0, "S a 1", "o 1"), (0, "S a 2", "o 3"), (1000, "", "o null")]);
}

#[test]
fn length_batch_enters_as_a_whole_and_the_previous_one_leaves() {
    let text = format!("{STREAM} @Name('o') select k, sum(v) as s from S.win:length_batch(2)");
    run(
        &text,
        &[(0, "S a 1", ""), (0, "S b 2", "o a,3 o b,3"), (0, "S c 4", ""), (0, "S d 8", "o c,12 o d,12")],
    );
}

#[test]
fn a_time_batch_is_counted_from_the_first_event_and_keeps_its_rhythm() {
    let text = format!("{STREAM} @Name('o') select count(*) as n from S.win:time_batch(1 seconds)");
    run(
        &text,
        &[
            (300, "S a 1", ""),
            (900, "S a 1", ""),
            (1299, "", ""),
            (1300, "S a 1", "o 2"),
            (2300, "", "o 1"),
            (3300, "", "o 0"),
            (10_000, "", ""),
            (10_100, "S a 1", ""),
            (10_299, "", ""),
            (10_300, "", "o 1"),
        ],
    );
}

#[test]
fn a_time_batch_makes_a_row_for_each_event_it_kept_back() {
    let text = format!("{STREAM} @Name('o') select k from S.win:time_batch(1 seconds)");
    run(
        &text,
        &[
            (0, "S a 1", ""),
            (10, "S b 1", ""),
            (1000, "", "o a o b"),
            (2000, "", ""),
            (2500, "S c 1", ""),
            (3000, "", "o c"),
        ],
    );
}

#[test]
fn unique_view_retains_the_last_event_of_each_key() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s, count(*) as n from S.std:unique(k)");
    run(
        &text,
        &[
            (0, "S a 1", "o 1,1"),
            (0, "S b 2", "o 3,2"),
            (0, "S a 10", "o 12,2"),
            (0, "S null 1", "o 13,3"),
            (0, "S null 2", "o 14,3"),
        ],
    );
}

#[test]
fn last_event_view_retains_one_event() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s from S.std:lastevent()");
    run(&text, &[(0, "S a 1", "o 1"), (0, "S a 2", "o 2")]);
}

#[test]
fn events_of_keepall_never_leave() {
    let text = format!("{STREAM} @Name('o') select max(v) as m, count(*) as n from S.win:keepall()");
    run(&text, &[(0, "S a 1", "o 1,1"), (1_000_000, "S a 0", "o 1,2")]);
}

#[test]
fn where_is_evaluated_after_the_view() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s from S.win:length(2) where k = 'a'");
    run(&text, &[(0, "S a 1", "o 1"), (0, "S b 2", ""), (0, "S b 4", "o null"), (0, "S a 8", "o 8")]);
}

#[test]
fn filter_is_evaluated_before_the_view() {
    let text = format!("{STREAM} @Name('o') select sum(v) as s from S(k = 'a').win:length(2)");
    run(&text, &[(0, "S a 1", "o 1"), (0, "S b 2", ""), (0, "S b 4", ""), (0, "S a 8", "o 9")]);
}

#[test]
fn event_that_passed_where_leaves_even_if_it_would_not_pass_now() {
    let text = "create schema S(v double); create schema Set(v double); create variable double least = 0;
        on Set set least = v;
        @Name('o') select sum(v * least) as s, count(*) as n from S.win:length(2) where v > least";
    run(
        text,
        &[
            (0, "S 5", "o 0,1"),
            (0, "Set 10", ""),
            (0, "S 20", "o 200,2"),
            (0, "S 1", "o 200,1"),
            (0, "S 30", "o 300,1"),
        ],
    );
}
