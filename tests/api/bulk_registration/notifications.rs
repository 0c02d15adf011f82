//! The notifications that a file causes on `/managedobjects/<id>`.

use super::*;

#[tokio::test]
async fn creation_of_devices_and_groups_is_published_and_growth_of_a_group_once() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let file = |ids: [&str; 2]| {
        let rows = ids.map(|id| format!("{id};{SECRET};pump;Pump;North\n"));
        "ID;CREDENTIALS;TYPE;NAME;PATH\n".to_owned() + &rows.concat()
    };
    register(&admin, file(["a0", "a1"])).await;
    let session = admin.listen("/managedobjects/*").await;

    register(&admin, file(["a2", "a3"])).await;
    admin.create_device("afterwards").await;

    let told = session.receive(4).await;
    let actions: Vec<_> = told.iter().map(|message| &message["data"]["realtimeAction"]).collect();
    assert_eq!(actions, ["CREATE", "CREATE", "UPDATE", "CREATE"]);
    let group = &objects_of_type(&admin, "plat_DeviceGroup").await[0];
    assert_eq!(redacted(&told[2]["data"]["data"], &[]), redacted(group, &[]));
    assert_eq!(group["childAssets"]["references"].as_array().unwrap().len(), 4);
    for (message, id) in told.iter().zip(["a2", "a3"]) {
        let object = object_of(&admin, "plat_Serial", id).await;
        assert_eq!(message["channel"], format!("/managedobjects/{}", object["id"].as_str().unwrap()));
        assert_eq!(message["data"]["data"]["owner"], json!(format!("device_{id}")));
    }
    assert_eq!(told[3]["data"]["data"]["name"], "afterwards");
}
