use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use platform_model::error::Error;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tokio::task::LocalSet;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);
const RESTART: Duration = Duration::from_millis(1);

/// A job whose runs end as the test says, with the begins of its runs.
struct Scripted {
    begins: mpsc::UnboundedReceiver<Duration>,
    states: Arc<JobStates>,
    _running: tokio::task::JoinSet<()>,
}

/// The action of one run.
#[derive(Clone, Copy)]
enum Step {
    Succeed,
    Fail,
    Panic,
    Wait,
}

impl Scripted {
    /// Starts a job whose runs take these steps; the last one is repeated.
    fn start(steps: &'static [Step], make: impl FnOnce(Box<dyn Run>) -> Job) -> Self {
        let (begun, begins) = mpsc::unbounded_channel();
        let (start, mut number) = (std::time::Instant::now(), 0);
        let run = async move || {
            begun.send(start.elapsed()).unwrap();
            let step = steps[number.min(steps.len() - 1)];
            number += 1;
            match step {
                Step::Succeed => Ok(()),
                Step::Fail => Err(Error::Timeout),
                Step::Panic => panic!("a step of the test"),
                Step::Wait => std::future::pending().await,
            }
        };
        let states = Arc::<JobStates>::default();
        let supervisor = Supervisor::new(states.clone(), RESTART, None);
        let running = supervisor.start([make(Box::new(run))]);
        Self { begins, states, _running: running }
    }

    async fn begin(&mut self) -> Duration {
        self.begins.recv().await.unwrap()
    }

    /// Returns the last result, the failures in a row and the panics.
    fn state(&self) -> Value {
        let state = serde_json::to_value(&self.states.all()[0]).unwrap();
        json!([state["lastResult"], state["failures"], state["panics"]])
    }
}

fn hourly(run: Box<dyn Run>) -> Job {
    Job { run, ..Job::every(HOUR, "hourly", async || Ok(())) }
}

fn on_events(run: Box<dyn Run>) -> Job {
    Job { run, ..Job::on_events(Duration::ZERO, "on-events", async || Ok(())) }
}

/// Lets other tasks run until `found` is true.
async fn until(found: impl Fn() -> bool) {
    while !found() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn panicked_job_runs_again_and_its_state_says_so() {
    LocalSet::new()
        .run_until(async {
            for (steps, panics) in
                [(&[Step::Panic, Step::Wait][..], 1), (&[Step::Panic, Step::Panic, Step::Wait], 2)]
            {
                let mut job = Scripted::start(steps, hourly);
                for _ in steps {
                    job.begin().await;
                }
                assert_eq!(job.state(), json!(["PANICKED", panics, panics]));
            }
        })
        .await;
}

#[tokio::test]
async fn failed_job_does_not_wait_for_its_period_and_recovers_with_a_success() {
    LocalSet::new()
        .run_until(async {
            let mut job = Scripted::start(&[Step::Fail, Step::Succeed], hourly);
            job.begin().await;
            job.begin().await;
            until(|| job.state() == json!(["DONE", 0, 0])).await;
        })
        .await;
}

#[tokio::test]
async fn retry_of_a_job_is_never_later_than_its_period() {
    LocalSet::new()
        .run_until(async {
            let quick = |run| Job { run, ..Job::every(Duration::ZERO, "quick", async || Ok(())) };
            let mut job = Scripted::start(&[Step::Fail, Step::Wait], quick);
            job.begin().await;
            job.begin().await;
            assert_eq!(job.state(), json!(["FAILED", 1, 0]));
        })
        .await;
}

#[tokio::test]
async fn run_that_waits_for_events_long_enough_ends_the_failure() {
    LocalSet::new()
        .run_until(async {
            let mut job = Scripted::start(&[Step::Panic, Step::Wait], on_events);
            job.begin().await;
            job.begin().await;
            until(|| job.state() == json!(["PANICKED", 0, 1])).await;
        })
        .await;
}

#[tokio::test]
async fn woken_job_runs_before_its_period_has_passed() {
    LocalSet::new()
        .run_until(async {
            let due = Rc::new(Notify::new());
            let wake = due.clone();
            let woken = move |run| {
                hourly(run).woken_by(move || {
                    let due = due.clone();
                    async move { due.notified().await }
                })
            };
            let mut job = Scripted::start(&[Step::Succeed], woken);
            job.begin().await;
            wake.notify_one();
            job.begin().await;
        })
        .await;
}

#[tokio::test]
async fn first_run_follows_a_pause_only_where_the_table_says_so() {
    LocalSet::new()
        .run_until(async {
            let pauses = Rc::new(RefCell::new(Vec::new()));
            let seen = pauses.clone();
            let pause = Duration::from_millis(20);
            let delayed = move |run| {
                hourly(run).first_after_pause().paused_for(move || {
                    seen.borrow_mut().push(pause);
                    pause
                })
            };
            let mut job = Scripted::start(&[Step::Wait], delayed);
            assert!(job.begin().await >= pause);
            assert_eq!(pauses.borrow().len(), 1);
            let mut prompt = Scripted::start(&[Step::Wait], hourly);
            prompt.begin().await;
        })
        .await;
}

#[tokio::test]
async fn jobs_end_when_their_set_is_dropped() {
    LocalSet::new()
        .run_until(async {
            let mut job = Scripted::start(&[Step::Wait], hourly);
            job.begin().await;
            let Scripted { mut begins, _running, .. } = job;
            drop(_running);
            assert_eq!(begins.recv().await, None, "the run was dropped with its job");
        })
        .await;
}
