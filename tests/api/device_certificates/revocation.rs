//! Certificates that are not accepted any more (docs/rules.md#c-31).

use rcgen::{CertificateRevocationListParams, KeyIdMethod, RevokedCertParams, SerialNumber};
use time::OffsetDateTime;

use super::*;

const PATH: &str = "/tenant/tenants/main/trusted-certificates";
const OWN: &str = "/inventory/managedObjects?pageSize=1";

/// Begins a long poll of a device at a server, and returns it when it is held.
async fn poll(device: &Curl) -> tokio::task::JoinHandle<Reply> {
    let types = ["long-polling"];
    let handshake =
        json!([{"channel": "/meta/handshake", "version": "1.0", "supportedConnectionTypes": types}]);
    let shaken = device.send("POST", "/notification/realtime", &handshake).await.expect(200);
    let id = shaken[0]["clientId"].clone();
    let connect = json!([{"channel": "/meta/connect", "clientId": id, "connectionType": "long-polling"}]);
    let device = device.clone();
    let held = tokio::spawn(async move { device.send("POST", "/notification/realtime", &connect).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!held.is_finished());
    held
}

async fn end_of(held: tokio::task::JoinHandle<Reply>) -> Reply {
    soon("the end of the poll", held).await.unwrap()
}

#[tokio::test]
async fn revoked_certificate_ends_its_poll_at_every_server() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let (leaf, other) = (factory.issue("pump-1"), factory.issue("pump-2"));
    let held = poll(&https.device_at(1, &leaf)).await;
    let neighbour = poll(&https.device_at(1, &other)).await;
    let listed =
        https.admin().get("/tenant/tenants/main/device-certificates?user=device_pump-1").await.expect(200);
    let certificate = &listed["deviceCertificates"][0];
    assert_eq!(certificate["serialNumber"], leaf.serial);
    let path =
        format!("/tenant/tenants/main/device-certificates/{}", certificate["fingerprint"].as_str().unwrap());

    let too_long = format!("{path}?reason={}", "x".repeat(201));
    https.admin().send("DELETE", &too_long, &json!({})).await.expect_message(422, "reason");
    assert_eq!(https.admin().send("DELETE", &format!("{path}?reason=stolen"), &json!({})).await.status, 204);

    let ended = end_of(held).await;
    assert!(ended.text.contains("\"successful\":false") || ended.status == 401, "{ended:?}");
    for server in [0, 1] {
        https.device_at(server, &leaf).get(OWN).await.expect_message(401, "it is revoked");
        https.device_at(server, &other).get(OWN).await.expect(200);
    }
    assert!(!neighbour.is_finished());
    neighbour.abort();
    assert!(https.admin().get(&path).await.expect(200)["revocationTime"].is_string());
    let authority = certificate["authority"].as_str().unwrap();
    let revoked = https.admin().get(&format!("{PATH}/{authority}/revoked-certificates")).await.expect(200);
    assert_eq!(revoked["revokedCertificates"][0]["reason"], "stolen");
}

#[tokio::test]
async fn serial_number_is_revoked_before_its_first_use() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let fingerprint = https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let leaf = factory.issue("pump-1");
    let path = format!("{PATH}/{fingerprint}/revoked-certificates");
    let body = json!({"serialNumber": leaf.serial, "reason": "stolen"});
    assert_eq!(https.admin().send("POST", &path, &body).await.status, 204);

    https.device(&leaf).get(OWN).await.expect_message(401, "it is revoked");

    let listed = https.admin().get(&path).await.expect(200);
    assert_eq!(listed["revokedCertificates"][0]["serialNumber"], leaf.serial);
    assert_eq!(listed["revokedCertificates"][0]["reason"], "stolen");
    https
        .admin()
        .send("POST", &path, &json!({"serialNumber": "xyz"}))
        .await
        .expect_message(422, "serialNumber");
    // A device gets access with a new certificate.
    https.device(&factory.issue("pump-1")).get(OWN).await.expect(200);
}

