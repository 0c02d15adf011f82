//! Row 121: whether the profile of a device is installed.

use super::static_operations::Gateway;
use super::*;

fn operation(profile: Value) -> Value {
    let mut operation = json!({"plat_DeviceProfile": {"software": []}});
    operation.as_object_mut().unwrap().extend(profile.as_object().unwrap().clone());
    operation
}

#[tokio::test]
async fn profile_is_that_of_the_oldest_operation_under_way() {
    let (_server, gateway) = Gateway::with_server().await;
    gateway.queue(0, operation(json!({"profileId": "1", "profileName": "waits"}))).await;
    // An operation of a child does not concern the agent's own profile.
    gateway.begin(1, operation(json!({"profileId": "2", "profileName": "child's"}))).await;
    gateway.begin(0, operation(json!({"profileId": "3", "profileName": "a, b"}))).await;
    gateway.begin(0, operation(json!({"profileId": "4", "profileName": "later"}))).await;

    for (executed, expected) in [("true", true), ("false", false)] {
        assert_eq!(send(&gateway.device, &format!("121,{executed}")).await, "");
        let profile = json!({"profileId": "3", "profileName": "a, b", "profileExecuted": expected});
        assert_eq!(gateway.object(0).await["plat_Profile"], profile);
    }
    assert_eq!(gateway.object(1).await.get("plat_Profile"), None);

    let row = request(&gateway.device, "121,true").header("X-Device-Id", "c1");
    assert_eq!(text_of(row.send().await), "");
    let profile = json!({"profileId": "2", "profileName": "child's", "profileExecuted": true});
    assert_eq!(gateway.object(1).await["plat_Profile"], profile);
}

#[tokio::test]
async fn operation_without_a_profile_is_one_itself() {
    let (_server, gateway) = Gateway::with_server().await;
    let id = gateway.begin(0, operation(json!({}))).await;

    assert_eq!(send(&gateway.device, "121,true,").await, "");

    assert_eq!(gateway.object(0).await["plat_Profile"], json!({"profileId": id, "profileExecuted": true}));
}

#[tokio::test]
async fn profile_that_is_given_is_named_by_an_operation_of_it_only() {
    let (_server, gateway) = Gateway::with_server().await;
    assert_eq!(send(&gateway.device, "121,true,7").await, "");
    assert_eq!(gateway.object(0).await["plat_Profile"], json!({"profileId": "7", "profileExecuted": true}));

    gateway.begin(0, operation(json!({"profileId": 3, "profileName": "third"}))).await;
    for (given, profile) in [
        ("7", json!({"profileId": "7", "profileExecuted": false})),
        ("3", json!({"profileId": "3", "profileName": "third", "profileExecuted": false})),
    ] {
        assert_eq!(send(&gateway.device, &format!("121,false,{given}")).await, "");
        assert_eq!(gateway.object(0).await["plat_Profile"], profile);
    }
}

#[tokio::test]
async fn row_that_says_nothing_is_refused() {
    let (_server, gateway) = Gateway::with_server().await;

    let answer = send(&gateway.device, "121\n121,,7\n121,true,7,x\n121,TRUE,7\n121,1\n121,true").await;

    assert_eq!(
        answer,
        "45,1,Wrong number of arguments\n45,2,Wrong number of arguments\n45,3,Wrong number of arguments\n\
         45,4,Value is not a STRING: TRUE\n45,5,Value is not a STRING: 1\n50,6,404\n"
    );
    assert_eq!(gateway.object(0).await.get("plat_Profile"), None);
}
