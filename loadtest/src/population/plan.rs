//! The checked content of a scenario file: groups of devices, dashboards, servers, and the faults in each phase. Pure
//! data.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use super::between::Between;
pub(crate) use super::consumers::plan::{Away, Consumers, WATCHED, WAYS, Watched};
use super::feeder::Feeder;
use super::template::Template;
use crate::protocol::object_kind::ObjectKind;
use crate::traffic::schedule::curve::Curve;

/// Devices, dashboards and servers of a file, with their phases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// The seed of the random choices: the same seed makes the same choices in the same order.
    pub(crate) seed: u64,
    /// The servers to start; without them the server at `--url` is loaded.
    pub(crate) servers: Option<ServersPlan>,
    /// The tenants to create, by name; groups and dashboards refer to them by index.
    pub(crate) tenants: Vec<String>,
    pub(crate) groups: Vec<Group>,
    pub(crate) dashboards: Vec<Dashboards>,
    pub(crate) consumers: Vec<Consumers>,
    /// The tables of values for bodies and paths.
    pub(crate) feeders: Vec<Feeder>,
    /// The number of connections that post, and of those that read.
    pub(crate) posters: u32,
    /// Whether all data is read back at the end and compared with the responses.
    pub(crate) reads_back: bool,
    pub(crate) falsification: Option<Falsification>,
    pub(crate) phases: Vec<PhasePlan>,
}

/// Servers on one database.
#[derive(Debug, Clone)]
pub(crate) struct ServersPlan {
    /// The shell command that starts one server in the foreground.
    pub(crate) command: String,
    pub(crate) count: u16,
    /// The port of the first server on 127.0.0.1; the others use the following ports.
    pub(crate) port: u16,
    /// The address of their PostgreSQL. Without it, an additional server runs a private PostgreSQL; clients do not use
    /// that server.
    pub(crate) database_url: Option<String>,
    /// The directory of the secret key, the logs of the servers, and the private PostgreSQL.
    pub(crate) directory: PathBuf,
    /// Whether each session moves to the next server after each response or frame, as behind a balancer without sticky
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

/// All transports, with their words in a file.
pub(crate) const TRANSPORTS: [(&str, Transport); 4] = [
    ("json-poll", Transport::JsonPoll),
    ("csv-poll", Transport::CsvPoll),
    ("web-socket", Transport::WebSocket),
    ("rest", Transport::Rest),
];

impl Transport {
    /// Returns the name of the transport in a file.
    pub(crate) fn name(self) -> &'static str {
        TRANSPORTS.iter().find(|(_, of)| *of == self).map_or("", |(name, _)| *name)
    }
}

/// The processing mode of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// The write is stored and notified.
    #[default]
    Persistent,
    /// The write is only notified.
    Transient,
    /// The write is only stored.
    Quiescent,
    /// The write is neither stored nor notified; only modules see it.
    Cep,
}

impl Mode {
    /// Returns the complete header line that requests the mode; it is empty for the default.
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

    /// Returns whether clients are notified of the write.
    pub(crate) fn notifies(self) -> bool {
        matches!(self, Self::Persistent | Self::Transient)
    }
}

/// Devices of one kind.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) name: String,
    /// The index of the tenant; `None` is the tenant of `--user`.
    pub(crate) tenant: Option<usize>,
    pub(crate) count: u32,
    /// The transports, which the devices use in turn.
    pub(crate) transports: Vec<Transport>,
    /// The channels of the devices, except those that only send requests.
    pub(crate) listens: Listens,
    /// The filter of their subscriptions, which has to match everything that they listen to.
    pub(crate) filter: Option<String>,
    /// Whether the sessions acknowledge notifications, so that none is lost with a connection.
    pub(crate) acknowledges: bool,
    /// The time that an agent needs for an operation.
    pub(crate) takes: Duration,
    /// The number of measurements in a post; several are one collection, which is stored completely or not at all.
    pub(crate) per_post: u32,
    /// The own bodies of posts; what has none is posted with a body of this program.
    pub(crate) bodies: Vec<(Act, Template)>,
    /// The reads, of which each is chosen by its weight.
    pub(crate) queries: Vec<Query>,
    /// The modes of the posts, with the weight of each.
    pub(crate) modes: Vec<(Mode, u32)>,
}

