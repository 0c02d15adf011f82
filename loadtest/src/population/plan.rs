//! What a scenario file describes, checked and complete: groups of devices, dashboards, servers, and what happens to them
//! in each phase. Pure data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::curve::Curve;
use crate::object_kind::ObjectKind;

/// Devices, dashboards and servers of a file, with their phases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// Where the random choices begin: the same seed makes the same choices in the same order.
    pub(crate) seed: u64,
    /// The servers to start; without them the server at `--url` is loaded.
    pub(crate) servers: Option<ServersPlan>,
    /// The tenants to create, by name; groups and dashboards name them by index.
    pub(crate) tenants: Vec<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) dashboards: Vec<Dashboards>,
    /// Connections that post.
    pub(crate) posters: u32,
    /// Whether everything is read back at the end and compared with the responses.
    pub(crate) reads_back: bool,
    pub(crate) falsification: Option<Falsification>,
    pub(crate) phases: Vec<PhasePlan>,
}

/// Servers on one database.
#[derive(Debug, Clone)]
pub(crate) struct ServersPlan {
    /// Shell command that starts one in the foreground.
    pub(crate) command: String,
    pub(crate) count: u16,
    /// Port of the first on 127.0.0.1; the others use the following ones.
    pub(crate) port: u16,
    /// Their PostgreSQL, unless it is the private one of one more server, which clients do not use.
    pub(crate) database_url: Option<String>,
    /// Directory of the secret key, the logs of the servers, and the private PostgreSQL.
    pub(crate) directory: PathBuf,
    /// Whether each session goes to the next server after each response or frame, as behind a balancer that knows no
    /// sessions.
    pub(crate) is_round_robin: bool,
}

/// The transport of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Transport {
    /// HTTP long polling.
    #[default]
    JsonPoll,
    /// Long polling with rows of CSV.
    CsvPoll,
    /// Frames over an upgraded connection.
    WebSocket,
    /// Requests only.
    Rest,
}

impl Transport {
    /// Returns how a file names it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::JsonPoll => "json-poll",
            Self::CsvPoll => "csv-poll",
            Self::WebSocket => "web-socket",
            Self::Rest => "rest",
        }
    }
}

/// What is done with a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Mode {
    /// Stored and notified.
    #[default]
    Persistent,
    /// Notified only.
    Transient,
    /// Stored only.
    Quiescent,
    /// Neither; modules see it.
    Cep,
}

impl Mode {
    /// Returns the complete header line that requests it, which is none for the default.
    pub(crate) fn header(self) -> &'static str {
        match self {
            Self::Persistent => "",
            Self::Transient => "X-Platform-Processing-Mode: TRANSIENT\r\n",
            Self::Quiescent => "X-Platform-Processing-Mode: QUIESCENT\r\n",
            Self::Cep => "X-Platform-Processing-Mode: CEP\r\n",
        }
    }

    /// Returns whether the write is stored.
    pub(crate) fn stores(self) -> bool {
        matches!(self, Self::Persistent | Self::Quiescent)
    }

    /// Returns whether clients are notified of it.
    pub(crate) fn notifies(self) -> bool {
        matches!(self, Self::Persistent | Self::Transient)
    }
}

/// Devices of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The index of its tenant; without one, that of `--user`.
    pub(crate) tenant: Option<usize>,
    pub(crate) count: u32,
    /// The transports, which its devices use in turn.
    pub(crate) transports: Vec<Transport>,
    /// What its devices listen to, except those that only send requests.
    pub(crate) listens: Listens,
    /// Whether its sessions acknowledge notifications, so that none is lost with a connection.
    pub(crate) acknowledges: bool,
    /// How long an agent takes for an operation.
    pub(crate) takes: Duration,
    /// The modes of its posts, with the weight of each.
    pub(crate) modes: Vec<(Mode, u32)>,
}

/// What a device listens to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listens {
    /// The operations that it executes.
    Operations,
    /// Its own objects of these kinds.
    Objects(Vec<ObjectKind>),
}

/// Clients that see the objects of all devices of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Dashboards {
    pub(crate) name: String,
    pub(crate) tenant: Option<usize>,
    pub(crate) count: u32,
    /// The transports, which they use in turn.
    pub(crate) transports: Vec<Transport>,
    pub(crate) watches: Vec<ObjectKind>,
    pub(crate) acknowledges: bool,
}

/// What the devices of a group do at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// One of them posts an object.
    Post(ObjectKind),
    /// An operator queues an operation for one of them.
    Operate,
    /// One of them drops its connection and begins a new session.
    Reconnect,
}

/// All of them, with the key of a file.
pub(crate) const ACTS: [(&str, Act); 5] = [
    ("alarms", Act::Post(ObjectKind::Alarm)),
    ("events", Act::Post(ObjectKind::Event)),
    ("measurements", Act::Post(ObjectKind::Measurement)),
    ("operations", Act::Operate),
    ("reconnects", Act::Reconnect),
];

