//! Rows 200 to 212: measurements (H-14).

use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::acting_device::{device_user, find};
use super::*;

/// Returns all measurements of the only device, oldest first, as text and as JSON without the address of the server.
async fn measurements(server: &TestServer) -> (String, Vec<Value>) {
    let source = find(server, "sn-1").await.unwrap();
    let path = format!("/measurement/measurements?source={source}&pageSize=2000");
    let answer = server.admin().get(&path).await;
    let mut found = answer.json()["measurements"].as_array().unwrap().clone();
    for measurement in &mut found {
        let id = measurement["id"].as_str().unwrap().to_owned();
        *measurement = redacted(measurement, &[(&source, "<device>"), (&id, "<id>"), (server.base(), "")]);
    }
    (answer.text, found)
}

fn of(type_: &str, fragments: &Value) -> Value {
    let mut measurement = json!({
        "self": "/measurement/measurements/<id>", "id": "<id>",
        "source": {"id": "<device>", "self": "/inventory/managedObjects/<device>"},
        "type": type_, "time": "2024-03-10T02:30:00.000+01:00",
    });
    measurement.as_object_mut().unwrap().extend(fragments.as_object().unwrap().clone());
    measurement
}

#[tokio::test]
async fn rows_are_measurements() {
    const TIME: &str = "2024-03-10T02:30:00.000+01:00";
    for (row, type_, fragments) in [
        ("200,env,T,21.5,C,TIME", "env", json!({"env": {"T": {"value": 21.5, "unit": "C"}}})),
        ("200,env,T,-1,,TIME,,", "env", json!({"env": {"T": {"value": -1}}})),
        (
            "200,\"e\\n\",T/1,1,\"a\"\"b, \",TIME",
            "e\\n",
            json!({"e\\n": {"T/1": {"value": 1, "unit": "a\"b, "}}}),
        ),
        (
            "201,all,TIME,a,x,1,C,b,y,2,,a,z,3",
            "all",
            json!({"a": {"x": {"value": 1, "unit": "C"}, "z": {"value": 3}}, "b": {"y": {"value": 2}}}),
        ),
        (
            "210,-70,1.5,TIME",
            "plat_SignalStrength",
            json!({"plat_SignalStrength": {"rssi": {"value": -70, "unit": "dBm"}, "ber": {"value": 1.5, "unit": "%"}}}),
        ),
        (
            "210,-70,,TIME",
            "plat_SignalStrength",
            json!({"plat_SignalStrength": {"rssi": {"value": -70, "unit": "dBm"}}}),
        ),
        (
            "210,,2,TIME",
            "plat_SignalStrength",
            json!({"plat_SignalStrength": {"ber": {"value": 2, "unit": "%"}}}),
        ),
        (
            "211,25,TIME",
            "plat_TemperatureMeasurement",
            json!({"plat_TemperatureMeasurement": {"T": {"value": 25, "unit": "C"}}}),
        ),
        ("212,99,TIME,", "plat_Battery", json!({"plat_Battery": {"level": {"value": 99, "unit": "%"}}})),
    ] {
        let server = TestServer::shared().await;
        let device = device_user(&server, "sn-1").await;
        assert_eq!(send(&device, &row.replace("TIME", TIME)).await, "", "{row}");
        assert_eq!(measurements(&server).await.1, [of(type_, &fragments)], "{row}");
    }
}

#[tokio::test]
async fn time_of_a_row_without_one_is_the_servers() {
    let (server, device) = with_device_user("sn-1").await;

    let before = OffsetDateTime::now_utc() - Duration::SECOND;
    assert_eq!(send(&device, "200,a,b,1\n201,a,,a,b,1\n210,1\n210,,1\n211,1\n212,1\n200,a,b,1,,").await, "");

    let (_, found) = measurements(&server).await;
    assert_eq!(found.len(), 7);
    for measurement in found {
        let time = OffsetDateTime::parse(measurement["time"].as_str().unwrap(), &Rfc3339).unwrap();
        assert!(before < time && time <= OffsetDateTime::now_utc(), "{measurement}");
    }
}