/// A GET request.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) path: Template,
    pub(crate) weight: u32,
    /// The number of further pages that are read by the link `next`.
    pub(crate) follow: u32,
    pub(crate) by: Reader,
}

/// The user who reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Device,
    /// The administrator of the tenant.
    Administrator,
}

/// The channels to which a device subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Listens {
    /// The operations that the device executes.
    Operations,
    /// The device's own objects of these kinds.
    Objects(Vec<ObjectKind>),
}

/// Clients that receive the objects of all devices of a tenant.
#[derive(Debug, Clone)]
pub(crate) struct Dashboards {
    pub(crate) name: String,
    pub(crate) tenant: Option<usize>,
    pub(crate) count: u32,
    /// The transports, which the clients use in turn.
    pub(crate) transports: Vec<Transport>,
    pub(crate) watches: Vec<ObjectKind>,
    /// The number of filters, of which each matches a part of the devices; without filters 0.
    pub(crate) filters: u32,
    pub(crate) acknowledges: bool,
}

/// An action that the devices of a group do at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// One of the devices posts an object.
    Post(ObjectKind),
    /// An operator queues an operation for one of the devices.
    Operate,
    /// One of the devices drops its connection and opens a new session.
    Reconnect,
    /// One of the devices, or a person on its behalf, reads.
    Read,
}

impl Act {
    /// Returns the kind of the posted object, if it is a post.
    pub(crate) fn object(self) -> Option<ObjectKind> {
        match self {
            Self::Post(object) => Some(object),
            Self::Operate | Self::Reconnect | Self::Read => None,
        }
    }

    /// Returns whether something is posted.
    pub(crate) fn posts(self) -> bool {
        matches!(self, Self::Post(_) | Self::Operate)
    }
}

/// All actions, with their keys in a file.
pub(crate) const ACTS: [(&str, Act); 6] = [
    ("alarms", Act::Post(ObjectKind::Alarm)),
    ("events", Act::Post(ObjectKind::Event)),
    ("measurements", Act::Post(ObjectKind::Measurement)),
    ("operations", Act::Operate),
    ("reconnects", Act::Reconnect),
    ("reads", Act::Read),
];

/// An action of a group with its rate in a phase.
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
    /// The number of clients that have a session, by the name of their group or dashboards; all if it is not named.
    pub(crate) online: Vec<(String, Curve)>,
    pub(crate) faults: Vec<Fault>,
}

/// A fault of servers, the database or clients.
#[derive(Debug, Clone)]
pub(crate) struct Fault {
    pub(crate) what: FaultKind,
    /// The time from the start of the phase to the first occurrence.
    pub(crate) at: Between,
    /// The time from the end of one occurrence to the next; without it, the fault occurs once.
    pub(crate) every: Option<Between>,
    /// The duration of the fault, for kinds that have one.
    pub(crate) lasts: Duration,
    /// The affected clients, for faults of clients.
    pub(crate) of: Option<Clients>,
}

/// The clients that a fault affects.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clients {
    /// The name of a group or of dashboards, and the range of their numbers among the clients.
    pub(crate) name: String,
    /// The share of these clients, above 0 and at most 1.
    pub(crate) share: f64,
}

/// The catalogue of faults.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Clients lose their connections and continue their sessions over new ones.
    CutConnections,
    /// Clients drop their connections and all open new sessions at once.
    ReconnectStorm,
    /// Clients stop reading for a while.
    SlowReaders,
}

