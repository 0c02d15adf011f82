//! Devices log in with certificates (docs/rules.md#c-28).

use rcgen::SanType;

use super::*;

const OWN: &str = "/inventory/managedObjects?pageSize=1";

#[tokio::test]
async fn certificate_of_a_trusted_authority_is_the_log_in_of_its_device() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let device = https.device(&factory.issue("pump-7"));

    let user = device.get("/user/currentUser").await.expect(200);

    assert_eq!(user["userName"], "device_pump-7");
    let created =
        device.send("POST", "/inventory/managedObjects", &json!({"name": "pump"})).await.expect(201);
    assert_eq!(created["owner"], "device_pump-7");
    let of_fast_lane = alarm_of(created["id"].as_str().unwrap(), "t");
    device.send("POST", "/alarm/alarms", &of_fast_lane).await.expect(201);
    https.client().get(OWN).await.expect(401);
    device.get(OWN).await.expect(200);
    let records = https.admin().get("/audit/auditRecords?type=User&user=device_pump-7").await.expect(200);
    let log_ins: Vec<_> =
        records["auditRecords"].as_array().unwrap().iter().map(|one| &one["activity"]).collect();
    assert_eq!(log_ins, ["Log-in"], "the first use alone is recorded");
    let groups = https.admin().get("/user/main/users/device_pump-7/groups").await.expect(200);
    assert_eq!(groups["references"][0]["group"]["name"], "devices");
}

#[tokio::test]
async fn rows_of_the_csv_protocol_are_of_the_device_of_the_certificate() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let device = https.device(&factory.issue("meter-1"));

    let rows = device.run("/s?X-Id=x", &["-X", "POST", "--data-binary", "@-"], "100,meter,meter\n").await;

    assert_eq!(rows.status, 200, "{}", rows.text);
    let found = https.admin().get("/inventory/managedObjects?owner=device_meter-1").await.expect(200);
    assert_eq!(found["managedObjects"][0]["owner"], "device_meter-1", "{} {found}", rows.text);
}

#[tokio::test]
async fn device_without_a_user_is_refused_unless_its_authority_registers_devices() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    let fingerprint = https.trust(&factory, json!({})).await;
    let device = https.device(&factory.issue("pump-1"));
    device.get(OWN).await.expect_message(401, "its device is not registered");

    let path = format!("/tenant/tenants/main/trusted-certificates/{fingerprint}");
    https.admin().send("PUT", &path, &json!({"autoRegistrationEnabled": true})).await.expect(200);

    device.get(OWN).await.expect(200);
}

#[tokio::test]
async fn registered_device_may_use_its_password_and_its_certificate() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({})).await;
    let user = json!({"userName": "device_pump-1", "password": "secret-password", "email": "a@b.de"});
    https.admin().send("POST", "/user/main/users", &user).await.expect(201);
    let device = https.device(&factory.issue("pump-1"));

    assert_eq!(device.get("/user/currentUser").await.expect(200)["userName"], "device_pump-1");
    let as_admin = device.with(&["--user", &format!("main/admin:{ADMIN_PASSWORD}")]);
    assert_eq!(as_admin.get("/user/currentUser").await.expect(200)["userName"], "admin", "the header counts");
    device.with(&["--user", "main/device_pump-1:wrong"]).get(OWN).await.expect(401);
}

#[tokio::test]
async fn authority_says_which_part_is_the_id() {
    let https = Https::start(1).await;
    type Change = fn(&mut CertificateParams);
    let cases: [(&str, &str, Change); 4] = [
        ("COMMON_NAME", "device_cn", |_| {}),
        ("SERIAL_NUMBER", "device_S-1", |params| {
            params.distinguished_name.push(DnType::from_oid(&[2, 5, 4, 5]), "S-1");
        }),
        ("DNS_NAME", "device_pump.example.com", |params| {
            params.subject_alt_names = vec![SanType::DnsName("pump.example.com".try_into().unwrap())];
        }),
        ("URI", "device_urn-dev-1", |params| {
            params.subject_alt_names = vec![SanType::URI("urn-dev-1".try_into().unwrap())];
        }),
    ];
    for (source, user, change) in cases {
        let factory = Authority::new(source);
        https.trust(&factory, json!({"autoRegistrationEnabled": true, "deviceIdFrom": source})).await;
        let found =
            https.device(&factory.issue_with("cn", change)).get("/user/currentUser").await.expect(200);
        assert_eq!(found["userName"], user);
        if source != "COMMON_NAME" {
            https.device(&factory.issue("other")).get(OWN).await.expect_message(401, "deviceIdFrom");
        }
    }
}

#[tokio::test]
async fn authority_below_a_trusted_one_issues_if_its_certificate_is_sent() {
    let (https, root) = (Https::start(1).await, Authority::new("root"));
    https.trust(&root, json!({"autoRegistrationEnabled": true})).await;
    let plant = root.below("plant");
    let mut leaf = plant.issue("pump-1");
    https.device(&leaf).get(OWN).await.expect_message(401, "no tenant trusts its issuer");

    leaf.chain += &plant.issuer.pem();

    https.device(&leaf).get(OWN).await.expect(200);
}

