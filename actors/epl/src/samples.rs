//! Sample events and values for tests.

use std::sync::Arc;

use platform_model::body::Body;
use platform_model::data::alarm::{Alarm, NewAlarm};
use platform_model::data::event::{Event, NewEvent};
use platform_model::data::measurement::{Measurement, NewMeasurement};
use platform_model::data::operation::{NewOperation, Operation};
use platform_model::devices::managed_object::{ManagedObject, NewManagedObject};
use platform_model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId};
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::change::PublishedChange;
use platform_model::timestamp::Timestamp;

use super::plan::expression::{EventPlace, Expression, Finder, Property};
use super::runtime::{LookUps, Scope, World};
use super::stream::{Input, Occurrence, Response};
use super::value::{Columns, EvaluationsLeft, Fault, Map, Row, StreamEvent, Type, Value};

/// The milliseconds of [`time`].
pub(crate) const MILLIS: i64 = 1_704_067_200_500;

/// Returns an arbitrary time.
pub(crate) fn time() -> Timestamp {
    Timestamp::parse("time", "2024-01-01T01:00:00.500+01:00").expect("a time")
}

/// The only source of an expression, or the first of two.
pub(crate) const FIRST: EventPlace = EventPlace { source: 0, tag: None };

fn body(json: &str) -> Body {
    Body::parse(json.as_bytes()).expect(json)
}

/// Returns a measurement of source 7 with additional fragments, given as JSON that starts with a comma.
pub(crate) fn measurement(fragments: &str) -> Arc<Measurement> {
    let json = format!(r#"{{"type":"t","time":"{}","source":{{"id":"7"}}{fragments}}}"#, time());
    Arc::new(NewMeasurement::parse(body(&json)).expect(&json).measured(Some(MeasurementId(100)), Arc::new))
}

/// Returns an alarm with additional fragments, which are given as JSON members with a comma in front.
pub(crate) fn alarm(fragments: &str) -> Arc<Alarm> {
    let json = format!(
        r#"{{"type":"t","time":"{}","text":"hot","severity":"MAJOR","source":{{"id":"7"}}{fragments}}}"#,
        time()
    );
    let alarm = NewAlarm::parse(body(&json)).expect(&json).raised(Some(AlarmId(101)), Some("pump"));
    Arc::new(Alarm { creation_time: time(), ..alarm })
}

/// Returns an event with additional fragments.
pub(crate) fn event(fragments: &str) -> Arc<Event> {
    let json = format!(r#"{{"type":"t","time":"{}","text":"x","source":{{"id":"7"}}{fragments}}}"#, time());
    let NewEvent { source, type_, time, text, fragments } = NewEvent::parse(body(&json)).expect(&json);
    Arc::new(Event {
        id: Some(EventId(102)),
        source,
        source_name: Some("pump".into()),
        source_type: Some("P1".into()),
        type_,
        time,
        text,
        creation_time: time,
        revision: 0,
        fragments,
    })
}

/// Returns an operation with additional fragments.
pub(crate) fn operation(fragments: &str) -> Arc<Operation> {
    let json = format!(r#"{{"deviceId":"7"{fragments}}}"#);
    let operation = NewOperation::parse(body(&json)).expect(&json).queued();
    Arc::new(Operation { id: Some(OperationId(103)), creation_time: time(), ..operation })
}

/// Returns a managed object with additional fragments.
pub(crate) fn managed_object(fragments: &str) -> Arc<ManagedObject> {
    let json = format!(r#"{{"name":"pump","type":"P1"{fragments}}}"#);
    let object = NewManagedObject::parse(body(&json)).expect(&json).created(Some(ManagedObjectId(7)), "ada");
    Arc::new(ManagedObject { creation_time: time(), last_updated: time(), ..object })
}

/// Returns an event of an input stream that a client caused.
pub(crate) fn client_event(event: PublishedChange) -> StreamEvent {
    let (mode, source) = (ProcessingMode::Persistent, ManagedObjectId(7));
    StreamEvent::Input(Arc::new(Input::new(Occurrence::Changed(event), source, mode, Depth::default())))
}

/// Returns the event of a response to a request of a module.
pub(crate) fn response() -> StreamEvent {
    let body = r#"{"ok":true}"#.into();
    let response = Response { status: 200, body, creation_time: time(), source: Some(ManagedObjectId(7)) };
    let (mode, source) = (ProcessingMode::Persistent, ManagedObjectId(7));
    let occurrence = Occurrence::Response(Arc::new(response));
    StreamEvent::Input(Arc::new(Input::new(occurrence, source, mode, Depth { statements: 0, writes: 1 })))
}

/// Returns a row with these columns.
pub(crate) fn row(columns: &[(&str, Value)]) -> StreamEvent {
    let names = Columns(columns.iter().map(|(name, _)| ((*name).into(), Type::Any)).collect());
    let values = columns.iter().map(|(_, value)| value.clone()).collect();
    StreamEvent::Row(Arc::new(Row::new(Arc::new(names), values, Depth::default())))
}

/// Returns a text as a value.
pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Returns a JSON object as a value.
pub(crate) fn map(members: &[(&str, Value)]) -> Value {
    Value::Map(Arc::new(Map(members.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())))
}

pub(crate) fn literal(value: Value) -> Expression {
    Expression::Literal(value)
}

/// Returns the expression for a path such as `of.a.b`, whose first name is a property.
pub(crate) fn path(property: Property, members: &[&str]) -> Expression {
    members.iter().fold(Expression::Property(FIRST, property), |of, name| {
        Expression::Member(Box::new(of), (*name).into())
    })
}

/// Returns its arguments; fails if there are none.
pub(crate) struct Echo;

impl LookUps for Echo {
    fn find(&self, _: &Finder, arguments: &[Value]) -> Result<Value, Fault> {
        match arguments {
            [] => Err(Fault::new("nothing to look for")),
            arguments => Ok(Value::List(arguments.into())),
        }
    }
}

/// Evaluates an expression on these sources with a budget of evaluations; also returns how many were used.
pub(crate) fn evaluate_within(
    evaluations: u64,
    expression: &Expression,
    sources: &[&StreamEvent],
) -> (Result<Value, Fault>, u64) {
    let left = EvaluationsLeft::new(evaluations);
    let variables = [Value::Integer(5)];
    let world = World { variables: &variables, now: MILLIS, look_ups: &Echo, evaluations: &left };
    let sources = [sources.first().copied(), sources.get(1).copied()];
    let (aggregates, keys) = ([Value::Double(2.5)], [text("key")]);
    let scope = Scope { sources, aggregates: &aggregates, keys: &keys, world: &world };
    (expression.evaluate(&scope), evaluations - left.get())
}

/// Evaluates an expression on one source.
pub(crate) fn evaluate(expression: &Expression, source: &StreamEvent) -> Value {
    let (value, _) = evaluate_within(10_000, expression, &[source]);
    value.unwrap_or_else(|fault| panic!("{expression:?}: {fault}"))
}

/// Returns the value as JSON with its type as a prefix: `i:1`, `d:1`, `s:"x"`.
pub(crate) fn shown(value: &Value) -> String {
    let type_ = match value {
        Value::Null => return "null".into(),
        Value::Boolean(value) => return value.to_string(),
        Value::Integer(_) => "i",
        Value::Double(_) => "d",
        Value::Text(_) => "s",
        Value::Time(_) => "t",
        Value::Id(_) => "id",
        Value::List(_) => "l",
        Value::Map(_) => "m",
        Value::Object(_) => "o",
        Value::Event(_) => "e",
    };
    format!("{type_}:{}", value.to_json())
}
