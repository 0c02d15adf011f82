//! Channels of groups: what concerns the members of a group at the time (B-39).

use super::*;
use crate::harness::operations::create_agent;

async fn change(caller: &Caller, object: &str, change: Value) {
    caller.put(&format!("{OBJECTS}/{object}"), &change).await.expect(200);
}

async fn link(caller: &Caller, group: &str, device: &str) {
    let path = format!("{OBJECTS}/{group}/childAssets");
    caller.post(&path, &json!({"managedObject": {"id": device}})).await.expect(201);
}

/// Raises a last alarm at a member, and returns the types of the alarms that the session has received before it.
async fn alarms_before(caller: &Caller, session: &Session, member: &str) -> Vec<String> {
    caller.raise_alarm(member, "last").await;
    let mut types = Vec::new();
    while types.last().is_none_or(|last| last != "last") {
        let received = session.receive(1).await;
        let type_of = |message: &Value| message["data"]["data"]["type"].as_str().map(ToOwned::to_owned);
        types.extend(received.iter().filter_map(type_of));
    }
    types.pop();
    types
}

/// Returns what a session was notified of: the action, the object, and whether it is a member now.
fn memberships(received: &[Value]) -> Vec<(String, String, bool)> {
    let entry = |message: &Value| {
        let object = &message["data"]["data"];
        let id = object["id"].as_str().or(object.as_str()).unwrap();
        let action = message["data"]["realtimeAction"].as_str().unwrap();
        (action.to_owned(), id.to_owned(), message["ext"]["com.platform.member"].as_bool().unwrap())
    };
    received.iter().map(entry).collect()
}

#[tokio::test]
async fn only_members_are_heard_on_each_of_its_channels() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, fan) = (create_agent(&admin, "pump").await, create_agent(&admin, "fan").await);
    // The query matches this object, which is not a device.
    let model = admin.create(OBJECTS, &json!({"name": "pump"})).await["id"].as_str().unwrap().to_owned();
    let group = admin.create_dynamic_group("name eq 'pu*'").await;
    let session = admin.session().await;
    for kind in ["alarms", "events", "measurements", "operations", "managedobjects"] {
        let reply = session.subscribe(&format!("/{kind}OfGroup/{group}")).await;
        assert_eq!(reply["successful"], true, "{reply}");
    }

    let time = "2024-03-10T02:30:00Z";
    for device in [&fan, &model, &pump] {
        admin.raise_alarm(device, "hot").await;
        admin.create_event(device, "door").await;
        admin.create("/measurement/measurements", &measurement_of(device, time, 7)).await;
        let _ =
            admin.post("/devicecontrol/operations", &json!({"deviceId": device, "plat_Restart": {}})).await;
        change(&admin, device, json!({"acme_Note": 1})).await;
    }

    let received = session.receive(5).await;
    let mut channels: Vec<_> = received.iter().map(|message| message["channel"].as_str().unwrap()).collect();
    channels.sort_unstable();
    let expected = ["alarms", "events", "managedobjects", "measurements", "operations"];
    assert_eq!(channels, expected.map(|kind| format!("/{kind}OfGroup/{group}")), "{received:#?}");
    for message in &received {
        let object = &message["data"]["data"];
        let source =
            object["source"]["id"].as_str().or(object["deviceId"].as_str()).or(object["id"].as_str());
        assert_eq!(source, Some(&*pump), "{message}");
    }
    assert!(notifications(&session.glance().await).is_empty(), "each once");
}

#[tokio::test]
async fn devices_enter_and_leave_with_the_change_that_makes_them_members() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, other) = (admin.create_device("pump").await, admin.create_device("other").await);
    let group = admin.create_dynamic_group("acme_Site.city eq 'Ulm' or acme_Always eq true").await;
    change(&admin, &other, json!({"acme_Always": true})).await;
    let alarms = admin.listen(&format!("/alarmsOfGroup/{group}")).await;
    let objects = admin.listen(&format!("/managedobjectsOfGroup/{group}")).await;
    // Until the members were read, a device that changes counts as a member.
    assert!(alarms_before(&admin, &alarms, &other).await.is_empty());

    admin.raise_alarm(&pump, "before").await;
    change(&admin, &pump, json!({"acme_Site": {"city": "Ulm"}})).await;
    admin.raise_alarm(&pump, "between").await;
    change(&admin, &pump, json!({"acme_Note": 2})).await;
    change(&admin, &pump, json!({"acme_Site": {"city": "Bonn"}})).await;
    admin.raise_alarm(&pump, "after").await;
    change(&admin, &pump, json!({"acme_Note": 3})).await;
    let born = json!({"name": "born", "plat_IsDevice": {}, "acme_Site": {"city": "Ulm"}});
    let born = admin.create(OBJECTS, &born).await["id"].as_str().unwrap().to_owned();
    admin.raise_alarm(&born, "born").await;
    admin.delete(&format!("{OBJECTS}/{born}")).await.expect(204);

    assert_eq!(alarms_before(&admin, &alarms, &other).await, ["between", "born"]);
    let received = objects.receive(5).await;
    assert_eq!(
        memberships(&received),
        [
            ("UPDATE".into(), pump.clone(), true),
            ("UPDATE".into(), pump.clone(), true),
            ("UPDATE".into(), pump.clone(), false),
            ("CREATE".into(), born.clone(), true),
            ("DELETE".into(), born.clone(), false),
        ]
    );
}

