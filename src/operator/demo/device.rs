//! The life of a device: it describes itself, sends measurements, has faults and carries out operations. A few devices
//! fall silent for some minutes.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::chance::Chance;
use super::duty::Duty;
use super::listen::Listener;
use super::order::Order;
use super::plan::{Kind, Plan};
use super::unit::{Unit, after};
use super::wire::Wire;
use super::world::World;
use crate::client::failure::Failure;
use platform_model::naming::naming;

/// The version of the firmware that devices are delivered with.
pub(super) const FIRMWARE: &str = "demo-os";
const VERSION: &str = "4.1.0";
/// Of this many devices, one falls silent now and then, and another one is in maintenance. Both are identified by the
/// remainder of their number.
const ONE_OF: usize = 60;
const SILENT: usize = 2;
const MAINTAINED: usize = 5;
/// The seconds until such a device falls silent for the first time, the length of its silence, and the pause between
/// two silences.
const FIRST_SILENCE: f64 = 20.0;
const SILENCE: f64 = 260.0;
const SPEECH: f64 = 240.0;
/// The minutes within which a device must send a message to be available.
const INTERVAL: i64 = 5;
/// The seconds between two positions that a truck sends.
const PLACE: f64 = 45.0;
/// The seconds after which a device that the server rejected tries again.
const PAUSE: f64 = 5.0;

/// A running simulated device.
pub(super) struct Device {
    pub(super) world: Arc<World>,
    pub(super) plan: Plan,
    pub(super) chance: Chance,
    pub(super) wire: Wire,
    /// The device itself, followed by the rooms that it is the gateway of.
    pub(super) units: Vec<Unit>,
    pub(super) duty: Option<Duty>,
    pub(super) waiting: VecDeque<Order>,
    /// Whether the device is on: neither restarting nor silent.
    pub(super) online: watch::Sender<bool>,
    orders: mpsc::Receiver<Order>,
    measures: Instant,
    places: Instant,
    /// The time at which it falls silent or becomes active again.
    changes: Option<Instant>,
    is_silent: bool,
}

/// Runs a device until its task is aborted; after an error it starts again.
pub(super) async fn live(world: Arc<World>, number: usize) {
    let mut chance = world.chance(number);
    // The first connections of a fleet are spread over two seconds.
    sleep(std::time::Duration::from_secs_f64(chance.between(0.0, 2.0))).await;
    loop {
        match Box::pin(Device::start(world.clone(), number, chance.clone())).await {
            Ok((device, listener)) => {
                tokio::join!(device.run(), listener.listen());
                return;
            }
            Err(failure) => world.note(&failure),
        }
        sleep_until(after(PAUSE)).await;
    }
}

impl Device {
    async fn start(
        world: Arc<World>,
        number: usize,
        mut chance: Chance,
    ) -> Result<(Self, Listener), Failure> {
        let plan = world.fleet[number].clone();
        let (mut wire, id) = (world.wire(number)?, world.id(number).unwrap_or_default().to_owned());
        describe(&mut wire, &plan, &id).await?;
        let mut units = vec![Unit::new(&world, number, id.clone(), &mut chance)];
        if plan.kind == Kind::ColdStore {
            for (room, id) in rooms(&world, &mut wire, number, &id).await? {
                units.push(Unit::new(&world, room, id, &mut chance));
            }
        }
        let (sender, orders) = mpsc::channel(64);
        let (online, switched) = watch::channel(true);
        let listener = Listener {
            wire: world.wire(number)?,
            world: world.clone(),
            id,
            speaks_csv: plan.kind.speaks_csv(),
            orders: sender,
            online: switched,
        };
        let changes = falls_silent(&plan).then(|| after(FIRST_SILENCE + number as f64));
        let now = Instant::now();
        let device = Self {
            world,
            plan,
            chance,
            wire,
            units,
            duty: None,
            waiting: VecDeque::new(),
            online,
            orders,
            measures: now,
            places: now,
            changes,
            is_silent: false,
        };
        Ok((device, listener))
    }

    async fn run(mut self) {
        loop {
            let wakes = self.wakes();
            tokio::select! {
                () = sleep_until(wakes) => {}
                Some(order) = self.orders.recv() => self.queue(order),
            }
            if let Err(failure) = self.act().await {
                self.world.note(&failure);
            }
        }
    }

