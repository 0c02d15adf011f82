//! The health of microservices, as probed by this server process; other processes probe for themselves.

use std::collections::HashMap;

use parking_lot::RwLock;
use platform_model::applications::application::{Application, ApplicationType, Health, HealthStatus};
use platform_model::applications::manifest::Probe;
use platform_model::id::ApplicationId;
use platform_model::timestamp::Timestamp;

/// The health of each microservice with probes.
#[derive(Debug, Default)]
pub struct Healths(RwLock<HashMap<ApplicationId, Health>>);

impl Healths {
    /// Returns the health of an application; `None` if it is not a microservice.
    pub fn of(&self, application: &Application) -> Option<Health> {
        if application.kind != ApplicationType::Microservice {
            return None;
        }
        if let Some(known) = self.0.read().get(&application.id) {
            return Some(known.clone());
        }
        let why = match application.route {
            None => "no address is set",
            Some(_) => "it is not probed: its manifest has no probes",
        };
        Some(Health { status: HealthStatus::Unknown, since: None, message: Some(why.into()) })
    }

    /// Returns whether its probes failed.
    pub(super) fn is_down(&self, application: ApplicationId) -> bool {
        self.0.read().get(&application).is_some_and(|known| known.status == HealthStatus::Down)
    }

    /// Stores the current status and returns whether it changed. An unchanged status keeps the time it began.
    pub(super) fn set(
        &self,
        application: ApplicationId,
        status: HealthStatus,
        message: Option<String>,
    ) -> bool {
        let mut all = self.0.write();
        let before = all.get(&application);
        let is_new = before.is_none_or(|before| before.status != status);
        let since =
            before.filter(|_| !is_new).and_then(|before| before.since).or_else(|| Some(Timestamp::now()));
        all.insert(application, Health { status, since, message });
        is_new
    }

    pub(super) fn remove(&self, application: ApplicationId) {
        self.0.write().remove(&application);
    }
}

/// The results of one probe.
#[derive(Debug, Default)]
pub(super) struct ProbeHistory {
    good_in_a_row: u32,
    bad_in_a_row: u32,
    /// The verdict of the probe with the reason of a failure; `None` until enough results agree.
    pub(super) verdict: Option<Result<(), String>>,
}

impl ProbeHistory {
    /// Counts the result of one probe request.
    pub(super) fn count(&mut self, probe: &Probe, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.bad_in_a_row = 0;
                self.good_in_a_row = self.good_in_a_row.saturating_add(1);
                if self.good_in_a_row >= probe.success_threshold {
                    self.verdict = Some(Ok(()));
                }
            }
            Err(why) => {
                self.good_in_a_row = 0;
                self.bad_in_a_row = self.bad_in_a_row.saturating_add(1);
                if self.bad_in_a_row >= probe.failure_threshold {
                    self.verdict = Some(Err(why));
                }
            }
        }
    }
}

/// Combines the verdicts of several probes: a failed probe makes the microservice DOWN, and it is UP when all have
/// succeeded.
pub(super) fn combine<'c>(
    courses: impl Iterator<Item = (&'static str, &'c ProbeHistory)>,
) -> (HealthStatus, Option<String>) {
    let mut status = HealthStatus::Up;
    for (name, course) in courses {
        match &course.verdict {
            Some(Err(why)) => return (HealthStatus::Down, Some(format!("{name}: {why}"))),
            None => status = HealthStatus::Unknown,
            Some(Ok(())) => {}
        }
    }
    (status, None)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn probe(success_threshold: u32, failure_threshold: u32) -> Probe {
        let second = Duration::from_secs(1);
        Probe {
            path: "/".into(),
            initial_delay: second,
            period: second,
            timeout: second,
            success_threshold,
            failure_threshold,
        }
    }

    #[test]
    fn thresholds_of_consecutive_results_decide_the_verdict() {
        let (probe, mut course) = (probe(2, 3), ProbeHistory::default());
        let mut verdicts = Vec::new();
        for good in [true, true, false, false, true, false, false, false, true, true] {
            course.count(&probe, if good { Ok(()) } else { Err("ill".into()) });
            verdicts.push(course.verdict.as_ref().map(Result::is_ok));
        }
        let (well, ill) = (Some(true), Some(false));
        assert_eq!(verdicts, [None, well, well, well, well, well, well, ill, ill, well]);
    }

    #[test]
    fn one_failed_probe_outweighs_the_others() {
        let course = |verdict| ProbeHistory { verdict, ..ProbeHistory::default() };
        let (well, ill, unasked) = (course(Some(Ok(()))), course(Some(Err("x".into()))), course(None));
        let of = |a, b| combine([("a", a), ("b", b)].into_iter());
        assert_eq!(of(&well, &well), (HealthStatus::Up, None));
        assert_eq!(of(&well, &unasked), (HealthStatus::Unknown, None));
        assert_eq!(of(&unasked, &ill), (HealthStatus::Down, Some("b: x".into())));
    }

    #[test]
    fn unchanged_status_keeps_its_time() {
        let (healths, id) = (Healths::default(), ApplicationId::parse("7").expect("a number"));
        assert!(healths.set(id, HealthStatus::Down, Some("x".into())));
        let since = healths.0.read()[&id].since;
        assert!(!healths.set(id, HealthStatus::Down, Some("y".into())));
        assert_eq!(
            (healths.0.read()[&id].since, healths.0.read()[&id].message.as_deref()),
            (since, Some("y"))
        );
        assert!(healths.is_down(id));
        assert!(healths.set(id, HealthStatus::Up, None));
        assert!(!healths.is_down(id));
    }
}
