//! Every aggregate, over a window and since deployment.

use super::bench::run;

const STREAM: &str = "create schema S(k string, v double);";

#[test]
fn aggregates_over_a_window_exclude_events_that_left() {
    let text = format!(
        "{STREAM} @Name('o') select count(v) as c, sum(v) as s, avg(v) as a, min(v) as n, max(v) as x, first(v) as f,
            last(v) as l, median(v) as m from S.win:length(3)"
    );
    run(
        &text,
        &[
            (0, "S a 4", "o 1,4,4,4,4,4,4,4"),
            (0, "S a 1", "o 2,5,2.5,1,4,4,1,2.5"),
            (0, "S a 10", "o 3,15,5,1,10,4,10,4"),
            (0, "S a null", "o 2,11,5.5,1,10,1,10,5.5"),
            (0, "S a null", "o 1,10,10,10,10,10,10,10"),
            (0, "S a null", "o 0,null,null,null,null,null,null,null"),
        ],
    );
}

#[test]
fn aggregates_without_a_window_run_since_deployment() {
    let text = format!(
        "{STREAM} @Name('o') select count(*) as c, sum(v) as s, avg(v) as a, min(v) as n, max(v) as x, first(v) as f,
            last(v) as l, median(v) as m from S"
    );
    run(
        &text,
        &[
            (0, "S a null", "o 1,null,null,null,null,null,null,null"),
            (0, "S a 3", "o 2,3,3,3,3,3,3,3"),
            (0, "S a 1", "o 3,4,2,1,3,3,1,2"),
            (0, "S a 8", "o 4,12,4,1,8,3,8,3"),
        ],
    );
}

#[test]
fn the_deviation_is_that_of_a_sample() {
    let text = format!("{STREAM} @Name('o') select stddev(v) as d from S.win:length(3)");
    run(
        &text,
        &[
            (0, "S a 2", "o null"),
            (0, "S a 4", "o 1.4142135623730951"),
            (0, "S a 6", "o 2"),
            (0, "S a 8", "o 2"),
            (0, "S a 8", "o 1.1547005383792515"),
        ],
    );
}

#[test]
fn distinct_values_count_once_until_the_last_of_them_left() {
    let text = format!(
        "{STREAM} @Name('o') select count(distinct k) as c, sum(distinct v) as s, avg(distinct v) as a from \
         S.win:length(3)"
    );
    run(
        &text,
        &[
            (0, "S a 1", "o 1,1,1"),
            (0, "S a 1", "o 1,1,1"),
            (0, "S b 3", "o 2,4,2"),
            (0, "S b 3", "o 2,4,2"),
            (0, "S b 3", "o 1,3,3"),
        ],
    );
}

#[test]
fn sums_of_integers_stay_integers_and_do_not_overflow() {
    let text = "create schema S(v long); @Name('o') select sum(v) as s, avg(v) as a from S.win:length(2)";
    run(
        text,
        &[
            (0, "S 9223372036854775807", "o 9223372036854775807,9.223372036854776e+18"),
            (0, "S 1", "o 9.223372036854776e+18,4.611686018427388e+18"),
            (0, "S 2", "o 3,1.5"),
        ],
    );
}

#[test]
fn groups_have_aggregates_of_their_own() {
    let text = format!("{STREAM} @Name('o') select k, sum(v) as s from S.win:length(3) group by k");
    run(
        &text,
        &[
            (0, "S a 1", "o a,1"),
            (0, "S b 2", "o b,2"),
            (0, "S a 4", "o a,5"),
            (0, "S b 8", "o b,10 o a,4"),
            (0, "S b 1", "o b,9"),
            (0, "S b 1", "o b,10 o a,null"),
        ],
    );
}

#[test]
fn a_row_for_each_event_shows_the_aggregates_of_its_group() {
    let text = format!("{STREAM} @Name('o') select k, v, sum(v) as s from S.win:length(3) group by k");
    run(
        &text,
        &[
            (0, "S a 1", "o a,1,1"),
            (0, "S b 2", "o b,2,2"),
            (0, "S a 4", "o a,4,5"),
            (0, "S b 8", "o b,8,10"),
        ],
    );
}

#[test]
fn having_is_evaluated_for_each_row() {
    let text = format!("{STREAM} @Name('o') select k, sum(v) as s from S group by k having sum(v) > 5");
    run(&text, &[(0, "S a 3", ""), (0, "S b 9", "o b,9"), (0, "S a 3", "o a,6"), (0, "S a -3", "")]);
}
