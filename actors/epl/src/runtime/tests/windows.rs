//! Named windows: the statements that insert into them and delete from them.

use super::bench::{Bench, run};

const WINDOW: &str = "create schema S(k string, v double); create schema D(k string);
    create window S.win:length(2) as W; @Name('i') insert into W select * from S;";

#[test]
fn statement_over_a_window_sees_rows_that_enter_and_leave() {
    let text = format!("{WINDOW} @Name('o') select sum(v) as s, count(*) as n from W");
    run(&text, &[(0, "S a 1", "i a,1 o 1,1"), (0, "S b 2", "i b,2 o 3,2"), (0, "S c 4", "i c,4 o 6,2")]);
}

#[test]
fn rows_that_match_the_condition_are_deleted() {
    let text = format!(
        "{WINDOW} on D as d delete from W as w where w.k = d.k; @Name('o') select count(*) as n, sum(v) as s from W"
    );
    run(
        &text,
        &[
            (0, "S a 1", "i a,1 o 1,1"),
            (0, "S b 2", "i b,2 o 2,3"),
            (0, "D a", "o 1,2"),
            (0, "D a", ""),
            (0, "S c 4", "i c,4 o 2,6"),
            (0, "D c", "o 1,2"),
            (0, "D b", "o 0,null"),
        ],
    );
}

#[test]
fn window_read_with_a_view_is_a_stream_of_the_inserted_rows() {
    let text = format!("{WINDOW} @Name('o') select count(*) as n from W.win:length(3)");
    run(
        &text,
        &[
            (0, "S a 1", "i a,1 o 1"),
            (0, "S b 2", "i b,2 o 2"),
            (0, "S c 4", "i c,4 o 3"),
            (0, "S d 4", "i d,4 o 3"),
        ],
    );
}

#[test]
fn rows_leave_a_timed_window_at_their_deadline() {
    let text = "create schema S(k string, v double); create window S.win:time(1 seconds) as W;
        @Name('i') insert into W select * from S; @Name('o') select count(*) as n from W";
    let mut bench = Bench::new(text);
    bench.run(&[(0, "S a 1", "i a,1 o 1"), (500, "S b 1", "i b,1 o 2"), (1000, "", "o 1")]);
    assert_eq!(bench.runtime.next_deadline(), Some(1500));
    bench.run(&[(5000, "", "o 0")]);
    assert_eq!(bench.runtime.next_deadline(), None);
    assert_eq!(bench.runtime.retained().events, 0);
    assert_eq!(bench.runtime.retained().bytes, 512 * 2);
}

#[test]
fn deleting_without_a_condition_empties_the_window() {
    let text = format!("{WINDOW} on D delete from W; @Name('o') select count(*) as n from W");
    run(
        &text,
        &[(0, "S a 1", "i a,1 o 1"), (0, "S b 2", "i b,2 o 2"), (0, "D x", "o 0"), (0, "S c 2", "i c,2 o 1")],
    );
}
