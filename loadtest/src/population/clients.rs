//! Simulates the clients: each keeps a session, and opens another one when that ends. A client stays with its server as
//! long as the server responds, and otherwise continues its session at the next one. With `round-robin` it changes the
//! server every time.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::agent::Agent;
use super::open_session::{OpenSession, is_broken};
use super::plan::{Group, Listens, Plan, Transport};
use super::world::{Device, Home, Login, World};
use crate::error::Error;
use crate::ledger::session::{ClientId, Scope, SessionLedger};
use crate::protocol::bayeux;
use crate::protocol::csv::session::CsvDevice;
use crate::protocol::object_kind::ObjectKind;

/// The longest time to open a session before the client tries the next server.
const OPENING_LIMIT: Duration = Duration::from_secs(5);
/// The longest pause before the client tries the next server, in milliseconds.
const LONGEST_PAUSE: u64 = 200;
/// The topic of operations; those of objects are in the order of [`ObjectKind`].
pub(super) const OPERATIONS: u32 = 3;

/// A client.
#[derive(Debug)]
pub(super) struct ClientSpec {
    pub(super) id: ClientId,
    pub(super) endpoint: &'static str,
    pub(super) channels: Vec<String>,
    /// The filter of its subscriptions.
    pub(super) filter: Option<String>,
    pub(super) transport: Transport,
    pub(super) acknowledges: bool,
    pub(super) login: Login,
    /// The parameters of CSV, for devices that use it.
    pub(super) csv: Option<CsvDevice>,
    /// The agent, if the client is one.
    pub(super) agent: Option<Agent>,
    /// The number of its first server.
    home: usize,
    /// The number of its device or, for a dashboard, its number among the clients; generators share clients by it.
    pub(super) number: usize,
}

/// All clients before they connect.
#[derive(Debug, Default)]
pub(super) struct ClientSpecs {
    pub(super) all: Vec<ClientSpec>,
    /// The client of each device, if the device listens.
    pub(super) of_devices: Vec<Option<ClientId>>,
    /// The clients of each group and of all dashboards of a name.
    pub(super) by_name: Vec<(String, std::ops::Range<ClientId>)>,
}

/// Returns the topic of a kind of objects.
pub(super) fn topic(object: ObjectKind) -> u32 {
    match object {
        ObjectKind::Alarm => 0,
        ObjectKind::Event => 1,
        ObjectKind::Measurement => 2,
    }
}

impl ClientSpecs {
    /// Creates the clients of a plan, and adds them to the ledger.
    pub(super) fn of(plan: &Plan, world: &World, ledger: &mut SessionLedger, servers: usize) -> Self {
        let mut specs = Self { of_devices: vec![None; world.devices.len()], ..Self::default() };
        for (group, devices) in plan.groups.iter().zip(&world.groups) {
            let first = specs.all.len();
            for number in devices.clone() {
                let device = &world.devices[number as usize];
                if device.transport != Transport::Rest {
                    let spec = of_device(world, group, device, number, ledger, servers);
                    specs.of_devices[number as usize] = Some(spec.id);
                    specs.all.push(spec);
                }
            }
            specs.by_name.push((group.name.clone(), first..specs.all.len()));
        }
        for dashboards in &plan.dashboards {
            let first = specs.all.len();
            let home = world.home(dashboards.tenant);
            let transports = dashboards.transports.iter().copied().cycle();
            for (number, transport) in (0..dashboards.count as usize).zip(transports) {
                let topics = dashboards.watches.iter().map(|object| topic(*object)).collect();
                let channel = |object: &ObjectKind| format!("{}/*", object.channel());
                let (devices, filter) = part_of(world, home, number, dashboards.filters as usize);
                let id = ledger.add_client(Scope::new(devices, topics));
                specs.all.push(ClientSpec {
                    id,
                    number: id,
                    endpoint: bayeux::REALTIME,
                    channels: dashboards.watches.iter().map(channel).collect(),
                    filter,
                    transport,
                    acknowledges: dashboards.acknowledges,
                    login: world.administrator(home).clone(),
                    csv: None,
                    agent: None,
                    // The transports alternate at each server.
                    home: number / dashboards.transports.len() % servers,
                });
            }
            specs.by_name.push((dashboards.name.clone(), first..specs.all.len()));
        }
        specs
    }
}

/// Returns the devices of a tenant that a dashboard receives, and the filter that selects them: all devices without
/// filters, and otherwise one of as many parts of them.
fn part_of(world: &World, home: Home, number: usize, filters: usize) -> (Range<u32>, Option<String>) {
    let all = world.devices_of(home);
    let parts = filters.min(all.len());
    if parts == 0 {
        return (all, None);
    }
    let bound = |part: usize| all.start + (all.len() * part / parts) as u32;
    let part = bound(number % parts)..bound(number % parts + 1);
    let conditions =
        part.clone().map(|device| format!("source.id eq '{}'", world.devices[device as usize].id));
    let filter = conditions.collect::<Vec<_>>().join(" or ");
    (part, Some(filter))
}