#[tokio::test]
async fn change_that_is_not_stored_makes_no_member() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let pump = admin.create_device("pump").await;
    let member = admin.create_device("member").await;
    let group = admin.create_dynamic_group("acme_On eq true or name eq 'member'").await;
    let alarms = admin.listen(&format!("/alarmsOfGroup/{group}")).await;
    // Until the members were read, a device that changes counts as a member.
    assert!(alarms_before(&admin, &alarms, &member).await.is_empty());
    let write = async |mode: &str| {
        let request = admin.request("PUT", &format!("{OBJECTS}/{pump}"));
        let request = request.header("X-Platform-Processing-Mode", mode);
        request.json(&json!({"acme_On": true})).send().await.expect(200);
    };

    write("TRANSIENT").await;
    admin.raise_alarm(&pump, "before").await;
    // For objects, this mode is PERSISTENT (M-03).
    write("QUIESCENT").await;
    admin.raise_alarm(&pump, "after").await;

    assert_eq!(alarms_before(&admin, &alarms, &pump).await, ["after"]);
}

#[tokio::test]
async fn change_of_the_query_changes_the_members() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, fan) = (admin.create_device("pump").await, admin.create_device("fan").await);
    let group = admin.create_dynamic_group("name eq 'pump'").await;
    let alarms = admin.listen(&format!("/alarmsOfGroup/{group}")).await;
    let objects = admin.listen(&format!("/managedobjectsOfGroup/{group}")).await;
    admin.raise_alarm(&fan, "unheard").await;
    admin.raise_alarm(&pump, "of pump").await;

    change(&admin, &group, json!({"plat_DeviceQueryString": "name eq 'fan'"})).await;
    admin.raise_alarm(&pump, "unheard").await;
    admin.raise_alarm(&fan, "of fan").await;
    assert_eq!(alarms_before(&admin, &alarms, &fan).await, ["of pump", "of fan"]);
    // Nobody is a member of a group with an invalid query, and nobody receives what was published meanwhile.
    change(&admin, &group, json!({"plat_DeviceQueryString": "name ="})).await;
    admin.raise_alarm(&fan, "unheard").await;
    change(&admin, &group, json!({"plat_DeviceQueryString": "name eq 'pump'"})).await;

    assert!(alarms_before(&admin, &alarms, &pump).await.is_empty());
    assert_eq!(memberships(&objects.receive(3).await), vec![("UPDATE".into(), group, false); 3]);
}

#[tokio::test]
async fn links_decide_about_static_groups_and_queries_that_name_groups() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let asset = |kind: &str| json!({"type": kind, "plat_IsDeviceGroup": {}});
    let create =
        async |kind: &str| admin.create(OBJECTS, &asset(kind)).await["id"].as_str().unwrap().to_owned();
    let (hall, row) = (create("plat_DeviceGroup").await, create("plat_DeviceSubgroup").await);
    link(&admin, &hall, &row).await;
    let (member, pump) = (admin.create_device("member").await, admin.create_device("pump").await);
    link(&admin, &row, &member).await;
    let named = admin.create_dynamic_group(format!("bygroupid({row})")).await;

    for group in [&hall, &named] {
        let alarms = admin.listen(&format!("/alarmsOfGroup/{group}")).await;
        admin.raise_alarm(&pump, "before").await;
        assert!(alarms_before(&admin, &alarms, &member).await.is_empty(), "{group}");
        link(&admin, &row, &pump).await;
        // The members are read a moment after the change of links, and then again.
        let between = admin.raise_alarm(&pump, "between").await;
        assert_eq!(alarms.receive(1).await[0]["data"]["data"], between, "{group}");
        admin.delete(&format!("{OBJECTS}/{row}/childAssets/{pump}")).await.expect(204);
        admin.raise_alarm(&pump, "after").await;
        assert!(alarms_before(&admin, &alarms, &member).await.is_empty(), "{group}");
    }
}

