//! The certificate authorities of a tenant (docs/rules.md#c-29).

use super::*;

const PATH: &str = "/tenant/tenants/main/trusted-certificates";
const OWN: &str = "/inventory/managedObjects?pageSize=1";

#[tokio::test]
async fn authority_is_stored_shown_changed_and_deleted() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let admin = https.admin();
    let body = json!({"certInPemFormat": factory.issuer.pem(), "name": "plant 1"});
    let created = admin.send("POST", PATH, &body).await.expect(201);
    let path = created["self"].as_str().unwrap().split_once("/tenant").unwrap().1;
    let path = format!("/tenant{path}");
    let fingerprint = created["fingerprint"].as_str().unwrap();
    assert_eq!(created["status"], "ENABLED");
    assert_eq!(created["proofOfPossessionValid"], false);
    assert_eq!(created["subject"], "CN=factory");
    admin.send("POST", PATH, &body).await.expect_message(409, fingerprint);

    assert_eq!(admin.get(&path).await.expect(200), created);
    let changed = admin.send("PUT", &path, &json!({"status": "DISABLED", "name": "b"})).await.expect(200);
    assert_eq!((&changed["status"], &changed["name"]), (&json!("DISABLED"), &json!("b")));
    let listed = admin.get(PATH).await.expect(200);
    assert_eq!(listed["certificates"], json!([changed]));
    // Fingerprints are accepted as openssl prints them.
    let digits: Vec<_> = fingerprint.to_uppercase().chars().collect();
    let colons = digits.chunks(2).map(String::from_iter).collect::<Vec<_>>().join(":");
    admin.get(&format!("{PATH}/{colons}")).await.expect(200);

    assert_eq!(admin.send("DELETE", &path, &json!({})).await.status, 204);
    admin.get(&path).await.expect(404);
    let records = admin.get("/audit/auditRecords?type=User&pageSize=100").await.expect(200).to_string();
    for activity in ["created", "changed", "deleted"] {
        assert!(records.contains(&format!("Certificate authority {activity}")), "{activity}");
    }
}

#[tokio::test]
async fn body_that_is_no_authority_is_refused_with_the_reason() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let leaf = factory.issue("pump-1");
    let pem = factory.issuer.pem();
    let (half, escaped) = (&pem[..pem.len() / 2], pem.replace('\n', "\\n"));
    for (text, reason) in [
        ("", "expected a certificate in PEM"),
        ("hello", "expected a certificate in PEM"),
        (half, "BEGIN"),
        (&*escaped, "escaped"),
        (&leaf.chain, "not the certificate of an authority"),
        (&leaf.key, "private key"),
        (&format!("{pem}{pem}"), "several certificates"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "not an X.509 certificate"),
    ] {
        https.admin().send("POST", PATH, &json!({"certInPemFormat": text})).await.expect_message(422, reason);
    }
    for (body, reason) in [
        (json!({}), "certInPemFormat"),
        (json!({"certInPemFormat": pem, "deviceIdFrom": "EMAIL"}), "COMMON_NAME"),
        (json!({"certInPemFormat": pem, "autoRegistration": true}), "autoRegistration"),
    ] {
        https.admin().send("POST", PATH, &body).await.expect_message(422, reason);
    }
}

#[tokio::test]
async fn proof_needs_the_key_and_the_newest_code() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let admin = https.admin();
    let body = json!({"certInPemFormat": factory.issuer.pem()});
    let created = admin.send("POST", PATH, &body).await.expect(201);
    let pop = format!("{PATH}-pop/{}", created["fingerprint"].as_str().unwrap());
    let signed = |code: &str| json!({"proofOfPossessionSignedVerificationCode": code});
    let prove = async |signature: &str| admin.send("POST", &format!("{pop}/pop"), &signed(signature)).await;
    prove(&factory.sign("x")).await.expect_message(422, "There is no code to sign");
    let code = async || {
        let code = admin.send("POST", &format!("{pop}/verification-code"), &json!({})).await.expect(200);
        code["proofOfPossessionUnsignedVerificationCode"].as_str().unwrap().to_owned()
    };
    let (old, new) = (code().await, code().await);

    for signature in [factory.sign(&old), Authority::new("factory").sign(&new), "AAAA".into(), "%".into()] {
        prove(&signature).await.expect_message(422, "proofOfPossessionSignedVerificationCode");
    }

    assert_eq!(prove(&factory.sign(&new)).await.expect(200)["proofOfPossessionValid"], true);
    assert_eq!(prove(&factory.sign(&new)).await.expect(200)["proofOfPossessionValid"], true, "again");
}

#[tokio::test]
async fn key_belongs_to_one_tenant() {
    let https = Https::start(1).await;
    let other = https.with_tenant("t7").await;
    let factory = Authority::new("factory");
    let ours = https.trust(&factory, json!({})).await;
    let path = "/tenant/tenants/t7/trusted-certificates";
    let body = json!({"certInPemFormat": factory.issuer.pem()});
    let theirs =
        other.send("POST", path, &body).await.expect(201)["fingerprint"].as_str().unwrap().to_owned();

    prove(&other, "t7", &factory, &theirs).await.expect_message(409, "Another tenant");
    https.admin().send("DELETE", &format!("{PATH}/{ours}"), &json!({})).await;
    prove(&other, "t7", &factory, &theirs).await.expect(200);
}

#[tokio::test]
async fn operator_vouches_for_a_tenant_without_the_key() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let body = json!({"certInPemFormat": factory.issuer.pem(), "autoRegistrationEnabled": true});
    let created = https.admin().send("POST", PATH, &body).await.expect(201);
    let confirmed = format!("{PATH}-pop/{}/confirmed", created["fingerprint"].as_str().unwrap());
    https.admin().send("POST", &confirmed, &json!({})).await.expect(403);
    let management = https.management();

    management.send("POST", &confirmed, &json!({})).await.expect(200);

    https.device(&factory.issue("pump-1")).get(OWN).await.expect(200);
}

#[tokio::test]
async fn authorities_need_the_right_to_administer_users() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let device = https.device(&factory.issue("pump-1"));

    device.get(PATH).await.expect(403);
    let body = json!({"certInPemFormat": Authority::new("own").issuer.pem()});
    device.send("POST", PATH, &body).await.expect(403);
    https.admin().get("/tenant/tenants/management/trusted-certificates").await.expect(403);
}
