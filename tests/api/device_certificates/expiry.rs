//! Alarms about certificates that are about to end (docs/rules.md#c-33).

use time::OffsetDateTime;

use super::*;

const OBJECTS: &str = "/inventory/managedObjects";

async fn start() -> Https {
    Https::start_with(1, |settings| settings.limits.certificate_check = Duration::from_millis(200)).await
}

/// Waits until the alarms of a device are these, as type and status.
async fn until_alarms(https: &Https, query: &str, expected: &[(&str, &str)]) -> Value {
    let mut last = json!(null);
    for _ in 0..150 {
        last = https.admin().get(&format!("/alarm/alarms?{query}")).await.expect(200)["alarms"].clone();
        let found: Vec<_> =
            last.as_array().unwrap().iter().map(|alarm| (&alarm["type"], &alarm["status"])).collect();
        if found.len() == expected.len()
            && found
                .iter()
                .zip(expected)
                .all(|(found, expected)| *found == (&json!(expected.0), &json!(expected.1)))
        {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{last}")
}

#[tokio::test]
async fn certificate_that_ends_soon_has_an_alarm_until_it_is_renewed() {
    let (https, factory) = (start().await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let issue = |days: i64| {
        factory.issue_with("pump-1", |params| {
            params.not_after = OffsetDateTime::now_utc() + time::Duration::days(days)
        })
    };
    let (soon_over, long) = (issue(20), issue(300));
    let device = json!({"name": "pump", "plat_IsDevice": {}});
    let object = https.device(&soon_over).send("POST", OBJECTS, &device).await.expect(201);
    let query = format!("source={}", object["id"].as_str().unwrap());

    let alarms = until_alarms(&https, &query, &[("plat_CertificateExpiry", "ACTIVE")]).await;
    assert_eq!((&alarms[0]["severity"], &alarms[0]["count"]), (&json!("MAJOR"), &json!(1)));
    tokio::time::sleep(Duration::from_millis(700)).await;
    until_alarms(&https, &query, &[("plat_CertificateExpiry", "ACTIVE")]).await;

    https.device(&long).get(OBJECTS).await.expect(200);

    let alarms = until_alarms(&https, &query, &[("plat_CertificateExpiry", "CLEARED")]).await;
    assert_eq!(alarms[0]["count"], 1);
}

#[tokio::test]
async fn authority_that_ends_soon_has_an_alarm_of_its_tenant() {
    let https = start().await;
    let mut params = of_authority("factory");
    params.not_after = OffsetDateTime::now_utc() + time::Duration::days(20);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    https.trust(&Authority { issuer }, json!({"name": "plant 1"})).await;

    let alarms = until_alarms(&https, "pageSize=5", &[("plat_CertificateAuthorityExpiry", "ACTIVE")]).await;

    assert!(alarms[0]["text"].as_str().unwrap().contains("'plant 1'"), "{alarms}");
}
