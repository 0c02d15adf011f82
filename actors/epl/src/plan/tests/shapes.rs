//! Tests of the shape of plans: kinds of rows, indexes, columns.

use super::super::{From, Rows, Stream, Target};
use super::{good, select};

#[test]
fn select_list_determines_the_kind_of_rows() {
    let cases = [
        ("select alarm.type from AlarmCreated", Rows::PerEvent),
        ("select alarm.type from AlarmCreated having alarm.count > 1", Rows::PerEvent),
        ("select count(*) from AlarmCreated", Rows::ForAll),
        ("select count(*), 'a' || 1 as x, current_timestamp() as t from AlarmCreated", Rows::ForAll),
        ("select count(*), alarm.type from AlarmCreated", Rows::PerEventWithAggregates),
        ("select alarm.type from AlarmCreated having count(*) > 1", Rows::PerEventWithAggregates),
        ("select count(*), a.alarm.type as t from AlarmCreated a group by alarm.type", Rows::PerGroup),
        (
            "select alarm.type || 'x' as t, sum(alarm.count) from AlarmCreated group by alarm.type",
            Rows::PerGroup,
        ),
        ("select alarm.text, count(*) from AlarmCreated group by alarm.type", Rows::PerEventWithAggregates),
        (
            "select count(*) from AlarmCreated group by alarm.type having alarm.text = 'a'",
            Rows::PerEventWithAggregates,
        ),
        (
            "select getString(a, 'x') as x, count(*) from AlarmCreated a group by getString(a, 'x')",
            Rows::PerGroup,
        ),
        (
            "select getString(a, 'y') as x, count(*) from AlarmCreated a group by getString(a, 'x')",
            Rows::PerEventWithAggregates,
        ),
    ];
    for (text, rows) in cases {
        assert_eq!(select(&good(&format!("{text};"))).rows, rows, "{text}");
    }
}

#[test]
fn columns_without_a_name_are_called_by_their_expression() {
    let plan = good(
        "select a.alarm.type, alarm.count+1, (1+alarm.count)*2, avg( alarm.count ), alarm.acme_A[0].x, not \
         alarm.count in (1,2), case when alarm.text is null then \"none\" else alarm.text end, cast(alarm.text, \
         long) from AlarmCreated a;",
    );
    let names: Vec<_> = select(&plan).columns.0.iter().map(|(name, _)| &**name).collect();
    let expected = [
        "a.alarm.type",
        "alarm.count + 1",
        "(1 + alarm.count) * 2",
        "avg(alarm.count)",
        "alarm.acme_A[0].x",
        "not alarm.count in (1, 2)",
        "case when alarm.text is null then 'none' else alarm.text end",
        "cast(alarm.text, long)",
    ];
    assert_eq!(names, expected);
}

#[test]
fn inserted_columns_are_in_the_order_of_the_stream() {
    let plan = good(
        "create schema A(x int, y string, z double); insert into A select 1 as z, alarm.id as y from AlarmCreated;",
    );
    let select = select(&plan);
    assert_eq!(*select.columns, *plan.declares["A"].columns);
    let shape = format!("{:?}", select.select);
    assert!(shape.starts_with("[Literal(Null), Call(IdValue, ["), "{shape}");
    assert!(shape.ends_with("Literal(Integer(1))]"), "{shape}");
}

#[test]
fn events_are_forwarded_unchanged_where_possible() {
    let cases = [
        (
            "create window AlarmCreated.win:length(1) as W; insert into W select * from AlarmCreated(alarm.count > 1);",
            true,
        ),
        ("create schema A(x int); insert into B select * from A;", true),
        ("create schema A(x int); insert into B select x from A;", false),
        ("create schema A(x int); create schema B(x int, y int); insert into B select * from A;", false),
        ("insert into B select * from AlarmCreated;", false),
    ];
    for (text, passes_on) in cases {
        assert_eq!(select(&good(text)).passes_on, passes_on, "{text}");
    }
}

#[test]
fn sources_of_a_join_are_distinguished_and_filters_see_one_event() {
    let plan = good(
        "create window AlarmCreated.win:length(1) as W; \
         select w.alarm.id as a, e.event.id as e from W w, EventCreated(event.text = 'x') e unidirectional;",
    );
    let From::Join(sources) = &select(&plan).from else { panic!("{plan:?}") };
    assert_eq!((sources[0].stream, sources[1].stream, sources[1].unidirectional), (0, 1, true));
    assert_eq!(plan.streams[0], Stream::Window(0));
    assert!(format!("{:?}", sources[1].filter).contains("EventPlace { source: 0, tag: None }"));
    assert!(format!("{:?}", select(&plan).select[1]).contains("EventPlace { source: 1, tag: None }"));
}

#[test]
fn output_streams_are_read_by_the_names_of_their_columns() {
    let plan = good("insert into B select text as t from CreateAlarm;");
    assert_eq!(select(&plan).into, Some(Target::Named("B".into())));
    assert!(format!("{:?}", select(&plan).select).starts_with("[Member(Event("));
}

#[test]
fn tags_are_places_of_the_match_and_filters_see_the_event_beside_it() {
    let plan = good(
        "select b.event.id as id from pattern [a=AlarmCreated -> b=EventCreated(event.source = a.alarm.source)];",
    );
    let shape = format!("{:?}", select(&plan).from);
    assert!(shape.contains("Property(EventPlace { source: 1, tag: None }, Object)"), "{shape}");
    assert!(shape.contains("Property(EventPlace { source: 0, tag: Some(0) }, Object)"), "{shape}");
    assert!(
        format!("{:?}", select(&plan).select)
            .contains("Property(EventPlace { source: 0, tag: Some(1) }, Object)")
    );
}
