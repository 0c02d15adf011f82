//! Tests of the conversion from rows to the writes that they request.

use std::sync::Arc;

use platform_epl::stream::OutputStream::{self, *};
use platform_epl::value::{Columns, Id, Map, Row, Type, Value};
use platform_model::origin::Depth;
use platform_model::timestamp::Timestamp;

use super::body::json;
use super::cells::Cells;
use super::message;
use super::module_write::ModuleWrite;
use super::request::RequestRow;

type Cell = (&'static str, Value);

fn row(cells: Vec<Cell>) -> Row {
    let columns = cells.iter().map(|(name, _)| ((*name).into(), Type::Any)).collect();
    let values = cells.into_iter().map(|(_, value)| value).collect();
    Row::new(Arc::new(Columns(columns)), values, Depth::default())
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

fn id(value: i64) -> Value {
    Value::Id(Arc::new(Id { name: Some("n".into()), ..Id::of(value) }))
}

fn time() -> Value {
    Value::Time(Timestamp::parse("time", "2024-03-10T02:30:00+01:00").expect("is one"))
}

fn map(members: Vec<Cell>) -> Value {
    Value::Map(Arc::new(Map(members.into_iter().map(|(name, value)| (name.into(), value)).collect())))
}

fn list(values: Vec<Value>) -> Value {
    Value::List(values.into())
}

#[test]
fn rows_become_the_bodies_that_clients_would_send() {
    let reading = map(vec![("value", Value::Double(20.0)), ("unit", text("C"))]);
    for (stream, cells, expected) in [
        (
            CreateAlarm,
            vec![
                ("type", text("t")),
                ("severity", text("MAJOR")),
                ("status", text("ACTIVE")),
                ("text", text("say \"hot\"")),
                ("time", time()),
                ("source", id(7)),
                ("fragments", map(vec![("plat_X", map(vec![("of", id(8)), ("at", time())]))])),
            ],
            r#"{"type":"t","time":"2024-03-10T02:30:00.000+01:00","text":"say \"hot\"","source":{"id":"7"},"status":"ACTIVE","severity":"MAJOR","plat_X":{"of":"8","at":"2024-03-10T02:30:00.000+01:00"}}"#,
        ),
        (
            CreateMeasurement,
            vec![
                ("fragments", map(vec![("plat_T", map(vec![("T", reading)]))])),
                ("type", text("t")),
                ("time", Value::Integer(1000)),
                ("source", text("7")),
            ],
            r#"{"type":"t","time":"1970-01-01T00:00:01.000Z","source":{"id":"7"},"plat_T":{"T":{"value":20,"unit":"C"}}}"#,
        ),
        (
            CreateEvent,
            vec![
                ("type", text("t")),
                ("text", Value::Integer(5)),
                ("time", text("2024-01-01T00:00:00Z")),
                ("source", Value::Double(7.0)),
                ("fragments", map(vec![("list", list(vec![id(1), Value::Null])), ("empty", map(vec![]))])),
            ],
            r#"{"type":"t","time":"2024-01-01T00:00:00Z","text":"5","source":{"id":"7"},"list":["1",null],"empty":{}}"#,
        ),
        (
            CreateOperation,
            vec![
                ("status", text("PENDING")),
                ("deviceId", map(vec![("value", text("7"))])),
                ("fragments", map(vec![("plat_Restart", map(vec![]))])),
            ],
            r#"{"deviceId":"7","status":"PENDING","plat_Restart":{}}"#,
        ),
        (
            UpdateAlarm,
            vec![
                ("id", id(3)),
                ("status", text("CLEARED")),
                ("fragments", map(vec![("plat_X", Value::Null)])),
            ],
            r#"{"status":"CLEARED","plat_X":null}"#,
        ),
        (
            UpdateManagedObject,
            vec![("id", id(3)), ("name", text("n")), ("type", Value::Null), ("owner", text("o"))],
            r#"{"name":"n","owner":"o"}"#,
        ),
        (
            CreateEvent,
            vec![
                ("text", text("column")),
                ("fragments", map(vec![("text", text("fragment")), ("type", text("t"))])),
            ],
            r#"{"text":"column","type":"t"}"#,
        ),
    ] {
        let row = row(cells);
        assert_eq!(json(stream, Cells(&row)).expect(expected), expected);
    }
}

#[test]
fn objects_and_their_children_are_named_by_ids_in_lists_or_alone() {
    let row = row(vec![
        ("name", text("n")),
        ("owner", text("o")),
        ("childAssets", list(vec![id(1), text("2"), Value::Integer(3)])),
        ("childDevices", id(4)),
    ]);
    let Ok(Some(ModuleWrite::CreateManagedObject { owner, children, object })) =
        ModuleWrite::of(CreateManagedObject, &row)
    else {
        panic!("it creates an object")
    };
    assert_eq!((owner.as_deref(), object.name.as_deref()), (Some("o"), Some("n")));
    let children: Vec<_> = children
        .into_iter()
        .map(|(kind, ids)| (kind.children(), ids.into_iter().map(|id| id.0).collect::<Vec<_>>()))
        .collect();
    assert_eq!(children, [("childAssets", vec![1, 2, 3]), ("childDevices", vec![4])]);
}

#[test]
fn rows_that_match_no_request_are_faults_with_a_reason() {
    let fault = |stream: OutputStream, cells: Vec<Cell>| match ModuleWrite::of(stream, &row(cells)) {
        Err(error) => error.to_string(),
        Ok(deed) => panic!("{deed:?}"),
    };
    for (stream, cells, expected) in [
        (
            CreateAlarm,
            vec![("type", text("t"))],
            "mandatory fields should be included: time,text,severity,source",
        ),
        (UpdateEvent, vec![("id", Value::Null)], "mandatory fields should be included: id"),
        (DeleteMeasurement, vec![], "mandatory fields should be included: id"),
        (DeleteManagedObject, vec![("id", text("x"))], "no managed object with id 'x'"),
        (UpdateAlarm, vec![("id", id(1)), ("status", text("GONE"))], "'status': GONE"),
        (UpdateAlarm, vec![("id", Value::Boolean(true))], "'id'"),
        (CreateEvent, vec![("time", Value::Integer(i64::MAX))], "'time'"),
        (CreateEvent, vec![("time", Value::Integer(i64::MIN)), ("type", text("t"))], "'time'"),
        (CreateEvent, vec![("source", list(vec![]))], "'source'"),
        (CreateEvent, vec![("fragments", text("plat_X"))], "'fragments'"),
        (CreateEvent, vec![("fragments", map(vec![("a", text("nul \0"))]))], "NUL"),
        (CreateManagedObject, vec![("childAssets", list(vec![text("x")]))], "'childAssets'"),
        (CreateManagedObject, vec![("owner", text(""))], "'owner'"),
        (CreateManagedObject, vec![("fragments", map(vec![("a.b", text("x"))]))], "fragment name"),
    ] {
        let said = fault(stream, cells);
        assert!(said.contains(expected), "{stream:?}: {said}");
    }
}

#[test]
fn created_operation_is_pending_regardless_of_its_row() {
    let row = row(vec![("deviceId", id(7)), ("status", text("SUCCESSFUL"))]);
    let Ok(Some(ModuleWrite::CreateOperation(operation))) = ModuleWrite::of(CreateOperation, &row) else {
        panic!("it creates an operation")
    };
    assert_eq!(operation.queued().status.as_str(), "PENDING");
}

#[test]
fn messages_need_only_the_mandatory_columns() {
    let mail = |reply_to| {
        let cells = [("receiver", "r"), ("subject", "s"), ("text", "t")];
        let cells = cells.map(|(name, value)| (name, text(value))).into_iter().chain([("replyTo", reply_to)]);
        message::check(SendEmail, &row(cells.collect()))
    };
    assert!(mail(text("a@b")).is_ok());
    let error = mail(Value::Null).expect_err("incomplete").to_string();
    assert_eq!(error, "Following mandatory fields should be included: replyTo");
    assert!(message::check(SendDashboard, &row(vec![])).is_ok());
    assert!(!message::is_message(SendRequest) && !message::is_message(CreateAlarm));
}

#[test]
fn requests_are_read_with_headers_as_lines_or_as_an_object() {
    let asked = |headers: Value| {
        let cells = vec![
            ("url", text("http://h/p")),
            ("method", text("post")),
            ("body", map(vec![("a", id(1))])),
            ("contentType", text("application/json")),
            ("source", id(7)),
            ("headers", headers),
        ];
        RequestRow::of(&row(cells)).expect("valid")
    };
    let lines = asked(text("X-A: 1\r\n\r\nX-B:two: three \n"));
    let object =
        asked(map(vec![("X-A", Value::Integer(1)), ("X-B", text("two: three")), ("X-C", Value::Null)]));

    assert_eq!(lines, object);
    assert_eq!(lines.headers, [("X-A", "1"), ("X-B", "two: three")].map(|(a, b)| (a.into(), b.into())));
    assert_eq!(lines.source.map(|id| id.0), Some(7));
    assert_eq!(asked(Value::Null).headers, []);
}

#[test]
fn requests_that_would_break_out_of_their_place_are_faults() {
    let ask = |name: &'static str, value: Value| {
        let mut cells = vec![("url", text("http://h")), ("method", text("GET"))];
        cells.retain(|(known, _)| *known != name);
        cells.push((name, value));
        RequestRow::of(&row(cells))
    };
    assert!(ask("body", text("any\r\ntext")).is_ok());
    for (name, value) in [
        ("url", Value::Null),
        ("url", text("http://h/ HTTP/1.1\r\nX: 1")),
        ("method", text("GET /")),
        ("method", text("")),
        ("authorization", text("Basic x\r\nX-B: 1")),
        ("contentType", text("text/plain\nX-B: 1")),
        ("headers", map(vec![("X-A", text("1\r\nX-B: 2"))])),
        ("headers", map(vec![("X-A: 1\r\nX-B", text("2"))])),
        ("headers", text("no colon")),
        ("headers", text("Host: elsewhere")),
        ("headers", text("transfer-Encoding: chunked")),
        ("headers", list(vec![])),
        ("source", text("x")),
    ] {
        assert!(ask(name, value.clone()).is_err(), "{name}: {value:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_in_any_column_is_a_write_or_a_fault_without_a_panic(value in "\\PC{0,30}|[0-9eE.+-]{0,20}") {
        for stream in [CreateAlarm, UpdateManagedObject, CreateMeasurement, UpdateOperation] {
            let names = ["id", "type", "time", "text", "source", "deviceId", "status", "severity", "childAssets"];
            let _ = ModuleWrite::of(stream, &row(names.map(|name| (name, text(&value))).into()));
        }
        let _ = RequestRow::of(&row(["url", "method", "headers", "source"].map(|name| (name, text(&value))).into()));
    }
}