fn of_device(
    world: &World,
    group: &Group,
    device: &Device,
    number: u32,
    ledger: &mut SessionLedger,
    servers: usize,
) -> ClientSpec {
    let csv = CsvDevice {
        x_id: world.x_ids(device.home)[usize::from(group.listens != Listens::Operations)].to_owned(),
        serial: device.serial.clone(),
        by_id: number % 2 == 1,
    };
    let (endpoint, channels, topics, agent) = match &group.listens {
        Listens::Operations => {
            let agent = Agent { number, id: device.id.clone(), takes: group.takes };
            (bayeux::OPERATIONS, vec![format!("/{}", device.id)], vec![OPERATIONS], Some(agent))
        }
        Listens::Objects(objects) => {
            let channel = |object: &ObjectKind| format!("{}/{}", object.channel(), device.id);
            let topics = objects.iter().map(|object| topic(*object)).collect();
            (bayeux::REALTIME, objects.iter().map(channel).collect(), topics, None)
        }
    };
    ClientSpec {
        id: ledger.add_client(Scope::new(number..number + 1, topics)),
        endpoint,
        channels,
        filter: group.filter.clone(),
        transport: device.transport,
        acknowledges: group.acknowledges && device.transport != Transport::CsvPoll,
        login: device.login.clone(),
        csv: (device.transport == Transport::CsvPoll).then_some(csv),
        agent,
        home: number as usize % servers,
        number: number as usize,
    }
}

/// Starts these clients; dropping the set ends them. At most `connecting` of them open a session at the same time.
pub(super) fn open(shared: &Arc<Shared>, specs: Vec<ClientSpec>, connecting: usize) -> JoinSet<()> {
    let permits = Arc::new(Semaphore::new(connecting.max(1)));
    let mut clients = JoinSet::new();
    for spec in specs {
        clients.spawn(keep_session(Arc::clone(shared), Arc::clone(&permits), spec));
    }
    clients
}

/// Waits until the client is meant to have a session.
async fn stay_out(shared: &Shared, client: ClientId) {
    if shared.orders.is_out(client) {
        shared.ledger.lock().set_out(client, true);
        shared.orders.until_in(client).await;
        shared.ledger.lock().set_out(client, false);
    }
}

/// Keeps a session open until the run ends.
async fn keep_session(shared: Arc<Shared>, permits: Arc<Semaphore>, mut spec: ClientSpec) {
    let (mut turn, mut work) = (spec.home, spec.agent.take().map(Agent::work));
    loop {
        stay_out(&shared, spec.id).await;
        let server = shared.balancer.server_from(turn);
        let opened = {
            let _permit = permits.acquire().await;
            let asked = shared.run.now();
            let opening = OpenSession::open(&shared, server, &spec, work.as_mut());
            let opened = timeout(OPENING_LIMIT, Box::pin(opening)).await;
            let opened = opened.unwrap_or(Err(Error::Timeout("opening a session")));
            if opened.is_ok() {
                shared.ledger.lock().open(spec.id, server, asked, shared.run.now());
            }
            opened
        };
        let error = match opened {
            Ok(mut session) => match Box::pin(session.listen(&shared, &spec, work.as_mut())).await {
                Ok(()) => {
                    shared.ledger.lock().leave(spec.id, shared.run.now());
                    shared.series.reconnected();
                    continue;
                }
                Err(error) => {
                    shared.ledger.lock().end(spec.id, shared.run.now());
                    shared.note(format!("ended: {}", gist(&error)));
                    error
                }
            },
            Err(error) => {
                shared.note(format!("not opened: {}", gist(&error)));
                sleep(Duration::from_millis(fastrand::u64(..LONGEST_PAUSE))).await;
                error
            }
        };
        shared.series.reconnected();
        if is_broken(&error) {
            shared.balancer.leave_out(server);
        }
        turn = server;
    }
}

/// Returns the kind of an error, without its details.
pub(super) fn gist(error: &Error) -> String {
    match error {
        Error::Io(_) | Error::WebSocket(_) => "connection broke".to_owned(),
        Error::During { cause, .. } => gist(cause),
        Error::Status { status, .. } => format!("status {status}"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_counted_by_kind() {
        let broken = || Error::Io(std::io::ErrorKind::UnexpectedEof.into());
        assert_eq!(gist(&broken().during("asking")), "connection broke");
        assert_eq!(gist(&Error::status("asking", 503, b"one of many bodies")), "status 503");
        let ended = Error::Bayeux { channel: bayeux::CONNECT, reason: "402::Unknown client".to_owned() };
        assert_eq!(gist(&ended), "/meta/connect: 402::Unknown client");
    }
}
