//! Timers under a test clock.

use super::harness::{Bench, MIDNIGHT, check};

#[test]
fn an_interval_runs_from_where_it_began() {
    check(&[
        ("timer:interval(10 sec)", "+9s +1s{} +1h"),
        ("a=A -> timer:interval(10 sec)", "+1h A1 +9999ms +1ms{A1}"),
        ("every a=A -> timer:interval(10 sec)", "A1 +5s A2 +5s{A1} +5s{A2}"),
        ("every (timer:interval(10 sec) -> a=A)", "A1 +10s A2{A2} A3 +9s A4 +1s A5{A5}"),
        ("timer:interval(0 sec) -> a=A", "A1{A1}"),
        ("every timer:interval(10 sec) and not A", "+10s{} +10s{} A1 +10s"),
    ]);
}

#[test]
fn interval_may_depend_on_the_match() {
    check(&[
        ("every a=A -> timer:interval(a.n seconds)", "A3 A1 +1s{A1} +1s +1s{A3}"),
        ("a=A -> timer:interval(a.n seconds)", "A0{A0}"),
        ("every a=A -> (timer:interval(a.n min 5 sec) and not B)", "A1 +64s +1s{A1} A1 +1m B1 +5s"),
        ("a=A -> timer:interval(a.n)", "A2 +1s +1s{A2}"),
    ]);
}

#[test]
fn timer_with_an_invalid_period_is_a_fault_and_never_comes() {
    for (pattern, event, message) in [
        ("every a=A -> timer:interval(a.n seconds)", "A-1", "a period is not negative"),
        ("every a=A -> timer:interval(a.n days)", "A36501", "a period is at most 36500 days long"),
        ("every a=A -> timer:interval((a.n / 0) days)", "A1", "the period of a timer is not a number"),
        ("timer:interval((1 / 0) days) or a=A", "", "the period of a timer is not a number"),
    ] {
        let mut bench = Bench::new(pattern);
        bench.go_on(0);
        if !event.is_empty() {
            bench.feed(event);
        }
        let faults = std::mem::take(&mut bench.found.faults);
        assert_eq!(faults.iter().map(ToString::to_string).collect::<Vec<_>>(), [message], "{pattern}");
        assert_eq!(bench.state.next_deadline(), None, "{pattern}");
        bench.go_on(86_400_000);
        assert_eq!((bench.take_matches().as_str(), &*bench.found.faults), ("", &[][..]), "{pattern}");
    }
}

#[test]
fn calendar_timer_fires_at_each_of_its_times() {
    check(&[
        ("every timer:at(*/10, *, *, *, *)", "+9m +1m{} +10m{} +1h{}{}{}{}{}{}"),
        ("timer:at(30, 8, *, *, *)", "+8h +30m{} +1d"),
        ("every timer:at(0, 12, *, *, *, 15)", "+12h +14s +1s{} +1d{}"),
        // A timer does not fire at the time at which it begins.
        ("every timer:at(0, 0, *, *, *)", "+0ms +1d{}"),
        ("every timer:at(0, 0, 30, 2, *)", "+3650d"),
    ]);
}

#[test]
fn step_after_a_pause_fires_a_bounded_number_of_timers() {
    let mut bench = Bench::new("every timer:interval(1 sec)");
    bench.now += 2_500_000;
    for (expected, next) in [(1000, 1001), (2000, 2001), (2500, 2501), (2500, 2501)] {
        bench.advance();
        assert_eq!(bench.found.matches.len(), expected);
        assert_eq!(bench.state.next_deadline(), Some(MIDNIGHT + next * 1000));
    }
}

#[test]
fn deadlines_of_abandoned_nodes_are_removed() {
    let mut bench = Bench::new("every a=A -> (timer:interval(10 min) and not B(id = a.id))");
    bench.feed("A1:1");
    assert_eq!(bench.state.next_deadline(), Some(MIDNIGHT + 600_000));
    bench.go_on(60_000);
    bench.feed("A2:2");
    bench.feed("B1:1");
    assert_eq!(bench.state.next_deadline(), Some(MIDNIGHT + 660_000));
    bench.feed("B1:2");
    assert_eq!(bench.state.next_deadline(), None);
}

#[test]
fn part_that_is_true_from_the_start_is_due_at_once() {
    let mut bench = Bench::new("not A");
    assert_eq!(bench.state.next_deadline(), Some(MIDNIGHT));
    bench.advance();
    assert_eq!((bench.take_matches().as_str(), bench.state.next_deadline()), ("{}", None));
}
