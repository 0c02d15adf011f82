//! Event-processing modules that use the vendor's words and the constructs that modules of other platforms use
//! (G-09a, Q-10a).

use super::*;
use crate::harness::modules::deploy;

/// Modules by name. Each is accepted without a warning.
const MODULES: [(&str, &str); 13] = [
    (
        "escalation",
        "create context PerPump partition by
             alarm.source from AlarmCreated(alarm.type = 'no pressure'),
             alarm.source from AlarmUpdated(alarm.type = 'no pressure');
         context PerPump insert into UpdateAlarm
         select a.alarm.id as id, 'CRITICAL' as severity
         from pattern [every a = AlarmCreated(alarm.status = AcmeAlarmStatuses.ACTIVE)
             -> (timer:interval(200 msec) and not AlarmUpdated(alarm.status != AcmeAlarmStatuses.ACTIVE))];",
    ),
    (
        "dry_run",
        "create schema Wet(measurement Measurement);
         create schema Dry(measurement Measurement);
         create schema Span(first Measurement, last Measurement);
         insert into CreateAlarm
         select span.last.source as source, span.last.time as time, 'acme_DryRun' as type,
             AcmeSeverities.MINOR as severity, AcmeAlarmStatuses.ACTIVE as status, \"It ran dry\" as text
         from Span span where span.last.time.after(span.first.time, 15min);
         insert into Span
         select dry.measurement as first, wet.measurement as last
         from pattern [every (before = Wet -> dry = Dry(measurement.source.value = before.measurement.source.value))
             -> Dry until wet = Wet(measurement.source.value = before.measurement.source.value)];
         insert into Wet select m.measurement as measurement from MeasurementCreated m
         where getNumber(m, \"acme_Flow.F.value\") > 0 AND m.measurement.type = \"acme_Flow\";
         insert into Dry select m.measurement as measurement from MeasurementCreated m
         where getNumber(m, \"acme_Flow.F.value\") <= 0 AND m.measurement.type = \"acme_Flow\"",
    ),
    (
        "patience",
        "create constant variable int patience_in_msec = 200;
         create constant variable string alarm_severity = \"MAJOR\";
         create constant variable string alarm_text = \"Operation #{id.value} hasn\\'t ended\";
         create schema Overdue(operation com.acme.model.operation.Operation);
         @Name(\"raise\") insert into CreateAlarm
         select operation.deviceId as source, \"ACTIVE\" as status, alarm_severity as severity,
             'acme_Overdue' as type, current_timestamp().toDate() as time,
             replaceAllPlaceholders(alarm_text, operation) as text, {'operationId', operation.id.value} as fragments
         from Overdue;
         @Name(\"notice\") insert into Overdue select o.operation as operation
         from pattern [every o = OperationCreated -> (timer:interval(patience_in_msec millisecond)
             and not OperationUpdated(operation.id.value = o.operation.id.value
                 and (operation.status in (OperationStatus.SUCCESSFUL, OperationStatus.FAILED))))];",
    ),
    (
        "individual_patience",
        "create variable double tenths = 0.1;
         on EventCreated(event.type = 'set_tenths') e set tenths = getNumber(e, 'tenths');
         select e.event.id as id
         from pattern [every e = EventCreated(event.type = 'wait')
             -> timer:interval(getNumber(e, 'wait.seconds') seconds tenths sec)];",
    ),
    (
        "too_low",
        "insert into CreateAlarm
         select e.measurement.time as time, e.measurement.source.value as source, 'com_acme_TooLow' as type,
             'Too low' as text, com.acme.model.event.AcmeAlarmStatuses.ACTIVE as status,
             com.acme.model.event.AcmeSeverities.CRITICAL as severity
         from MeasurementCreated e where getNumber(e, 'acme_Level.L.value') < 0",
    ),
    (
        "rank",
        "create expression AcmeSeverities rank(level) [
             case when level > 100 then AcmeSeverities.CRITICAL else PlatformSeverities.WARNING end ];
         create schema Ranked(source string, time date, severity AcmeSeverities, status com.acme.AlarmStatus);
         insert into Ranked select m.measurement.source.value as source, m.measurement.time as time,
             rank(getNumber(m, 'acme_Heat.H.value')) as severity, AcmeAlarmStatuses.ACKNOWLEDGED as status
         from MeasurementCreated m where getObject(m, 'acme_Heat') is not null;
         insert into CreateAlarm select source, time, severity, status, 'acme_Heat' as type,
             'Rank ' || severity.name() as text from Ranked;",
    ),
    (
        "close_valve",
        "insert into CreateOperation select 'PENDING' as status, '1' as deviceId, {'acme_Valve.state', 'CLOSED'} as
         fragments from MeasurementCreated e where getNumber(e, 'acme_Level.L.value') > 1000",
    ),
    (
        "restart_at_night",
        "insert into CreateOperation select 'PENDING' as status, '1' as deviceId, { \"acme_Restart\", {} } as
         fragments from pattern [every timer:at(*, 1, 31, 2, *, *)];",
    ),
    (
        "once_a_minute",
        "select * from EventCreated e where getObject(e, 'acme_Position') is not null output first every 60 seconds",
    ),
    ("too_high", "select * from MeasurementCreated e where getNumber(e, 'acme_Level.L.value') > 100"),
    (
        "mail",
        "insert into SendEmail
         select 'ops@acme.example' as receiver, 'Open: ' || e.alarm.text as subject,
             'Time: ' || e.alarm.time.format() || ' Severity: ' || e.alarm.severity.name() ||
             ' Source: ' || findManagedObjectById(e.alarm.source.value).getName() as text,
             'noreply@acme.example' as replyTo
         from pattern [every e = AlarmCreated(alarm.status = AcmeAlarmStatuses.ACTIVE,
                 alarm.severity = AcmeSeverities.CRITICAL)
             -> (timer:interval(30 minutes) and not AlarmUpdated(alarm.status != AcmeAlarmStatuses.ACTIVE,
                 alarm.id.value = e.alarm.id.value))];",
    ),
    (
        "sales",
        "@Name(\"sales\") select getString(e, 'acme_Sale.machine') as id, e.event.time.format() as time,
             getNumber(e, 'acme_Sale.paid') as value from EventCreated e where e.event.type = 'acme_Sale'",
    ),
    (
        "report",
        "insert into CreateEvent
         select e.event.source as source, e.event.time as time, 'acme_Report' as type,
             findManagedObjectById(e.event.source.value).getName() || ' at ' || e.event.getTime().format() || ': ' ||
             findFirstAlarmBySourceAndStatusAndType(e.event.source, 'ACTIVE', 'acme_Overdue').getSeverity().name()
             as text
         from EventCreated e where e.event.type = 'acme_Ask'",
    ),
];

pub(super) async fn modules_of_the_vendor_are_deployed(admin: &Caller) {
    for (name, statements) in MODULES {
        let module = deploy(admin, &format!("module {name};\n{statements}")).await;
        assert_eq!((&module["status"], &module["warnings"]), (&json!("DEPLOYED"), &Value::Null), "{name}");
    }
    let live =
        "module live; insert into SendNotification select measurement as payload from MeasurementCreated;";
    let warning = "nobody reads 'SendNotification', a stream of this module's own; the platform has no stream of \
                   this name, line 1, column 26";
    assert_eq!(deploy(admin, live).await["warnings"], json!([warning]));
}

/// Waits for the only alarm of a type that has this severity.
async fn alarm(admin: &Caller, type_: &str, severity: &str) -> Value {
    let path = format!("/alarm/alarms?type={type_}&severity={severity}");
    eventually(&path, async || {
        let listed = read(admin, &path).await;
        let alarms = listed["alarms"].as_array().unwrap();
        assert!(alarms.len() < 2, "{alarms:?}");
        alarms.first().cloned()
    })
    .await
}

async fn measure(admin: &Caller, device: &str, fragment: &str, time: &str, value: f64) {
    let (name, series) = fragment.split_once('.').unwrap();
    let time = format!("2026-03-10T{time}:00.000Z");
    let body =
        json!({"type": name, "time": time, "source": {"id": device}, name: {series: {"value": value}}});
    admin.create("/measurement/measurements", &body).await;
}

pub(super) async fn modules_of_the_vendor_act(admin: &Caller) {
    let device = &create_device(admin, "pump 7").await;

    let mut pressure = crate::harness::alarm_of(device, "no pressure");
    pressure["severity"] = json!("WARNING");
    admin.create("/alarm/alarms", &pressure).await;
    alarm(admin, "no%20pressure", "CRITICAL").await;

    for (time, value) in
        [("02:00", 5.0), ("02:10", 0.0), ("02:20", 7.0), ("02:30", 0.0), ("02:40", 0.0), ("02:45", 1.0)]
    {
        measure(admin, device, "acme_Flow.F", time, value).await;
    }
    assert_eq!(alarm(admin, "acme_DryRun", "MINOR").await["time"], "2026-03-10T02:45:00.000Z");

    let operation =
        admin.create("/devicecontrol/operations", &json!({"deviceId": device, "acme_Restart": {}})).await;
    let overdue = alarm(admin, "acme_Overdue", "MAJOR").await;
    let id = operation["id"].as_str().unwrap();
    assert_eq!(overdue["text"], format!("Operation {id} hasn't ended"));
    assert_eq!(overdue["operationId"], id);

    measure(admin, device, "acme_Heat.H", "03:00", 120.0).await;
    let heat = alarm(admin, "acme_Heat", "CRITICAL").await;
    assert_eq!((&heat["text"], &heat["status"]), (&json!("Rank CRITICAL"), &json!("ACKNOWLEDGED")));

    admin.create("/event/events", &event_of(device, "acme_Ask")).await;
    let report = eventually("a report", async || {
        read(admin, "/event/events?type=acme_Report").await["events"].get(0).cloned()
    })
    .await;
    assert_eq!(report["text"], "pump 7 at 2024-03-10T02:30:00.000+01:00: MAJOR");
}
