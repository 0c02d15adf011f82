//! Writes the result as one HTML page without scripts, which is readable in print and in a dark theme: first the
//! verdict, then charts of the whole run, then each phase with its thresholds and figures.

use serde_json::Value;

use super::chart::{Chart, Line, Upright, seconds};
use super::outcome::{LoadOutcome, Outcome, PhaseOutcome};
use super::threshold::Judged;
use crate::ledger::latency::CURVE;
use crate::report::clean_or_not;

const STYLE: &str = "
:root { color-scheme: light dark; --l0: #2563eb; --l1: #ea580c; --l2: #16a34a; --good: #1a7f37; --bad: #d1242f; }
@media (prefers-color-scheme: dark) { :root { --l0: #60a5fa; --l1: #fb923c; --l2: #4ade80; --good: #3fb950; --bad: \
#ff7b72; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { text-align: left; padding: .25rem .75rem; \
border-bottom: 1px solid #8886; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } pre { font-size: .8rem; white-space: pre-wrap; }
.clean { color: var(--good); } .missed { color: var(--bad); font-weight: bold; } details { margin: .5rem 0; }
svg { width: 100%; margin: .5rem 0; } svg text { font-size: 11px; fill: currentColor; } svg text.title { \
font-weight: bold; }
polyline, line { fill: none; stroke-width: 1.5; } .grid { stroke: #8884; stroke-width: 1; } .phase { stroke: #888a; \
} .fault { stroke: var(--bad); stroke-dasharray: 3 3; stroke-width: 1; }
svg text.phase, svg text.fault { stroke: none; } svg text.fault { fill: var(--bad); } .l0 { stroke: var(--l0); } .l1 \
{ stroke: var(--l1); } .l2 { stroke: var(--l2); }
@media print { body { margin: 0; max-width: none; font-size: 12px; } section, svg, tr { break-inside: avoid; } }
";

/// The largest number of marks that are numbered on the charts. More labels would cover each other.
const MOST_LABELS: usize = 40;

/// A chart of the page: its title, the factor of its values, and for each line the name in a sample and the name on the
/// chart.
type Series = (&'static str, f64, &'static [(&'static str, &'static str)]);

/// The charts over time.
const CHARTS: [Series; 7] = [
    (
        "events per second",
        1.0,
        &[("posts", "posts accepted"), ("notified", "notifications"), ("failed", "posts not accepted")],
    ),
    (
        "notified after, ms",
        1.0,
        &[("notified_p50_ms", "p50"), ("notified_p99_ms", "p99"), ("notified_max_ms", "max")],
    ),
    ("time of posts until the response, ms", 1.0, &[("posts_p50_ms", "p50"), ("posts_p99_ms", "p99")]),
    ("clients", 1.0, &[("sessions", "with a session"), ("reconnects", "reconnects in the second")]),
    (
        "CPU, % of a core",
        1.0,
        &[
            ("server_cpu_percent", "server"),
            ("postgres_cpu_percent", "PostgreSQL"),
            ("generator_cpu_percent", "generator"),
        ],
    ),
    ("memory, MB", 1e-6, &[("server_memory", "server"), ("postgres_memory", "PostgreSQL")]),
    ("open files and sockets of the server", 1.0, &[("server_files", "")]),
];

/// Returns a text with the special characters of HTML and XML escaped. Characters that XML does not allow are replaced.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            '\t' | '\n' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Returns the page.
pub(super) fn page(outcome: &Outcome) -> String {
    let name = escaped(&outcome.name);
    let phases: String = (1..).zip(&outcome.phases).map(|(number, phase)| section(number, phase)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
         content=\"width=device-width\">\n<title>{name}: {}</title>\n<style>{STYLE}</style>\n<h1>{name}: \
         {}</h1>\n{}{}{}{}{phases}</html>\n",
        clean_or_not(outcome.clean),
        coloured(outcome.clean, clean_or_not(outcome.clean)),
        what_was_run(outcome),
        why_not_clean(outcome),
        overview(outcome),
        charts(outcome),
    )
}

fn coloured(is_good: bool, text: &str) -> String {
    format!("<span class=\"{}\">{}</span>", if is_good { "clean" } else { "missed" }, escaped(text))
}

fn what_was_run(outcome: &Outcome) -> String {
    let seed = outcome.seed.map_or(String::new(), |seed| format!(", seed {seed}"));
    format!(
        "<p>{} against {} on {} cores, {}{seed}.</p>\n",
        escaped(&outcome.generator),
        escaped(&outcome.target),
        outcome.cores,
        escaped(&outcome.began)
    )
}

/// Returns each reason why a run is not clean.
fn why_not_clean(outcome: &Outcome) -> String {
    let mut reasons: Vec<String> =
        outcome.ended_early.iter().map(|reason| format!("It ended early: {reason}.")).collect();
    for phase in &outcome.phases {
        let missed = phase.thresholds.iter().filter(|judged| !judged.holds);
        reasons.extend(
            missed.map(|one| format!("{}: {}, but it was {}.", phase.name, one.threshold, one.found)),
        );
        for load in phase.loads.iter().filter(|load| !load.clean) {
            reasons.extend(
                faults_of(load)
                    .into_iter()
                    .map(|fault| format!("{}, {}: {fault}.", phase.name, load.scenario)),
            );
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let items: String = reasons.iter().map(|reason| format!("<li>{}\n", escaped(reason))).collect();
    format!("<p>It is not clean, because:</p>\n<ul>{items}</ul>\n")
}

/// Returns the reasons in words why a load is not clean.
fn faults_of(load: &LoadOutcome) -> Vec<String> {
    if let Some(error) = &load.error {
        return vec![error.clone()];
    }
    let facts = load.report["facts"].as_array().into_iter().flatten().filter(|fact| fact["holds"] == false);
    let text = |fact: &Value, member: &str| fact[member].as_str().unwrap_or_default().to_owned();
    let mut faults: Vec<String> = facts
        .map(|fact| {
            format!("{} is {} instead of {}", text(fact, "what"), text(fact, "found"), text(fact, "expected"))
        })
        .collect();
    for ledger in ["sessions", "ledger"] {
        for fault in ["lost", "lost_unacknowledged", "doubled", "reordered", "unexpected", "torn"] {
            let count = load.report[ledger][fault].as_u64().unwrap_or_default();
            faults.extend((count > 0).then(|| format!("{} {count}", fault.replace('_', " "))));
        }
    }
    if faults.is_empty() { vec!["its figures below say why".to_owned()] } else { faults }
}

fn overview(outcome: &Outcome) -> String {
    let row = |(number, phase): (usize, &PhaseOutcome)| {
        let missed = phase.thresholds.iter().filter(|judged| !judged.holds).count();
        format!(
            "<tr><td>{number}<td>{}<td class=\"number\">{:.0}<td>{missed} of {}<td>{}</tr>\n",
            escaped(&phase.name),
            phase.ended - phase.started,
            phase.thresholds.len(),
            coloured(phase.clean, clean_or_not(phase.clean))
        )
    };
    let rows: String = (1..).zip(&outcome.phases).map(row).collect();
    format!("<table><tr><th><th>Phase<th>Seconds<th>Thresholds missed<th>Verdict</tr>\n{rows}</table>\n")
}

/// Returns the charts over the whole run with an explanation of their marks.
fn charts(outcome: &Outcome) -> String {
    let samples = || outcome.phases.iter().flat_map(|phase| &phase.samples);
    let end = samples().map(|sample| sample.at).fold(0.0, f64::max);
    let has_labels = outcome.happened.len() <= MOST_LABELS;
    let phases = (1..).zip(&outcome.phases).map(|(number, phase): (usize, _)| Upright {
        at: phase.started.min(end),
        label: number.to_string(),
        is_phase: true,
    });
    let faults = (0..).zip(&outcome.happened).map(|(number, mark)| Upright {
        at: mark.at.min(end),
        label: if has_labels { letters(number) } else { String::new() },
        is_phase: false,
    });
    let uprights: Vec<Upright> = phases.chain(faults).collect();
    let mut html = String::new();
    for (title, factor, lines) in CHARTS {
        let line = |&(value, name): &(&str, &'static str)| Line {
            name,
            points: samples().filter_map(|sample| Some((sample.at, sample.value(value)? * factor))).collect(),
        };
        let lines = lines.iter().map(line).collect();
        html += &Chart { title, lines, below: seconds(end), uprights: &uprights }.svg();
    }
    let row = |(number, mark): (usize, &super::outcome::Mark)| {
        let label = if has_labels { letters(number) } else { String::new() };
        format!("<tr><td>{label}<td class=\"number\">{:.1} s<td>{}</tr>\n", mark.at, escaped(&mark.what))
    };
    let rows: String = (0..).zip(&outcome.happened).map(row).collect();
    if rows.is_empty() {
        return html;
    }
    html + &format!(
        "<details open><summary>What happened: {} marks</summary><table>{rows}</table></details>\n",
        outcome.happened.len()
    )
}

/// Returns the letters of a mark: a to z, then aa and so on.
fn letters(number: usize) -> String {
    let last = char::from(b'a' + (number % 26) as u8);
    if number < 26 { last.to_string() } else { letters(number / 26 - 1) + &last.to_string() }
}

fn section(number: usize, phase: &PhaseOutcome) -> String {
    let row = |judged: &Judged| {
        let result = coloured(judged.holds, if judged.holds { "holds" } else { "missed" });
        format!("<tr><td>{}<td>{}<td>{result}</tr>\n", escaped(&judged.threshold), escaped(&judged.found))
    };
    let rows: String = phase.thresholds.iter().map(row).collect();
    let head = if rows.is_empty() { "" } else { "<tr><th>Threshold<th>Found<th></tr>\n" };
    let loads: String = phase.loads.iter().map(load).collect();
    format!(
        "<section><h2>{number}. {}: {}</h2>\n<table>{head}{rows}</table>\n{}{loads}</section>\n",
        escaped(&phase.name),
        coloured(phase.clean, clean_or_not(phase.clean)),
        percentiles(phase)
    )
}

/// Returns the percentile curves of a phase. Each step to the right is ten times as rare.
fn percentiles(phase: &PhaseOutcome) -> String {
    let curve = |name: &'static str, pointer: &str| {
        let values = phase.loads.iter().find_map(|load| load.report.pointer(pointer)?.as_array());
        let points = CURVE.iter().zip(values.into_iter().flatten());
        let points =
            points.filter_map(|(quantile, value)| Some((rareness(*quantile), value.as_f64()?))).collect();
        Line { name, points }
    };
    let lines =
        vec![curve("notified", "/deliveries/latency/curve_ms"), curve("posts", "/posts/latency/curve_ms")];
    let below = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999]
        .map(|quantile| (rareness(quantile), format!("{} %", (quantile * 10_000.0).round() / 100.0)));
    Chart { title: "ms by percentile", lines, below: below.into(), uprights: &[] }.svg()
}

/// Returns the horizontal position of a quantile.
fn rareness(quantile: f64) -> f64 {
    -(1.0 - quantile.min(0.9999)).log10()
}

fn load(load: &LoadOutcome) -> String {
    let text = load.error.as_ref().unwrap_or(&load.table);
    format!(
        "<details open><summary>All figures of {}</summary><pre>{}</pre></details>\n",
        escaped(&load.scenario),
        escaped(text)
    )
}
