//! Registration of template sets (S-10 to S-17).

use super::*;

const EXISTING: &str = "41,Cannot create templates for already existing template object\n";
const NO_TEMPLATE: &str = "40,\"No template for this X-ID.\"\n";
const GET: &str = "10,100,GET,/inventory/managedObjects?pageSize=1\n";

#[tokio::test]
async fn set_is_a_managed_object_with_its_x_id_as_external_id() {
    let (server, admin) = TestServer::shared().await.with_admin();

    let object = register(
        &admin,
        "pumps, all",
        "10,0100,POST,/inventory/managedObjects/%%/x,application/json,text/plain,%%,STRING \
         NOW,\"{\"\"at\"\":\"\"%%\"\"}\"\n10,1,DELETE,/x\n11,200,,plat_X,id,$.name\n11,999999999,$.list,,['a b']\n",
    )
    .await;

    let stored = admin.read(&format!("{OBJECTS}/{object}")).await;
    assert_eq!((&stored["type"], &stored["name"]), (&json!("pumps, all"), &json!("pumps, all")));
    assert_eq!(
        stored["com_platform_model_smartrest_SmartRestTemplate"],
        json!({
            "requestTemplates": [
                {
                    "msgId": "100", "method": "POST", "resourceUri": "/inventory/managedObjects/%%/x",
                    "contentType": "application/json", "accept": "text/plain", "placeholder": "%%",
                    "values": ["STRING", "NOW"], "templateString": "{\"at\":\"%%\"}",
                },
                {
                    "msgId": "1", "method": "DELETE", "resourceUri": "/x", "contentType": "", "accept": "",
                    "placeholder": "", "values": [], "templateString": "",
                },
            ],
            "responseTemplates": [
                {"msgId": "200", "base": "$", "condition": "$.plat_X", "pattern": ["$.id", "$.name"]},
                {"msgId": "999999999", "base": "$.list", "condition": "", "pattern": ["$['a b']"]},
            ],
        })
    );
    let named = admin.read("/identity/externalIds/plat_SmartRestDeviceIdentifier/pumps,%20all").await;
    assert_eq!(
        redacted(&named, &[(&object, "<id>"), (server.base(), "<base>")]),
        json!({
            "externalId": "pumps, all", "type": "plat_SmartRestDeviceIdentifier",
            "managedObject": {"id": "<id>", "self": "<base>/inventory/managedObjects/<id>"},
            "self": "<base>/identity/externalIds/plat_SmartRestDeviceIdentifier/pumps%2C%20all",
        })
    );
}

#[tokio::test]
async fn set_is_found_by_its_name_and_by_the_id_of_its_object() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let object = register(&admin, "pumps", &format!("{GET}11,200,$.managedObjects,,name\n")).await;
    let other = admin.create_device("no set").await;

    for x_id in ["pumps", &object] {
        assert_eq!(send_to(&admin, x_id, "").await, format!("20,{object}\n"), "{x_id}");
        assert_eq!(send_to(&admin, x_id, "\n100").await, "200,2,pumps\n", "{x_id}");
        assert_eq!(send_to(&admin, x_id, GET).await, EXISTING, "{x_id}");
    }
    for x_id in ["Pumps", "pump", &other, "4711", "a\tb"] {
        assert_eq!(send_to(&admin, x_id, "").await, NO_TEMPLATE, "{x_id}");
        assert_eq!(send_to(&admin, x_id, "100\n100").await, NO_TEMPLATE, "{x_id}");
    }
}

#[tokio::test]
async fn name_of_one_set_goes_before_the_id_of_another() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    let first = register(&admin, "pumps", GET).await;
    // An X-Id that is an id was taken already, so it can only become one by its external id.
    let second = register(&admin, "valves", GET).await;
    let name = json!({"type": "plat_SmartRestDeviceIdentifier", "externalId": first});
    admin.create(&format!("/identity/globalIds/{second}/externalIds"), &name).await;

    assert_eq!(send_to(&admin, &first, "").await, format!("20,{second}\n"));
    assert_eq!(send_to(&admin, "pumps", "").await, format!("20,{first}\n"));
}

#[tokio::test]
async fn second_registration_is_refused_and_changes_nothing() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let object = register(&admin, "pumps", GET).await;
    let before = admin.read(&format!("{OBJECTS}/{object}")).await;

    // Flaws in the new set do not matter.
    for body in [GET, "11,200,,,name\n", "10,x\nnonsense\n"] {
        assert_eq!(send_to(&admin, "pumps", body).await, EXISTING, "{body}");
    }

    assert_eq!(admin.read(&format!("{OBJECTS}/{object}")).await, before);
    assert_eq!(server.count("managed_objects").await, 1);
    assert_eq!(server.count("external_ids").await, 1);
}