#[tokio::test]
async fn tenant_follows_from_the_authority() {
    let https = Https::start(1).await;
    let other = https.with_tenant("t7").await;
    let (ours, theirs) = (Authority::new("factory"), Authority::new("factory"));
    https.trust(&ours, json!({"autoRegistrationEnabled": true})).await;
    trust(&other, "t7", &theirs, json!({"autoRegistrationEnabled": true})).await;

    for (authority, tenant) in [(&ours, "main"), (&theirs, "t7")] {
        let device = https.device(&authority.issue("pump"));
        assert_eq!(device.get("/tenant/currentTenant").await.expect(200)["name"], tenant);
    }
}

#[tokio::test]
async fn nearest_authority_decides_about_the_tenant() {
    let https = Https::start(1).await;
    let other = https.with_tenant("t7").await;
    let root = Authority::new("root");
    let plants = ["plant 1", "plant 2", "plant 3"].map(|name| root.below(name));
    https.trust(&root, json!({"autoRegistrationEnabled": true})).await;
    for plant in &plants[..2] {
        trust(&other, "t7", plant, json!({"autoRegistrationEnabled": true})).await;
    }

    for (plant, tenant) in plants.iter().zip(["t7", "t7", "main"]) {
        let mut leaf = plant.issue("pump");
        leaf.chain += &plant.issuer.pem();
        let found = https.device(&leaf).get("/tenant/currentTenant").await.expect(200);
        assert_eq!(found["name"], tenant);
    }
}

#[tokio::test]
async fn session_ticket_keeps_the_certificate() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let sessions = https.directory.path().join("tls-session");
    let leaf = factory.issue("pump-1");
    let device = https.device(&leaf);
    let (cert, key) = (&device.arguments[1], &device.arguments[3]);
    let ask = |how: &str, certificate: &str| {
        let port = https.servers[0].address().port();
        let request =
            "GET /user/currentUser HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n";
        format!(
            "(sleep 0.3; printf '{request}'; sleep 1) | openssl s_client -quiet -ign_eof -connect localhost:{port} \
             -{how} {} {certificate} 2>/dev/null",
            sessions.display()
        )
    };
    let run = async |script: String| {
        let mut command = Command::new("timeout");
        command.args(["20", "sh", "-c", &script]);
        let done = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let first = run(ask("sess_out", &format!("-cert {cert} -key {key}"))).await;
    assert!(first.contains("device_pump-1"), "{first}");

    let again = run(ask("sess_in", "")).await;

    assert!(again.contains("device_pump-1"), "{again}");
}

/// Certificates of some devices take a while to store, so those of devices that connect meanwhile wait.
const SLOW_AND_REFUSING: &str = "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
    IF NEW.user_name LIKE 'device_slow-%' THEN PERFORM pg_sleep(1.5); END IF; \
    IF NEW.user_name = 'device_refused' THEN RAISE EXCEPTION 'refused'; END IF; \
    RETURN NEW; END $$; \
    CREATE TRIGGER slow BEFORE INSERT ON device_certificates FOR EACH ROW EXECUTE FUNCTION slow()";

#[tokio::test]
async fn devices_that_connect_for_the_first_time_at_once_share_transactions_and_one_that_fails_is_alone() {
    let (https, factory) = (Https::start(1).await, Authority::new("factory"));
    https.trust(&factory, json!({"autoRegistrationEnabled": true})).await;
    let database = https.servers[0].database();
    database.run_script(SLOW_AND_REFUSING).await;
    let log_in = async |ids: &[&str]| {
        let devices: Vec<Curl> = ids.iter().map(|id| https.device(&factory.issue(id))).collect();
        let log_ins = join_all(devices.iter().map(|device| device.get("/user/currentUser"))).await;
        log_ins.iter().map(|one| one.status).collect::<Vec<u16>>()
    };
    // All turns are taken while these devices log in.
    let log_in_meanwhile = async |slow: [&str; 2], ids: &[&str]| {
        let others = async {
            until("both are slow", async || database.count_sleeping().await == 2).await;
            log_in(ids).await
        };
        let (slow, others) = futures_util::future::join(log_in(&slow), others).await;
        assert_eq!(slow, [200; 2]);
        others
    };

    assert_eq!(log_in_meanwhile(["slow-1", "slow-2"], &["a", "b", "c", "d"]).await, [200; 4]);
    let transactions = "SELECT count(DISTINCT xmin::text) FROM device_certificates";
    let transactions: i64 = database.query(transactions, &[]).await[0].get(0);
    assert!(transactions <= 4, "{transactions} transactions for 6 certificates");

    let with_one_that_fails = log_in_meanwhile(["slow-3", "slow-4"], &["e", "f", "refused", "g"]).await;
    assert_eq!(with_one_that_fails, [200, 200, 500, 200]);

    let recorded = "SELECT user_name FROM audit_records WHERE activity = 'Log-in' ORDER BY user_name";
    let recorded: Vec<String> = database.query(recorded, &[]).await.iter().map(|row| row.get(0)).collect();
    let ids = ["a", "b", "c", "d", "e", "f", "g", "slow-1", "slow-2", "slow-3", "slow-4"];
    assert_eq!(recorded, ids.map(|id| format!("device_{id}")), "each device that logged in is recorded once");
}