#[tokio::test]
async fn group_has_to_exist_and_the_role_has_to_be_held() {
    let (server, admin, owner) = TestServer::shared().await.with_owner().await;
    let group = admin.create_dynamic_group("name eq 'pump'").await;
    let own = owner.create_dynamic_group("has(plat_IsDevice)").await;
    let (device, invalid) = (admin.create_device("pump").await, admin.create_dynamic_group("name =").await);
    let reader = server.user_with("reader", &["ROLE_ALARM_READ"]).await.session().await;
    let permitted = server.user_permitted("permitted", &own, &["ALARM:*:READ"]).await.session().await;
    let owner = owner.session().await;

    assert_eq!(reader.subscribe(&format!("/alarmsOfGroup/{group}")).await["successful"], true);
    for (session, channel) in [
        (&reader, format!("/eventsOfGroup/{group}")),
        (&reader, "/alarms/group:1".to_owned()),
        (&reader, format!("/alarmsOfGroup/{device}")),
        (&reader, format!("/alarmsOfGroup/{invalid}")),
        // A right to the group is none to the devices that its query matches.
        (&owner, format!("/alarmsOfGroup/{own}")),
        (&permitted, format!("/alarmsOfGroup/{own}")),
    ] {
        assert_eq!(session.subscribe(&channel).await["error"], "403::subscribe_denied", "{channel}");
    }
    for channel in ["/alarms/group:*", "/alarms/group:", "/alarmsWithChildren/group:7", "/alarms/groups:7"] {
        assert_eq!(reader.subscribe(channel).await["error"], "403::subscription_invalid", "{channel}");
    }
}

#[tokio::test]
async fn filter_units_and_wildcards_apply_beside_groups() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let (pump, fan) = (admin.create_device("pump").await, admin.create_device("fan").await);
    let group = admin.create_dynamic_group("name eq 'pump'").await;
    let session = admin.session().await;
    let filter = json!({"com.platform.filter": "type eq 'hot' or type eq 'last'"});
    let subscription = json!({"subscription": format!("/alarmsOfGroup/{group}"), "ext": filter});
    assert_eq!(session.ask("/meta/subscribe", subscription).await["successful"], true);
    let all = admin.session().await;
    let names = [format!("/alarmsOfGroup/{group}"), format!("/alarms/group:{group}")];
    for channel in names.iter().map(String::as_str).chain(["/alarms/*"]) {
        assert_eq!(all.subscribe(channel).await["successful"], true);
    }

    for kind in ["cold", "hot"] {
        admin.raise_alarm(&fan, kind).await;
        admin.raise_alarm(&pump, kind).await;
    }

    assert_eq!(alarms_before(&admin, &session, &pump).await, ["hot"]);
    // A client finds its subscription by the channel, so each has a copy (B-19c).
    let received = all.receive(11).await;
    let on = |name: &String| received.iter().filter(|one| one["channel"] == **name).count();
    assert_eq!((received.len(), names.each_ref().map(on)), (11, [3, 3]), "{received:#?}");
}

#[tokio::test]
async fn group_of_another_tenant_is_unknown() {
    let server = TestServer::start_with_tenant("t2", "t2.example.com").await;
    let (main, other) = (server.admin(), server.caller("t2/admin", crate::harness::ADMIN_PASSWORD));
    let (group, own) = (
        main.create_dynamic_group("name eq 'pump'").await,
        other.create_dynamic_group("name eq 'pump'").await,
    );
    let session = other.session().await;
    assert_eq!(session.subscribe(&format!("/alarmsOfGroup/{group}")).await["error"], "403::subscribe_denied");
    assert_eq!(session.subscribe(&format!("/alarmsOfGroup/{own}")).await["successful"], true);
    let (foreign, pump) = (main.create_device("pump").await, other.create_device("pump").await);

    main.raise_alarm(&foreign, "unheard").await;

    assert!(alarms_before(&other, &session, &pump).await.is_empty());
}

/// Devices enter and leave the group all the time while sessions subscribe: each session receives every alarm that is
/// raised after its subscription, of a device that stays.
#[tokio::test]
async fn nothing_of_a_member_is_missed_while_others_enter_and_leave() {
    let [a, b] = TestServer::start_two().await;
    let callers = [a.admin(), b.admin()];
    let group = callers[0].create_dynamic_group("acme_In eq true").await;
    let (member, restless) = (callers[0].create_device("m").await, callers[0].create_device("r").await);
    change(&callers[0], &member, json!({"acme_In": true})).await;
    let channel = format!("/eventsOfGroup/{group}");

    for round in 0..8 {
        let restless = async {
            for turn in 0..6 {
                change(&callers[turn % 2], &restless, json!({"acme_In": turn % 2 == 0})).await;
            }
        };
        let subscribe = async {
            let session = callers[round % 2].listen(&channel).await;
            for n in 0..6 {
                callers[n % 2].create_event(&member, &format!("{round}.{n}")).await;
            }
            let expected: Vec<_> = (0..6).map(|n| format!("{round}.{n}")).collect();
            let mut types = Vec::new();
            while types.last() != expected.last() {
                for message in session.receive(1).await {
                    types.push(message["data"]["data"]["type"].as_str().unwrap().to_owned());
                }
            }
            // The last one of the round before may come late, from the other server.
            types.retain(|one| one.starts_with(&format!("{round}.")));
            assert_eq!(types, expected);
        };
        tokio::join!(restless, subscribe);
    }
}
