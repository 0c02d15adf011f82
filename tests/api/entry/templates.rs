//! Template names and placeholders, word for word as clients know them.

use std::collections::BTreeSet;

use super::*;

/// Names of the templates, which are the members with placeholders.
fn names(entry: &Value) -> BTreeSet<&str> {
    let members = entry.as_object().unwrap().iter();
    members
        .filter(|(_, value)| value.as_str().is_some_and(|s| s.contains('{')))
        .map(|(name, _)| &**name)
        .collect()
}

/// Names of the placeholders of a template, and of the query parameters they stand for.
fn placeholders(template: &str) -> Vec<&str> {
    let (_, query) = template.split_once('?').unwrap();
    let placeholder = |pair: &'_ str| {
        let (name, value) = pair.split_once('=').unwrap();
        assert_eq!(value, format!("{{{name}}}"), "{template}");
    };
    query.split('&').inspect(|pair| placeholder(pair)).map(|pair| pair.split_once('=').unwrap().0).collect()
}

/// The placeholders that a template takes by its name: the words between `For` and the `And`s.
fn named(name: &str) -> Vec<String> {
    let (_, words) = name.split_once("For").unwrap();
    let placeholder = |word: &str| match word {
        "Time" | "Date" => vec!["dateFrom".to_owned(), "dateTo".to_owned()],
        "SourceWithAssets" => vec!["source".to_owned(), "withAssets".to_owned()],
        word => vec![word[..1].to_lowercase() + &word[1..]],
    };
    words.split("And").flat_map(placeholder).collect()
}

async fn assert_templates(path: &str, collection: &str, array: &str, wanted: &[&str]) {
    let (server, admin) = TestServer::shared().await.with_admin();

    let entry = admin.read(path).await;

    let link = format!("{}{path}/{collection}", server.base());
    assert_eq!(entry[collection], json!({"self": link, array: []}));
    assert_eq!(names(&entry), wanted.iter().copied().collect::<BTreeSet<_>>());
    assert_eq!(entry.as_object().unwrap().len(), wanted.len() + 2, "and nothing else: {entry}");
    for name in wanted {
        let template = entry[name].as_str().unwrap();
        assert!(template.starts_with(&format!("{link}?")), "{template}");
        assert_eq!(placeholders(template), named(name), "{template}");
    }
}

#[tokio::test]
async fn alarm_templates_are_the_ten_of_the_documents() {
    let wanted = [
        "alarmsForStatus",
        "alarmsForSource",
        "alarmsForSourceAndStatus",
        "alarmsForTime",
        "alarmsForStatusAndTime",
        "alarmsForSourceAndTime",
        "alarmsForSourceAndStatusAndTime",
        "alarmsForSourceWithAssetsAndWithDevices",
        "alarmsForSeverity",
        "alarmsForResolved",
    ];
    assert_templates("/alarm", "alarms", "alarms", &wanted).await;
}

#[tokio::test]
async fn event_templates_are_the_fifteen_of_the_documents() {
    let wanted = [
        "eventsForType",
        "eventsForSource",
        "eventsForSourceAndType",
        "eventsForTime",
        "eventsForFragmentType",
        "eventsForSourceAndTime",
        "eventsForSourceAndFragmentType",
        "eventsForDateAndFragmentType",
        "eventsForFragmentTypeAndType",
        "eventsForTimeAndType",
        "eventsForSourceAndDateAndFragmentType",
        "eventsForSourceAndDateAndFragmentTypeAndType",
        "eventsForSourceAndFragmentTypeAndType",
        "eventsForSourceAndTimeAndType",
        "eventsForDateAndFragmentTypeAndType",
    ];
    assert_templates("/event", "events", "events", &wanted).await;
}

#[tokio::test]
async fn audit_templates_are_the_seven_of_the_documents() {
    let wanted = [
        "auditRecordsForType",
        "auditRecordsForUser",
        "auditRecordsForApplication",
        "auditRecordsForUserAndType",
        "auditRecordsForUserAndApplication",
        "auditRecordsForTypeAndApplication",
        "auditRecordsForTypeAndUserAndApplication",
    ];
    assert_templates("/audit", "auditRecords", "auditRecords", &wanted).await;
}

#[tokio::test]
async fn measurement_templates_are_the_31_combinations_of_five_filters() {
    const FILTERS: [&str; 5] = ["Source", "Date", "ValueFragmentType", "ValueFragmentSeries", "Type"];
    let name = |set: usize| {
        let used = FILTERS.iter().enumerate().filter(|(n, _)| set >> n & 1 == 1).map(|(_, filter)| *filter);
        format!("measurementsFor{}", used.collect::<Vec<_>>().join("And"))
    };
    let wanted: Vec<String> = (1..32).map(name).collect();
    let wanted: Vec<&str> = wanted.iter().map(|name| &**name).collect();
    assert_templates("/measurement", "measurements", "measurements", &wanted).await;
}

#[tokio::test]
async fn filled_templates_find_what_they_promise() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let alarm = admin.raise_alarm(&device, "hot").await;
    let entry = admin.read("/alarm").await;

    for (name, value) in entry.as_object().unwrap() {
        let Some(template) = value.as_str().filter(|_| name != "self") else { continue };
        let mut link = template.to_owned();
        for (placeholder, value) in [
            ("source", &*device),
            ("status", "ACTIVE"),
            ("severity", "MAJOR"),
            ("resolved", "false"),
            ("dateFrom", "2024-01-01"),
            ("dateTo", "2025-01-01"),
            ("withAssets", "true"),
            ("withDevices", "true"),
        ] {
            link = link.replace(&format!("{{{placeholder}}}"), value);
        }
        assert_eq!(admin.read(&link).await["alarms"], json!([alarm]), "{link}");
    }
}
