//! A filter that means nothing does not widen a deletion or a bulk change (C-19, I-08a).

use super::*;

const DELETIONS: [(&str, &[&str]); 5] = [
    ("/alarm/alarms", &["type", "severity", "status", "source"]),
    ("/event/events", &["type", "fragmentType", "source"]),
    (
        "/measurement/measurements",
        &["type", "valueFragmentType", "valueFragmentSeries", "fragmentType", "source"],
    ),
    ("/devicecontrol/operations", &["fragmentType", "agentId", "deviceId", "bulkOperationId"]),
    ("/audit/auditRecords", &["type", "user", "application", "source"]),
];

#[tokio::test]
async fn filter_without_a_value_deletes_nothing_and_is_named() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let device = json!({"plat_IsDevice": {}, "com_platform_model_Agent": {}});
    let device = admin.create("/inventory/managedObjects", &device).await;
    let device = device["id"].as_str().unwrap();
    let record = json!({"type": "x", "time": "2024-03-10T02:30:00Z", "text": "x", "severity": "major",
        "activity": "x", "source": {"id": device}});
    admin.raise_alarm(device, "hot").await;
    admin.create("/event/events", &event_of(device, "started")).await;
    admin.create("/measurement/measurements", &measurement_of(device, "2024-03-10T02:30:00Z", 1)).await;
    admin.create("/devicecontrol/operations", &json!({"deviceId": device, "plat_Restart": {}})).await;
    admin.create("/audit/auditRecords", &record).await;

    for (path, filters) in DELETIONS {
        for filter in filters {
            for value in ["", ",", "%20"] {
                let answer = admin.delete(&format!("{path}?{filter}={value}")).await.expect(422);
                assert!(answer.message().contains(&format!("'{filter}'")), "{}", answer.text);
            }
        }
    }
    for (path, filters) in DELETIONS {
        for filter in filters.iter().filter(|filter| filter.to_lowercase().ends_with("fragmenttype")) {
            for value in ["$type", "%3Dtype", "a%20b", "a.b"] {
                let answer = admin.delete(&format!("{path}?{filter}={value}")).await.expect(422);
                assert!(answer.message().contains(&format!("'{filter}'")), "{}", answer.text);
                admin.get(&format!("{path}?{filter}={value}")).await.expect(422);
            }
        }
    }
    for table in ["alarms", "events", "measurements", "operations", "audit_records"] {
        assert_eq!(server.count(table).await, 1, "{table}");
    }
    assert_eq!(admin.get("/alarm/alarms?type=").await.status, 200, "what only reads takes it as it did");
}

#[tokio::test]
async fn filter_without_a_value_changes_no_alarms() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    admin.raise_alarm(&admin.create_device("pump").await, "hot").await;

    admin.put("/alarm/alarms?resolved=false&type=", &json!({"status": "CLEARED"})).await.expect(422);

    assert_eq!(admin.read("/alarm/alarms").await["alarms"][0]["status"], "ACTIVE");
}
