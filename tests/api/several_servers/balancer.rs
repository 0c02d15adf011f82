//! The documented configuration of HAProxy (docs/deploy/haproxy.cfg) in front of two servers.
//!
//! Where HAProxy is missing, these tests print that and pass, unless `PLATFORM_CLIENT_SUITE=required` is set, as in CI.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use platform_store::realtime::servers::State;

use super::*;

/// Debian installs HAProxy in a directory that is not in every user's PATH.
const PROGRAMS: [&str; 2] = ["haproxy", "/usr/sbin/haproxy"];
/// A server becomes unready within two seconds after a drain, and HAProxy checks every second.
const DRAINED: Duration = Duration::from_secs(30);

/// Returns the program, if it is installed.
pub(super) fn find_haproxy() -> Option<&'static str> {
    let runs = |name: &&str| Command::new(name).arg("-v").output().is_ok();
    let found = PROGRAMS.into_iter().find(runs);
    assert!(found.is_some() || !other_programs_are_required(), "haproxy is not installed");
    if found.is_none() {
        eprintln!("SKIPPED the test of the balancer: haproxy is not installed");
    }
    found
}

/// Returns the text of a file of the project.
pub(super) fn documented(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// A running HAProxy with a documented configuration; it is killed when this is dropped.
pub(super) struct Balancer {
    process: Child,
    pub(super) base: String,
}

impl Balancer {
    /// Starts HAProxy with these servers as web1 and web2. At the address of web3, nothing listens.
    fn start(haproxy: &str, directory: &Path, servers: &[TestServer; 2]) -> Self {
        let mut text = documented("docs/deploy/haproxy.cfg");
        for (name, server) in ["web1:8080", "web2:8080"].iter().zip(servers) {
            text = text.replace(name, &server.address().to_string());
        }
        text = text.replace("web3:8080", &format!("127.0.0.1:{}", free_port()));
        Self::run(haproxy, directory, &text)
    }

    /// Starts HAProxy with a configuration that listens on port 8080, on another port.
    pub(super) fn run(haproxy: &str, directory: &Path, text: &str) -> Self {
        let port = free_port();
        let file = written(directory, &text.replace("bind :8080", &format!("bind 127.0.0.1:{port}")));
        let mut command = Command::new(haproxy);
        command.arg("-db").arg("-f").arg(file).stdout(Stdio::null()).stderr(Stdio::null());
        Self { process: command.spawn().unwrap(), base: format!("http://127.0.0.1:{port}") }
    }

    /// Starts HAProxy and waits until it uses both servers.
    async fn serving(haproxy: &str, directory: &Path, servers: &[TestServer; 2]) -> Self {
        let balancer = Self::start(haproxy, directory, servers);
        let admin = balancer.admin();
        until("the balancer", async || {
            let response = admin.request("GET", "/user/currentUser").try_send().await;
            response.is_some_and(|response| response.status == 200)
        })
        .await;
        balancer.serves_by(&["web1", "web2"]).await;
        balancer
    }

    fn admin(&self) -> Caller {
        Caller::new(&self.base, Some(("admin", ADMIN_PASSWORD)))
    }

    /// Returns the names of the servers that respond to a series of requests.
    async fn servers(&self) -> BTreeSet<String> {
        let mut servers = BTreeSet::new();
        for _ in 0..12 {
            let response = self.admin().get("/user/currentUser").await.expect(200);
            servers.insert(response.header("X-Served-By").unwrap().to_owned());
        }
        servers
    }

    async fn serves_by(&self, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        until_within(DRAINED, "the servers of the balancer", async || self.servers().await == expected).await;
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn written(directory: &Path, text: &str) -> PathBuf {
    let file = directory.join("haproxy.cfg");
    std::fs::write(&file, text).unwrap();
    file
}

#[tokio::test]
async fn documented_balancer_passes_everything_and_spares_a_server_that_drains() {
    let Some(haproxy) = find_haproxy() else { return };
    let (directory, servers) = (scratch(), TestServer::start_two().await);
    let balancer = Balancer::serving(haproxy, directory.path(), &servers).await;
    let admin = balancer.admin();

    set_state_of(&servers[1], State::Draining).await;
    balancer.serves_by(&["web1"]).await;

    // All kinds of connections work, and clients receive notifications about writes at the other server.
    let device = admin.create_device("pump").await;
    let session = admin.listen("/alarms/*").await;
    let (mut socket, _) = Socket::listen(&admin, "/alarms/*").await;
    let held = session.hold().await;
    let alarm = id(&servers[1].admin().raise_alarm(&device, "hot").await);
    let told = held.answer().await;
    assert_eq!(told[0]["data"]["data"]["id"], json!(alarm), "{told:?}");
    assert_eq!(socket.message().await["data"]["data"]["id"], json!(alarm));
    // Links contain the address of the balancer.
    let read = admin.read(&format!("/alarm/alarms/{alarm}")).await;
    assert_eq!(read["id"], json!(alarm));

    set_state_of(&servers[1], State::Up).await;
    balancer.serves_by(&["web1", "web2"]).await;
}

/// The type of the last alarm, after which a client stops.
const LAST: &str = "last";

/// Returns the ids of the alarms in these notifications, and whether each is the last.
fn alarms(notifications: &[Value]) -> impl Iterator<Item = (String, bool)> {
    let alarm = |told: &Value| {
        let alarm = &told["data"]["data"];
        (id(alarm), alarm["type"] == LAST)
    };
    notifications.iter().map(alarm)
}

/// Holds one poll after the other until the last alarm arrives. Returns the ids of all alarms.
async fn poll_until_last(session: Session) -> Vec<String> {
    let (mut received, mut is_done) = (Vec::new(), false);
    while !is_done {
        let answer = session.connect_with(json!({"advice": {"timeout": 5000}})).await;
        assert_eq!(reply(&answer)["successful"], true, "after {}: {answer:?}", received.len());
        for (alarm, is_last) in alarms(notifications(&answer)) {
            received.push(alarm);
            is_done |= is_last;
        }
    }
    received
}

/// Reads from sockets, one after the other, until the last alarm arrives. Returns the ids of all alarms.
async fn read_until_last(caller: Caller, client: String, mut socket: Socket) -> Vec<String> {
    let mut received = Vec::new();
    loop {
        while let Some(message) = socket.message_or_end().await {
            if message["channel"] == "/meta/connect" {
                assert_eq!(message["successful"], true, "after {}: {message}", received.len());
                socket.send(json!([connect(&client)]).to_string()).await;
                continue;
            }
            for (alarm, is_last) in alarms(&[message]) {
                received.push(alarm);
                if is_last {
                    return received;
                }
            }
        }
        // The session has moved to a server that accepts new clients.
        socket = Socket::open(&caller, REALTIME).await;
        socket.send(json!([connect(&client)]).to_string()).await;
    }
}

#[tokio::test]
async fn clients_in_turn_at_all_servers_receive_everything_once_while_one_drains() {
    let Some(haproxy) = find_haproxy() else { return };
    let (directory, servers) = (scratch(), TestServer::start_two().await);
    let balancer = Balancer::serving(haproxy, directory.path(), &servers).await;
    let (admin, writers) = (balancer.admin(), [servers[0].admin(), servers[1].admin()]);
    let device = admin.create_device("pump").await;
    let mut clients = Vec::new();
    for _ in 0..4 {
        let session = balancer.admin().listen("/alarms/*").await;
        clients.push(tokio::spawn(poll_until_last(session)));
        let (socket, client) = Socket::listen(&admin, "/alarms/*").await;
        clients.push(tokio::spawn(read_until_last(admin.clone(), client, socket)));
    }

    let mut drain = std::pin::pin!(async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        set_state_of(&servers[1], State::Draining).await;
        balancer.serves_by(&["web1"]).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        set_state_of(&servers[1], State::Up).await;
        balancer.serves_by(&["web1", "web2"]).await;
    });
    let mut raised = Vec::new();
    for (n, writer) in writers.iter().cycle().enumerate() {
        let is_over = tokio::time::timeout(Duration::from_millis(20), &mut drain).await.is_ok();
        let kind = if is_over { LAST.to_owned() } else { format!("t{n}") };
        raised.push(id(&writer.raise_alarm(&device, &kind).await));
        if is_over {
            break;
        }
    }

    for (n, client) in clients.into_iter().enumerate() {
        assert_eq!(client.await.unwrap(), raised, "client {n}");
    }
}

#[test]
fn documented_configurations_are_accepted() {
    let Some(haproxy) = find_haproxy() else { return };
    let (directory, text) = (scratch(), documented("docs/deploy/haproxy.cfg"));
    let guide = documented("docs/guide/operation.md");
    let (_, affinity) = guide.split_once("```haproxy\n").unwrap();
    let (affinity, _) = affinity.split_once("```").unwrap();
    let by_tenant = text.replace("    balance roundrobin\n", affinity);
    assert_ne!(text, by_tenant);
    let map = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/deploy/tenants.map");
    let deployments = documented("docs/deploy/haproxy-deployments.cfg")
        .replace("/etc/haproxy/tenants.map", map.to_str().unwrap())
        .replace("/run/haproxy/", &format!("{}/", directory.path().display()));
    for text in [text, by_tenant, deployments] {
        let checked =
            Command::new(haproxy).arg("-c").arg("-f").arg(written(directory.path(), &text)).output();
        let checked = checked.unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn compose_file_names_the_servers_of_the_balancer() {
    let (compose, balancer) = (documented("docs/deploy/compose.yaml"), documented("docs/deploy/haproxy.cfg"));
    for server in ["web1", "web2", "web3"] {
        assert!(
            compose.contains(&format!("\n  {server}:\n")) && balancer.contains(&format!("{server}:8080"))
        );
    }
    for setting in compose.lines().filter_map(|line| line.trim().strip_prefix("PLATFORM_")) {
        let (name, _) = setting.split_once(':').unwrap();
        let reference = documented("docs/settings.md");
        let flag = format!("`--{}`", name.to_lowercase().replace('_', "-"));
        assert!(reference.contains(&flag), "{flag}");
    }
}
