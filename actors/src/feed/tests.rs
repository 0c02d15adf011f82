use std::sync::atomic::AtomicUsize;

use platform_epl::stream::Occurrence;
use platform_epl::value::Columns;
use platform_model::id::{AlarmId, ManagedObjectId, MeasurementId};
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::realtime::change::PublishedChange;

use super::*;

fn input_of(occurrence: Occurrence, source: i64) -> Input {
    Input::new(occurrence, ManagedObjectId(source), ProcessingMode::Persistent, Depth::default())
}

fn measured(source: i64) -> Input {
    input_of(Occurrence::Changed(PublishedChange::MeasurementDeleted(MeasurementId(7))), source)
}

fn reads(inputs: &[InputStream]) -> ReadStreams {
    let mut appetite = ReadStreams::default();
    inputs.iter().for_each(|stream| appetite.inputs.insert(*stream));
    appetite
}

/// Returns the feed of a module that reads deletions of measurements, with a counter of its wake-ups.
fn reader(feeds: &Feeds, capacity: usize) -> (Feed, Arc<AtomicUsize>) {
    let woken = Arc::new(AtomicUsize::new(0));
    let counted = woken.clone();
    let wake = Box::new(move || _ = counted.fetch_add(1, Ordering::Relaxed));
    let feed = feeds.attach(ModuleId(1), reads(&[InputStream::MeasurementDeleted]), capacity, wake);
    (feed, woken)
}

fn row(weight: u32) -> Arc<Row> {
    let columns = Arc::<Columns>::default();
    Arc::new(Row { columns, values: Box::default(), depth: Depth::default(), weight, nesting: 0 })
}

/// Returns the sources of the elements that were taken.
fn sources(taken: Taken) -> Vec<i64> {
    let Taken::Some(fed) = taken else { panic!("overflowed") };
    let source = |fed: &Fed| match fed {
        Fed::Input(input) => match &input.occurrence {
            Occurrence::Deleted(deletion) => deletion.source.0,
            occurrence => panic!("{occurrence:?}"),
        },
        Fed::Row(..) => panic!("a row"),
    };
    fed.iter().map(source).collect()
}

#[test]
fn inputs_are_taken_in_the_order_of_arrival() {
    let feeds = Feeds::default();
    let (feed, _) = reader(&feeds, 10);
    (1..=5).for_each(|source| feeds.feed(measured(source)));
    assert_eq!(sources(feed.take(2, WhenEmpty::Rest)), [1, 2]);
    feeds.feed(measured(6));
    assert_eq!(sources(feed.take(10, WhenEmpty::Rest)), [3, 4, 5, 6]);
    assert!(sources(feed.take(10, WhenEmpty::Rest)).is_empty());
}

#[test]
fn take_of_zero_takes_one_input() {
    let feeds = Feeds::default();
    let (feed, _) = reader(&feeds, 10);
    feeds.feed(measured(1));
    assert_eq!(sources(feed.take(0, WhenEmpty::Rest)), [1]);
}

#[test]
fn only_a_resting_module_is_woken() {
    let feeds = Feeds::default();
    let (feed, woken) = reader(&feeds, 10);
    let woken = || woken.load(Ordering::Relaxed);
    feeds.feed(measured(1));
    feeds.feed(measured(2));
    assert_eq!(woken(), 1);
    assert_eq!(sources(feed.take(2, WhenEmpty::Rest)), [1, 2]);
    feeds.feed(measured(3));
    assert_eq!(woken(), 1, "it has not found its queue empty: it looks again by itself");
    assert_eq!(
        (sources(feed.take(2, WhenEmpty::Rest)), sources(feed.take(2, WhenEmpty::Rest))),
        (vec![3], vec![])
    );
    feeds.feed(measured(4));
    assert_eq!(woken(), 2);
}

#[test]
fn overflowed_module_takes_no_more_inputs_and_receives_the_overflow() {
    let feeds = Feeds::default();
    let (feed, woken) = reader(&feeds, 2);
    (1..=3).for_each(|source| feeds.feed(measured(source)));
    assert!(matches!(feed.take(1, WhenEmpty::Rest), Taken::Overflowed));
    feeds.feed(measured(4));
    assert!(matches!(feed.take(1, WhenEmpty::Rest), Taken::Overflowed));
    assert_eq!(woken.load(Ordering::Relaxed), 1);
}

