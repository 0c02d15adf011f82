//! The records of one tenant at this server.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use platform_model::id::ManagedObjectId;
use platform_model::realtime::trace::record::{
    RecordFilter, TraceEvent, TraceRecord, TracedChange, TracedReceiver,
};
use platform_model::realtime::trace::{Trace, TraceSubject};
use platform_model::timestamp::micros;

/// The most records of a tenant about changes, and the most of all others. The oldest ones make room. Their times are
/// nearly in order.
const MOST: [usize; 2] = [50_000, 10_000];
/// The microseconds for which records are kept.
const KEPT: i64 = 15 * 60 * 1_000_000;

/// Records what happens to the notifications of a tenant while traces run.
pub(crate) struct TraceRecorder {
    /// Whether a trace runs.
    is_on: AtomicBool,
    state: Mutex<State>,
    /// Returns the id under which administrators see a session.
    shown_id: ShownId,
}

/// Returns the id under which administrators see the session with a clientId.
type ShownId = Box<dyn Fn(u128) -> String + Send + Sync>;

#[derive(Default)]
struct State {
    traces: Vec<Trace>,
    /// The end of the last trace in microseconds since 1970.
    ends: i64,
    /// The records about changes, and all others, which many changes must not displace.
    records: [VecDeque<Record>; 2],
    last: u64,
    /// The ids under which administrators see the sessions that were looked at while traces run.
    shown: HashMap<u128, Box<str>>,
}

/// The clientId of a session, unless a request has none, and its user.
type Receiver = (Option<u128>, Arc<str>);

/// A record, with the clientId of its session.
struct Record {
    at: i64,
    number: u64,
    receiver: Option<Receiver>,
    event: TraceEvent,
}

impl TraceRecorder {
    /// Creates a recorder without traces.
    pub(crate) fn new(shown_id: impl Fn(u128) -> String + Send + Sync + 'static) -> Self {
        Self { is_on: AtomicBool::new(false), state: Mutex::default(), shown_id: Box::new(shown_id) }
    }

    /// Sets the running traces.
    pub(crate) fn set(&self, traces: Vec<Trace>) {
        let mut state = self.state.lock();
        self.is_on.store(!traces.is_empty(), Ordering::Relaxed);
        if traces.is_empty() {
            state.shown = HashMap::new();
        }
        state.ends = traces.iter().map(|trace| micros(trace.ends.instant())).max().unwrap_or_default();
        state.traces = traces;
        state.forget_old(Self::now());
    }

    /// Returns whether a trace runs.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// Returns a change for records if a trace concerns it. Without traces it costs one load.
    pub(crate) fn change(
        &self,
        source: ManagedObjectId,
        change: impl FnOnce() -> TracedChange,
    ) -> Option<Arc<TracedChange>> {
        let wants = |trace: &Trace| match &trace.subject {
            TraceSubject::Device(device) => *device == source,
            TraceSubject::Tenant | TraceSubject::User(_) | TraceSubject::Session(_) => true,
        };
        let is_wanted = self.is_on() && self.state.lock().traces.iter().any(wants);
        is_wanted.then(|| Arc::new(change()))
    }

    /// Returns the time in microseconds since 1970.
    pub(crate) fn now() -> i64 {
        // Each record of a delivery has one, so it is read without the arithmetic of dates.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_secs() as i64 * 1_000_000 + i64::from(since.subsec_micros())
    }

    /// Records what happened to a change.
    pub(crate) fn record(&self, event: TraceEvent) {
        self.record_of(Self::now(), event);
    }

    /// Records what happened to a change a moment ago.
    pub(crate) fn record_of(&self, at: i64, event: TraceEvent) {
        self.state.lock().push(&self.is_on, (at, None), event);
    }

    /// Records what happened to a session, or to a request of a user, if a trace concerns it.
    pub(crate) fn record_receiver(&self, client: Option<u128>, user: &Arc<str>, event: TraceEvent) {
        let mut state = self.state.lock();
        if state.wants(user, client, &self.shown_id) {
            state.push(&self.is_on, (Self::now(), Some((client, user.clone()))), event);
        }
    }

    /// Returns the oldest records that match a filter, with the name of this server.
    pub(crate) fn list(&self, server: &str, filter: &RecordFilter) -> Vec<TraceRecord> {
        let mut state = self.state.lock();
        state.forget_old(Self::now());
        let State { records, shown, .. } = &mut *state;
        let mut found = Vec::new();
        let mut recent: Vec<&Record> =
            records.iter().flatten().filter(|record| record.at >= filter.since).collect();
        recent.sort_unstable_by_key(|record| (record.at, record.number));
        for record in recent {
            let receiver = record.receiver.as_ref().map(|(client, user)| TracedReceiver {
                session: client.map(|client| shown_of(shown, client, &self.shown_id).to_owned()),
                user: user.to_string(),
            });
            if filter.matches(receiver.as_ref(), record.event.change().map(|change| &**change)) {
                let (at, number, event) = (record.at, record.number, record.event.clone());
                found.push(TraceRecord { at, server: server.into(), number, receiver, event });
                if found.len() == filter.limit {
                    break;
                }
            }
        }
        found
    }
}

