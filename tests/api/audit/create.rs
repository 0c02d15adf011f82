//! Creating audit records, and their representation.

use super::*;

#[tokio::test]
async fn created_record_has_every_member_of_the_documents() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let mut body = record_of("Door", &device);
    body["plat_Detail"] = json!({"door": [1, 2.50, "ü"]});
    body["application"] = json!("cockpit");

    let answer = admin.post(RECORDS, &body).await.expect(201);

    let record = answer.json();
    let id = record["id"].as_str().unwrap();
    assert_eq!(answer.header("Location"), record["self"].as_str());
    assert_eq!(
        redacted(&record, &[(server.base(), "<base>"), (id, "<id>"), (&device, "<device>")]),
        json!({
            "self": "<base>/audit/auditRecords/<id>",
            "id": "<id>",
            "creationTime": "<time>",
            "type": "Door",
            "time": "2024-03-10T02:30:00.000+01:00",
            "text": "Somebody opened a door",
            "source": {"id": "<device>", "self": "<base>/inventory/managedObjects/<device>"},
            "user": "admin",
            "application": "cockpit",
            "activity": "Door opened",
            "severity": "minor",
            "changes": [],
            "plat_Detail": {"door": [1, 2.50, "ü"]},
        })
    );
    let read = admin.get(&format!("{RECORDS}/{id}")).await;
    assert_eq!(read.json(), record);
    read.expect_media("auditRecord");
}

#[tokio::test]
async fn missing_members_are_all_listed() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    let nothing = admin.post(RECORDS, &json!({})).await;
    let mut body = record_of("Door", "1");
    body["severity"] = json!(null);
    body.as_object_mut().unwrap().remove("text");
    let two = admin.post(RECORDS, &body).await;

    let prefix = "Following mandatory fields should be included:";
    assert_eq!((nothing.status, two.status), (422, 422));
    assert_eq!(nothing.message(), format!("{prefix} activity,type,time,text,source,severity"));
    assert_eq!(two.message(), format!("{prefix} text,severity"));
}

#[tokio::test]
async fn severities_are_the_five_lower_case_words() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let with = |severity: &str| {
        let mut body = record_of("Door", "1");
        body["severity"] = json!(severity);
        body
    };

    for (given, kept) in [("MAJOR", "major"), ("Minor", "minor"), ("INFORMATION", "information")] {
        assert_eq!(admin.create(RECORDS, &with(given)).await["severity"], kept);
    }
    for severity in ["critical", "major", "minor", "warning", "information"] {
        assert_eq!(admin.create(RECORDS, &with(severity)).await["severity"], severity);
    }
    for severity in ["info", "", " minor", "MAJOR!"] {
        admin.post(RECORDS, &with(severity)).await.expect_message(422, "information");
    }
}

#[tokio::test]
async fn wrong_members_are_refused() {
    let (server, admin) = TestServer::shared().await.with_admin();

    for (member, value) in [
        ("source", json!("1")),
        ("source", json!({})),
        ("source", json!({"id": ""})),
        ("source", json!({"id": 1.5})),
        ("source", json!({"id": -1})),
        ("source", json!({"id": ["1"]})),
        ("source", json!({"id": "x".repeat(1025)})),
        ("time", json!("2024-03-10T02:30:00")),
        ("time", json!(5)),
        ("type", json!("x".repeat(1025))),
        ("type", json!({})),
        ("user", json!("x".repeat(2001))),
        ("application", json!(7)),
        ("activity", json!("x\0y")),
        ("text", json!("x".repeat(65_537))),
        ("$evil", json!(1)),
        ("a.b", json!(1)),
    ] {
        let mut body = record_of("Door", "1");
        body[member] = value;
        admin.post(RECORDS, &body).await.expect(422);
    }
    assert_eq!(server.count("audit_records").await, 0);
}

#[tokio::test]
async fn source_is_not_checked_for_existence_and_may_be_a_number() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut body = record_of("Door", "");
    body["source"]["id"] = json!(4711);

    let record = admin.create(RECORDS, &body).await;

    assert_eq!(record["source"]["id"], "4711");
}

