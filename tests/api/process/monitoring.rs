//! Metrics, and the files in `ops/` that use them. Prometheus' own tool checks both.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::*;

fn in_project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Runs promtool, which must succeed. Returns false if it is not installed.
fn approves(arguments: &[&str], input: &str) -> bool {
    if Command::new("promtool").arg("--version").output().is_err() {
        assert!(!other_programs_are_required(), "promtool is not installed");
        eprintln!("SKIPPED: promtool is not installed");
        return false;
    }
    let mut promtool = Command::new("promtool");
    promtool.args(arguments).current_dir(in_project("ops"));
    let output = run(promtool, input);
    let told = [output.stdout, output.stderr].concat();
    let told = String::from_utf8_lossy(&told);
    assert!(output.status.success(), "promtool {arguments:?}: {told}");
    true
}

/// The metrics of a server that has done some work.
async fn metrics() -> String {
    let directory = scratch_with_data();
    let mut command = Program::command(directory.path(), &[]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let program = Program::serve_with(command);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    admin.create("/alarm/alarms", &alarm_of(&device, "hot")).await;
    session.receive(1).await;
    assert_eq!(Caller::new(program.base(), Some(("admin", "wrong"))).get("/alarm/alarms").await.status, 401);
    Caller::new(program.base(), None).get("/metrics").await.text
}

#[tokio::test]
async fn metrics_are_described_and_few() {
    let text = metrics().await;

    approves(&["check", "metrics"], &text);
    assert!(text.len() < 100_000, "{} bytes", text.len());
    let series: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    for name in [
        "platform_build_info{",
        "process_resident_memory_bytes ",
        "platform_database_connections{pool=\"reads\"",
    ] {
        assert!(series.iter().any(|line| line.starts_with(name)), "{name} in {text}");
    }
    let described: BTreeSet<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()).collect();
    for line in series {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        let is_described =
            described.contains(name) || family.is_some_and(|family| described.contains(family));
        assert!(is_described, "{name} has no HELP");
    }
}

#[tokio::test]
async fn address_of_operators_has_health_and_metrics_and_nothing_else() {
    let (directory, port) = (scratch_with_data(), free_port());
    let address = format!("127.0.0.1:{port}");
    let mut command = Program::command(directory.path(), &["--admin-listen", &address]);
    command.env("PLATFORM_ADMIN_PASSWORD", "admin-secret");
    let mut program = Program::serve_with(command);
    let operator = Caller::new(&format!("http://{address}"), None);
    let admin = Caller::new(program.base(), Some(("admin", "admin-secret")));
    let clients = program.base().strip_prefix("http://").unwrap().to_owned();

    for path in ["/health/live", "/health/ready", "/metrics"] {
        assert_eq!(operator.get(path).await.status, 200, "{path}");
        assert_eq!(operator.request("HEAD", path).send().await.status, 200, "{path}");
    }
    assert!(operator.get("/metrics").await.text.contains("platform_build_info"));
    assert_eq!(admin.get("/metrics").await.status, 404);
    let with_details = "/health/ready?withDetails=true";
    assert_eq!(admin.get(with_details).await.expect(200).json(), json!({"status": "UP"}));
    assert!(operator.read(with_details).await["jobs"].is_array());
    let with_credentials = Caller::new(&format!("http://{address}"), Some(("admin", "admin-secret")));
    // The reference is only at the other address.
    assert_eq!(with_credentials.request("GET", "/alarm/alarms").head().await.status(), 404);
    let told = |arguments: &[&str]| {
        let addresses = ["--listen", &clients, "--admin-listen", &address];
        let output = run(Program::command(directory.path(), &[arguments, &addresses].concat()), "");
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, status) = told(&["status"]);
    assert!(code == Some(0) && status.contains(&format!("metrics   ready at http://{address}")), "{status}");
    assert!(status.contains("background jobs work"), "{status}");
    assert!(told(&["doctor"]).1.contains("admin address"));
    assert_eq!(told(&["status", "--live"]).0, Some(0));
    let taken = ["--listen", "127.0.0.1:0", "--admin-listen", &address, "--data-dir", "elsewhere"];
    let output = run(Program::command(directory.path(), &taken), "");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&address) && said.contains("choose another address with --admin-listen"), "{said}");
    program.signal(Signal::TERM);
    assert_eq!(program.ended_within(Duration::from_secs(25)).await.code(), Some(0));
    let (code, status) = told(&["status", "--live"]);
    assert!(code == Some(1) && status.contains("none at"), "{status}");
}

#[tokio::test]
async fn life_of_a_server_with_a_certificate_is_checked_over_tls() {
    let directory = scratch_with_data();
    let certified = rcgen::generate_simple_self_signed(["things.example.com".to_owned()]).unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| directory.path().join(name));
    std::fs::write(&files[0], certified.cert.pem()).unwrap();
    std::fs::write(&files[1], certified.signing_key.serialize_pem()).unwrap();
    let tls =
        [["--tls-cert", files[0].to_str().unwrap()], ["--tls-key", files[1].to_str().unwrap()]].concat();
    let program = Program::serve_with(Program::command(directory.path(), &tls));
    let address = program.base().strip_prefix("https://").unwrap();

    for (arguments, code) in
        [(&["status", "--live"][..], Some(0)), (&["doctor"], Some(0)), (&["status"], Some(0))]
    {
        let arguments = [arguments, &["--listen", address], &tls].concat();
        let output = run(Program::command(directory.path(), &arguments), "");
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), code, "{told}");
        assert!(told.contains(&format!("https://{address}")), "{told}");
    }
}

#[test]
fn alert_rules_are_valid_and_alert() {
    approves(&["check", "rules", "alerts.yml"], "");
    approves(&["test", "rules", "alerts.test.yml"], "");
}

/// The names of metrics in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("platform_") || word.starts_with("process_")).collect()
}

#[tokio::test]
async fn rules_and_dashboard_name_metrics_that_there_are() {
    let (exported, mut sources) = (metrics().await, String::new());
    let mut directories = vec![in_project("src"), in_project("actors")];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => directories.push(entry.path()),
                false => sources.push_str(&std::fs::read_to_string(entry.path()).unwrap_or_default()),
            }
        }
    }
    for file in ["ops/alerts.yml", "ops/dashboard.json"] {
        let text = std::fs::read_to_string(in_project(file)).unwrap();
        let named = metrics_in(&text);
        assert!(named.len() > 8, "{named:?}");
        for name in named {
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|suffix| name.strip_suffix(suffix))
                .unwrap_or(name);
            let is_there = exported.contains(family) || sources.contains(&format!("\"{family}\""));
            assert!(is_there, "{file} names {name}, which is no metric");
        }
    }
    let dashboard = std::fs::read_to_string(in_project("ops/dashboard.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&dashboard).unwrap();
}
