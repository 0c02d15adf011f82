//! Conditional changes by `ETag` and `If-Match` (C-23).

use std::collections::BTreeSet;

use super::*;
use crate::harness::operations::{OPERATIONS, create_agent};

/// Creates one object of each kind that has a revision. Returns the paths.
async fn one_of_each(admin: &Caller) -> [String; 4] {
    let device = create_agent(admin, "pump").await;
    let operation = json!({"deviceId": device, "plat_Restart": {}});
    let mut paths = [OBJECTS, ALARMS, EVENTS, OPERATIONS].map(ToOwned::to_owned);
    let bodies = [json!({"name": "pump 1"}), alarm_of(&device, "leak"), event_of(&device, "door"), operation];
    for (path, body) in paths.iter_mut().zip(bodies) {
        let created = admin.create(path, &body).await;
        *path = format!("{path}/{}", created["id"].as_str().unwrap());
    }
    paths
}

fn tag(response: &Response) -> String {
    response.header("ETag").unwrap_or_else(|| panic!("no ETag: {response:?}")).to_owned()
}

async fn put(caller: &Caller, path: &str, if_match: &str, value: i64) -> Response {
    let request = caller.request("PUT", path).header("If-Match", if_match).accepting_json();
    request.json(&json!({"acme_Value": value})).send().await
}

#[tokio::test]
async fn change_of_what_was_changed_meanwhile_is_412_and_changes_nothing() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for path in one_of_each(&admin).await {
        let first = tag(&admin.get(&path).await);
        let second = tag(&put(&admin, &path, &first, 1).await.expect(200));
        assert_ne!(first, second, "{path}");
        assert_eq!(tag(&admin.get(&path).await), second, "{path}");

        let refused = put(&admin, &path, &first, 2).await.expect(412);

        let message = refused.message();
        assert!(message.contains(&format!("its ETag is {second}, and If-Match allows {first}")), "{message}");
        assert_eq!(admin.read(&path).await["acme_Value"], 1, "{path}");
        // A request without the header changes it as it is.
        admin.put(&path, &json!({"acme_Value": 3})).await.expect(200);
        put(&admin, &path, &second, 4).await.expect(412);
        assert_eq!(admin.read(&path).await["acme_Value"], 3, "{path}");
    }
}

#[tokio::test]
async fn any_of_several_tags_and_a_weak_one_suffice() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for path in one_of_each(&admin).await {
        for (value, condition) in ["*", "\"77\", <tag>", "W/<tag>", "<tag>,\"a, b\""].into_iter().enumerate()
        {
            let now = tag(&admin.get(&path).await);
            put(&admin, &path, &condition.replace("<tag>", &now), value as i64).await.expect(200);
        }
        // A change without effect keeps the revision, except of objects, whose time of change is new.
        let now = tag(&admin.get(&path).await);
        let same = tag(&put(&admin, &path, &now, 3).await.expect(200));
        assert_eq!(same == now, !path.starts_with(OBJECTS), "{path}");
        for condition in ["\"77\"", "\"a\"", "\"\""] {
            put(&admin, &path, condition, 9).await.expect(412);
        }
        for condition in ["77", "\"1", "\"1\" \"2\"", ""] {
            let message = put(&admin, &path, condition, 9).await.expect(422).message();
            assert!(message.contains(&format!("Invalid value of 'If-Match': {condition}")), "{message}");
        }
    }
}

#[tokio::test]
async fn modes_that_store_nothing_and_empty_changes_are_conditional_too() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    for path in one_of_each(&admin).await {
        let transient = admin.request("PUT", &path).header("X-Platform-Processing-Mode", "TRANSIENT");
        let transient = transient.header("If-Match", "\"77\"").json(&json!({"acme_Value": 1}));
        transient.send().await.expect(412);
    }
    let [object, ..] = one_of_each(&admin).await;
    admin.request("PUT", &object).header("If-Match", "\"77\"").json(&json!({})).send().await.expect(412);
}

#[tokio::test]
async fn deletion_of_what_was_changed_meanwhile_is_412() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let [object, _, event, _] = one_of_each(&admin).await;
    for path in [object, event] {
        let first = tag(&admin.get(&path).await);
        put(&admin, &path, &first, 1).await.expect(200);
        let delete = |tag: &str| admin.request("DELETE", &path).header("If-Match", tag).send();

        delete(&first).await.expect(412);

        let second = tag(&admin.get(&path).await);
        delete(&second).await.expect(204);
        put(&admin, &path, &second, 2).await.expect(404);
    }
}

#[tokio::test]
async fn one_of_many_changes_from_the_same_revision_wins_at_two_servers() {
    let servers = TestServer::start_two().await;
    let [one, other] = servers.each_ref().map(TestServer::admin);
    for path in one_of_each(&one).await {
        for round in 0..10 {
            let read = tag(&one.get(&path).await);
            let writers = (0..6).map(|n| {
                let caller = if n % 2 == 0 { &one } else { &other };
                put(caller, &path, &read, round * 10 + n + 1)
            });

            let responses = futures_util::future::join_all(writers).await;

            let won: Vec<_> = responses.iter().filter(|response| response.status == 200).collect();
            let statuses: BTreeSet<_> = responses.iter().map(|response| response.status).collect();
            assert!(
                won.len() == 1 && statuses.is_subset(&BTreeSet::from([200, 412])),
                "{path}: {statuses:?}"
            );
            assert_eq!(one.read(&path).await["acme_Value"], won[0].json()["acme_Value"], "{path}");
        }
    }
}

