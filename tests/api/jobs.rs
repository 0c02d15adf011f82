//! Background jobs: each runs again after a panic, and readiness shows their states.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use platform_front::jobs::BeforeRun;

use crate::harness::prelude::*;

const DETAILS: &str = "/health/ready?withDetails=true";

/// The number of begun runs of each job of the server in [`each_job_runs_again_after_a_panic`].
static BEGUN: Mutex<BTreeMap<&str, u32>> = Mutex::new(BTreeMap::new());

fn begun() -> std::sync::MutexGuard<'static, BTreeMap<&'static str, u32>> {
    BEGUN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn panic_in_the_first_run(job: &'static str) {
    let number = {
        let mut begun = begun();
        let number = begun.entry(job).or_default();
        *number += 1;
        *number
    };
    assert!(number > 1, "the test lets the first run of {job} panic");
}

/// The jobs of the guide, with their column "Lease".
fn documented() -> BTreeMap<String, bool> {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/operation.md");
    let text = std::fs::read_to_string(guide).unwrap();
    let (_, section) = text.split_once("\n## Background jobs\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split(" | ").collect();
        (cells[0].trim_end_matches('`').to_owned(), cells[2].starts_with("yes"))
    })
    .collect()
}

fn jobs(readiness: &Value) -> &Vec<Value> {
    readiness["jobs"].as_array().unwrap_or_else(|| panic!("no jobs in {readiness}"))
}

#[tokio::test]
async fn each_job_runs_again_after_a_panic() {
    let (directory, port) = (scratch(), free_port());
    let certified = rcgen::generate_simple_self_signed(["things.example.com".to_owned()]).unwrap();
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| directory.path().join(name));
    std::fs::write(&certificate, certified.cert.pem()).unwrap();
    std::fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    let _server = TestServer::start_on(&TestDatabase::create().await, |settings| {
        settings.before_job_run = Some(BeforeRun(panic_in_the_first_run));
        settings.limits.job_restart = Duration::from_millis(20);
        settings.limits.retention_check = Duration::from_millis(20);
        settings.limits.statistics_pause = Duration::from_millis(20);
        settings.limits.sessions_per_user = Some(100);
        settings.tls.check = Duration::from_millis(20);
        (settings.tls.cert, settings.tls.key) = (Some(certificate), Some(key));
        settings.admin_listen = Some(([127, 0, 0, 1], port).into());
    })
    .await;
    let operator = Caller::new(&format!("http://127.0.0.1:{port}"), None);

    let readiness = eventually("a second run of each job", async || {
        let readiness = operator.read(DETAILS).await;
        let works = |job: &Value| job["panics"] == 1 && job["failures"] == 0;
        let runs_again = |job: &Value| begun().get(job["name"].as_str().unwrap()) > Some(&1);
        jobs(&readiness).iter().all(|job| works(job) && runs_again(job)).then_some(readiness)
    })
    .await;

    let found: BTreeMap<String, bool> = jobs(&readiness)
        .iter()
        .map(|job| (job["name"].as_str().unwrap().to_owned(), job["lease"] == true))
        .collect();
    assert_eq!(found, documented());
    for job in jobs(&readiness) {
        let last = if job["periodSeconds"].is_null() { "PANICKED" } else { "DONE" };
        assert_eq!(job["lastResult"], last, "{job}");
    }
    let metrics = operator.get("/metrics").await.text;
    let panicked: BTreeSet<&str> = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("platform_job_runs_total{name=\"")?.strip_suffix("\"} 1"))
        .filter_map(|labels| labels.strip_suffix("\",outcome=\"panicked"))
        .collect();
    assert_eq!(panicked, found.keys().map(String::as_str).collect(), "{metrics}");
}

#[tokio::test]
async fn readiness_shows_jobs_only_with_details() {
    let (_server, stranger) = TestServer::shared().await.with_stranger();

    assert_eq!(stranger.get("/health/ready").await.text, "{\"status\":\"UP\"}");
    assert_eq!(stranger.get("/health/ready?withDetails=false").await.text, "{\"status\":\"UP\"}");
    let detailed = stranger.read(DETAILS).await;
    assert_eq!(detailed["status"], "UP");
    let retention = jobs(&detailed).iter().find(|job| job["name"] == "retention").unwrap();
    assert_eq!((&retention["periodSeconds"], &retention["lease"]), (&json!(60.0), &json!(true)));
    stranger.get("/health/ready?withDetails=maybe").await.expect(422);
}

#[tokio::test]
async fn failing_job_is_counted_until_it_succeeds() {
    let server = TestServer::start_with(|settings| {
        settings.limits.job_restart = Duration::from_millis(20);
        settings.limits.usage_pause = Duration::from_millis(20);
    })
    .await;
    let usage = async || {
        let readiness = server.stranger().read(DETAILS).await;
        jobs(&readiness).iter().find(|job| job["name"] == "usage").unwrap().clone()
    };

    server.database().execute("ALTER TABLE usage_measurement RENAME TO elsewhere", &[]).await;
    eventually("failures in a row", async || {
        let usage = usage().await;
        (usage["failures"].as_u64() > Some(1)).then(|| assert_eq!(usage["lastResult"], "FAILED"))
    })
    .await;
    server.database().execute("ALTER TABLE elsewhere RENAME TO usage_measurement", &[]).await;

    until("a success", async || usage().await["failures"] == 0).await;
    assert_eq!((&usage().await["panics"], &usage().await["lastResult"]), (&json!(0), &json!("DONE")));
}