#[tokio::test]
async fn revoked_authority_below_revokes_what_it_issued() {
    let (https, root) = (Https::start(1).await, Authority::new("root"));
    let fingerprint = https.trust(&root, json!({"autoRegistrationEnabled": true})).await;
    let plant = root.below("plant");
    let mut leaf = plant.issue("pump-1");
    leaf.chain += &plant.issuer.pem();
    https.device(&leaf).get(OWN).await.expect(200);
    let serial = x509(&plant.issuer.pem());

    let path = format!("{PATH}/{fingerprint}/revoked-certificates");
    https.admin().send("POST", &path, &json!({"serialNumber": serial})).await;

    https.device(&leaf).get(OWN).await.expect_message(401, "it is revoked");
}

/// Returns the serial number that openssl prints.
fn x509(pem: &str) -> String {
    let mut child = Command::new("openssl")
        .args(["x509", "-noout", "-serial"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(pem.as_bytes()).unwrap();
    let text = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    text.trim().strip_prefix("serial=").unwrap().to_owned()
}

fn list_of(authority: &Authority, serials: &[&Leaf]) -> String {
    let now = OffsetDateTime::now_utc();
    let revoked = |leaf: &&Leaf| RevokedCertParams {
        serial_number: SerialNumber::from(u64::from_str_radix(&leaf.serial, 16).unwrap()),
        revocation_time: now,
        reason_code: None,
        invalidity_date: None,
    };
    let list = CertificateRevocationListParams {
        this_update: now,
        next_update: now + time::Duration::days(1),
        crl_number: SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: serials.iter().map(revoked).collect(),
        key_identifier_method: KeyIdMethod::Sha256,
    };
    list.signed_by(&authority.issuer).unwrap().pem().unwrap()
}

#[tokio::test]
async fn list_of_the_authority_revokes_what_it_names() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let fingerprint = https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let (used, unused, good) = (factory.issue("a"), factory.issue("b"), factory.issue("c"));
    for leaf in [&used, &good] {
        https.device(leaf).get(OWN).await.expect(200);
    }
    let path = format!("{PATH}/{fingerprint}/crl");
    let upload = async |list: &str| {
        let arguments = ["-X", "PUT", "--data-binary", "@-", "-H", "Content-Type: application/pkix-crl"];
        https.admin().run(&path, &arguments, list).await
    };
    upload(&list_of(&Authority::new("factory"), &[&good]))
        .await
        .expect_message(422, "not signed by this authority");
    upload("hello").await.expect_message(422, "neither a list in PEM nor one in DER");
    https.device(&good).get(OWN).await.expect(200);

    assert_eq!(upload(&list_of(&factory, &[&used, &unused])).await.status, 204);

    for leaf in [&used, &unused] {
        https.device(leaf).get(OWN).await.expect_message(401, "it is revoked");
    }
    https.device(&good).get(OWN).await.expect(200);
    assert_eq!(upload(&list_of(&factory, &[])).await.status, 204);
    https.device(&used).get(OWN).await.expect_message(401, "it is revoked");
}

#[tokio::test]
async fn disabled_or_deleted_authority_ends_the_polls_of_its_devices() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    let fingerprint = https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let (path, leaf) = (format!("{PATH}/{fingerprint}"), factory.issue("pump-1"));
    let device = https.device_at(1, &leaf);
    let held = poll(&device).await;

    https.admin().send("PUT", &path, &json!({"status": "DISABLED"})).await.expect(200);
    end_of(held).await;
    device.get(OWN).await.expect_message(401, "its authority is disabled");

    https.admin().send("PUT", &path, &json!({"status": "ENABLED"})).await.expect(200);
    let held = poll(&device).await;
    assert_eq!(https.admin().send("DELETE", &path, &json!({})).await.status, 204);
    end_of(held).await;
    device.get(OWN).await.expect_message(401, "no tenant trusts its issuer");
}

#[tokio::test]
async fn poll_ends_when_its_certificate_expires() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let leaf = factory.issue_with("pump-1", |params| {
        params.not_before = OffsetDateTime::now_utc() - time::Duration::days(1);
        params.not_after = OffsetDateTime::now_utc() + time::Duration::seconds(6);
    });
    let device = https.device(&leaf);
    let held = poll(&device).await;

    end_of(held).await;

    device.get(OWN).await.expect_message(401, "it has expired");
}