impl State {
    /// Returns whether a trace concerns a session or a request.
    fn wants(&mut self, user: &str, client: Option<u128>, shown_id: &ShownId) -> bool {
        let Self { traces, shown, .. } = self;
        traces.iter().any(|trace| match &trace.subject {
            TraceSubject::Tenant | TraceSubject::Device(_) => true,
            TraceSubject::User(name) => name == user,
            TraceSubject::Session(id) => {
                client.is_some_and(|client| shown_of(shown, client, shown_id) == &**id)
            }
        })
    }

    fn push(&mut self, is_on: &AtomicBool, (at, receiver): (i64, Option<Receiver>), event: TraceEvent) {
        if self.ends <= at {
            is_on.store(false, Ordering::Relaxed);
            return self.traces.clear();
        }
        let kind = usize::from(event.change().is_none());
        let records = &mut self.records[kind];
        if records.len() == MOST[kind] {
            records.pop_front();
        }
        self.last += 1;
        records.push_back(Record { at, number: self.last, receiver, event });
    }

    fn forget_old(&mut self, now: i64) {
        for records in &mut self.records {
            let kept = records.partition_point(|record| record.at < now - KEPT);
            records.drain(..kept);
            if records.is_empty() {
                *records = VecDeque::new();
            }
        }
    }
}

/// Returns the id under which administrators see a session, which is calculated once.
fn shown_of<'s>(shown: &'s mut HashMap<u128, Box<str>>, client: u128, shown_id: &ShownId) -> &'s str {
    shown.entry(client).or_insert_with(|| shown_id(client).into())
}

impl std::fmt::Debug for TraceRecorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceRecorder").field("is_on", &self.is_on()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use platform_model::id::TraceId;
    use platform_model::timestamp::Timestamp;

    use super::*;

    fn trace(subject: TraceSubject, lasts: Duration) -> Trace {
        let now = Timestamp::now();
        let ends = Timestamp::stored(now.instant() + lasts, 0);
        Trace { id: TraceId(1), subject, owner: "mia".into(), began: now, ends }
    }

    fn recorder(subject: TraceSubject, lasts: Duration) -> TraceRecorder {
        let recorder = TraceRecorder::new(|client| format!("shown {client}"));
        recorder.set(vec![trace(subject, lasts)]);
        recorder
    }

    /// Records the arrivals of these sessions of one user and returns the sessions that were recorded.
    fn recorded(recorder: &TraceRecorder, sessions: &[(u128, &str)]) -> Vec<String> {
        for (client, user) in sessions {
            recorder.record_receiver(Some(*client), &Arc::from(*user), TraceEvent::Arrived);
        }
        let filter = RecordFilter { limit: usize::MAX, ..RecordFilter::default() };
        let records = recorder.list("north", &filter);
        records.iter().map(|record| record.session().unwrap().to_owned()).collect()
    }

    #[test]
    fn trace_records_its_subject_alone() {
        let sessions = [(1, "mia"), (2, "joe"), (3, "mia")];
        let minute = Duration::from_secs(60);
        for (subject, expected) in [
            (TraceSubject::Tenant, vec!["shown 1", "shown 2", "shown 3"]),
            (TraceSubject::User("mia".into()), vec!["shown 1", "shown 3"]),
            (TraceSubject::Session("shown 2".into()), vec!["shown 2"]),
        ] {
            assert_eq!(recorded(&recorder(subject.clone(), minute), &sessions), expected, "{subject:?}");
        }
    }

    #[test]
    fn nothing_is_recorded_after_the_end_of_a_trace() {
        let recorder = recorder(TraceSubject::Tenant, Duration::ZERO);
        assert!(recorder.is_on(), "the end is noticed with the next record");
        assert_eq!(recorded(&recorder, &[(1, "mia")]), Vec::<String>::new());
        assert!(!recorder.is_on());
    }

    #[test]
    fn many_changes_do_not_displace_what_happens_to_sessions() {
        let recorder = recorder(TraceSubject::Tenant, Duration::from_secs(60));
        recorder.record_receiver(Some(1), &Arc::from("mia"), TraceEvent::Arrived);
        let change = Arc::new(TracedChange {
            source: ManagedObjectId(7),
            channel: "/alarms/7".into(),
            id: Some(1),
            action: "CREATE".into(),
        });
        for _ in 0..MOST[0] + 1 {
            recorder.record(TraceEvent::Stored(change.clone()));
        }
        let records = recorder.list("north", &RecordFilter { limit: 2, ..RecordFilter::default() });
        assert_eq!((records[0].number, records[1].number), (1, 3));
    }

    #[test]
    fn oldest_records_make_room() {
        let recorder = recorder(TraceSubject::Tenant, Duration::from_secs(60));
        let most = MOST[1];
        let sessions: Vec<(u128, &str)> = (0..most as u128 + 2).map(|client| (client, "mia")).collect();
        let recorded = recorded(&recorder, &sessions);
        assert_eq!((recorded.len(), &*recorded[0]), (most, "shown 2"));
    }
}
