//! The bridges from a named consumer to a webhook and to NATS JetStream: whatever happens to the receiver, the server
//! and the bridge, every notification arrives, and a repetition has the position that it had before.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use platform_test_harness::{Caller, eventually, eventually_within, free_port, scratch};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::receiver::{Behaviour, Receiver, SECRET};
use super::stage::{Sample, Stage, folder, is_usable};

/// The bridges pause for seconds when they are refused several times.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server with a consumer of alarms, whose types say in which order they were raised.
struct Source {
    stage: Stage,
    admin: Caller,
    device: String,
    raised: usize,
}

impl Source {
    async fn start() -> Self {
        let stage = Stage::start().await;
        let admin = stage.caller("main/admin");
        let device = admin.create_device("pump").await;
        let consumer = json!({"name": "bridge", "channels": ["/alarms/*"]});
        admin.create("/notification/consumers", &consumer).await;
        Self { stage, admin, device, raised: 0 }
    }

    /// Raises alarms with the types `n0`, `n1` and so on.
    async fn raise(&mut self, count: usize) {
        for _ in 0..count {
            self.admin.raise_alarm(&self.device, &format!("n{:03}", self.raised)).await;
            self.raised += 1;
        }
    }

    /// Kills the server and starts it again.
    async fn restart(&mut self) {
        self.stage.end(Signal::KILL).await;
        self.stage.launch();
    }

    /// Returns a bridge as a command, with its common arguments.
    fn bridge(&self, sample: &str) -> Command {
        let mut command = Command::new("python3");
        command.arg(folder(sample).join("bridge.py")).args(["--url", &self.stage.base()]);
        command.args(["--user", "main/admin", "--consumer", "bridge", "--pause", "0.05", "--timeout", "1"]);
        command.env("PLATFORM_PASSWORD", platform_test_harness::ADMIN_PASSWORD).env("no_proxy", "*");
        command
    }

    /// Waits until the consumer has acknowledged everything.
    async fn is_acknowledged(&self) {
        eventually_within(PATIENCE, "the acknowledgement of everything", async || {
            let consumer = self.admin.read("/notification/consumers/bridge").await;
            (consumer["position"] == consumer["newest"]).then_some(())
        })
        .await;
    }

    fn expected(&self) -> Vec<String> {
        (0..self.raised).map(|number| format!("n{number:03}")).collect()
    }
}

/// Returns the types of alarms in the order of their positions. Each type has one position, however often it came.
pub(crate) fn in_order(notifications: &[Value]) -> Vec<String> {
    let mut positions: BTreeMap<i64, &str> = BTreeMap::new();
    let mut types: BTreeMap<&str, i64> = BTreeMap::new();
    for notification in notifications {
        let position = notification["position"].as_i64().unwrap();
        let kind = notification["data"]["data"]["type"].as_str().unwrap();
        let before = (positions.insert(position, kind), types.insert(kind, position));
        assert!(before.0.is_none_or(|known| known == kind), "{position} is {before:?} and {kind}");
        assert!(before.1.is_none_or(|known| known == position), "{kind} is at {before:?} and {position}");
    }
    positions.into_values().map(ToOwned::to_owned).collect()
}

fn has_python() -> bool {
    is_usable(Command::new("python3").args(["-c", "import http.client"]))
}

#[tokio::test]
async fn webhook_gets_everything_whatever_fails() {
    if !has_python() {
        return;
    }
    let mut source = Source::start().await;
    let mut receiver = Receiver::start();
    let dead_letters = source.stage.directory.path().join("dead");
    let run = |source: &Source, receiver: &Receiver| {
        let mut command = source.bridge("webhook-bridge");
        command.args(["--to", &receiver.address(), "--batch", "4"]).arg("--dead-letters").arg(&dead_letters);
        Sample::run(command.env("WEBHOOK_SECRET", SECRET))
    };
    use Behaviour::{Hang, Refuse, Reset, Swallow};
    receiver.plan([Refuse(302), Refuse(500), Reset, Hang, Swallow, Refuse(401), Refuse(429)]);
    source.raise(10).await;

    let bridge = run(&source, &receiver);
    receiver.has(&source.expected()).await;
    source.is_acknowledged().await;
    assert!(receiver.repetitions() > 0, "the swallowed batch came once");

    // The receiver dies; the bridge dies while it waits for it; both come back.
    receiver.die();
    source.raise(6).await;
    bridge.says("again in", 8).await;
    drop(bridge);
    receiver.revive();
    let bridge = run(&source, &receiver);
    source.raise(2).await;
    receiver.has(&source.expected()).await;

    // The server is killed.
    source.restart().await;
    source.raise(3).await;
    receiver.has(&source.expected()).await;
    source.is_acknowledged().await;
    assert!(!dead_letters.exists());
    assert!(!bridge.said().contains("Traceback"), "{}", bridge.said());
}

