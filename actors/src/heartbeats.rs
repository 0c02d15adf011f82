//! Heartbeats: which devices were heard, written down now and then.
//!
//! A write by a device costs a message to this actor and waits for nothing. The first one is written at once; what follows
//! within a share of the device's interval is remembered and written together with others when that share is over. So a
//! device costs one row per share, whatever it sends, and the time that is stored is never further behind than the share:
//! at the end of an interval it is exact. Objects that nobody watches cost a look per minute.
//!
//! One actor per actor thread; two that hear the same device, here or in another process, write what is later.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use actix::prelude::*;
use deadpool_postgres::Pool;

use crate::device::EndSilence;
use crate::limits::Limits;
use crate::model::availability::ResponseInterval;
use crate::model::id::ManagedObjectId;
use crate::model::links::Links;
use crate::model::origin::Origin;
use crate::platform::Platform;
use crate::store::availability::{self, Device, Watched};

/// How often an object that is not watched is looked at again; a change of its interval is told at once.
const UNWATCHED: Duration = Duration::from_secs(60);
/// How often a device in maintenance is written down at most: when that ends, its silence counts at once.
const MAINTENANCE: Duration = Duration::from_secs(1);
/// Into how many parts an interval is divided; the last message is written once in each.
const SHARES: u32 = 8;
/// After this time a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);
/// How often objects are forgotten that were not heard since they were due.
const FORGET: Duration = Duration::from_secs(60);
/// Rows of one statement.
const AT_ONCE: usize = 1000;

/// A device was heard: it created something, or wrote to its object.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub(crate) struct Heard {
    pub(crate) device: Device,
    /// How links start in what is told because of it.
    pub(crate) links: Links,
}

/// What an object asks for changed, maybe by another process: forget its rhythm.
#[derive(Debug, Clone, Message)]
#[rtype(result = "()")]
pub(crate) struct Forget {
    /// `None` stands for all: changes may have been missed.
    pub(crate) device: Option<Device>,
}

/// What was heard and is not written yet.
#[derive(Debug)]
struct Unwritten {
    at: Instant,
    links: Links,
}

/// When a device is written down next, if there is something to write.
#[derive(Debug)]
struct Rhythm {
    next: Instant,
    unwritten: Option<Unwritten>,
}

/// Writes down when devices were heard.
pub(crate) struct Heartbeats {
    pool: Pool,
    limits: Arc<Limits>,
    platform: Weak<Platform>,
    known: HashMap<Device, Rhythm>,
    /// Those with something to write, by when they are.
    waiting: BTreeSet<(Instant, Device)>,
    writing: bool,
    timer: Option<(SpawnHandle, Instant)>,
}

impl Heartbeats {
    pub(crate) fn new(pool: Pool, limits: Arc<Limits>, platform: Weak<Platform>) -> Self {
        Self {
            pool,
            limits,
            platform,
            known: HashMap::new(),
            waiting: BTreeSet::new(),
            writing: false,
            timer: None,
        }
    }

    /// Moves what a device waits for.
    fn reschedule(&mut self, device: &Device, next: Instant) {
        let Some(rhythm) = self.known.get_mut(device) else { return };
        if rhythm.unwritten.is_some() {
            self.waiting.remove(&(rhythm.next, device.clone()));
            self.waiting.insert((next, device.clone()));
        }
        rhythm.next = next;
    }

    /// Writes what is due, one statement at a time; else waits for what is due first.
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
                    tracing::debug!(%error, "heartbeats are written a little later");
                    actor.put_back(due);
                }
            }
            actor.write_due(ctx);
        }));
    }

    /// What is due now, sorted by device.
    fn take_due(&mut self) -> Vec<(Device, Unwritten)> {
        let now = Instant::now();
        let mut due = Vec::new();
        while due.len() < AT_ONCE && self.waiting.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, device)) = self.waiting.pop_first() else { break };
            let Some(rhythm) = self.known.get_mut(&device) else { continue };
            // Until the answer is there: no second write of the same device.
            rhythm.next = now + self.limits.write_timeout;
            due.extend(rhythm.unwritten.take().map(|unwritten| (device, unwritten)));
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
                        self.end_silence(device.clone(), heard.links, ctx);
                    }
                    self.pause(watched.interval)
                }
            };
            // Told meanwhile that the device asks for something else: what was found out is of before, so it stays due.
            let is_due = self.known.get(&device).is_none_or(|rhythm| rhythm.next <= Instant::now());
            if !is_due {
                self.reschedule(&device, begun + pause);
            }
        }
    }

    /// A write failed: what was heard later meanwhile takes the place of what was to be written.
    fn put_back(&mut self, due: Vec<(Device, Unwritten)>) {
        let next = Instant::now() + RETRY;
        for (device, heard) in due {
            if let Some(rhythm) = self.known.get_mut(&device)
                && rhythm.unwritten.is_none()
            {
                rhythm.unwritten = Some(heard);
            }
            self.reschedule(&device, next);
        }
    }

    fn pause(&self, interval: ResponseInterval) -> Duration {
        let share = match interval.is_maintenance() {
            true => MAINTENANCE,
            false => interval.duration() / SHARES,
        };
        share.min(self.limits.heartbeat_pause)
    }

    /// Has the alarm cleared of a device that was silent.
    fn end_silence(&self, (tenant, device): Device, links: Links, ctx: &mut Context<Self>) {
        let Some(platform) = self.platform.upgrade() else { return };
        let ending = async move {
            if let Err(error) = platform.tenant(&tenant).ask_device(device, EndSilence { links }).await {
                tracing::debug!(%error, "the alarm of a silence is cleared by the next sweep");
            }
        };
        ctx.spawn(ending.into_actor(self));
    }

    /// Sees to it that the timer fires when something is due.
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
        ctx.run_interval(FORGET, |actor, _| {
            let now = Instant::now();
            actor.known.retain(|_, rhythm| rhythm.unwritten.is_some() || rhythm.next > now);
        });
    }
}

impl Handler<Heard> for Heartbeats {
    type Result = ();

    fn handle(&mut self, Heard { device, links }: Heard, ctx: &mut Self::Context) {
        let at = Instant::now();
        let rhythm = self.known.entry(device.clone()).or_insert_with(|| Rhythm { next: at, unwritten: None });
        if rhythm.unwritten.replace(Unwritten { at, links }).is_none() {
            self.waiting.insert((rhythm.next, device));
            self.write_due(ctx);
        }
    }
}

impl Handler<Forget> for Heartbeats {
    type Result = ();

    fn handle(&mut self, Forget { device }: Forget, ctx: &mut Self::Context) {
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

impl crate::device::Context {
    /// Notes that a device was heard: call it after each creation of an alarm, event or measurement for `source`, and after a
    /// PUT on it. Nothing is awaited. Only device users count, without an application key, and not in modes that store
    /// nothing (M-02).
    pub(crate) fn heard(&self, source: ManagedObjectId, origin: &Origin) {
        if origin.is_heartbeat() {
            let device = (self.tenant.clone(), source);
            self.heartbeats.do_send(Heard { device, links: origin.links.clone() });
        }
    }
}
