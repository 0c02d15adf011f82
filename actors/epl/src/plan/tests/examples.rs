//! Texts that must be accepted: the acceptance examples of Q-15, and each form of Q-06 to Q-13.

use platform_model::realtime::input_stream::InputStream;

use super::super::{EveryPlan, From, Rows, Stream, Target};
use super::{good, select};
use crate::stream::OutputStream;

#[test]
fn a_measurement_becomes_an_alarm() {
    let plan = good(
        r#"
        @Name("copy") insert into CreateAlarm
        select m.measurement.time as time, m.measurement.source.value as source, "acme_Hot" as type,
            'hot: ' || getNumber(m, "acme_T.T.value") as text, PlatformAlarmStatuses.ACTIVE as status,
            PlatformSeverities.MAJOR as severity, { "acme_T.value", getNumber(m, "acme_T.T.value") } as fragments
        from MeasurementCreated m where getNumber(m, "acme_T.T.value", 0) > 100;"#,
    );
    assert_eq!(plan.streams, [Stream::Input(InputStream::MeasurementCreated)]);
    assert_eq!(select(&plan).into, Some(Target::Output(OutputStream::CreateAlarm)));
    assert_eq!((select(&plan).rows, plan.looks_up), (Rows::PerEvent, false));
}

#[test]
fn hourly_averages_are_made_for_each_device() {
    let plan = good(
        r#"
        create context Devices partition by measurement.source.value from MeasurementCreated;
        @Name("hourly") context Devices insert into CreateMeasurement
        select m.measurement.source as source, current_timestamp().toDate() as time, "acme_Average" as type,
            { "acme_Average.T.value", avg(cast(getNumber(m, "acme_T.T.value"), double)),
              "acme_Average.T.unit", getString(m, "acme_T.T.unit") } as fragments
        from MeasurementCreated.win:time(1 hours) m
        where getObject(m, "acme_T") is not null
        output last every 1 hours;"#,
    );
    let select = select(&plan);
    assert_eq!(
        (select.context, select.rows, select.aggregates.len()),
        (Some(0), Rows::PerEventWithAggregates, 1)
    );
    assert!(matches!(select.output.expect("output").every, EveryPlan::Time(time) if time.as_secs() == 3600));
}

#[test]
fn consumption_is_the_difference_of_two_adjacent_values() {
    let plan = good(
        r#"
        create schema Level(source string, time Date, value double);
        insert into Level select measurement.source.value as source, measurement.time as time,
            getNumber(m, 'fill.level.value') as value from MeasurementCreated m;
        create context PerSource partition by source from Level;
        context PerSource insert into CreateMeasurement
        select source, last(time) as time, 'consumption' as type,
            { 'use.value', (first(value) - last(value)) * 3600000 / (last(time).toMillisec() - first(time).toMillisec()) }
                as fragments
        from Level.win:length(2) having count(*) = 2;"#,
    );
    assert_eq!(select(&plan).aggregates.len(), 6);
    assert_eq!(plan.declares.keys().map(|name| &**name).collect::<Vec<_>>(), ["Level"]);
    assert!(plan.uses.is_empty());
}

#[test]
fn operations_that_do_not_finish_are_found() {
    let plan = good(
        r#"
        insert into CreateAlarm
        select o.operation.deviceId.value as source, current_timestamp().toDate() as time, 'late' as type,
            'not done: ' || o.operation.id.value as text, 'ACTIVE' as status, 'MAJOR' as severity
        from pattern [every o=OperationCreated -> (timer:interval(10 minutes) and not OperationUpdated(
            operation.id.value = o.operation.id.value
            and (operation.status = OperationStatus.SUCCESSFUL or operation.status in ('FAILED', 'EXECUTING'))))];"#,
    );
    let From::Pattern { pattern, view: None } = &select(&plan).from else { panic!("{plan:?}") };
    let shape = format!("{pattern:?}");
    for part in
        ["FollowedBy", "Every", "Event { tag: Some(0)", "Interval(Fixed(600s))", "Not", "Event { tag: None"]
    {
        assert!(shape.contains(part), "{shape}");
    }
}

