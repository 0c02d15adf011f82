use platform_model::timestamp::Timestamp;

use super::next_after;
use crate::language::parse;
use crate::language::syntax::{Pattern, Schedule, SourceKind, StatementKind};

fn schedule(at: &str) -> Schedule {
    let module = parse(&format!("module m; select * from pattern [timer:at({at})];")).expect(at);
    let StatementKind::Select(select) = &module.statements[0].kind else { panic!("{at}") };
    let SourceKind::Pattern(Pattern::At(schedule, _)) = &select.sources[0].kind else { panic!("{at}") };
    (**schedule).clone()
}

fn millis(time: &str) -> i64 {
    let instant = Timestamp::parse("time", time).unwrap().instant();
    i64::try_from(instant.unix_timestamp_nanos() / 1_000_000).unwrap()
}

#[test]
fn the_next_time_of_a_schedule() {
    for (at, after, expected) in [
        ("*, *, *, *, *", "2026-11-21T10:00:00.000Z", "2026-11-21T10:01:00Z"),
        ("*, *, *, *, *, *", "2026-11-21T10:00:00.000Z", "2026-11-21T10:00:01Z"),
        ("*, *, *, *, *, *", "2026-11-21T10:00:00.999Z", "2026-11-21T10:00:01Z"),
        ("*, *, *, *, *, 59", "2026-11-21T10:00:59.000Z", "2026-11-21T10:01:59Z"),
        ("*/10, *, *, *, *", "2026-11-21T10:50:00Z", "2026-11-21T11:00:00Z"),
        ("*/10, *, *, *, *", "2026-11-21T10:49:59.999Z", "2026-11-21T10:50:00Z"),
        ("30, 8, *, *, *", "2026-12-31T08:30:00Z", "2027-01-01T08:30:00Z"),
        ("[0,30], [8,20], *, *, *", "2026-11-21T08:30:00Z", "2026-11-21T20:00:00Z"),
        ("0, (8-10), *, *, *", "2026-11-21T10:00:00Z", "2026-11-22T08:00:00Z"),
        ("0, 0, 1, *, *", "2026-11-21T10:00:00Z", "2026-12-01T00:00:00Z"),
        ("0, 0, 31, *, *", "2026-11-21T10:00:00Z", "2026-12-31T00:00:00Z"),
        ("0, 0, 31, [2,4,6], *", "2026-11-21T10:00:00Z", ""),
        ("0, 0, 30, 2, *", "2026-11-21T10:00:00Z", ""),
        ("0, 0, 29, 2, *", "2026-11-21T10:00:00Z", "2028-02-29T00:00:00Z"),
        ("0, 0, 29, 2, *", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"),
        // 2026-11-21 is a Saturday.
        ("0, 0, *, *, 1", "2026-11-21T10:00:00Z", "2026-11-23T00:00:00Z"),
        ("0, 0, *, *, 6", "2026-11-20T10:00:00Z", "2026-11-21T00:00:00Z"),
        ("0, 0, *, *, 0", "2026-11-21T10:00:00Z", "2026-11-22T00:00:00Z"),
        ("0, 0, *, 1, (1-5)", "2026-11-21T10:00:00Z", "2027-01-01T00:00:00Z"),
        // Days of the month and of the week: either one matches.
        ("0, 0, 25, *, 1", "2026-11-21T10:00:00Z", "2026-11-23T00:00:00Z"),
        ("0, 0, 25, *, 1", "2026-11-23T10:00:00Z", "2026-11-25T00:00:00Z"),
        ("0, 0, 30, 2, 1", "2026-02-01T10:00:00Z", "2026-02-02T00:00:00Z"),
        ("0, 0, *, *, *", "9999-12-31T10:00:00Z", ""),
    ] {
        let expected = (!expected.is_empty()).then(|| millis(expected));
        assert_eq!(next_after(&schedule(at), millis(after)), expected, "{at} after {after}");
    }
}

#[test]
fn any_clock_is_accepted() {
    for after in [i64::MIN, -1, 0, i64::MAX] {
        let _ = next_after(&schedule("*, *, *, *, *"), after);
    }
}
