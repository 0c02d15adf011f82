//! Tests of thresholds that no run can hold, of thresholds of a group, and of those that end a run.

use super::explanation;
use super::scenario_file_tests::parse;

#[test]
fn threshold_on_a_figure_that_the_phase_cannot_measure_is_refused() {
    let file = |group: &str, phase: &str, threshold: &str| {
        format!(
            "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\n{group}\n[[dashboard]]\nname = \"d\"\ncount = \
             1\nwatches = [\"alarms\"]\n[[phase]]\nname = \"p\"\nlasts = \"2s\"\nthresholds = \
             [\"{threshold}\"]\n[phase.rates.g]\n{phase}\n"
        )
    };
    for (group, phase, threshold, refused) in [
        ("transport = \"rest\"", "measurements = 5", "p99 of notified <= 1s", "nobody is notified"),
        ("transport = \"rest\"", "measurements = 5", "notified per second >= 1", "nobody is notified"),
        ("transport = \"rest\"", "alarms = 5", "p99 of notified <= 1s", ""),
        ("listens = [\"measurements\"]", "measurements = 5", "p99 of notified <= 1s", ""),
        ("", "operations = 5", "p99 of notified <= 1s", ""),
        ("", "operations = 5", "p99 of round trip <= 1s", ""),
        ("", "alarms = 5", "p99 of round trip <= 1s", "no operations are queued"),
        ("", "alarms = 5", "max of sessions back <= 1s", "no fault of a server"),
        ("", "alarms = 5", "database growth <= 1MB/h", "write [servers]"),
        ("", "alarms = 5", "memory per client <= 1kB", "at least 1000 clients"),
        ("", "alarms = 5", "failed reads = 0", "nothing is read in this phase"),
        ("", "reads = 5", "p99 of posts <= 1s", "nothing is posted"),
        ("", "reads = 5", "p99 of reads <= 1s", ""),
        ("", "alarms = 5", "lost = 0", ""),
    ] {
        let result = parse(&file(group, phase, threshold)).map(drop);
        match refused {
            "" => assert_eq!(result, Ok(()), "{group} {phase} {threshold}"),
            reason => {
                let error = result.expect_err(threshold);
                assert!(error.starts_with("x.toml:") && error.contains("can never hold"), "{error}");
                assert!(error.contains(reason), "{error}");
            }
        }
    }
}

#[test]
fn thresholds_of_a_group_and_those_that_end_a_run_are_checked() {
    let file = |threshold: &str| {
        format!(
            "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\ntransport = \"rest\"\nalarms = 5\n[[group]]\nname = \
             \"h\"\ncount = 1\nevents = 1\n[[dashboard]]\nname = \"d\"\n[[phase]]\nname = \"p\"\nlasts = \
             \"9s\"\nthresholds = [\n{threshold}\n]\n"
        )
    };
    for (threshold, refused) in [
        ("\"p99 of posts of \\\"g\\\" <= 1s\"", ""),
        ("'p99 of notified of \"d\" <= 1s'", ""),
        ("{ that = 'failed = 0', abort = true, after = '2s' }", ""),
        ("{ that = 'failed of \"g\" = 0' }", ""),
        (
            "'failed of \"x\" = 0'",
            "there are no group, no dashboards and no consumers \"x\"; there are g, h, d",
        ),
        ("'failed of \"d\" = 0'", "failed is not known of dashboards; there are notified, "),
        ("'server CPU of \"g\" <= 5%'", "server CPU is not known of a single group; there are posts, "),
        ("'lost of \"g\" = 0'", "the devices of g receive nothing"),
        ("'p99 of notified of \"h\" <= 1s'", "can never hold: nobody is notified"),
        ("'p99 of round trip of \"h\" <= 1s'", "can never hold: no operations"),
        ("{ that = 'lost = 0', abort = true }", "lost is known only at the end, so it cannot end the run; "),
        (
            "{ that = 'failed of \"g\" = 0', abort = true }",
            "a figure of \"g\" alone is known only at the end",
        ),
        ("{ that = 'failed = 0', after = '2s' }", "`after` needs `abort = true`"),
        ("{ that = 'failed = 0', abort = true, after = '9s' }", "it would never end a phase of 9 s"),
        ("{ that = 'failed = 0', abort = 1 }", "abort = 1: allowed are true and false"),
        ("{ abort = true }", "`that` is missing; write `that = "),
        (
            "{ that = 'failed = 0', delay = '2s' }",
            "\"delay\" is not a key here; allowed are that, abort, after",
        ),
        ("7", "each is a text such as \"lost = 0\", or a table"),
    ] {
        match (parse(&file(threshold)).map(drop), refused) {
            (result, "") => assert_eq!(result, Ok(()), "{threshold}"),
            (result, reason) => {
                let error = result.expect_err(threshold);
                assert!(error.starts_with("x.toml:17: ") && error.contains(reason), "{threshold}: {error}");
            }
        }
    }
    let text = explanation(&parse(&file("{ that = 'failed = 0', abort = true }")).unwrap());
    assert!(text.contains("    failed = 0; from 5 s on, a miss ends the run\n"), "{text}");
}

#[test]
fn thresholds_of_consumers_are_checked() {
    let file = |consumer: &str, threshold: &str| {
        format!(
            "name = \"x\"\n[[group]]\nname = \"g\"\ncount = 2\ntransport = \"rest\"\nalarms = 5\n{consumer}\n\
             [[phase]]\nname = \"p\"\nlasts = \"9s\"\nthresholds = ['{threshold}']\n"
        )
    };
    let (all, events) = ("[[consumer]]\nname = \"c\"", "[[consumer]]\nname = \"c\"\nwatches = \"events\"");
    for (consumer, threshold, refused) in [
        (all, "p99 of consumed of \"c\" <= 1s", ""),
        (all, "holes = 0", ""),
        (events, "gaps of \"c\" = 0", ""),
        ("", "gaps = 0", "can never hold: there is no [[consumer]]"),
        (
            events,
            "p99 of consumed <= 1s",
            "can never hold: no consumer receives what is posted in this phase",
        ),
        (all, "p99 of consumed of \"g\" <= 1s", "consumed is not known of a single group"),
        (
            all,
            "posts per second of \"c\" >= 1/s",
            "posts per second is not known of consumers; there are consumed, ",
        ),
    ] {
        match (parse(&file(consumer, threshold)).map(drop), refused) {
            (result, "") => assert_eq!(result, Ok(()), "{threshold}"),
            (result, reason) => {
                let error = result.expect_err(threshold);
                assert!(error.contains(reason), "{threshold}: {error}");
            }
        }
    }
}