#[test]
fn devices_that_leave_their_fence_are_found() {
    let plan = good(
        r#"
        create schema Located(event com.platform.model.event.Event, device com.platform.model.ManagedObject);
        create expression double squared(x) [x * x];
        create expression double away(lat, lng, fence) [
            squared(lat - getNumber(fence, 'lat')) + squared(lng - getNumber(fence, 'lng'))];
        insert into Located select e.event as event, findManagedObjectById(e.event.source.value) as device
            from EventCreated e where getObject(e, 'acme_Position') is not null;
        create schema Distance(event Event, device ManagedObject, distance double);
        insert into Distance select event, l.device as device, away(getNumber(event, 'acme_Position.lat'),
            getNumber(event, 'acme_Position.lng'), device.acme_Geofence) as distance
            from Located l where device.acme_Geofence is not null;
        create context Fences partition by event.source.value from Distance;
        context Fences insert into CreateAlarm select b.event.source as source, b.event.time as time,
            'acme_Geofence' as type, 'outside' as text, 'ACTIVE' as status, 'MAJOR' as severity
            from pattern [every (a=Distance -> b=Distance)] where a.distance <= 1 and b.distance > 1;
        context Fences insert into UpdateAlarm
            select findFirstAlarmBySourceAndStatusAndType(b.event.source.value, PlatformAlarmStatuses.ACTIVE,
                'acme_Geofence').getId().getValue() as id, 'CLEARED' as status
            from pattern [every (a=Distance -> b=Distance)] as p where p.a.distance > 1 and p.b.distance <= 1;"#,
    );
    assert!(plan.looks_up);
}

#[test]
fn a_timer_generates() {
    good(
        "insert into CreateEvent select '10' as source, current_timestamp().toDate() as time, 'tick' as type, \
         'tick' as text from pattern [every timer:at(*/10, *, *, *, *)];",
    );
}

