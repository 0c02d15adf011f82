//! A scenario file in plain words.

use super::load::Load;
use super::{Phase, ScenarioFile};

/// Returns what `run` would do with this file.
pub(crate) fn explanation(file: &ScenarioFile) -> String {
    let count = file.phases.len();
    let mut text = format!(
        "{}: {count} {}.\n",
        file.name,
        if count == 1 { "phase" } else { "phases, one after the other" }
    );
    for (number, phase) in (1..).zip(&file.phases) {
        text += &format!("\nPhase {number}, {}{}\n", phase.name, duration(phase));
        phase.loads.iter().for_each(|load| text += &in_words(load));
        if phase.thresholds.is_empty() {
            text += "  Clean if each load is clean; there are no thresholds.\n";
        } else {
            text += "  Clean if each load is clean, and\n";
            phase.thresholds.iter().for_each(|threshold| text += &format!("    {}\n", threshold.sentence));
        }
    }
    text
}

fn duration(phase: &Phase) -> String {
    let longest = phase.loads.iter().filter_map(|load| load.seconds).max();
    longest.map_or(String::new(), |seconds| format!(": at least {seconds} s"))
}

fn in_words(load: &Load) -> String {
    let mut text = format!("  {}: {}\n", load.scenario, load.about);
    for setting in &load.settings {
        text += &format!("    {} = {} ({})\n", setting.key, setting.value, setting.meaning);
    }
    text
}
