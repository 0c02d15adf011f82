use platform_epl::language::parse;
use platform_epl::plan::expression::Finder;
use platform_epl::plan::{Catalog, plan};
use platform_epl::runtime::Retained;
use platform_epl::stream::{Input, Occurrence, Response};
use platform_epl::value::Value;
use platform_model::id::{ManagedObjectId, ModuleId};
use platform_model::origin::Depth;
use platform_model::origin::ProcessingMode;
use platform_model::timestamp::Timestamp;

use crate::feed::ReadStreams;
use serde_json::json;

use super::super::share::Total;
use super::*;
use crate::feed::Feeds;

const SLICE: Duration = Duration::from_secs(5);
const COUNTING: &str = "module counts;\nselect count(*) as n from ResponseReceived;\n";
const KEEPING: &str =
    "module keeps;\n@Name('kept') select status from ResponseReceived.win:length_batch(1000);\n";
const TICKING: &str =
    "module ticks;\nselect 'tick' as word from pattern [every timer:interval(1 seconds)];\n";

/// Look-ups that find nothing, or panic.
struct Finds;

impl LookUps for Finds {
    fn find(&self, _: &Finder, _: &[Value]) -> Result<Value, Fault> {
        panic!("as a mistake of the server would")
    }
}

/// A module and its feed.
struct Fixture {
    feeds: Feeds,
    clock: Clock,
    steps: Steps,
}

fn budget(events: usize) -> Budget {
    let retained = Retained { events, bytes: 64 << 20 };
    Budget { retained, evaluations: 1_000_000, chain: 64, timers: 1000 }
}

fn started(text: &str, budget: Budget, queue: usize) -> Fixture {
    started_beside(text, budget, queue, 256 << 20)
}

/// Starts a module whose tenant may retain this number of bytes.
fn started_beside(text: &str, budget: Budget, queue: usize, bytes: usize) -> Fixture {
    let module = parse(text).unwrap_or_else(|mistake| panic!("{}", mistake.shown(text)));
    let plan = plan(&module, &Catalog::default()).unwrap_or_else(|mistake| panic!("{}", mistake.shown(text)));
    let (plan, feeds, clock) = (Arc::new(plan), Feeds::default(), Clock::driven(1_000_000));
    let feed = feeds.attach(ModuleId(1), ReadStreams::of(&plan), queue, Box::new(|| {}));
    let share = Share::new(Total::new(bytes));
    let steps = Steps::new(plan, budget, feed, clock.clone(), share);
    Fixture { feeds, clock, steps }
}

impl Fixture {
    fn feed(&self, count: usize) {
        for _ in 0..count {
            let response =
                Response { status: 200, body: "ok".into(), creation_time: Timestamp::now(), source: None };
            let occurrence = Occurrence::Response(Arc::new(response));
            let (source, mode) = (ManagedObjectId(1), ProcessingMode::Persistent);
            self.feeds.feed(Input::new(occurrence, source, mode, Depth::default()));
        }
    }

    fn run(&mut self) -> Ran {
        self.steps.run(SLICE, &Finds)
    }

    /// Runs the module. Returns the published rows, and what the actor does next.
    fn told(&mut self) -> (Vec<serde_json::Value>, NextAction) {
        let ran = self.run();
        let row = |effect: &Effect| match effect {
            Effect::Publish { row, .. } => serde_json::from_str(&row.to_json()).unwrap(),
            other => panic!("{other:?}"),
        };
        (ran.effects.iter().map(row).collect(), ran.then)
    }
}

#[test]
fn module_takes_one_step_per_event_and_rests_when_its_queue_is_empty() {
    let mut module = started(COUNTING, budget(100), 100);
    module.feed(3);

    let (rows, then) = module.told();

    assert_eq!(rows, [json!({"n": 1}), json!({"n": 2}), json!({"n": 3})]);
    assert_eq!(then, NextAction::Gather(None));
    module.feed(1);
    assert_eq!(module.told(), (vec![json!({"n": 4})], NextAction::Gather(None)));
    assert_eq!(module.told(), (vec![], NextAction::Rest(None)));
}

