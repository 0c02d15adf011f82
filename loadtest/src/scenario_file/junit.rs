//! Writes the result as JUnit XML: a suite for each phase, a test for each load and each threshold.

use super::html::escaped;
use super::outcome::{Outcome, PhaseOutcome};

/// Returns the XML document.
pub(super) fn xml(outcome: &Outcome) -> String {
    let suites: String = outcome.phases.iter().map(suite).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n{suites}</testsuites>\n",
        escaped(&outcome.name)
    )
}

fn suite(phase: &PhaseOutcome) -> String {
    let of_loads = phase.loads.iter().map(|load| {
        let failure = (!load.clean).then(|| load.error.clone().unwrap_or_else(|| load.table.clone()));
        (format!("load {}", load.scenario), failure)
    });
    let of_thresholds = phase
        .thresholds
        .iter()
        .map(|judged| (judged.threshold.clone(), (!judged.holds).then(|| format!("found {}", judged.found))));
    let tests: Vec<(String, Option<String>)> = of_loads.chain(of_thresholds).collect();
    let failures = tests.iter().filter(|(_, failure)| failure.is_some()).count();
    let mut xml = format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failures}\" time=\"{:.3}\">\n",
        escaped(&phase.name),
        tests.len(),
        phase.ended - phase.started
    );
    for (name, failure) in tests {
        let name = escaped(&name);
        xml += &match failure {
            None => format!("    <testcase name=\"{name}\"/>\n"),
            Some(reason) => {
                format!("    <testcase name=\"{name}\"><failure>{}</failure></testcase>\n", escaped(&reason))
            }
        };
    }
    xml + "  </testsuite>\n"
}