/// All faults with their names in a file and their expected effects on clients.
pub(crate) const FAULTS: [(FaultKind, &str, &str); 8] = [
    (
        FaultKind::Kill,
        "kill",
        "One server after the other is killed and started again. Its connections break and its sessions are gone, so \
         their clients open new ones. Posts to it may have no response; those with a 201 are stored. Sessions at \
         other servers receive everything.",
    ),
    (
        FaultKind::Pause,
        "pause",
        "One server after the other is paused for a while. Its clients continue at the other servers. Pending posts \
         have no response for five seconds, and notifications that the server had not yet sent arrive late.",
    ),
    (
        FaultKind::Restart,
        "restart",
        "One server after the other drains, stops, and is started again. No session may end and every post must be \
         accepted.",
    ),
    (
        FaultKind::CutDatabase,
        "cut-database",
        "The connections through which servers receive each other's changes are terminated. A session that could \
         have missed a notification ends; the others receive everything late.",
    ),
    (
        FaultKind::StopDatabase,
        "stop-database",
        "PostgreSQL is stopped as in a crash and started again. Posts get 503 until it is back; sessions that could \
         have missed a notification end. Posts with a 201 are stored.",
    ),
    (
        FaultKind::CutConnections,
        "cut-connections",
        "Clients lose their connections and continue their sessions. With `acknowledges = true` they miss nothing; \
         without it a notification in transit may be lost.",
    ),
    (
        FaultKind::ReconnectStorm,
        "reconnect-storm",
        "Clients drop their connections and all open new sessions at once. They miss notifications of posts before \
         their new subscription. Readers of consumers forget what they have received, as if they were killed.",
    ),
    (
        FaultKind::SlowReaders,
        "slow-readers",
        "Clients stop reading for a while. They receive everything late, or their sessions end because their queues \
         are full; other clients must not be affected.",
    ),
];

impl Fault {
    /// Returns whether servers drain before they stop.
    pub(crate) fn drains(&self) -> bool {
        self.what == FaultKind::Restart
    }
}

impl FaultKind {
    /// Returns the name of the fault in a file and its expected effects on clients.
    pub(crate) fn words(self) -> (&'static str, &'static str) {
        let of_kind = FAULTS.iter().find(|(kind, ..)| *kind == self);
        of_kind.map(|(_, name, meaning)| (*name, *meaning)).expect("the catalogue has all kinds")
    }

    /// Returns whether the fault affects servers or the database, which the run then has to start.
    pub(crate) fn is_of_servers(self) -> bool {
        !self.is_of_clients()
    }

    /// Returns whether the fault affects clients.
    pub(crate) fn is_of_clients(self) -> bool {
        matches!(self, Self::CutConnections | Self::ReconnectStorm | Self::SlowReaders)
    }

    /// Returns whether the fault has a duration.
    pub(crate) fn lasts(self) -> bool {
        matches!(self, Self::Pause | Self::SlowReaders)
    }
}

/// A falsification of received notifications before they are recorded, as a control: such a run must not be clean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Falsification {
    /// A notification is not recorded.
    Drop,
    /// A notification is recorded twice.
    Double,
    /// A notification is recorded after the next one of its device.
    Swap,
}

impl Plan {
    /// Returns the number of groups in all phases.
    pub(crate) fn slots(&self) -> usize {
        self.phases.len() * self.groups.len()
    }

    /// Returns the number of clients that are connected at the same time.
    pub(crate) fn clients(&self) -> usize {
        let listen = |group: &&Group| group.transports.iter().any(|transport| *transport != Transport::Rest);
        let devices = self.groups.iter().filter(listen).map(|group| group.count as usize).sum::<usize>();
        let consumers = self.consumers.iter().map(|consumers| consumers.count as usize).sum::<usize>();
        devices
            + consumers
            + self.dashboards.iter().map(|dashboards| dashboards.count as usize).sum::<usize>()
    }
}
