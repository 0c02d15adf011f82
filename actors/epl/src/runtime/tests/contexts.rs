//! Statements in contexts have separate state for each key.

use super::bench::{Bench, run};

const STREAM: &str = "create schema S(k string, v double); create context C partition by k from S;";

#[test]
fn each_key_has_a_window_of_its_own() {
    let text =
        format!("{STREAM} @Name('o') context C select context.key1 as k, sum(v) as s from S.win:length(2)");
    run(
        &text,
        &[
            (0, "S a 1", "o a,1"),
            (0, "S b 10", "o b,10"),
            (0, "S a 2", "o a,3"),
            (0, "S a 4", "o a,6"),
            (0, "S null 4", "o null,4"),
            (0, "S null 4", "o null,8"),
            (0, "S b 20", "o b,30"),
        ],
    );
}

#[test]
fn each_key_has_an_output_of_its_own() {
    let text = format!(
        "{STREAM} @Name('o') context C select k, avg(v) as s from S.win:time(1 hours) output last every 1 hours"
    );
    run(
        &text,
        &[
            (0, "S a 1", ""),
            (1_800_000, "S b 10", ""),
            (2_000_000, "S a 3", ""),
            (3_600_000, "", "o a,2"),
            (5_400_000, "", "o b,10"),
            (9_000_000, "", ""),
        ],
    );
}

#[test]
fn partitions_stay_and_count_by_their_bytes() {
    let text = format!("{STREAM} @Name('o') context C select sum(v) as s from S.win:time_batch(1 seconds)");
    let mut bench = Bench::new(&text);
    for at in 0..100 {
        bench.step(0, &format!("S k{at} 1"));
    }
    assert_eq!(bench.runtime.retained().events, 100);
    let bytes = bench.runtime.retained().bytes;
    bench.step(1000, "");
    bench.step(2000, "");
    assert_eq!(bench.runtime.retained().events, 0);
    assert!(bench.runtime.retained().bytes > bytes / 2);
}

#[test]
fn patterns_in_contexts_see_the_events_of_their_key() {
    let text = format!(
        "{STREAM} @Name('o') context C select a.k as k, b.v as v from pattern [every a=S(v = 1) -> b=S(v = 2)]"
    );
    run(
        &text,
        &[(0, "S a 1", ""), (0, "S b 2", ""), (0, "S b 1", ""), (0, "S a 2", "o a,2"), (0, "S b 2", "o b,2")],
    );
}

#[test]
fn rows_of_two_windows_leave_the_partitions_they_entered() {
    let text = "create schema A(k string, x double); create schema B(k string, y double); create schema D(k string);
        create window A.win:keepall() as W; create window B.win:keepall() as V;
        insert into W select * from A; @Name('v') insert into V select * from B; on D as d delete from W as w where \
        w.k = d.k;
        create context C partition by k from W, k from V;
        @Name('o') context C select w.x as x, v.y as y from W as w, V as v";
    let mut bench = Bench::new(text);
    for what in ["A p 1", "B q 2", "D p"] {
        bench.step(0, what);
    }

    let outcome = bench.step(0, "B p 3");

    assert_eq!(bench.written(&outcome), "v p,3");
}
