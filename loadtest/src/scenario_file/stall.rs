//! Finds stalls in the comparison of runs: the latencies of whole phases, which the medians of seconds do not show.

use super::compare::Run;

/// The latencies of whole phases: the place in a report and the name in the table. A stall of some seconds moves no
/// median of seconds, but the slowest 1 in 100.
const OF_PHASES: [(&str, &str); 2] =
    [("/deliveries/latency", "notified, whole phase"), ("/posts/latency", "posts, whole phase")];
/// The percentiles of whole phases that are compared, with their names in the table.
const QUANTILES: [(&str, &str); 2] = [("p99_ms", "p99"), ("max_ms", "max")];
/// A latency of a whole phase is worse if it is this many times the largest of the earlier ones …
const TIMES: f64 = 2.0;
/// … and this many milliseconds longer. Between those limits nothing is said, because a phase has one such value.
const LONGER_MS: f64 = 250.0;

/// Returns a line for each latency of the whole phase that is much longer than before.
pub(super) fn stalls(before: &[Run], after: &[Run], phase: &str) -> Vec<String> {
    let largest = |runs: &[Run], place: &str, quantile: &str| {
        let phases = runs.iter().flat_map(|run| &run.phases).filter(|of| of.name == phase);
        let latencies = phases.flat_map(|phase| &phase.loads).filter_map(|load| load.report.pointer(place));
        latencies.filter_map(|latency| latency[quantile].as_f64()).reduce(f64::max)
    };
    let mut lines = Vec::new();
    for (place, what) in OF_PHASES {
        for (quantile, name) in QUANTILES {
            let (earlier, later) = (largest(before, place, quantile), largest(after, place, quantile));
            let (Some(earlier), Some(later)) = (earlier, later) else { continue };
            if later > TIMES * earlier && later > earlier + LONGER_MS {
                let what = format!("{name} of {what}");
                lines.push(format!("{what:<34} {earlier:>14.0} ms {later:>27.0} ms  WORSE\n"));
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::compare::print;
    use super::super::compare::tests::run_with;

    #[test]
    fn stall_of_some_seconds_is_worse_although_no_median_moves() {
        let of = |max_ms| run_with("notified_p99_ms", 20.0, max_ms);
        for (before, after, is_worse) in [
            (200.0, 3017.0, true),
            (3017.0, 200.0, false),
            (200.0, 399.0, false),
            (1000.0, 1999.0, false),
            (20.0, 260.0, false),
            (20.0, 271.0, true),
        ] {
            assert_eq!(print(&[of(before)], &[of(after)], 5.0).unwrap(), is_worse, "{before} {after}");
        }
    }
}
