//! The rules: POST, GET, PUT, DELETE, lists and previews.

use super::*;

#[tokio::test]
async fn absent_filters_are_stars() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let created = admin.request("POST", RULES).accepting_json().json(&json!({"maximumAge": 30})).send().await;

    let rule = created.expect(201).json();
    let expected = json!({
        "self": format!("<base>{RULES}/{}", rule["id"].as_str().unwrap()),
        "id": rule["id"], "dataType": "*", "fragmentType": "*", "type": "*", "source": "*", "maximumAge": 30,
        "editable": true,
    });
    assert_eq!(redacted(&rule, &[(server.base(), "<base>")]), expected);
    assert_eq!(admin.read(rule["self"].as_str().unwrap()).await, rule);
    assert_eq!(admin.read(RULES).await["retentionRules"], json!([rule]));
}

#[tokio::test]
async fn put_changes_what_it_names_and_a_deleted_rule_is_gone() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let rule = admin
        .create(RULES, &json!({"dataType": "ALARM", "type": "hot", "source": "4711", "maximumAge": 30}))
        .await;
    let path = rule["self"].as_str().unwrap();

    let answer = admin.put(path, &json!({"type": "*", "maximumAge": "7"})).await.expect(200);

    let mut expected = rule.clone();
    (expected["type"], expected["maximumAge"]) = (json!("*"), json!(7));
    assert_eq!(answer.json(), expected);
    assert_eq!(admin.delete(path).await.status, 204);
    for method in ["GET", "PUT", "DELETE"] {
        let answer = admin.request(method, path).json(&json!({"maximumAge": 1})).send().await;
        answer.expect_error(404, "retention/Not Found");
    }
}

#[tokio::test]
async fn each_change_is_audited() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let rule = admin.create(RULES, &json!({"maximumAge": 30})).await;
    let path = rule["self"].as_str().unwrap();
    admin.put(path, &json!({"maximumAge": 31})).await.expect(200);
    admin.put(path, &json!({"maximumAge": 31})).await.expect(200);
    admin.delete(path).await.expect(204);

    let records = admin
        .read(&format!("/audit/auditRecords?type=RetentionRule&source={}", rule["id"].as_str().unwrap()))
        .await;

    let activities: Vec<&Value> =
        records["auditRecords"].as_array().unwrap().iter().map(|record| &record["activity"]).collect();
    assert_eq!(activities, ["Retention rule created", "Retention rule updated", "Retention rule deleted"]);
    drop(server);
}

#[tokio::test]
async fn wrong_members_are_422_and_name_what_is_allowed() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (body, told) in [
        (json!({}), "maximumAge"),
        (json!({"maximumAge": 0}), "1 to 36525 days"),
        (json!({"maximumAge": "soon"}), "soon"),
        (json!({"maximumAge": 30, "dataType": "ALARMS"}), "ALARM, AUDIT, EVENT, MEASUREMENT, OPERATION or *"),
        (json!({"maximumAge": 1, "source": "pump"}), "the id of a managed object or *"),
        (json!({"maximumAge": 1, "type": 5}), "a string"),
        (json!({"maximumAge": 1, "type": "t", "dataType": "OPERATION"}), "operations"),
    ] {
        admin.post(RULES, &body).await.expect_message(422, told);
        admin.post("/retention/preview", &body).await.expect(422);
    }
    assert_eq!(admin.read(RULES).await["retentionRules"], json!([]));
}

