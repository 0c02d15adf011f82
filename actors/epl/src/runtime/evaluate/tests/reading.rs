//! The properties of events and the surroundings that expressions read.

use platform_model::id::{ManagedObjectId, MeasurementId};
use platform_model::realtime::change::PublishedChange;

use super::*;
use crate::plan::expression::{Function, Property, Scalar};
use crate::samples::{alarm, client_event, event, managed_object, measurement, operation, path, response};
use crate::value::{Match, StreamEvent};

#[test]
fn every_property_of_q_06_is_found() {
    let fragment = r#","plat_X":{"a":[1,{"b":true}]}"#;
    let series = r#","plat_T":{"T":{"value":20.5,"unit":"C"},"U":{"value":1}}"#;
    let telling = [
        client_event(PublishedChange::AlarmCreated(alarm(fragment))),
        client_event(PublishedChange::EventUpdated(event(fragment))),
        client_event(PublishedChange::MeasurementCreated(measurement(series))),
        client_event(PublishedChange::MeasurementCreated(measurement(
            r#","plat_T":{"T":{"value":20.50,"unit":"C"}}"#,
        ))),
        client_event(PublishedChange::OperationCreated(operation(fragment))),
        client_event(PublishedChange::ManagedObjectCreated(managed_object(fragment))),
        client_event(PublishedChange::ManagedObjectDeleted(ManagedObjectId(7))),
        client_event(PublishedChange::MeasurementDeleted(MeasurementId(5))),
        response(),
    ];
    let instant = r#""2024-01-01T01:00:00.500+01:00""#;
    let instant = &*format!("t:{instant}");
    use Property::*;
    for (source, property, members, expected) in [
        (0, Type, &[][..], r#"s:"ALARM_CREATE""#),
        (0, Mode, &[], r#"s:"PERSISTENT""#),
        (0, Origin, &[], "null"),
        (8, Origin, &[], r#"s:"cep""#),
        (0, Object, &["id"], r#"id:{"value":"101","type":null,"name":null}"#),
        (0, Object, &["id", "value"], r#"s:"101""#),
        (0, Object, &["creationTime"], instant),
        (0, Object, &["type"], r#"s:"t""#),
        (0, Object, &["count"], "i:1"),
        (0, Object, &["severity"], r#"s:"MAJOR""#),
        (0, Object, &["status"], r#"s:"ACTIVE""#),
        (0, Object, &["text"], r#"s:"hot""#),
        (0, Object, &["time"], instant),
        (0, Object, &["source"], r#"id:{"value":"7","type":null,"name":"pump"}"#),
        (0, Object, &["source", "name"], r#"s:"pump""#),
        (0, Object, &["plat_X"], r#"m:{"a":[1,{"b":true}]}"#),
        (0, Object, &["plat_X", "a"], r#"l:[1,{"b":true}]"#),
        (0, Object, &["firstOccurrenceTime"], "null"),
        (0, Payload, &["firstOccurrenceTime"], r#"s:"2024-01-01T01:00:00.500+01:00""#),
        (0, Payload, &["source", "id"], r#"s:"7""#),
        (0, Payload, &["source"], r#"m:{"id":"7","self":"/inventory/managedObjects/7","name":"pump"}"#),
        (0, Payload, &["id"], r#"s:"101""#),
        (0, Payload, &["count"], "i:1"),
        (0, Payload, &["nothing"], "null"),
        (1, Type, &[], r#"s:"EVENT_UPDATED""#),
        (1, Object, &["id", "value"], r#"s:"102""#),
        (1, Object, &["creationTime"], instant),
        (1, Object, &["type"], r#"s:"t""#),
        (1, Object, &["text"], r#"s:"x""#),
        (1, Object, &["time"], instant),
        (1, Object, &["source"], r#"id:{"value":"7","type":"P1","name":"pump"}"#),
        (1, Object, &["plat_X", "nothing"], "null"),
        (2, Type, &[], r#"s:"MEASUREMENT_CREATE""#),
        (2, Object, &["id", "value"], r#"s:"100""#),
        (2, Object, &["type"], r#"s:"t""#),
        (2, Object, &["time"], instant),
        (2, Object, &["source", "value"], r#"s:"7""#),
        (2, Object, &["plat_T", "T", "value"], "d:20.5"),
        (2, Object, &["plat_T", "T", "unit"], r#"s:"C""#),
        (2, Object, &["plat_T", "U", "unit"], "null"),
        (2, Object, &["plat_T", "U"], r#"m:{"value":1}"#),
        (2, Object, &["plat_T"], r#"m:{"T":{"value":20.5,"unit":"C"},"U":{"value":1}}"#),
        (2, Object, &["plat_T", "V", "value"], "null"),
        (2, Payload, &["plat_T", "T", "value"], "d:20.5"),
        (3, Object, &["plat_T", "T", "value"], "d:20.5"),
        (3, Object, &["plat_T"], r#"m:{"T":{"value":20.5,"unit":"C"}}"#),
        (4, Object, &["id", "value"], r#"s:"103""#),
        (4, Object, &["creationTime"], instant),
        (4, Object, &["status"], r#"s:"PENDING""#),
        (4, Object, &["deviceId", "value"], r#"s:"7""#),
        (4, Payload, &["deviceId"], r#"s:"7""#),
        (5, Object, &["id"], r#"id:{"value":"7","type":"P1","name":"pump"}"#),
        (5, Object, &["type"], r#"s:"P1""#),
        (5, Object, &["name"], r#"s:"pump""#),
        (5, Object, &["lastUpdated"], instant),
        (5, Object, &["owner"], r#"s:"ada""#),
        (5, Object, &["childAssets"], "l:[]"),
        (5, Object, &["childDevices"], "l:[]"),
        (5, Object, &["assetParents"], "l:[]"),
        (5, Object, &["deviceParents"], "l:[]"),
        (5, Payload, &["childAssets", "references"], "l:[]"),
        (6, Object, &["id", "value"], r#"s:"7""#),
        (6, Object, &["source", "value"], r#"s:"7""#),
        (6, Payload, &[], r#"m:{"id":"7"}"#),
        (7, Object, &["id", "value"], r#"s:"5""#),
        (7, Object, &["type"], "null"),
        (8, Type, &[], r#"s:"REQUEST_RESULT""#),
        (8, Status, &[], "i:200"),
        (8, Body, &[], r#"s:"{\"ok\":true}""#),
        (8, CreationTime, &[], instant),
        (8, Source, &["value"], r#"s:"7""#),
        (8, Object, &[], "null"),
        (0, Status, &[], "null"),
    ] {
        let shown = shown(&evaluate(&path(property, members), &telling[source]));
        assert_eq!(shown, expected, "{source} {property:?} {members:?}");
    }
}

#[test]
fn whole_payload_is_shown_as_clients_see_it() {
    let alarm = alarm(r#","plat_X":1"#);
    let shown = platform_model::links::encode(&*alarm, &platform_model::links::Links::new(""));
    let payload =
        evaluate(&path(Property::Payload, &[]), &client_event(PublishedChange::AlarmCreated(alarm)));
    assert_eq!(payload.to_json(), String::from_utf8(shown).expect("UTF-8"));
}

#[test]
fn places_columns_variables_keys_and_aggregates_are_found_and_missing_ones_are_null() {
    let one = row(&[("a", Value::Integer(1)), ("e", Value::Event(row(&[("b", text("x"))])))]);
    let found = StreamEvent::Match(Arc::new(Match([Some(one.clone()), None].into())));
    let tagged = |tag| EventPlace { source: 1, tag: Some(tag) };
    let member = |of: Expression, name: &str| Expression::Member(Box::new(of), name.into());
    for (expression, expected) in [
        (Expression::Column(FIRST, 0), "i:1"),
        (Expression::Column(FIRST, 9), "null"),
        (Expression::Column(tagged(0), 0), "i:1"),
        (Expression::Column(tagged(1), 0), "null"),
        (Expression::Column(tagged(7), 0), "null"),
        (Expression::Column(EventPlace { source: 9, tag: None }, 0), "null"),
        (Expression::Column(EventPlace { source: 0, tag: Some(0) }, 0), "null"),
        (Expression::Event(FIRST), r#"e:{"a":1,"e":{"b":"x"}}"#),
        (Expression::Event(tagged(1)), "null"),
        (member(Expression::Column(FIRST, 1), "b"), r#"s:"x""#),
        (member(Expression::Event(FIRST), "a"), "i:1"),
        (Expression::Property(FIRST, Property::Type), "null"),
        (Expression::Variable(0), "i:5"),
        (Expression::Variable(1), "null"),
        (Expression::ContextKey(0), r#"s:"key""#),
        (Expression::Aggregate(0), "d:2.5"),
        (Expression::Aggregate(3), "null"),
        (Expression::LookUp(Finder::InMaintenanceMode, vec![literal(text("7"))]), r#"l:["7"]"#),
        (Expression::Cast(Box::new(Expression::Variable(0)), Scalar::Text), r#"s:"5""#),
        (Expression::Call(Function::CurrentTimestamp, Vec::new()), "i:1704067200500"),
    ] {
        let (value, _) = evaluate_within(100, &expression, &[&one, &found]);
        assert_eq!(shown(&value.expect("no fault")), expected, "{expression:?}");
    }
}

#[test]
fn elements_count_from_zero_and_missing_ones_are_null() {
    let event = client_event(PublishedChange::EventCreated(event(r#","plat_L":[10,{"b":[20]}]"#)));
    let list = || path(Property::Object, &["plat_L"]);
    let at = |of: Expression, at: Value| Expression::Index(Box::new(of), boxed(at));
    for (expression, expected) in [
        (at(list(), Value::Integer(0)), "i:10"),
        (at(list(), Value::Double(1.0)), r#"m:{"b":[20]}"#),
        (at(at(list(), Value::Integer(1)), text("b")), "l:[20]"),
        (at(list(), Value::Integer(2)), "null"),
        (at(list(), Value::Integer(-1)), "null"),
        (at(list(), Value::Null), "null"),
        (at(literal(Value::List([text("x")].into())), Value::Integer(0)), r#"s:"x""#),
        (at(Expression::List(vec![literal(text("x"))]), Value::Integer(0)), r#"s:"x""#),
    ] {
        assert_eq!(shown(&evaluate(&expression, &event)), expected, "{expression:?}");
    }
}
