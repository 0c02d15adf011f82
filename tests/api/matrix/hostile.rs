//! Every route with hostile paths, parameters and bodies: the status is always below 500 (E-01).

use futures_util::StreamExt;
use futures_util::stream;

use super::fixture::{Fixture, Who};
use super::row::Row;
use super::*;

/// Hostile texts in place of a name or an id in a path.
const SEGMENTS: [&str; 14] = [
    "0",
    "-1",
    "9223372036854775807",
    "9223372036854775808",
    "1e3",
    "%00",
    "a%00b",
    "%FF%FE",
    "%2F..%2F..",
    "%25",
    "'%20OR%20'1'='1",
    "%F0%9F%92%A9",
    "%5Cu0000",
    "$%7Bjndi%7D",
];
/// Hostile values, each of which is used for every query parameter.
const VALUES: [&str; 12] = [
    "",
    "0",
    "-1",
    "2147483647",
    "99999999999999999999",
    "%00",
    "%FF",
    "'%22%5C",
    "((((((((((",
    "2024-99-99T99:99:99Z",
    "+294276-12-31T23:59:59Z",
    "%F0%9F%92%A9",
];
/// Every parameter of a collection or a deletion.
const PARAMETERS: [&str; 40] = [
    "pageSize",
    "currentPage",
    "withTotalPages",
    "after",
    "type",
    "fragmentType",
    "ids",
    "text",
    "owner",
    "query",
    "childDeviceId",
    "childAssetId",
    "childAdditionId",
    "withParents",
    "withChildren",
    "cascade",
    "forceCascade",
    "status",
    "severity",
    "source",
    "resolved",
    "dateFrom",
    "dateTo",
    "revert",
    "user",
    "application",
    "username",
    "groups",
    "onlyDevices",
    "withSubusersCount",
    "tenantId",
    "withSourceAssets",
    "withSourceDevices",
    "agentId",
    "deviceId",
    "bulkOperationId",
    "withDeleted",
    "maxCount",
    "wait",
    "acknowledge",
];
/// Members that some resource reads.
const MEMBERS: [&str; 67] = [
    "channels",
    "start",
    "maxAge",
    "maxBytes",
    "position",
    "acknowledged",
    "id",
    "name",
    "type",
    "owner",
    "plat_X",
    "managedObject",
    "references",
    "source",
    "time",
    "text",
    "severity",
    "status",
    "activity",
    "user",
    "application",
    "changes",
    "externalId",
    "userName",
    "password",
    "email",
    "phone",
    "enabled",
    "customProperties",
    "devicePermissions",
    "description",
    "role",
    "group",
    "category",
    "key",
    "value",
    "editable",
    "domain",
    "company",
    "adminName",
    "adminPass",
    "adminEmail",
    "contactName",
    "storageLimitPerDevice",
    "parent",
    "sendPasswordResetEmail",
    "deviceId",
    "failureReason",
    "groupId",
    "failedParentId",
    "startDate",
    "creationRamp",
    "operationPrototype",
    "scope",
    "grantType",
    "clientId",
    "clientSecret",
    "availability",
    "contextPath",
    "resourcesUrl",
    "resourcesUsername",
    "resourcesPassword",
    "externalUrl",
    "application",
    "self",
    "requiredRoles",
    "roles",
];
/// Bodies that are not JSON objects.
const TEXTS: [&str; 9] =
    ["", "null", "[]", "\"x\"", "{", "{\"a\":1e999}", "{\"\\u0000\":1}", "{\"\\ud800\":1}", "\u{feff}{}"];

/// Returns unexpected values of a member.
fn values() -> Vec<Value> {
    let mut deep = json!(1);
    for _ in 0..90 {
        deep = json!([deep]);
    }
    vec![
        json!(null),
        json!(true),
        json!(-1.5e300),
        json!(9_223_372_036_854_775_807_u64),
        json!(""),
        json!("\u{7f}\u{fffd} 💩 '\"\\"),
        json!("x".repeat(3000)),
        json!([]),
        json!({}),
        json!({"id": {}, "self": 7, "name": []}),
        json!({"id": "9223372036854775808", "self": "x".repeat(3000)}),
        deep,
    ]
}

