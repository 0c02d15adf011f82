//! Heartbeats: the time of each device's last message, written at intervals.
//!
//! A message from a device sends one message to this actor and waits for nothing. The first heartbeat is written at
//! once. Later ones within a share of the device's response interval are remembered and written together with others
//! when the share is over. So a device costs one row per share, whatever it sends. The stored time is behind by one
//! share at most, and at the end of an interval it is exact. An object without a response interval is checked once
//! per minute.
//!
//! There is one such actor per actor thread. If two of them record the same device, here or in another process, the
//! later time is stored.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use futures_util::future::LocalBoxFuture;
use platform_model::devices::availability::ResponseInterval;
use platform_model::limits::Limits;
use platform_model::links::Links;
use platform_store::Pool;
use platform_store::devices::availability::{self, Device, Watched};

/// The time between two checks of an object without a response interval. A change of its interval is reported at once.
const UNWATCHED: Duration = Duration::from_secs(60);
/// The least time between two writes for a device in maintenance. When maintenance ends, the silence counts at once
///
const MAINTENANCE: Duration = Duration::from_secs(1);
/// The number of shares of an interval; the last message is written once per share.
const SHARES: u32 = 8;
/// The delay before a failed write is retried.
const RETRY: Duration = Duration::from_secs(1);
/// The pause between two removals of objects without new messages from memory.
const CLEAN_UP_INTERVAL: Duration = Duration::from_secs(60);
/// The most rows of one statement.
const AT_ONCE: usize = 1000;

/// Reports that a device created something or wrote to its object.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct RecordHeartbeat {
    pub(crate) device: Device,
    /// The base address of links in notifications that this causes.
    pub(crate) links: Links,
}

/// Reports that the response interval of an object changed, maybe by another process, so that its next write must be
/// scheduled again.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct RescheduleHeartbeat {
    /// `None` means every object, because changes may have been missed.
    pub(crate) device: Option<Device>,
}

/// Clears the unavailability alarm of a device that was silent. The links are those of the notifications about it.
pub(crate) type ClearAlarm = Box<dyn Fn(Device, Links) -> LocalBoxFuture<'static, ()> + Send>;

/// A heartbeat that is not written yet.
#[derive(Debug)]
struct Unwritten {
    at: Instant,
    links: Links,
}

/// When a device's heartbeat is written next, and the heartbeat if there is one.
#[derive(Debug)]
struct Schedule {
    next: Instant,
    unwritten: Option<Unwritten>,
}

/// Writes the heartbeats of devices.
pub(crate) struct Heartbeats {
    pool: Pool,
    limits: Arc<Limits>,
    clear_alarm: ClearAlarm,
    known: HashMap<Device, Schedule>,
    /// The devices with unwritten heartbeats, by the time of their next write.
    waiting: BTreeSet<(Instant, Device)>,
    writing: bool,
    timer: Option<(SpawnHandle, Instant)>,
}

impl Heartbeats {
    pub(crate) fn new(pool: Pool, limits: Arc<Limits>, clear_alarm: ClearAlarm) -> Self {
        Self {
            pool,
            limits,
            clear_alarm,
            known: HashMap::new(),
            waiting: BTreeSet::new(),
            writing: false,
            timer: None,
        }
    }

    /// Schedules the next write of a device.
    fn reschedule(&mut self, device: &Device, next: Instant) {
        let Some(schedule) = self.known.get_mut(device) else { return };
        if schedule.unwritten.is_some() {
            self.waiting.remove(&(schedule.next, device.clone()));
            self.waiting.insert((next, device.clone()));
        }
        schedule.next = next;
    }

    /// Writes the due heartbeats with one statement at a time, or waits until the next one is due.
    fn write_due(&mut self, ctx: &mut Context<Self>) {
        if self.writing {
            return;
        }
        let due = self.take_due();
        if due.is_empty() {
            return self.arm(ctx);
        }
        self.writing = true;
        let (pool, begun) = (self.pool.clone(), Instant::now());
        let ages: Vec<_> = due.iter().map(|(device, heard)| (device.clone(), heard.at.elapsed())).collect();
        let write = async move { availability::hear(&pool, &ages).await };
        ctx.spawn(write.into_actor(self).map(move |outcome, actor, ctx| {
            actor.writing = false;
            match outcome {
                Ok(watched) => actor.written(due, watched, begun, ctx),
                Err(error) => {
                    tracing::debug!(%error, "heartbeats could not be written; they are retried");
                    actor.put_back(due);
                }
            }
            actor.write_due(ctx);
        }));
    }

