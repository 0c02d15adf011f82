//! Texts that are accepted but contain likely slips.

use std::sync::Arc;

use super::good;
use crate::value::{ObjectKind, Type};

/// Returns the warnings of a module that runs alone.
fn warned(statements: &str) -> Vec<String> {
    let plan = Arc::new(good(statements));
    plan.warnings(&format!("module m;\n{statements}"), [&plan])
}

#[test]
fn member_whose_name_is_nearly_one_of_the_platform_causes_a_warning_with_its_position() {
    let cases = [
        ("select 1 as n from AlarmCreated where alarm.cuont > 1;", "cuont", "count", 45),
        ("select 1 as n from AlarmCreated a where a.alarm.Severity = 'MAJOR';", "Severity", "severity", 49),
        ("select e.event.sorce as s from EventCreated e;", "sorce", "source", 16),
        (
            "select managedObject.childDevises as c from ManagedObjectUpdated;",
            "childDevises",
            "childDevices",
            22,
        ),
        ("select operation.deviceID as d from OperationCreated;", "deviceID", "deviceId", 18),
    ];
    for (statement, written, meant, column) in cases {
        let expected =
            format!("'{written}' is read as a fragment; is '{meant}' meant?, line 2, column {column}");
        assert_eq!(warned(statement), [expected], "{statement}");
    }
}

#[test]
fn members_and_fragments_cause_no_warning() {
    for statement in [
        "select alarm.count as n, alarm.severity as s, alarm.source.value as d from AlarmCreated;",
        "select m.measurement.acme_Temperature as t, m.measurement.level as l from MeasurementCreated m;",
        "select operation.plat_Restart as r, operation.description as d from OperationCreated;",
        "select event.status as s, event.distance as d from EventCreated;",
    ] {
        assert_eq!(warned(statement), [""; 0], "{statement}");
    }
}

#[test]
fn expression_that_is_used_twice_causes_one_warning() {
    let text = "create expression f(a) [ a.cuont ];\nselect f(alarm) as x, f(alarm) as y from AlarmCreated;";
    assert_eq!(warned(text), ["'cuont' is read as a fragment; is 'count' meant?, line 2, column 28"]);
}

#[test]
fn only_some_of_very_many_slips_are_shown() {
    let text: String = (0..50).map(|_| "select alarm.cuont as n from AlarmCreated;\n").collect();
    assert_eq!(warned(&text).len(), 20);
}

#[test]
fn stream_whose_name_is_nearly_one_of_the_platform_causes_a_warning() {
    let insert = |into: &str| format!("insert into {into} select 'x' as text from EventCreated;");
    for (into, question) in [
        ("CreateAlarms", "is 'CreateAlarm' meant?"),
        ("createAlarm", "is 'CreateAlarm' meant?"),
        ("CreatAlarms", "is 'CreateAlarm' meant?"),
        ("UpdateAlarmn", "is 'UpdateAlarm' meant?"),
        ("SendEMails", "is 'SendEmail' meant?"),
        ("CreateMeasurment", "is 'CreateMeasurement' meant?"),
        ("SendAlarm", "the platform has no stream of this name"),
        ("SendThem", "the platform has no stream of this name"),
        ("SendNotification", "the platform has no stream of this name"),
        ("DeleteOperation", "the platform has no stream of this name"),
    ] {
        let expected =
            format!("nobody reads '{into}', a stream of this module's own; {question}, line 2, column 13");
        assert_eq!(warned(&insert(into)), [expected], "{into}");
    }
    for into in ["Warm", "Created", "AlarmsOfADay", "Send", "Sender", "Resend", "Position"] {
        assert_eq!(warned(&insert(into)), [""; 0], "{into}");
    }
}

#[test]
fn stream_that_is_declared_or_read_causes_no_warning() {
    let insert = "insert into CreateAlarms select 'x' as text from EventCreated;";
    assert_eq!(warned(&format!("create schema CreateAlarms(text string);\n{insert}")), [""; 0]);
    assert_eq!(warned(&format!("{insert}\nselect text from CreateAlarms;")), [""; 0]);
}

#[test]
fn members_that_are_listed_are_those_that_have_a_type() {
    for (noun, kind) in ObjectKind::NOUNS {
        for member in kind.members() {
            assert_ne!(kind.member(member), Type::Any, "{member} of {noun}");
        }
        assert_eq!(kind.member("acme_Fragment"), Type::Any);
    }
}