#[tokio::test]
async fn change_that_commits_while_a_deletion_waits_for_it_prevents_the_deletion() {
    let (server, admin) = TestServer::start().await.with_admin();
    let [object, _, event, _] = one_of_each(&admin).await;
    let id = object.rsplit('/').next().unwrap();
    admin.post(MEASUREMENTS, &measurement_of(id, "2026-03-04T05:06:07Z", 1)).await.expect(201);
    admin.create(EVENTS, &event_of(id, "door")).await;
    let writer = tokio_postgres::connect(server.database().url(), tokio_postgres::NoTls).await;
    let (writer, connection) = writer.unwrap();
    tokio::spawn(connection);
    for (path, table) in [(&object, "managed_objects"), (&event, "events")] {
        let read = tag(&admin.get(path).await);
        let id = path.rsplit('/').next().unwrap();
        let change = format!("BEGIN; UPDATE {table} SET revision = revision + 1 WHERE id = {id}");
        writer.batch_execute(&change).await.unwrap();

        let delete = admin.request("DELETE", path).header("If-Match", &read).send();
        let commit = async {
            server.database().until_statements_wait(1).await;
            writer.batch_execute("COMMIT").await.unwrap();
        };
        let (refused, ()) = tokio::join!(delete, commit);

        let message = refused.expect(412).message();
        assert!(message.contains(&format!("If-Match allows {read}")), "{message}");
        let current = tag(&admin.get(path).await);
        assert_ne!(current, read, "{path}");
        let data = [(MEASUREMENTS, "measurements"), (EVENTS, "events")];
        for (data, member) in data.into_iter().filter(|_| *path == object) {
            let left = admin.read(&format!("{data}?source={id}")).await;
            assert_eq!(left[member].as_array().unwrap().len(), 1, "{path}: {left}");
        }
        admin.request("DELETE", path).header("If-Match", &current).send().await.expect(204);
        admin.get(path).await.expect(404);
    }
}

#[tokio::test]
async fn either_a_change_or_a_conditional_deletion_at_another_server_succeeds() {
    let [one, other] = TestServer::start_two().await;
    let (one, other) = (one.admin(), other.admin());
    for _ in 0..10 {
        let [object, _, event, _] = one_of_each(&one).await;
        for path in [object, event] {
            let read = tag(&one.get(&path).await);
            let delete = one.request("DELETE", &path).header("If-Match", &read).send();

            let (deleted, changed) = tokio::join!(delete, put(&other, &path, &read, 1));

            let statuses = (deleted.status, changed.status);
            assert!([(204, 404), (204, 412), (412, 200)].contains(&statuses), "{path}: {statuses:?}");
            one.get(&path).await.expect(if changed.status == 200 { 200 } else { 404 });
        }
    }
}

#[tokio::test]
async fn response_to_a_creation_has_the_tag_for_the_first_change() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    let agent = create_agent(&admin, "agent").await;
    let operation = json!({"deviceId": agent, "plat_Restart": {}});
    let children = format!("{OBJECTS}/{device}/childAssets");
    for (path, body) in [
        (OBJECTS, json!({"name": "pump 1"})),
        (ALARMS, alarm_of(&device, "leak")),
        (EVENTS, event_of(&device, "door")),
        (OPERATIONS, operation),
    ] {
        let post =
            || admin.request("POST", path).header("Idempotency-Key", path).accepting_json().json(&body);
        let created = post().send().await.expect(201);
        let first = tag(&created);
        let at = format!("{path}/{}", created.json()["id"].as_str().unwrap());
        assert_eq!(first, tag(&admin.get(&at).await), "{path}");
        if path != ALARMS {
            assert_eq!(tag(&post().send().await.expect(201)), first, "{path}");
        }

        put(&admin, &at, &first, 1).await.expect(200);

        put(&admin, &at, &first, 2).await.expect(412);
        let transient = admin.request("POST", path).header("X-Platform-Processing-Mode", "TRANSIENT");
        let transient = transient.json(&body).send().await.expect(201);
        assert_eq!(transient.header("ETag"), None, "{path}");
    }
    // A repetition returns the alarm as it is now.
    let repeated = admin.request("POST", ALARMS).accepting_json().json(&alarm_of(&device, "leak"));
    let repeated = repeated.send().await.expect(201);
    let at = format!("{ALARMS}/{}", repeated.json()["id"].as_str().unwrap());
    assert_eq!(tag(&repeated), tag(&admin.get(&at).await));
    put(&admin, &at, &tag(&repeated), 2).await.expect(200);
    let child = admin.post(&children, &json!({"name": "part"})).await.expect(201);
    assert_eq!(tag(&child), "\"0\"");
}