    /// Takes the due heartbeats, sorted by device.
    fn take_due(&mut self) -> Vec<(Device, Unwritten)> {
        let now = Instant::now();
        let mut due = Vec::new();
        while due.len() < AT_ONCE && self.waiting.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, device)) = self.waiting.pop_first() else { break };
            let Some(schedule) = self.known.get_mut(&device) else { continue };
            // Until the statement is complete there is no second write for the device.
            schedule.next = now + self.limits.write_timeout;
            due.extend(schedule.unwritten.take().map(|unwritten| (device, unwritten)));
        }
        due.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        due
    }

    fn written(
        &mut self,
        due: Vec<(Device, Unwritten)>,
        watched: Vec<Watched>,
        begun: Instant,
        ctx: &mut Context<Self>,
    ) {
        let mut watched: HashMap<Device, Watched> =
            watched.into_iter().map(|watched| (watched.device.clone(), watched)).collect();
        for (device, heard) in due {
            let pause = match watched.remove(&device) {
                None => UNWATCHED,
                Some(watched) => {
                    if watched.was_silent {
                        let clearing = (self.clear_alarm)(device.clone(), heard.links);
                        ctx.spawn(clearing.into_actor(self));
                    }
                    self.pause(watched.interval)
                }
            };
            // If the interval changed meanwhile, the result is outdated and the device stays due.
            let is_due = self.known.get(&device).is_none_or(|schedule| schedule.next <= Instant::now());
            if !is_due {
                self.reschedule(&device, begun + pause);
            }
        }
    }

    /// Puts heartbeats back after a failed write, unless a later one has arrived.
    fn put_back(&mut self, due: Vec<(Device, Unwritten)>) {
        let next = Instant::now() + RETRY;
        for (device, heard) in due {
            if let Some(schedule) = self.known.get_mut(&device)
                && schedule.unwritten.is_none()
            {
                schedule.unwritten = Some(heard);
            }
            self.reschedule(&device, next);
        }
    }

    fn pause(&self, interval: ResponseInterval) -> Duration {
        let share = if interval.is_maintenance() { MAINTENANCE } else { interval.duration() / SHARES };
        share.min(self.limits.heartbeat_pause)
    }

    /// Sets the timer to the time of the next write.
    fn arm(&mut self, ctx: &mut Context<Self>) {
        let Some(due) = self.waiting.first().map(|(at, _)| *at) else { return };
        match self.timer {
            Some((_, at)) if at <= due => return,
            Some((late, _)) => drop(ctx.cancel_future(late)),
            None => {}
        }
        let rest = due.saturating_duration_since(Instant::now());
        let handle = ctx.run_later(rest, |actor, ctx| {
            actor.timer = None;
            actor.write_due(ctx);
        });
        self.timer = Some((handle, due));
    }
}

impl Actor for Heartbeats {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.run_interval(CLEAN_UP_INTERVAL, |actor, _| {
            let now = Instant::now();
            actor.known.retain(|_, schedule| schedule.unwritten.is_some() || schedule.next > now);
        });
    }
}

impl Handler<RecordHeartbeat> for Heartbeats {
    type Result = ();

    fn handle(&mut self, RecordHeartbeat { device, links }: RecordHeartbeat, ctx: &mut Self::Context) {
        let at = Instant::now();
        let schedule =
            self.known.entry(device.clone()).or_insert_with(|| Schedule { next: at, unwritten: None });
        if schedule.unwritten.replace(Unwritten { at, links }).is_none() {
            self.waiting.insert((schedule.next, device));
            self.write_due(ctx);
        }
    }
}

impl Handler<RescheduleHeartbeat> for Heartbeats {
    type Result = ();

    fn handle(&mut self, RescheduleHeartbeat { device }: RescheduleHeartbeat, ctx: &mut Self::Context) {
        let now = Instant::now();
        match device {
            Some(device) => self.reschedule(&device, now),
            None => {
                let devices: Vec<Device> = self.known.keys().cloned().collect();
                devices.iter().for_each(|device| self.reschedule(device, now));
            }
        }
        self.write_due(ctx);
    }
}