#[tokio::test]
async fn values_keep_their_digits() {
    let (server, device) = with_device_user("sn-1").await;

    for (at, (given, stored)) in [
        ("1.50", "1.50"),
        ("9007199254740993", "9007199254740993"),
        ("-0.0", "-0.0"),
        ("+7", "7"),
        (".5", "0.5"),
        ("007", "7"),
        ("1.", "1"),
        ("1.5E-7", "1.5E-7"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(send(&device, &format!("200,a,s{at},{given}")).await, "", "{given}");
        let (text, _) = measurements(&server).await;
        assert!(text.contains(&format!("\"a\":{{\"s{at}\":{{\"value\":{stored}}}}}")), "{given}: {text}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_reported_with_their_line() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = device_user(&server, "sn-1").await;
    let number = "Wrong number of arguments";
    for (row, text) in [
        ("200", number),
        ("200,a", number),
        ("200,a,b", number),
        ("200,,b,1", number),
        ("200,a,,1", number),
        ("200,a,b,1,C,2024-03-10T00:00:00Z,x", number),
        ("200,a,b,x", "Value is not a NUMBER: x"),
        ("200,a,b,1e", "Value is not a NUMBER: 1e"),
        ("200,a,b,1,C,now", "Value is not a DATE: now"),
        ("200,a,b,1,C,2020-07-22", "Value is not a DATE: 2020-07-22"),
        ("200,a,b,1,C,2020-07-22T17:03:14", "Value is not a DATE: 2020-07-22T17:03:14"),
        ("201", number),
        ("201,t", number),
        ("201,t,", number),
        ("201,,,a,b,1", number),
        ("201,t,,a,b", number),
        ("201,t,,a,b,1,C,a", number),
        ("201,t,,a,b,1,C,,c,1", number),
        ("201,t,,a,b,1,C,a,c,y", "Value is not a NUMBER: y"),
        ("201,t,soon,a,b,1", "Value is not a DATE: soon"),
        ("210", number),
        ("210,,,2024-03-10T00:00:00Z", number),
        ("210,1,2,2024-03-10T00:00:00Z,x", number),
        ("210,x", "Value is not a NUMBER: x"),
        ("210,1,x", "Value is not a NUMBER: x"),
        ("211", number),
        ("211,1,2024-03-10T00:00:00Z,x", number),
        ("211,x", "Value is not a NUMBER: x"),
        ("212,,2024-03-10T00:00:00Z", number),
        ("212,1,x", "Value is not a DATE: x"),
    ] {
        assert_eq!(send(&device, &format!("\r\n{row}\r\n")).await, format!("45,2,{text}\n"), "{row}");
    }
    // An invalid row does not create its device either.
    assert_eq!(admin.get("/identity/externalIds/plat_Serial/sn-1").await.status, 404);
}

#[tokio::test]
async fn what_could_be_no_measurement_is_422_and_the_rows_around_it_are_stored() {
    let (server, device) = with_device_user("sn-1").await;
    let rows = [
        "200,a,b,1",
        "200,a b,b,1",
        "200,a,b.c,1",
        "200,id,b,1",
        "200,source,id,1",
        "200,type,b,1",
        "200,time,b,1",
        "200,measurements,b,1",
        "200,a,b,1e999",
        "200,\"a\0\",b,1",
        "201,t,,a,b,1,,a,b,2",
        "201,t,,a,b,1,,self,b,2",
        "200,a,b,2",
    ];

    let answer = send(&device, &rows.join("\n")).await;

    assert_eq!(answer, (2..=12).map(|line| format!("50,{line},422\n")).collect::<String>());
    let (_, found) = measurements(&server).await;
    let values: Vec<_> = found.iter().map(|measurement| &measurement["a"]["b"]["value"]).collect();
    assert_eq!(values.len(), 2);
    assert!(values.contains(&&json!(1)) && values.contains(&&json!(2)), "{values:?}");
}

#[tokio::test]
async fn many_rows_of_one_request_are_all_stored() {
    let (server, device) = with_device_user("sn-1").await;
    let rows: String = (0..1000).map(|n| format!("200,a,b,{n}\n")).collect();

    assert_eq!(send(&device, &rows).await, "");

    let (_, found) = measurements(&server).await;
    let mut values: Vec<_> = found.iter().map(|m| m["a"]["b"]["value"].as_i64().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (0..1000).collect::<Vec<i64>>());
}