/// Each form of the language.
pub(super) const FORMS: &[&str] = &[
    "select * from ManagedObjectCreated;",
    "select managedObject.id.value, managedObject.owner, managedObject.childAssets[0] from ManagedObjectUpdated;",
    "select managedObject.id, _type, _mode, _origin, payload from ManagedObjectDeleted;",
    "select e.event.creationTime.toMillisec() as t from EventUpdated as e;",
    "select event.id, event.source from EventDeleted;",
    "select measurement.id from MeasurementDeleted;",
    "select alarm.count + 1 as n, alarm.severity, alarm.status.value as s from AlarmUpdated where alarm.type like \
     'c8y%';",
    "select status, body, creationTime, source.value from ResponseReceived(status between 200 and 299);",
    "select MeasurementCreated.measurement.type as t from MeasurementCreated;",
    "@Resilient select count(*), sum(distinct alarm.count) from AlarmCreated.win:length_batch(3);",
    "select median(alarm.count), stddev(alarm.count), MIN(alarm.count), max(alarm.time) from \
     AlarmCreated.win:keepall();",
    "select last(e).event.text as text from EventCreated.win:time(5 seconds) e;",
    "select event.type as type, count(*) as n from EventCreated group by event.type having count(*) > 2 output all \
     every 2 events;",
    "select a.*, e.event as event from AlarmCreated.std:lastevent() a, EventCreated e unidirectional \
             where a.alarm.source = e.event.source;",
    "select * from AlarmCreated.std:unique(alarm.source.value) a, EventCreated.win:time_batch(1 minutes) e;",
    "select case when alarm.count > 3 then 'many' when alarm.count = 3 then null else 'few' end as n from \
     AlarmCreated;",
    "select case alarm.severity when 'MAJOR' then 1 else 2.5 end as n, -alarm.count % 2 as m from AlarmCreated;",
    "select not (alarm.text is null) as a, alarm.text not in ('x', 'y') as b, alarm.count not between 1 and 2 as c \
     from AlarmCreated;",
    "create constant variable double limit = 20 * 2; create variable string name; create variable Date since; \
             on AlarmCreated a set name = a.alarm.text, since = a.alarm.time; select limit, name from AlarmCreated;",
    "create window MeasurementCreated.win:length(3) as Recent; insert into Recent select * from MeasurementCreated; \
     select r.measurement.time as time from Recent r; on AlarmCreated a delete from Recent r where \
     r.measurement.source = a.alarm.source;",
    "create schema P(x int, y double); create window Last.std:unique(x) as P; insert into Last select 1 as y, 2 as x \
     from AlarmCreated; on ResponseReceived delete from Last;",
    "create schema P(x int); create schema Q(p P, e AlarmCreated, all string[]); insert into Q select p, a as e, \
     {'a', 'b'} as all from P.std:lastevent() p, AlarmCreated a unidirectional; select p.x, e.alarm.count as n, \
     all[0] as first from Q;",
    "create context C partition by alarm.source and alarm.type from AlarmCreated, event.source and event.type from \
     EventCreated; context C select context.key1, context.key2 as type, count(*) from AlarmCreated(alarm.type = \
     context.key2);",
    "select toJSON(e) as json, toNumberSetParameter('1,2') as n, inMaintenanceMode(event.source) as m, \
             replaceAllPlaceholders('#{text}', e) as text from EventCreated e;",
    "select findOneManagedObjectByTypeAndFragmentType('a', 'b') as o, \
     findAllEventBySourceAndTimeBetween(event.source, event.time, current_timestamp().toDate()) as l, \
     findOperationById('1').status as s, findAllMeasurementBySourceAndType(event.source, 't')[0].id as m, \
     findFirstOperationByDeviceAndStatusAndCreationTimeBetween(1, 'PENDING', event.time, event.time) as f from \
     EventCreated;",
    "select cast(event.text, long) as n, cast(event.time, string) as t, cast(event.acme_A, com.x.Foo).bar as b, \
     cast(event.acme_A, boolean) as c, event.acme_B[0].name as d, event.acme_N.doubleValue() as n2 from \
     EventCreated;",
    "insert into SendRequest select 'http://x' as url, 'GET' as method, {'a', 'b'} as headers from AlarmCreated; \
             select s.url as url, body from SendRequest s;",
    "insert into SendDashboard select 1 as anything from AlarmCreated;",
    "insert into CreateManagedObject select 'x' as name, {} as fragments, {'1', '2'} as childAssets from AlarmCreated;",
    "insert into CreateOperation select 'PENDING' as status, alarm.source as deviceId, {'acme_Restart', {}} as \
     fragments from AlarmCreated;",
    "insert into A select alarm.source as x, 1 as n from AlarmCreated; insert into A select 2 as n, 'text' as x from \
     EventCreated; insert into B select * from A; select x.value, n from B;",
    "insert into Copy select * from MeasurementCreated; select getNumber(c, 'T.value') as n, measurement.type from \
     Copy c;",
    "select a.alarm.id as id from pattern [every (a=AlarmCreated or b=EventCreated) -> timer:interval(5 seconds)] \
     where b is null;",
    "select * from pattern [a=AlarmCreated and b=EventCreated(event.source = \
     a.alarm.source)].std:unique(a.alarm.type);",
    "create expression half(x) [x / 2]; create expression quarter(x) [half(half(x))]; select \
     sum(quarter(alarm.count)) as n from AlarmCreated;",
    "create expression now() [current_timestamp()]; select now() as n from AlarmCreated;",
    "create constant variable int secs = 300; create variable double mins = 1.5; select a.alarm.id as id from \
     pattern [every a=AlarmCreated -> timer:interval(secs seconds) and timer:interval(1 hour mins minutes)];",
    "create constant variable int n = 5; select count(*) from EventCreated.win:time(n minutes) output last \
     every n sec;",
    "select m.measurement.id as id from pattern [every m=MeasurementCreated -> timer:interval(getNumber(m, \
     'wait.S.value') seconds) and not AlarmCreated(alarm.source = m.measurement.source)];",
    "select s[0].event.text as first, getString(s[1], 'text') as second, s as all, e.event.id as id from pattern \
     [every (s=EventCreated(event.type = 'a') until e=EventCreated(event.type = 'b'))];",
    "select * from pattern [every (a=AlarmCreated -> b=EventCreated(event.source = a.alarm.source)) until \
     c=OperationCreated];",
    "select b.alarm.id as id from pattern [every a=AlarmCreated -> b=AlarmUpdated] where b.alarm.time.after(\
     a.alarm.time, 15min) or b.alarm.time.before(a.alarm.time) or b.alarm.time.after(a.alarm.time, 1 sec, 2 hours);",
    "select a.alarm.time.format() || ' ' || a.alarm.severity.name() || a.alarm.status.name() || \
     findManagedObjectById(a.alarm.source.value).getName() as text, a.alarm.getText() as t, \
     a.alarm.getSource().getValue() as s, findAlarmById('1').getSource().getName() as n, \
     findAllEventBySource('1')[0].getTime() as e, a.payload.getText() as p from AlarmCreated a;",
    "create schema Rated(rank PlatformSeverities, state com.acme.AlarmStatus, of Severity, op OperationStatus); insert \
     into Rated select alarm.severity as rank, 'ACTIVE' as state, PlatformSeverities.MINOR as of, 'FAILED' as op from \
     AlarmCreated; select rank.name() as rank from Rated;",
    "select com.platform.OperationStatus.PENDING as s from OperationUpdated where operation.status != \
     OperationStatus.FAILED;",
];

#[test]
fn every_form_of_the_language_has_a_plan() {
    for form in FORMS {
        good(form);
    }
}