    /// Returns the time at which the device has to act next.
    fn wakes(&self) -> Instant {
        let never = after(3600.0);
        let change = self.changes.unwrap_or(never);
        if self.is_silent {
            return change;
        }
        let duty = self.duty.as_ref().map_or(never, |duty| duty.ends);
        if !*self.online.borrow() {
            return duty.min(change);
        }
        let troubles = self.units.iter().map(Unit::due).min().unwrap_or(never);
        let places = if self.plan.kind == Kind::Truck { self.places } else { never };
        duty.min(change).min(troubles).min(places).min(self.measures)
    }

    /// Does everything that is due now.
    async fn act(&mut self) -> Result<(), Failure> {
        let now = Instant::now();
        if self.changes.is_some_and(|changes| changes <= now) {
            self.is_silent = !self.is_silent;
            self.changes = Some(after(if self.is_silent { SILENCE } else { SPEECH }));
            self.online.send_replace(!self.is_silent);
        }
        if self.is_silent {
            return Ok(());
        }
        if self.duty.as_ref().is_some_and(|duty| duty.ends <= now) {
            self.finish().await?;
        }
        if self.duty.is_none() && *self.online.borrow() {
            self.begin_next().await?;
        }
        if !*self.online.borrow() {
            return Ok(());
        }
        self.pass_through_troubles(now).await?;
        if self.measures <= now {
            self.measures = after(self.plan.kind.period() * self.chance.between(0.7, 1.3));
            self.measure().await?;
        }
        if self.plan.kind == Kind::Truck && self.places <= now {
            self.places = after(PLACE * self.chance.between(0.6, 1.4));
            self.tell_place().await?;
        }
        Ok(())
    }
}

fn falls_silent(plan: &Plan) -> bool {
    plan.number % ONE_OF == SILENT && plan.kind != Kind::ColdStore
}

/// Writes the properties of a device into its managed object.
async fn describe(wire: &mut Wire, plan: &Plan, id: &str) -> Result<(), Failure> {
    let interval = match plan.number % ONE_OF {
        MAINTAINED => -1,
        _ if falls_silent(plan) => 1,
        _ => INTERVAL,
    };
    let fragment = |name| naming().fragment(name);
    let operations = ["Restart", "Configuration", "Firmware", "LogfileRequest"].map(fragment);
    let (model, serial) = (model(plan.kind), &plan.serial);
    if plan.kind.speaks_csv() {
        let rows = format!(
            "110,{serial},{model},C\n114,{}\n115,{FIRMWARE},{VERSION}\n117,{interval}",
            operations[..3].join(",")
        );
        return wire.rows("/s", rows).await.map(drop);
    }
    let body = json!({
        fragment("Hardware"): {"model": model, "revision": "C", "serialNumber": serial},
        fragment("Firmware"): {"name": FIRMWARE, "version": VERSION},
        fragment("SupportedOperations"): operations,
        fragment("RequiredAvailability"): {"responseInterval": interval},
    });
    wire.change(&format!("/inventory/managedObjects/{id}"), body).await
}

fn model(kind: Kind) -> &'static str {
    match kind {
        Kind::Pump => "P 300",
        Kind::Meter => "M 12",
        Kind::Truck => "Tracker 4G",
        Kind::ColdStore => "Gateway 8",
        Kind::Room => "Probe",
    }
}

/// Returns the number in the fleet and the id of each room of a cold store. Missing rooms are created.
async fn rooms(
    world: &World,
    wire: &mut Wire,
    store: usize,
    id: &str,
) -> Result<Vec<(usize, String)>, Failure> {
    let path = format!("/inventory/managedObjects/{id}/childDevices");
    let known = wire.read(&format!("{path}?pageSize=2000")).await?;
    let known = known["references"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rooms = Vec::new();
    for room in world.fleet.iter().filter(|plan| plan.parent == Some(store)) {
        let same = known.iter().find(|one| one["managedObject"]["name"] == room.name.as_str());
        let id = match same {
            Some(one) => text(&one["managedObject"]["id"]),
            None => {
                let body = json!({
                    "name": room.name,
                    "type": room.kind.object_type(),
                    naming().fragment("IsDevice"): {},
                    naming().fragment("Hardware"): {"model": model(room.kind), "serialNumber": room.serial},
                });
                let id = text(&wire.create("/inventory/managedObjects", body).await?["id"]);
                wire.create(&path, json!({"managedObject": {"id": id}})).await?;
                id
            }
        };
        world.set_id(room.number, &id);
        rooms.push((room.number, id));
    }
    Ok(rooms)
}
