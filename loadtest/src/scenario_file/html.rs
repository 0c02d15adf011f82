//! The result as one HTML page without scripts, readable in print and in the dark.

use super::outcome::{LoadOutcome, Outcome, PhaseOutcome};
use crate::report::clean_or_not;

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .25rem .75rem; border-bottom: 1px solid #8888; }
pre { overflow-x: auto; font-size: .8rem; white-space: pre-wrap; }
.clean { color: #1a7f37; } .missed { color: #d1242f; font-weight: bold; }
svg { width: 100%; height: 10rem; } svg text { font-size: 11px; fill: currentColor; }
polyline { fill: none; stroke: #3b82f6; stroke-width: 1.5; } .mark { stroke: #8888; stroke-dasharray: 4; }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } }
";

/// The size of a chart, in units of its view box.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
/// The room above the line for the text.
const HEAD: f64 = 20.0;

/// Returns a text in which no character means anything to HTML or XML; characters that XML does not allow are replaced.
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

/// Returns the page: the verdict first, then charts of the server, then each phase.
pub(super) fn page(outcome: &Outcome) -> String {
    let name = escaped(&outcome.name);
    let phases: String = outcome.phases.iter().map(section).collect();
    let overview: String = outcome.phases.iter().map(overview_row).collect();
    let charts =
        chart(outcome, "server memory, MB", |sample| sample.server_memory.map(|bytes| bytes as f64 / 1e6))
            + &chart(outcome, "server CPU, % of a core", |sample| sample.server_cpu_percent);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{name}: {}</title>\n<style>{STYLE}</style>\n<h1>{name}: {}</h1>\n<p>loadtest {} against {}</p>\n\
         <table><tr><th>Phase<th>Seconds<th>Thresholds missed<th>Verdict</tr>\n{overview}</table>\n{charts}{phases}</html>\n",
        clean_or_not(outcome.clean),
        coloured(outcome.clean, clean_or_not(outcome.clean)),
        env!("CARGO_PKG_VERSION"),
        escaped(&outcome.target),
    )
}

fn coloured(is_good: bool, text: &str) -> String {
    format!("<span class=\"{}\">{}</span>", if is_good { "clean" } else { "missed" }, escaped(text))
}

fn overview_row(phase: &PhaseOutcome) -> String {
    let missed = phase.thresholds.iter().filter(|judged| !judged.holds).count();
    format!(
        "<tr><td>{}<td>{:.0}<td>{missed} of {}<td>{}</tr>\n",
        escaped(&phase.name),
        phase.ended - phase.started,
        phase.thresholds.len(),
        coloured(phase.clean, clean_or_not(phase.clean))
    )
}

fn section(phase: &PhaseOutcome) -> String {
    let row = |judged: &super::threshold::Judged| {
        let result = coloured(judged.holds, if judged.holds { "holds" } else { "missed" });
        format!("<tr><td>{}<td>{}<td>{result}</tr>\n", escaped(&judged.threshold), escaped(&judged.found))
    };
    let rows: String = phase.thresholds.iter().map(row).collect();
    let head = if rows.is_empty() { "" } else { "<tr><th>Threshold<th>Found<th></tr>\n" };
    let loads: String = phase.loads.iter().map(load).collect();
    format!(
        "<section><h2>{}: {}</h2>\n<table>{head}{rows}</table>\n{loads}</section>\n",
        escaped(&phase.name),
        coloured(phase.clean, clean_or_not(phase.clean))
    )
}

fn load(load: &LoadOutcome) -> String {
    let text = load.error.as_ref().unwrap_or(&load.table);
    format!("<h3>{}</h3>\n<pre>{}</pre>\n", escaped(&load.scenario), escaped(text))
}

/// Returns a figure of the server over the whole run, with a mark at the start of each phase; nothing if it is unknown.
fn chart(outcome: &Outcome, title: &str, figure: impl Fn(&super::outcome::Sample) -> Option<f64>) -> String {
    let samples = outcome.phases.iter().flat_map(|phase| &phase.samples);
    let points: Vec<(f64, f64)> = samples.filter_map(|sample| Some((sample.at, figure(sample)?))).collect();
    let end = outcome.phases.last().map_or(0.0, |phase| phase.ended);
    let largest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    if points.len() < 2 || largest <= 0.0 {
        return String::new();
    }
    let x = |at: f64| WIDTH * at / end;
    let place =
        |(at, value): &(f64, f64)| format!("{:.1},{:.1}", x(*at), HEIGHT - (HEIGHT - HEAD) * value / largest);
    let line: Vec<String> = points.iter().map(place).collect();
    let marks: String = (1..).zip(&outcome.phases).map(|(number, phase)| {
        let x = x(phase.started);
        format!("<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{HEAD}\" y2=\"{HEIGHT}\"/><text x=\"{:.1}\" y=\"{}\">{number}</text>", x + 3.0, HEAD + 10.0)
    }).collect();
    let title = format!("{title}: at most {largest:.1}; {end:.0} s, the marks are the starts of the phases");
    format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{0}\"><text x=\"0\" y=\"12\">{0}</text>{marks}\
         <polyline points=\"{1}\"/></svg>\n",
        escaped(&title),
        line.join(" ")
    )
}
