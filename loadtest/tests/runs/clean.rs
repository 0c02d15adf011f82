//! Runs of a fleet that are clean: of one generator or of two workers, in tenants of their own, over HTTPS. They take
//! longest and start first, because names decide about the order.

use platform_test_harness::{ADMIN_PASSWORD, TestDatabase, TestServer, scratch};

use super::{FLEET, PHASE, Scenario, Worker, devices};

#[tokio::test]
async fn fleet_of_one_generator_or_of_two_workers_is_clean_and_leaves_nothing() {
    let server = TestServer::start().await;
    let before = devices(&server.admin()).await;
    let ([first, _second], workers) = Worker::start_two().await;
    let scenario = Scenario::fleet();

    scenario.run(server.base(), &[]).await.expect(0, &["Fleet: clean", "lost silently 0"]);
    let outcome = scenario.run(server.base(), &["--workers", &workers]).await;
    outcome.expect(0, &["Fleet: clean", "of them not stored       0", "clocks of workers known"]);
    // Two workers follow the same schedule as one generator.
    outcome.expect(0, &["posts/s                  315", "collections stored in part 0"]);
    // A worker serves one run after the other.
    scenario.run(server.base(), &["--workers", &first.address]).await.expect(0, &["Fleet: clean"]);
    assert_eq!(devices(&server.admin()).await, before);
}

#[tokio::test]
async fn fleet_in_its_own_tenants_removes_them() {
    let server = TestServer::start().await;
    let management = server.caller("management/admin", ADMIN_PASSWORD);
    let before = management.read("/tenant/tenants?pageSize=100").await["tenants"].clone();
    let tenants = "[[tenant]]\nname = \"north\"\n\n[[tenant]]\nname = \"south\"\n";
    let groups = FLEET.replace("count =", "tenant = \"south\"\ncount =");
    let scenario = Scenario::new(&["name = \"Fleet\"\n", tenants, &groups, PHASE]);
    let (_workers, addresses) = Worker::start_two().await;
    for more in [vec![], vec!["--workers", addresses.as_str()]] {
        let arguments = [vec!["--user", "management/admin"], more].concat();
        scenario.run(server.base(), &arguments).await.expect(0, &["Fleet: clean"]);
        assert_eq!(management.read("/tenant/tenants?pageSize=100").await["tenants"], before);
    }
}

#[tokio::test]
async fn fleet_over_https_is_clean() {
    let directory = scratch();
    let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| directory.path().join(name));
    let signed = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    std::fs::write(&certificate, signed.cert.pem()).expect("a writable directory");
    std::fs::write(&key, signed.signing_key.serialize_pem()).expect("a writable directory");
    let server = TestServer::start_on(&TestDatabase::create().await, |settings| {
        settings.tls.cert = Some(certificate.clone());
        settings.tls.key = Some(key);
    })
    .await;
    let url = server.base().replace("http://", "https://");
    let ca = certificate.to_str().expect("a name");
    Scenario::fleet().run(&url, &["--ca-file", ca]).await.expect(0, &["Fleet: clean", "lost silently 0"]);
    Scenario::fleet().run(&url, &[]).await.expect(2, &["certificate"]);
}
