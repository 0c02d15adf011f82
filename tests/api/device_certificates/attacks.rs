//! Certificates that must not log in anybody (docs/rules.md#c-28).

use rcgen::SanType;
use time::{Duration as Days, OffsetDateTime};

use super::*;

const OWN: &str = "/inventory/managedObjects?pageSize=1";

#[tokio::test]
async fn certificates_with_a_flaw_are_refused_with_the_reason() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let now = OffsetDateTime::now_utc();
    type Change = Box<dyn FnOnce(&mut CertificateParams)>;
    let cases: [(&str, Change); 7] = [
        (
            "it has expired",
            Box::new(move |params| {
                (params.not_before, params.not_after) = (now - Days::days(2), now - Days::days(1));
            }),
        ),
        (
            "it is not valid yet",
            Box::new(move |params| {
                (params.not_before, params.not_after) = (now + Days::days(1), now + Days::days(2));
            }),
        ),
        (
            "its key usage",
            Box::new(|params| {
                params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            }),
        ),
        (
            "the certificate of an authority",
            Box::new(|params| {
                params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            }),
        ),
        (
            "does not name its device",
            Box::new(|params| {
                params.distinguished_name = rcgen::DistinguishedName::new();
                params.distinguished_name.push(DnType::OrganizationName, "pump");
                params.subject_alt_names = vec![SanType::DnsName("pump".try_into().unwrap())];
            }),
        ),
        (
            "does not name its device",
            Box::new(|params| {
                params.distinguished_name = rcgen::DistinguishedName::new();
                params.distinguished_name.push(DnType::CommonName, "a:b");
            }),
        ),
        (
            "does not name its device",
            Box::new(|params| {
                params.distinguished_name.push(DnType::CustomDnType(vec![2, 5, 4, 3]), "other");
            }),
        ),
    ];
    for (reason, change) in cases {
        let leaf = factory.issue_with("pump-1", change);
        https.device(&leaf).get(OWN).await.expect_message(401, reason);
    }
    assert_no_devices(&https).await;
}

#[tokio::test]
async fn names_of_trusted_authorities_give_no_trust() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let twin = Authority::new("factory");
    https
        .device(&twin.issue("pump-1"))
        .get(OWN)
        .await
        .expect_message(401, "not signed by the trusted authority");
    let mut with_chain = twin.issue("pump-1");
    with_chain.chain += &factory.issuer.pem();
    https.device(&with_chain).get(OWN).await.expect_message(401, "not signed by the trusted authority");
    let stranger = Authority::new("stranger");
    https.device(&stranger.issue("pump-1")).get(OWN).await.expect_message(401, "no tenant trusts its issuer");
    // A device cannot issue certificates to others.
    let device = factory.issue("pump-1");
    let key = KeyPair::from_pem(&device.key).unwrap();
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "pump-1");
    let forger = Authority { issuer: CertifiedIssuer::self_signed(params, key).unwrap() };
    let mut forged = forger.issue("admin");
    forged.chain += &device.chain;
    https.device(&forged).get(OWN).await.expect(401);
    assert_no_devices(&https).await;
}

#[tokio::test]
async fn self_signed_certificate_is_refused() {
    let https = Https::start(2).await;
    let own = Authority::new("pump-1");
    let leaf = Leaf {
        name: "self".into(),
        chain: own.issuer.pem(),
        key: own.issuer.key().serialize_pem(),
        serial: String::new(),
    };
    https.device(&leaf).get(OWN).await.expect_message(401, "no tenant trusts its issuer");
}

#[tokio::test]
async fn authority_without_a_proof_gives_no_trust() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    let body = json!({"certInPemFormat": factory.issuer.pem(), "autoRegistrationEnabled": true});
    https.admin().send("POST", "/tenant/tenants/main/trusted-certificates", &body).await.expect(201);

    https.device(&factory.issue("pump-1")).get(OWN).await.expect_message(401, "no tenant trusts its issuer");
    assert_no_devices(&https).await;
}

#[tokio::test]
async fn certificate_logs_in_users_of_devices_only() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;

    for name in ["admin", "main/admin", "device_x/y"] {
        let reply = https.device(&factory.issue(name)).get("/user/currentUser").await;
        if reply.status == 200 {
            assert_eq!(reply.expect(200)["userName"], format!("device_{name}"));
        }
    }
}

#[tokio::test]
async fn disabled_user_of_a_device_stays_disabled() {
    let (https, factory) = (Https::start(2).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let device = https.device(&factory.issue("pump-1"));
    device.get(OWN).await.expect(200);

    https.admin().send("PUT", "/user/main/users/device_pump-1", &json!({"enabled": false})).await.expect(200);

    device.get(OWN).await.expect_message(401, "the user of its device is disabled");
    https.device(&factory.issue("pump-1")).get(OWN).await.expect(401);
}

#[tokio::test]
async fn header_of_a_client_is_no_certificate() {
    let https = Https::start_with(1, |settings| {
        settings.client_certificate_header = Some("client-cert".into());
    })
    .await;
    let factory = Authority::new("factory");
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let leaf = factory.issue("pump-1");
    let header = format!("Client-Cert: {}", as_header(&leaf));

    https.client().with(&["-H", &header]).get(OWN).await.expect(401);
    assert_no_devices(&https).await;
}

/// Returns a certificate as RFC 9440 writes it.
pub(super) fn as_header(leaf: &Leaf) -> String {
    let base64: String = leaf.chain.lines().filter(|line| !line.starts_with("-----")).collect();
    format!(":{base64}:")
}

async fn assert_no_devices(https: &Https) {
    let users = https.admin().get("/user/main/users?pageSize=100").await.expect(200);
    let names: Vec<_> =
        users["users"].as_array().unwrap().iter().map(|user| user["userName"].to_string()).collect();
    assert!(!names.iter().any(|name| name.contains("device_")), "{names:?}");
}