#[tokio::test]
async fn webhook_keeps_what_is_refused_and_ends_when_nobody_wants_more() {
    if !has_python() {
        return;
    }
    let mut source = Source::start().await;
    let receiver = Receiver::start();
    let dead_letters = source.stage.directory.path().join("dead");
    let run = |source: &Source| {
        let mut command = source.bridge("webhook-bridge");
        command.args(["--to", &receiver.address()]).arg("--dead-letters").arg(&dead_letters);
        Sample::run(command.env("WEBHOOK_SECRET", SECRET))
    };
    source.raise(2).await;
    source.admin.raise_alarm(&source.device, "poison").await;
    source.raise(2).await;

    let mut bridge = run(&source);
    receiver.has(&source.expected()).await;
    source.is_acknowledged().await;
    let dead: Value = serde_json::from_str(&std::fs::read_to_string(&dead_letters).unwrap()).unwrap();
    assert_eq!(dead["notifications"][0]["data"]["data"]["type"], "poison");
    assert!(dead["refused"].as_str().unwrap().starts_with("422"), "{dead}");

    receiver.plan([Behaviour::Refuse(410)]);
    source.raise(1).await;
    eventually("the end of the bridge", async || (!bridge.runs()).then_some(())).await;
    assert!(bridge.said().contains("nothing more can be delivered: 410"), "{}", bridge.said());
    // The notification is still there for whoever reads next.
    let _bridge = run(&source);
    receiver.has(&source.expected()).await;
}

/// A NATS server with JetStream, whose data survive restarts.
struct Nats {
    directory: tempfile::TempDir,
    port: u16,
    server: Option<std::process::Child>,
}

impl Nats {
    fn start() -> Self {
        let mut nats = Self { directory: scratch(), port: free_port(), server: None };
        nats.launch();
        nats
    }

    fn launch(&mut self) {
        let mut command = Command::new("nats-server");
        command
            .args(["-js", "-a", "127.0.0.1", "-p", &self.port.to_string(), "-sd"])
            .arg(self.directory.path());
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.server = Some(quiet.spawn().unwrap());
    }

    fn signal(&self, signal: Signal) {
        let server = self.server.as_ref().unwrap();
        let process = rustix::process::Pid::from_raw(server.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(process, signal).unwrap();
    }

    fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().ok();
            server.wait().ok();
        }
    }

    fn address(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Returns the messages of the stream, read with the client of the sample: id, subject, content.
    fn stored(&self) -> Vec<(String, String, Value)> {
        let program = "import sys, json, base64\n\
            from nats import Nats\n\
            nats = Nats(sys.argv[1], 5)\n\
            nats.connect()\n\
            state = nats.request('$JS.API.STREAM.INFO.PLATFORM', None)['state']\n\
            for number in range(state['first_seq'], state['last_seq'] + 1):\n    \
                message = nats.request('$JS.API.STREAM.MSG.GET.PLATFORM', {'seq': number})['message']\n    \
                head = base64.b64decode(message['hdrs']).decode()\n    \
                print(json.dumps([head.split('Nats-Msg-Id: ')[1].split('\\r\\n')[0], message['subject'],\n        \
                    json.loads(base64.b64decode(message['data']))]))\n";
        let mut command = Command::new("python3");
        command.args(["-c", program, &self.address()]).current_dir(folder("nats-bridge"));
        let output = command.env("PYTHONDONTWRITEBYTECODE", "1").output().unwrap();
        let lines = String::from_utf8(output.stdout).unwrap();
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until the stream has a message for each of these types of alarms, and returns its messages.
    async fn has(&self, types: &[String]) -> Vec<(String, String, Value)> {
        eventually_within(PATIENCE, "all messages in the stream", async || {
            let stored = self.stored();
            let contents: Vec<Value> = stored.iter().map(|(.., content)| content.clone()).collect();
            (in_order(&contents) == types).then_some(stored)
        })
        .await
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

#[tokio::test]
async fn stream_of_nats_gets_everything_once_whatever_fails() {
    if !has_python() || !is_usable(Command::new("nats-server").arg("--version")) {
        return;
    }
    let mut source = Source::start().await;
    let mut nats = Nats::start();
    let run = |source: &Source, nats: &Nats| {
        let mut command = source.bridge("nats-bridge");
        Sample::run(command.args(["--nats", &nats.address(), "--batch", "7"]))
    };
    let bridge = run(&source, &nats);
    source.raise(10).await;
    nats.has(&source.expected()).await;

    // NATS hangs.
    nats.signal(Signal::STOP);
    source.raise(5).await;
    bridge.says("again in", 2).await;
    nats.signal(Signal::CONT);
    nats.has(&source.expected()).await;

    // NATS is killed, then the bridge, which has not acknowledged anything of this.
    nats.kill();
    source.raise(5).await;
    bridge.says("again in", 4).await;
    drop(bridge);
    nats.launch();
    let bridge = run(&source, &nats);
    nats.has(&source.expected()).await;

    // The server is killed.
    source.restart().await;
    source.raise(5).await;
    let stored = nats.has(&source.expected()).await;
    source.is_acknowledged().await;
    assert_eq!(stored.len(), source.raised, "JetStream knows repetitions by their ids: {stored:?}");
    for (id, subject, content) in stored {
        assert_eq!(id, format!("main-{}", content["position"]));
        assert_eq!(subject, format!("platform.alarms.{}", source.device));
    }
    assert!(!bridge.said().contains("Traceback"), "{}", bridge.said());
}

#[test]
fn bridges_read_the_consumer_with_the_same_code() {
    let read =
        |sample: &str| std::fs::read_to_string(Path::new(&folder(sample)).join("consumer.py")).unwrap();
    assert_eq!(read("webhook-bridge"), read("nats-bridge"));
}