/// The paths of a row with something hostile in place of each name.
fn paths(row: &Row) -> Vec<String> {
    let named = |text: &str| {
        let mut text = text.to_owned();
        while let (Some(begin), Some(end)) = (text.find('<'), text.find('>')) {
            text.replace_range(begin..=end, "HOSTILE");
        }
        text
    };
    let path = named(&row.path);
    if !path.contains("HOSTILE") {
        return Vec::new();
    }
    SEGMENTS.iter().map(|segment| path.replace("HOSTILE", segment)).collect()
}

/// The bodies for a row that takes one: no objects, and objects in which one member, then every member, is hostile.
fn bodies(row: &Row) -> Vec<String> {
    if row.body.is_none() || row.body.as_deref().is_some_and(|body| body.starts_with("--")) {
        return Vec::new();
    }
    let sent: Value =
        row.body.as_deref().and_then(|body| serde_json::from_str(body).ok()).unwrap_or(json!({}));
    let mut bodies: Vec<String> = TEXTS.iter().map(|text| (*text).to_owned()).collect();
    for value in values() {
        let all: serde_json::Map<_, _> =
            MEMBERS.iter().map(|name| ((*name).to_owned(), value.clone())).collect();
        bodies.push(Value::Object(all).to_string());
        for name in sent.as_object().into_iter().flat_map(|members| members.keys()) {
            let mut body = sent.clone();
            body[name] = value.clone();
            bodies.push(body.to_string());
        }
    }
    bodies
}

#[tokio::test]
async fn nothing_that_is_sent_makes_a_server_error() {
    let fixture = Fixture::create().await;
    let rows = rows();

    let wrong: Vec<Vec<String>> =
        stream::iter(&rows).map(|row| try_row(&fixture, row)).buffer_unordered(AT_ONCE).collect().await;

    let wrong = wrong.concat();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(fixture.caller(Who::Admin).get("/inventory/managedObjects").await.status, 200);
}

async fn try_row(fixture: &Fixture, row: &Row) -> Vec<String> {
    let admin = fixture.caller(Who::Admin);
    let mut wrong = Vec::new();
    let mut attempts: Vec<(String, Option<String>)> = Vec::new();
    for path in paths(row) {
        attempts.push((path, row.body.as_ref().map(|_| "{}".to_owned())));
    }
    let (path, body) = fixture.arrange(row.path.split('?').next().unwrap(), row.body.as_deref()).await;
    // Deletions of whole collections get parameters that they reject, on objects that were created for this.
    for value in VALUES {
        let all: Vec<String> = PARAMETERS.iter().map(|name| format!("{name}={value}")).collect();
        attempts.push((format!("{path}?{}", all.join("&")), body.clone()));
    }
    if row.method == "GET" {
        // Each parameter is sent alone; only two values each are sent, so that the test does not take minutes.
        for (n, name) in PARAMETERS.iter().enumerate() {
            let values = [VALUES[n % VALUES.len()], VALUES[(n + 5) % VALUES.len()]];
            attempts.extend(values.map(|value| (format!("{path}?{name}={value}"), None)));
        }
    }
    attempts.extend(bodies(row).into_iter().map(|body| (path.clone(), Some(body))));
    for (path, body) in attempts {
        let mut request = admin.request(&row.method, &path).accepting_json();
        if let Some(body) = &body {
            request = if body.starts_with("--") {
                request.header("Content-Type", "multipart/form-data; boundary=b").body(&**body)
            } else {
                request.header("Content-Type", "application/json").body(&**body)
            };
        }
        let answer = request.send().await;
        if answer.status >= 500 {
            let body: String = body.unwrap_or_default().chars().take(200).collect();
            wrong.push(format!("{} {path} {body}: {} {}", row.method, answer.status, answer.text));
        }
    }
    wrong
}
