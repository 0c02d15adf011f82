//! Devices that a file registers for their certificates (docs/rules.md#n-12b).

use super::*;

const OWN: &str = "/inventory/managedObjects?pageSize=1";
const SECRET: &str = "secret-of-a-machine";

/// Registers the devices of a file and returns the result.
async fn register(caller: &Curl, file: &str) -> Value {
    let arguments = ["-H", "Accept: application/json", "-F", "file=@-;filename=devices.csv"];
    caller.run("/devicecontrol/bulkNewDeviceRequests", &arguments, file).await.expect(201)
}

/// The counts of a result: all, created, failed, successful.
fn counts(result: &Value) -> [u64; 4] {
    ["numberOfAll", "numberOfCreated", "numberOfFailed", "numberOfSuccessful"]
        .map(|name| result[name].as_u64().unwrap_or_else(|| panic!("no {name} in {result}")))
}

#[tokio::test]
async fn file_registers_devices_with_certificates_beside_those_with_passwords() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({})).await;
    let admin = https.admin();
    let pump = https.device(&factory.issue("pump-1"));
    pump.get(OWN).await.expect_message(401, "its device is not registered");
    let file = format!(
        "ID;CREDENTIALS;AUTH_TYPE;TYPE;NAME;PATH\npump-1;;CERTIFICATES;acme;Pump 1;Hall\n\
         fan-1;{SECRET};BASIC;acme;Fan 1;Hall\n"
    );

    let result = register(&admin, &file).await;

    assert_eq!(counts(&result), [2, 2, 0, 2], "{result}");
    assert_eq!(pump.get("/user/currentUser").await.expect(200)["userName"], "device_pump-1");
    let groups = admin.get("/user/main/users/device_pump-1/groups").await.expect(200);
    assert_eq!(groups["references"][0]["group"]["name"], "devices");
    let named = pump.get("/identity/externalIds/plat_Serial/pump-1").await.expect(200);
    let id = named["managedObject"]["id"].as_str().unwrap().to_owned();
    let object = pump.get(&format!("/inventory/managedObjects/{id}?withParents=true")).await.expect(200);
    assert_eq!((&object["owner"], &object["name"]), (&json!("device_pump-1"), &json!("Pump 1")));
    let parents = object["assetParents"]["references"].as_array().unwrap();
    assert_eq!(parents[0]["managedObject"]["name"], "Hall", "{object}");
    pump.send("POST", "/alarm/alarms", &alarm_of(&id, "t")).await.expect(201);
    for password in ["", SECRET, "CERTIFICATES"] {
        let guesser = https.client().with(&["--user", &format!("main/device_pump-1:{password}")]);
        guesser.get(OWN).await.expect(401);
    }
    let fan = https.client().with(&["--user", &format!("main/device_fan-1:{SECRET}")]);
    assert_eq!(fan.get("/user/currentUser").await.expect(200)["userName"], "device_fan-1");
    https.device(&factory.issue("pump-2")).get(OWN).await.expect_message(401, "not registered");

    // The same file can be sent again.
    let again = register(&admin, &file).await;
    assert_eq!(counts(&again), [2, 0, 0, 2], "{again}");
    let updated = json!([{"bulkNewDeviceStatus": "CREDENTIAL_UPDATED", "deviceId": "fan-1"}]);
    assert_eq!(again["credentialUpdatedList"], updated);
    pump.get(OWN).await.expect(200);
    let all = admin.get("/inventory/managedObjects?type=acme").await.expect(200);
    assert_eq!(all["managedObjects"].as_array().unwrap().len(), 2, "{all}");
}

#[tokio::test]
async fn row_with_a_certificate_and_a_password_fails_and_registers_nobody() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({})).await;
    let rows = [
        ("both", SECRET, "CERTIFICATES", "'CREDENTIALS': a password; allowed: nothing"),
        ("none", "", "BASIC", "6 to 32"),
        ("empty", "", "", "6 to 32"),
        ("other", SECRET, "OAUTH", "'AUTH_TYPE': OAUTH; allowed: BASIC, CERTIFICATES"),
        ("fan", "", " certificates ", ""),
        ("fan", "", "CERTIFICATES", "Duplicate ID"),
    ];
    let lines = rows.map(|(id, password, auth_type, _)| format!("{id};{password};{auth_type}\n"));

    let result = register(&https.admin(), &format!("ID;CREDENTIALS;AUTH_TYPE\n{}", lines.concat())).await;

    assert_eq!(counts(&result), [6, 1, 5, 1], "{result}");
    assert!(!result.to_string().contains(SECRET), "{result}");
    let failed = result["failedCreationList"].as_array().unwrap();
    for (row, (id, .., reason)) in failed.iter().zip(rows.iter().filter(|(.., reason)| !reason.is_empty())) {
        assert_eq!(row["deviceId"], *id);
        assert!(row["failureReason"].as_str().unwrap().contains(reason), "{row} has no {reason:?}");
    }
    for id in ["both", "none", "empty", "other"] {
        https.device(&factory.issue(id)).get(OWN).await.expect_message(401, "not registered");
    }
    https.device(&factory.issue("fan")).get(OWN).await.expect(200);
}

#[tokio::test]
async fn file_without_passwords_registers_devices_in_the_tenants_that_it_names() {
    let https = Https::start(1).await;
    let other = https.with_tenant("t7").await;
    let (ours, theirs) = (Authority::new("factory"), Authority::new("factory"));
    https.trust(&ours, json!({})).await;
    trust(&other, "t7", &theirs, json!({})).await;

    let file = "TENANT;ID;AUTH_TYPE\nt7;pump;CERTIFICATES\n";
    let result = register(&https.management(), file).await;

    assert_eq!(counts(&result), [1, 1, 0, 1], "{result}");
    let device = https.device(&theirs.issue("pump"));
    assert_eq!(device.get("/tenant/currentTenant").await.expect(200)["name"], "t7");
    https.device(&ours.issue("pump")).get(OWN).await.expect_message(401, "not registered");
}