#[test]
fn queue_overflows_by_bytes_as_well_as_by_count() {
    let feeds = Feeds::default();
    let (streams, wake) = (vec![Arc::from("s")], Box::new(|| {}));
    let appetite = ReadStreams { streams, ..ReadStreams::default() };
    let feed = feeds.attach(ModuleId(1), appetite, 1000, wake);
    let forward = |bytes: usize| feeds.forward(ModuleId(2), &"s".into(), &row(bytes as u32));
    (0..3).for_each(|_| forward(WAITING_BYTES / 3));
    assert!(matches!(feed.take(2, WhenEmpty::Rest), Taken::Some(fed) if fed.len() == 2));
    (0..2).for_each(|_| forward(WAITING_BYTES / 3));
    assert!(
        matches!(feed.take(1, WhenEmpty::Rest), Taken::Some(fed) if fed.len() == 1),
        "what was taken counts no more"
    );
    (0..2).for_each(|_| forward(WAITING_BYTES / 3));
    assert!(matches!(feed.take(1, WhenEmpty::Rest), Taken::Overflowed));
}

#[test]
fn overflow_of_one_module_does_not_affect_others() {
    let feeds = Feeds::default();
    let ((narrow, _), (wide, _)) = (reader(&feeds, 1), reader(&feeds, 10));
    (1..=3).for_each(|source| feeds.feed(measured(source)));
    assert!(matches!(narrow.take(10, WhenEmpty::Rest), Taken::Overflowed));
    assert_eq!(sources(wide.take(10, WhenEmpty::Rest)), [1, 2, 3]);
}

#[test]
fn module_without_capacity_is_woken_to_receive_its_overflow() {
    let feeds = Feeds::default();
    let (feed, woken) = reader(&feeds, 0);
    feeds.feed(measured(1));
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    assert!(matches!(feed.take(1, WhenEmpty::Rest), Taken::Overflowed));
}

#[test]
fn only_inputs_that_modules_read_are_requested() {
    let feeds = Feeds::default();
    let wanted = || [InputStream::MeasurementDeleted, InputStream::EventDeleted].map(|s| feeds.want(s));
    assert_eq!(wanted(), [false, false]);
    let (feed, _) = reader(&feeds, 10);
    let (other, _) = reader(&feeds, 10);
    assert_eq!(wanted(), [true, false]);
    drop(feed);
    assert_eq!(wanted(), [true, false]);
    drop(other);
    assert_eq!(wanted(), [false, false]);
}

#[test]
fn input_that_no_module_reads_is_not_built() {
    let feeds = Feeds::default();
    let (feed, _) = reader(&feeds, 10);
    feeds.offer(InputStream::EventDeleted, || panic!("nobody here reads it"));
    assert!(sources(feed.take(10, WhenEmpty::Rest)).is_empty());
}

#[test]
fn rows_go_to_the_other_modules_that_read_their_stream() {
    let feeds = Feeds::default();
    let attach = |id, streams: &[&str]| {
        let streams = streams.iter().map(|stream| Arc::from(*stream)).collect();
        feeds.attach(ModuleId(id), ReadStreams { streams, ..ReadStreams::default() }, 10, Box::new(|| {}))
    };
    let [own, other, stranger] = [attach(1, &["s"]), attach(2, &["t", "s"]), attach(3, &["t"])];
    feeds.forward(ModuleId(1), &"s".into(), &row(1));
    let counts = [own, other, stranger].map(|feed| match feed.take(10, WhenEmpty::Rest) {
        Taken::Some(fed) => fed.len(),
        Taken::Overflowed => usize::MAX,
    });
    assert_eq!(counts, [0, 1, 0]);
}

#[test]
fn inputs_of_many_threads_all_arrive_in_the_order_of_each_thread() {
    const EACH: i64 = 2000;
    let feeds = Feeds::default();
    let (sender, woken) = std::sync::mpsc::channel();
    let wake = Box::new(move || _ = sender.send(()));
    let feed = feeds.attach(ModuleId(1), reads(&[InputStream::MeasurementDeleted]), usize::MAX, wake);
    let mut last = [-1; 4];
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let feeds = feeds.clone();
            scope.spawn(move || (0..EACH).for_each(|n| feeds.feed(measured(n * 4 + thread))));
        }
        while last.iter().any(|last| *last < EACH - 1) {
            // A lost wake-up makes the test fail at this timeout.
            woken.recv_timeout(std::time::Duration::from_secs(10)).expect("woken for what came");
            loop {
                let taken = sources(feed.take(7, WhenEmpty::Rest));
                if taken.is_empty() {
                    break;
                }
                for source in taken {
                    let (thread, n) = ((source % 4) as usize, source / 4);
                    assert_eq!(n, last[thread] + 1);
                    last[thread] = n;
                }
            }
        }
    });
}

#[test]
fn deletions_of_alarms_belong_to_no_stream() {
    assert_eq!(InputStream::of(&PublishedChange::AlarmDeleted(AlarmId(1))), None);
}
