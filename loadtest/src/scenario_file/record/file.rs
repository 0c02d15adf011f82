//! Writes the scenario file of a recorded tenant.

use std::fmt::Write as _;

use super::{Counts, Kind, REQUESTS, Recorded};
use crate::cli::Record;

/// The largest number of devices and of sessions in a file.
const MOST_DEVICES: u64 = 100_000;
const MOST_SESSIONS: u64 = 65_535;
/// The bytes of an object in the database beside its own members: ids, times, indexes. It was measured with bodies of
/// known length, and is only roughly right.
const OVERHEAD: u64 = 250;
/// The longest padding of a body.
const LONGEST: u64 = 16_000;

/// Returns the text of the file.
pub(super) fn text(recorded: &Recorded, settings: &Record) -> String {
    let mut text = head(recorded);
    let statistics = &recorded.statistics;
    let devices = statistics.devices.max(recorded.active_devices as u64).clamp(1, MOST_DEVICES);
    write!(text, "\n[[group]]\nname = \"devices\"\ncount = {devices}\ntransport = \"rest\"\n").ok();
    text += &bodies(statistics.sizes);
    for (kind, path) in [
        (Kind::ReadAlarms, "/alarm/alarms?pageSize=20"),
        (Kind::ReadEvents, "/event/events?pageSize=20"),
        (Kind::ReadMeasurements, "/measurement/measurements?source={{source}}&revert=true&pageSize=20"),
    ] {
        let weight: u64 = recorded.parts.iter().map(|counts| counts[kind as usize]).sum();
        if weight > 0 {
            let weight = weight.min(1_000_000);
            write!(text, "\n[[group.query]]\npath = \"{path}\"\nweight = {weight}\nby = \"administrator\"\n")
                .ok();
        }
    }
    let sessions = statistics.sessions.min(MOST_SESSIONS);
    if sessions > 0 {
        write!(text, "\n[[dashboard]]\nname = \"sessions\"\ncount = {sessions}\ntransport = \"json-poll\"\n")
            .ok();
    }
    for (number, counts) in (1..).zip(&recorded.parts) {
        text += &phase(number, counts, recorded.part_seconds, settings);
    }
    text
}

fn head(recorded: &Recorded) -> String {
    let [alarms, events, measurements] = recorded.statistics.created;
    let mut text = format!(
        "# Recorded: {} parts of {:.0} s each, which are shorter here. The statistics of the day have {alarms} alarms, \
         {events} events\n# and {measurements} measurements. The file has rates, a mix and sizes, and no content.\n",
        recorded.parts.len(),
        recorded.part_seconds,
    );
    if recorded.is_partial {
        text += "# The log left lines out, so the real rates were higher.\n";
    }
    text + "name = \"Recorded\"\n"
}

/// Returns bodies that are about as long as the objects of the tenant.
fn bodies(sizes: [Option<u64>; 3]) -> String {
    let mut text = String::new();
    let fixed = [
        ("alarms", r#""type":"recorded_{{seq}}","text":"recorded","severity":"MINOR""#),
        ("events", r#""type":"recorded","text":"recorded""#),
        ("measurements", r#""type":"recorded","recorded":{"value":{"value":{{random 1..100}}}}"#),
    ];
    for ((name, members), size) in fixed.into_iter().zip(sizes) {
        let Some(size) = size else { continue };
        let padding = size.saturating_sub(OVERHEAD + members.len() as u64).min(LONGEST) as usize;
        // A text that compresses well would be stored in fewer bytes.
        let padding = "{{random}}-".repeat(padding.div_ceil(7));
        writeln!(text, "{name} = '{{{members},\"padding\":\"{padding}\"}}'").ok();
    }
    if text.is_empty() { text } else { format!("\n[group.bodies]\n{text}") }
}

fn phase(number: usize, counts: &Counts, seconds: f64, settings: &Record) -> String {
    let mut text = format!(
        "\n[[phase]]\nname = \"part {number}\"\nlasts = \"{}s\"\nthresholds = [\"lost = 0\", \"failed = 0\"]\n",
        settings.seconds
    );
    let mut rates: Vec<(&str, u64)> = Vec::new();
    for ((_, _, _, key), count) in REQUESTS.iter().zip(counts) {
        match rates.iter_mut().find(|(known, _)| known == key) {
            Some((_, sum)) => *sum += count,
            None => rates.push((key, *count)),
        }
    }
    text += "\n[phase.rates.devices]\n";
    for (key, count) in rates.into_iter().filter(|(_, count)| *count > 0) {
        writeln!(text, "{key} = {:.4}", count as f64 / seconds).ok();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser as _;

    use super::super::KINDS;
    use super::super::statistics::Statistics;
    use super::*;
    use crate::cli::{Program, ProgramCommand};
    use crate::scenario_file::ScenarioFile;

    #[test]
    fn file_has_rates_mix_and_sizes_and_is_valid() {
        let program = Program::parse_from(["loadtest", "record", "--seconds", "30"]);
        let ProgramCommand::Record(settings) = &program.command else { panic!("another command") };
        let statistics = Statistics {
            created: [7, 600, 0],
            devices: 40,
            sessions: 3,
            sizes: [None, Some(900), Some(100)],
            seconds: 3600.0,
        };
        let mut counts = [0; KINDS];
        (counts[Kind::Events as usize], counts[Kind::ReadAlarms as usize]) = (600, 20);
        let parts = vec![counts, [0; KINDS]];
        let recorded =
            Recorded { parts, part_seconds: 60.0, statistics, active_devices: 2, is_partial: true };

        let text = text(&recorded, settings);

        for line in [
            "count = 40\n",
            "events = 10.0000\n",
            "reads = 0.3333\n",
            "path = \"/alarm/alarms?pageSize=20\"\nweight = 20\n",
            "[[dashboard]]\nname = \"sessions\"\ncount = 3\n",
            "lasts = \"30s\"\n",
            "# The log left lines out",
        ] {
            assert!(text.contains(line), "{line:?} not in\n{text}");
        }
        let plan = ScenarioFile::parse_plan(Path::new("x.toml"), &text, &program.common).unwrap().unwrap();
        assert_eq!((plan.groups[0].bodies.len(), plan.phases.len()), (2, 2));
        let event = plan.groups[0].bodies[0].1.example(&[]);
        assert!((600..700).contains(&event.len()), "{}", event.len());
    }
}