/// Something that a group does at a rate in a phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stream {
    /// The index of the group.
    pub(crate) group: usize,
    pub(crate) act: Act,
    pub(crate) curve: Curve,
}

/// A phase.
#[derive(Debug, Clone, Default)]
pub(crate) struct PhasePlan {
    pub(crate) lasts: Duration,
    pub(crate) streams: Vec<Stream>,
    pub(crate) faults: Vec<Fault>,
}

/// Something that is done to servers, the database or clients.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) what: FaultKind,
    /// From the start of the phase to the first time.
    pub(crate) at: Duration,
    /// From the end of one time to the next; without it, it is done once.
    pub(crate) every: Option<Duration>,
    /// How long it lasts, for those that last.
    pub(crate) lasts: Duration,
    /// The clients, for those that are done to clients.
    pub(crate) of: Option<Clients>,
}

/// The clients that a fault hits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clients {
    /// The name of a group or of dashboards, and its numbers among the clients.
    pub(crate) name: String,
    /// The part of them, above 0 and at most 1.
    pub(crate) share: f64,
}

/// The catalogue of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FaultKind {
    /// A server is killed with SIGKILL and started again.
    Kill,
    /// A server is paused with SIGSTOP.
    Pause,
    /// A server is stopped with SIGTERM, and another one is started in its place.
    Restart,
    /// The listening database connections of all servers are terminated.
    CutDatabase,
    /// The private PostgreSQL is stopped immediately and started again.
    StopDatabase,
    /// Clients lose their connections and go on with their sessions over new ones.
    CutConnections,
    /// Clients drop their connections and all begin new sessions at once.
    ReconnectStorm,
    /// Clients read nothing for a while.
    SlowReaders,
}

/// All of them: how a file names each, and what clients may see.
pub(crate) const FAULTS: [(FaultKind, &str, &str); 8] = [
    (
        FaultKind::Kill,
        "kill",
        "One server after the other is killed and started again. Its connections break and its sessions are gone, so their clients begin new ones. Posts to it may have no response; those with a 201 are stored. Sessions at other servers hear everything.",
    ),
    (
        FaultKind::Pause,
        "pause",
        "One server after the other stands still for a while. Its clients go on at the other servers. Posts that were under way have no response for five seconds, and what it had not yet sent arrives late.",
    ),
    (
        FaultKind::Restart,
        "restart",
        "One server after the other drains, stops, and is started again. No session may end and every post must be accepted.",
    ),
    (
        FaultKind::CutDatabase,
        "cut-database",
        "The connections by which servers hear of each other's changes are terminated. A session that could have missed something ends; the others hear everything, late.",
    ),
    (
        FaultKind::StopDatabase,
        "stop-database",
        "PostgreSQL is stopped as in a crash and started again. Posts get 503 until it is back; sessions that could have missed something end. What had a 201 is stored.",
    ),
    (
        FaultKind::CutConnections,
        "cut-connections",
        "Clients lose their connections and go on with their sessions. With `acknowledges = true` they miss nothing; without it a notification that was on its way may be lost.",
    ),
    (
        FaultKind::ReconnectStorm,
        "reconnect-storm",
        "Clients drop their connections and begin new sessions, all at once. They miss what was posted before their new subscription.",
    ),
    (
        FaultKind::SlowReaders,
        "slow-readers",
        "Clients read nothing for a while. They hear everything late, or their sessions end because their queues are full; nobody else may notice.",
    ),
];

impl Fault {
    /// Returns whether servers drain before they stop.
    pub(crate) fn drains(&self) -> bool {
        self.what == FaultKind::Restart
    }
}

impl FaultKind {
    /// Returns how a file names it, and what clients may see.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        let of_kind = FAULTS.iter().find(|(kind, ..)| *kind == self);
        of_kind.map(|(_, name, meaning)| (*name, *meaning)).expect("the catalogue has all kinds")
    }

    /// Returns whether it is done to servers or the database, which the file must start then.
    pub(crate) fn is_of_servers(self) -> bool {
        !self.is_of_clients()
    }

    /// Returns whether it is done to clients.
    pub(crate) fn is_of_clients(self) -> bool {
        matches!(self, Self::CutConnections | Self::ReconnectStorm | Self::SlowReaders)
    }

    /// Returns whether it has a duration.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Self::Pause | Self::SlowReaders)
    }
}

/// What is done to received notifications before they are recorded, as a control: the run must not be clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Falsification {
    /// It is not recorded.
    Drop,
    /// It is recorded twice.
    Double,
    /// It is recorded after the next one of its device.
    Swap,
}

impl Plan {
    /// Returns how many clients are connected at the same time.
    pub(crate) fn clients(&self) -> usize {
        let listen = |group: &&Group| group.transports.iter().any(|transport| *transport != Transport::Rest);
        let devices = self.groups.iter().filter(listen).map(|group| group.count as usize).sum::<usize>();
        devices + self.dashboards.iter().map(|dashboards| dashboards.count as usize).sum::<usize>()
    }
}