#[tokio::test]
async fn source_link_leads_to_what_the_type_says() {
    let (server, admin) = TestServer::start().await.with_admin();

    for (kind, id, link) in [
        ("Alarm", "7", "/alarm/alarms/7"),
        ("Event", "7", "/event/events/7"),
        ("Operation", "7", "/devicecontrol/operations/7"),
        ("BulkOperation", "7", "/devicecontrol/bulkoperations/7"),
        ("CepModule", "7", "/cep/modules/7"),
        ("User", "joe", "/user/main/users/joe"),
        ("TwoFactorAuthentication", "a/b c", "/user/main/users/a%2Fb%20c"),
        ("Group", "7", "/user/main/groups/7"),
        ("SmartRule", "7", "/inventory/managedObjects/7"),
        ("alarm", "../x", "/inventory/managedObjects/..%2Fx"),
    ] {
        let record = admin.create(RECORDS, &record_of(kind, id)).await;
        let wanted = json!({"id": id, "self": format!("{}{link}", server.base())});
        assert_eq!(record["source"], wanted, "{kind}");
    }
}

#[tokio::test]
async fn user_is_the_caller_unless_the_body_says_otherwise() {
    let server = TestServer::shared().await;
    let caller = server.user_with("joe", &["ROLE_AUDIT_ADMIN"]).await;
    let mut other = record_of("Door", "1");
    other["user"] = json!("mary");

    let (own, others) =
        (caller.create(RECORDS, &record_of("Door", "1")).await, caller.create(RECORDS, &other).await);

    assert_eq!((own["user"].clone(), others["user"].clone()), (json!("joe"), json!("mary")));
    assert!(own.get("application").is_none(), "{own}");
}

#[tokio::test]
async fn server_members_and_changes_in_a_body_are_ignored() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let mut body = record_of("Door", "1");
    body["id"] = json!("1");
    body["self"] = json!("http://evil");
    body["creationTime"] = json!("2000-01-01T00:00:00Z");
    body["changes"] = json!([{"attribute": "roles", "newValue": "everything"}]);

    let record = admin.create(RECORDS, &body).await;

    assert_ne!(record["id"], "1");
    assert_eq!(record["changes"], json!([]));
    assert!(!record["creationTime"].as_str().unwrap().starts_with("2000"), "{record}");
}

#[tokio::test]
async fn put_and_delete_of_a_record_are_405() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let link = admin.create(RECORDS, &record_of("Door", "1")).await["self"].as_str().unwrap().to_owned();

    for method in ["PUT", "DELETE", "POST"] {
        let answer = admin.request(method, &link).json(&json!({"text": "else"})).send().await;
        assert_eq!((answer.status, answer.header("Allow")), (405, Some("GET")), "{method}");
    }
    assert_eq!(admin.read(&link).await["text"], "Somebody opened a door");
}

#[tokio::test]
async fn unknown_record_is_404() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for id in ["4711", "x", "%00", "99999999999999999999"] {
        admin.get(&format!("{RECORDS}/{id}")).await.expect_error(404, "audit/Not Found");
    }
}

#[tokio::test]
async fn transient_mode_stores_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let request = admin.request("POST", RECORDS).header("X-Platform-Processing-Mode", "TRANSIENT");

    let answer = request.accepting_json().json(&record_of("Door", "1")).send().await.expect(201);

    assert!(answer.header("Location").unwrap().ends_with("/audit/auditRecords/null"));
    assert!(answer.json().get("id").is_none(), "{}", answer.text);
    assert_eq!(server.count("audit_records").await, 0);
}

#[tokio::test]
async fn record_of_a_changed_alarm_is_found_by_the_alarm() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let alarm = admin.raise_alarm(&admin.create_device("pump").await, "hot").await;
    let (id, link) = (alarm["id"].as_str().unwrap(), alarm["self"].as_str().unwrap());

    admin.put(link, &json!({"status": "CLEARED"})).await;

    let records = admin.read(&format!("{RECORDS}?source={id}")).await;
    let record = &records["auditRecords"][0];
    assert_eq!(record["source"], json!({"id": id, "self": link}));
    assert_eq!(
        record["changes"],
        json!([{
            "attribute": "status", "type": "String", "previousValue": "ACTIVE", "newValue": "CLEARED",
            "changeType": "REPLACED",
        }])
    );
    assert_eq!((&record["type"], &record["user"]), (&json!("Alarm"), &json!("admin")));
}