#[tokio::test]
async fn of_simultaneous_registrations_one_is_stored_and_the_others_leave_nothing() {
    let servers = TestServer::start_two().await;
    let callers = [servers[0].admin(), servers[1].admin()];

    let registrations: Vec<_> = (0..16)
        .map(|n| {
            let caller = callers[n % 2].clone();
            tokio::spawn(async move { send_to(&caller, "pumps", GET).await })
        })
        .collect();
    let mut answers = Vec::new();
    for registration in registrations {
        answers.push(registration.await.unwrap());
    }

    let object = ids(&callers[0].read(OBJECTS).await, "managedObjects");
    assert_eq!(object.len(), 1, "{object:?}");
    answers.sort_unstable();
    assert_eq!(answers[0], format!("20,{}\n", object[0]));
    assert!(answers[1..].iter().all(|answer| answer == EXISTING), "{answers:?}");
}

#[tokio::test]
async fn registering_needs_the_rights_of_its_calls_and_using_needs_those_of_the_rows() {
    let (server, admin) = TestServer::start().await.with_admin();
    let owner = server.user_with("owner", &["ROLE_INVENTORY_CREATE"]).await;
    let nobody = server.user_with("nobody", &[]).await;

    assert_eq!(send_to(&nobody, "pumps", &format!("\n\n{GET}")).await, "50,3,403\n");
    let grouped = send(&nobody, &format!("15,a\n{GET}15,pumps\n\n{GET}")).await;
    assert_eq!(grouped, "87,1,a\n50,1,403\n87,1,pumps\n50,3,403\n");
    assert_eq!(server.count("managed_objects").await, 0);

    let templates = format!("{GET}11,200,$.managedObjects,,name\n10,101,GET,/user/main/users\n");
    let object = register(&owner, "pumps", &templates).await;
    assert_eq!(send_to(&nobody, "pumps", "").await, format!("20,{object}\n"));
    assert_eq!(send_to(&nobody, "pumps", "101").await, "50,1,403\n");
    assert_eq!(send_to(&admin, "pumps", "100").await, "200,1,pumps\n");
}

#[tokio::test]
async fn registration_is_stored_whatever_the_processing_mode() {
    let (_server, admin) = TestServer::shared().await.with_admin();

    for (mode, x_id) in [("TRANSIENT", "a"), ("QUIESCENT", "b"), ("CEP", "c")] {
        let answer = request(&admin, GET)
            .header("X-Id", x_id)
            .header("X-Platform-Processing-Mode", mode)
            .send()
            .await
            .text;
        assert_eq!(send_to(&admin, x_id, "").await, answer, "{mode}");
        assert!(answer.starts_with("20,"), "{mode}: {answer}");
    }
}

#[tokio::test]
async fn tenants_do_not_see_each_others_sets() {
    let server = TestServer::start_with_tenant("t7", "plant7.example.com").await;
    let (main, other) = (server.admin(), server.caller("t7/admin", ADMIN_PASSWORD));

    let list = |id: u32, value: &str| {
        format!("10,{id},GET,/inventory/managedObjects?pageSize=1\n11,200,$.managedObjects,,{value}\n")
    };
    let of_main = register(&main, "pumps", &list(900, "type")).await;
    for x_id in ["pumps", &of_main] {
        assert_eq!(send_to(&other, x_id, "").await, NO_TEMPLATE);
        assert_eq!(send_to(&other, x_id, "900").await, NO_TEMPLATE);
    }
    let of_other = register(&other, "pumps", &list(901, "id")).await;

    let unknown = "Invalid message identifier";
    assert_eq!(send_to(&main, "pumps", "900\n901").await, format!("200,1,pumps\n43,2,{unknown}\n"));
    assert_eq!(send_to(&other, "pumps", "900\n901").await, format!("43,1,{unknown}\n200,2,{of_other}\n"));
    assert_eq!(send_to(&main, &of_other, "").await, NO_TEMPLATE);
}

#[tokio::test]
async fn reserved_x_id_is_taken_and_an_invalid_x_id_has_no_templates() {
    let (server, admin) = TestServer::shared().await.with_admin();

    assert_eq!(send_to(&admin, "plat_Static", GET).await, EXISTING);
    assert_eq!(send_to(&admin, &"x".repeat(257), GET).await, NO_TEMPLATE);
    assert_eq!(send(&admin, GET).await, NO_TEMPLATE);
    assert_eq!(server.count("managed_objects").await, 0);
    register(&admin, &"x".repeat(256), GET).await;
}