#[test]
fn timers_fire_at_their_time_and_not_before() {
    let mut module = started(TICKING, budget(100), 100);
    assert_eq!(module.told(), (vec![], NextAction::Rest(Some(1_001_000))));

    module.clock.set(1_000_999);
    assert_eq!(module.told().0.len(), 0);
    module.clock.set(1_002_500);

    assert_eq!(module.told(), (vec![json!({"word": "tick"}); 2], NextAction::Rest(Some(1_003_000))));
}

#[test]
fn module_whose_slice_ends_continues_after_the_others() {
    let mut module = started(COUNTING, budget(100), 1000);
    module.feed(10);

    let first = module.steps.run(Duration::ZERO, &Finds);
    assert_eq!((first.effects.len(), first.then), (1, NextAction::GoOn));

    let (rows, _) = module.told();
    assert_eq!((rows.len(), &rows[0]), (9, &json!({"n": 2})));
}

#[test]
fn large_output_is_passed_on_before_the_module_continues() {
    let mut module = started(COUNTING, budget(100), 10_000);
    module.feed(3000);

    let ran = module.run();

    assert_eq!((ran.effects.len(), ran.then), (EFFECTS, NextAction::GoOn));
}

#[test]
fn module_that_retains_too_much_stops() {
    let mut module = started(KEEPING, budget(10), 100);
    module.feed(10);
    assert_eq!(module.run().then, NextAction::Gather(None));
    module.feed(1);

    let NextAction::SwitchOff(trouble) = module.run().then else { panic!("the module continues") };

    assert_eq!(trouble.cause, Cause::Retained);
    assert!(trouble.text.starts_with("it retains 11 events of "), "{}", trouble.text);
}

#[test]
fn statement_that_retains_too_much_is_switched_off_and_others_continue() {
    let text = format!("{KEEPING}select count(*) as n from ResponseReceived;\n");
    let mut module = started(&text, budget(10), 100);
    module.feed(12);

    let ran = module.run();

    assert_eq!((ran.then, ran.faults, ran.effects.len()), (NextAction::Gather(None), vec![], 12));
    let [StatementOff { statement, reason }] = &*ran.off else { panic!("{:?}", ran.off) };
    assert_eq!(statement, "kept");
    assert!(reason.starts_with("it retains 11 events of "), "{reason}");
    module.feed(20);
    let (rows, then) = module.told();
    assert_eq!((rows.last(), then), (Some(&json!({"n": 32})), NextAction::Gather(None)));
}

#[test]
fn statement_that_was_switched_off_stays_off() {
    let text = format!("{KEEPING}select count(*) as n from ResponseReceived;\n");
    let Fixture { feeds, clock, steps } = started(&text, budget(10), 100);
    let off = StatementOff { statement: "kept".into(), reason: "too much".into() };
    let mut module = Fixture { feeds, clock, steps: steps.without(&[off]) };
    module.feed(20);

    let ran = module.run();

    assert_eq!((ran.off, ran.effects.len(), ran.then), (vec![], 20, NextAction::Gather(None)));
}

#[test]
fn module_that_exceeds_its_tenants_retention_continues_without_its_largest_statement() {
    let text = "module m;\n@Name('few') select status from ResponseReceived.win:length_batch(3);\n\
        @Name('many') select status from ResponseReceived.win:length_batch(1000);\n";
    let mut module = started_beside(text, budget(10_000), 100, 3000);
    module.feed(100);

    let ran = module.run();

    let [StatementOff { statement, reason }] = &*ran.off else { panic!("{:?}", ran.off) };
    assert_eq!(statement, "many");
    assert!(reason.contains("the modules of the tenant retain more than 3000 bytes together"), "{reason}");
    assert_eq!(ran.then, NextAction::Gather(None));
}

#[test]
fn module_that_lost_events_stops() {
    let mut module = started(COUNTING, budget(10), 5);
    module.feed(6);

    let NextAction::SwitchOff(trouble) = module.run().then else { panic!("the module continues") };

    assert_eq!(trouble.cause, Cause::Overload);
}

#[test]
fn panic_in_a_step_ends_the_module_and_nothing_else() {
    let looking_up = "module looks;\nselect findAlarmById('7') as alarm from ResponseReceived;\n";
    let mut module = started(looking_up, budget(10), 5);
    module.feed(1);

    let NextAction::SwitchOff(trouble) = module.run().then else { panic!("the module continues") };

    assert_eq!(trouble.cause, Cause::Panic);
}