#[tokio::test]
async fn preview_counts_what_a_rule_would_delete_and_deletes_nothing() {
    let (server, admin, device) = TestServer::start().await.with_device("pump").await;
    let other = admin.create_device("valve").await;
    for device in [&device, &other] {
        measure(&admin, device).await;
        create_cleared_alarm(&admin, device, "hot").await;
        admin.raise_alarm(device, "open").await;
        admin.create_event(device, "moved").await;
    }
    age(server.database(), 40).await;
    create_cleared_alarm(&admin, &device, "young").await;

    let preview = async |body: Value| {
        let mut body = body;
        body["maximumAge"] = json!(30);
        let ad_hoc = admin.request("POST", "/retention/preview").accepting_json().json(&body).send().await;
        let rule = admin.create(RULES, &body).await;
        let stored = admin.read(&format!("{}/preview", rule["self"].as_str().unwrap())).await;
        assert_eq!(without(&ad_hoc.expect(200).json(), &["before"]), without(&stored, &["before"]));
        stored["matching"].clone()
    };

    assert_eq!(preview(json!({"dataType": "ALARM"})).await, json!({"ALARM": 2}), "open ones stay");
    assert_eq!(preview(json!({"type": "hot"})).await["ALARM"], 2);
    let of_one = preview(json!({"source": device})).await;
    assert_eq!(
        (&of_one["ALARM"], &of_one["EVENT"], &of_one["MEASUREMENT"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let by_fragment = preview(json!({"fragmentType": "no_such_fragment"})).await;
    assert_eq!(by_fragment, json!({"ALARM": 0, "AUDIT": 0, "EVENT": 0, "MEASUREMENT": 0, "OPERATION": 0}));
    assert_eq!(server.count("alarms").await, 5);
}

#[tokio::test]
async fn rules_need_their_roles() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let rule = admin.create(RULES, &json!({"maximumAge": 30})).await;
    let path = rule["self"].as_str().unwrap();
    let reader = server.user_with("keeper", &["ROLE_RETENTION_RULE_READ"]).await;
    let writer = server.user_with("cleaner", &["ROLE_RETENTION_RULE_ADMIN"]).await;

    assert_eq!(reader.get(path).await.status, 200);
    assert_eq!(reader.put(path, &json!({"maximumAge": 1})).await.status, 403);
    assert_eq!(writer.get(path).await.status, 403);
    let of_alarms = admin.create(RULES, &json!({"dataType": "ALARM", "maximumAge": 30})).await;
    writer.put(of_alarms["self"].as_str().unwrap(), &json!({"maximumAge": 1})).await.expect(200);
}

#[tokio::test]
async fn retention_of_audit_records_also_needs_the_role_that_deletes_them() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let writer = server.user_with("cleaner", &["ROLE_RETENTION_RULE_ADMIN"]).await;
    let both = server.user_with("auditor", &["ROLE_RETENTION_RULE_ADMIN", "ROLE_AUDIT_ADMIN"]).await;
    let of_alarms = writer.create(RULES, &json!({"dataType": "ALARM", "maximumAge": 30})).await;
    let of_alarms = of_alarms["self"].as_str().unwrap();

    for body in [
        json!({"dataType": "AUDIT", "maximumAge": 365}),
        json!({"dataType": "*", "maximumAge": 365}),
        json!({"maximumAge": 365, "source": "4711"}),
    ] {
        writer.post(RULES, &body).await.expect(403);
        let rule = both.create(RULES, &body).await;
        let path = rule["self"].as_str().unwrap();
        for change in [json!({"maximumAge": 366}), json!({"dataType": "ALARM"})] {
            writer.put(path, &change).await.expect_message(403, "ROLE_AUDIT_ADMIN");
        }
        assert_eq!(writer.delete(path).await.status, 403, "{body}");
        assert_eq!(both.delete(path).await.status, 204, "{body}");
    }
    for change in [json!({"dataType": "AUDIT"}), json!({"dataType": "*"})] {
        writer.put(of_alarms, &change).await.expect(403);
        both.put(of_alarms, &change).await.expect(200);
        both.put(of_alarms, &json!({"dataType": "ALARM"})).await.expect(200);
    }
    admin.delete(of_alarms).await.expect(204);
}

#[tokio::test]
async fn audit_records_are_kept_for_at_least_thirty_days() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let month = admin.create(RULES, &json!({"dataType": "AUDIT", "maximumAge": 30})).await;
    let of_events = admin.create(RULES, &json!({"dataType": "EVENT", "maximumAge": 1})).await;
    let [month, of_events] = [&month, &of_events].map(|rule| rule["self"].as_str().unwrap());

    for (method, path, body) in [
        ("POST", RULES, json!({"dataType": "AUDIT", "maximumAge": 29})),
        ("POST", RULES, json!({"maximumAge": 1})),
        ("POST", "/retention/preview", json!({"maximumAge": 1})),
        ("PUT", month, json!({"maximumAge": 29})),
        ("PUT", of_events, json!({"dataType": "AUDIT"})),
        ("PUT", of_events, json!({"dataType": "*"})),
    ] {
        admin.request(method, path).json(&body).send().await.expect_message(422, "at least 30 days");
    }
}
