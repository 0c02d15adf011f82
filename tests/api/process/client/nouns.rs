//! Nouns of the second day: external ids, groups and roles of users, limits, retention, storage; and the
//! order of lists.

use super::*;

#[tokio::test]
async fn day_of_an_administrator_needs_no_other_program() {
    let (server, directory) = logged_in_alone().await;
    let here = directory.path();
    let run = |line: &str| printed(here, &line.split(' ').collect::<Vec<_>>(), "");
    let admin = server.admin();
    let [hall, pump] = [admin.create_device("hall").await, admin.create_device("pump").await];
    server.user_with("joe", &[]).await;

    run(&format!("external-id create {pump} --type plat_Serial --external-id sn-1"));
    assert_eq!(run(&format!("external-id list {pump} -o id")), "plat_Serial/sn-1\n");
    assert_eq!(
        run("external-id get plat_Serial/sn-1 -o csv --columns managedObject.id").trim().lines().last(),
        Some(&*pump)
    );
    run("external-id delete plat_Serial/sn-1");
    assert_eq!(run(&format!("external-id list {pump} -o id")), "");

    run(&format!("child create {hall}/childAssets --set managedObject.id={pump}"));
    assert_eq!(
        run(&format!("child list {hall}/childAssets -o csv --columns managedObject.name")),
        "managedObject.name\npump\n"
    );
    run(&format!("child delete {hall}/childAssets/{pump}"));

    let group = run("user-group create --name operators -o id");
    let group = group.trim();
    run(&format!("group-role create {group} --set role.name=ROLE_ALARM_READ"));
    run(&format!("group-member create {group} --set user.id=joe"));
    assert_eq!(run(&format!("group-role list {group} -o id")), "ROLE_ALARM_READ\n");
    assert_eq!(run(&format!("group-member list {group} -o id")), "joe\n");
    run(&format!("group-member delete {group}/joe"));
    assert_eq!(run(&format!("group-member list {group} -o id")), "");
    run("user-role create joe --set role.name=ROLE_EVENT_READ");
    assert_eq!(run("user-role list joe -o id"), "ROLE_EVENT_READ\n");
    assert!(run("role list -o id").contains("ROLE_ALARM_READ"));

    let rule = run("retention create --data-type EVENT --type trace --maximum-age 30 -o id");
    assert!(run("retention list -o id").contains(rule.trim()));
    assert!(run("storage get").contains("storageSize"));
    assert!(run("registration list -o id").is_empty());
    assert_eq!(run("statistics list -o json").chars().next(), Some('['));
}

#[tokio::test]
async fn newest_operations_and_audit_records_are_listed_first() {
    let (_server, directory) = logged_in().await;
    let here = directory.path();
    let list = |arguments: &[&str]| -> Vec<Value> {
        serde_json::from_str(&printed(here, &[arguments, &["-o", "json"]].concat(), "")).unwrap()
    };
    let device = printed(here, &["device", "create", "--name", "pump", "--agent", "-o", "id"], "");
    for text in ["first", "second"] {
        let text = format!("plat_Command.text={text}");
        printed(here, &["operation", "create", "--device", device.trim(), "--set", &text], "");
    }

    let texts = |arguments: &[&str]| -> Vec<String> {
        list(arguments).iter().map(|one| one["plat_Command"]["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(texts(&["operation", "list"]), ["second", "first"]);
    assert_eq!(texts(&["operation", "list", "--revert", "false"]), ["first", "second"]);
    let ids = printed(here, &["operation", "list", "-o", "id"], "");
    printed(here, &["operation", "update", "--status", "EXECUTING"], &ids);
    let times: Vec<_> = list(&["audit", "list"]).iter().map(|record| record["time"].to_string()).collect();
    assert!(times.len() > 1 && times.is_sorted_by(|a, b| a >= b), "{times:?}");
}
