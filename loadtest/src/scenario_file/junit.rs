//! Writes the result as JUnit XML: a suite for each phase, a test for each load and each threshold. A phase that ended
//! early has an error, and one that never began is skipped.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::html::escaped;
use super::outcome::{Outcome, PhaseOutcome};

/// The result of a test.
enum Verdict {
    Passed,
    Failed(String),
    /// It says nothing about the server.
    Error(String),
    Skipped,
}

/// A suite.
struct Suite<'o> {
    name: &'o str,
    started: f64,
    seconds: f64,
    tests: Vec<(String, Verdict)>,
}

/// The numbers of tests by result.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

/// Returns the XML document.
pub(super) fn xml(outcome: &Outcome) -> String {
    let last = outcome.phases.len().saturating_sub(1);
    let reason = |number| {
        let reason = outcome.ended_early.as_deref().filter(|_| number == last);
        reason.map(|reason| (reason, outcome.aborted))
    };
    let begun = outcome.phases.iter().enumerate().map(|(number, phase)| Suite::of(phase, reason(number)));
    let others = outcome.not_begun.iter().map(|name| Suite {
        name,
        started: outcome.phases.last().map_or(0.0, |phase| phase.ended),
        seconds: 0.0,
        tests: vec![("phase".to_owned(), Verdict::Skipped)],
    });
    let suites: Vec<Suite<'_>> = begun.chain(others).collect();
    let mut all = Counts::default();
    suites.iter().for_each(|suite| all.add(&suite.tests));
    let seconds: f64 = suites.iter().map(|suite| suite.seconds).sum();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"{}\" {} time=\"{seconds:.3}\">\n{}</testsuites>\n",
        escaped(&outcome.name),
        all.attributes(),
        suites.iter().map(|suite| suite.xml(outcome)).collect::<String>()
    )
}

impl<'o> Suite<'o> {
    fn of(phase: &'o PhaseOutcome, ended_early: Option<(&str, bool)>) -> Self {
        let of_loads = phase.loads.iter().map(|load| {
            let verdict = match &load.error {
                Some(error) => Verdict::Error(error.clone()),
                None if load.clean => Verdict::Passed,
                None => Verdict::Failed(load.table.clone()),
            };
            (format!("load {}", load.scenario), verdict)
        });
        let of_thresholds = phase.thresholds.iter().map(|judged| {
            let verdict = match (judged.holds, judged.generator_late_ms) {
                (true, _) => Verdict::Passed,
                (false, None) => Verdict::Failed(format!("found {}", judged.found)),
                (false, Some(_)) => Verdict::Error(format!("found {}", judged.found)),
            };
            (judged.threshold.clone(), verdict)
        });
        let early = ended_early.map(|(reason, aborted)| {
            let reason = format!("ended early: {reason}");
            let verdict = if aborted { Verdict::Failed(reason) } else { Verdict::Error(reason) };
            ("phase".to_owned(), verdict)
        });
        Self {
            name: &phase.name,
            started: phase.started,
            seconds: phase.ended - phase.started,
            tests: early.into_iter().chain(of_loads).chain(of_thresholds).collect(),
        }
    }

    fn xml(&self, outcome: &Outcome) -> String {
        let mut counts = Counts::default();
        counts.add(&self.tests);
        let mut xml = format!(
            "  <testsuite name=\"{}\" {} time=\"{:.3}\" timestamp=\"{}\" hostname=\"{}\">\n",
            escaped(self.name),
            counts.attributes(),
            self.seconds,
            time_of(&outcome.began, self.started),
            escaped(&outcome.target),
        );
        let class = escaped(&format!("{}.{}", outcome.name, self.name));
        for (name, verdict) in &self.tests {
            let of_test = format!(
                "    <testcase classname=\"{class}\" name=\"{}\" time=\"{:.3}\"",
                escaped(name),
                self.seconds
            );
            xml += &match verdict {
                Verdict::Passed => format!("{of_test}/>\n"),
                Verdict::Failed(why) => format!("{of_test}><failure>{}</failure></testcase>\n", escaped(why)),
                Verdict::Error(why) => format!("{of_test}><error>{}</error></testcase>\n", escaped(why)),
                Verdict::Skipped => format!("{of_test}><skipped/></testcase>\n"),
            };
        }
        xml + "  </testsuite>\n"
    }
}

impl Counts {
    fn add(&mut self, tests: &[(String, Verdict)]) {
        self.tests += tests.len();
        for (_, verdict) in tests {
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(_) => self.failures += 1,
                Verdict::Error(_) => self.errors += 1,
                Verdict::Skipped => self.skipped += 1,
            }
        }
    }

    fn attributes(&self) -> String {
        let Self { tests, failures, errors, skipped } = self;
        format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"")
    }
}

/// Returns the time this many seconds after the start of the run.
fn time_of(began: &str, seconds: f64) -> String {
    let time = OffsetDateTime::parse(began, &Rfc3339).ok();
    let time = time.and_then(|began| began.checked_add(time::Duration::seconds_f64(seconds)));
    let time = time.and_then(|time| time.replace_nanosecond(0).ok()?.format(&Rfc3339).ok());
    time.unwrap_or_else(|| began.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::scenario_file_tests::outcome;
    use super::*;

    #[test]
    fn document_has_a_test_for_each_load_and_threshold() {
        let xml = xml(&Outcome { began: "2026-01-02T03:04:05Z".to_owned(), ..outcome() });

        let name = "a &quot;&lt;script&gt;&quot; &amp; more";
        let counts = "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"2.000\"";
        for part in [
            format!("<testsuites name=\"&lt;x&gt;\" {counts}>"),
            format!(
                "<testsuite name=\"{name}\" {counts} timestamp=\"2026-01-02T03:04:05Z\" hostname=\"127.0.0.1:1\">"
            ),
            format!("<testcase classname=\"&lt;x&gt;.{name}\" name=\"load fleet\" time=\"2.000\"/>"),
            "name=\"lost = 0\" time=\"2.000\"><failure>found 1</failure></testcase>".to_owned(),
        ] {
            assert!(xml.contains(&part), "{part}: {xml}");
        }
    }

    #[test]
    fn phase_that_ended_early_has_an_error_and_later_ones_are_skipped() {
        let mut outcome = Outcome {
            ended_early: Some("interrupted".to_owned()),
            not_begun: vec!["night".to_owned()],
            ..outcome()
        };
        outcome.phases[0].thresholds.clear();

        let xml = xml(&outcome);

        assert!(xml.contains("tests=\"3\" failures=\"0\" errors=\"1\" skipped=\"1\""), "{xml}");
        assert!(
            xml.contains("name=\"phase\" time=\"2.000\"><error>ended early: interrupted</error>"),
            "{xml}"
        );
        assert!(xml.contains("<testsuite name=\"night\"") && xml.contains("<skipped/>"), "{xml}");
        let aborted = super::xml(&Outcome { aborted: true, ..outcome });
        assert!(aborted.contains("failures=\"1\" errors=\"0\""), "{aborted}");
        assert!(aborted.contains("<failure>ended early: interrupted</failure>"), "{aborted}");
    }
}
