//! Explains the words of scenario files and reports.

use super::figure::FIGURES;
use crate::error::Error;
use crate::population::plan::FAULTS;
use crate::population::template::PLACEHOLDERS;
use crate::traffic::schedule::curve;

/// The terms of scenario files and reports other than figures.
const WORDS: [(&str, &str); 18] = [
    (
        "expected",
        "The notifications that accepted posts must cause: each as often as there are clients that watch it. Each is \
         received, known to be missed (`told`), or lost silently.",
    ),
    (
        "old",
        "Notifications of posts whose response came before the session was requested. They do not count as faults.",
    ),
    (
        "stored all the same",
        "Posts without a response, because a server was killed or paused, that were found in the database \
         afterwards. A session that existed all the time must have received them too.",
    ),
    ("ended without need", "Sessions that ended without a fault of a server that their client used."),
    (
        "phase",
        "A part of a run with thresholds of its own. Devices and dashboards stay connected from one phase to the next.",
    ),
    (
        "group",
        "Devices of one kind. They are registered with users of their own before the first phase and removed after \
         the last one.",
    ),
    ("dashboard", "A client that sees the alarms, events or measurements of all devices of its tenant."),
    (
        "mode",
        "The processing mode of a write: PERSISTENT is stored and notified, TRANSIENT only notified, QUIESCENT only \
         stored, CEP neither (modules see it).",
    ),
    (
        "acknowledges",
        "The session confirms each response with notifications, and the server repeats what was not confirmed. Then \
         nothing is lost with a connection.",
    ),
    (
        "due",
        "The time at which a post should be sent by its schedule. Latencies count from it, so a server that stalls \
         cannot hide the posts that had to wait.",
    ),
    (
        "clean",
        "All conditions held: nothing was lost, doubled, reordered or unexpected, every accepted write was stored, \
         and no threshold was missed.",
    ),
    ("percentile", "p99 is the value that 99 of 100 measured values do not exceed; max is the largest one."),
    (
        "memory per held poll",
        "The growth of the server's memory while all polls were opened, for each poll. It is left out if the server \
         had used more than five seconds of CPU before, because memory that it already had would be used again.",
    ),
    (
        "abort",
        "A threshold that is written as a table, such as { that = \"failed = 0\", abort = true, after = \"10s\" }, \
        ends \
         the run as soon as it is missed, `after` this time in the phase (5 s). It must have a figure that is known \
         while \
         the phase runs. The run is then not clean.",
    ),
    ("placeholder", PLACEHOLDERS),
    (
        "feeder",
        "A file of CSV beside the scenario file. Its first line names the columns; each body or path that uses it \
        takes the \
         next row, and the first one again after the last. A worker reads the file at the same place.",
    ),
    (
        "seed",
        "The number from which all random choices of a scenario file follow: devices, modes, clients that a fault \
         hits. The same seed makes the same choices in the same order.",
    ),
    (
        "verdict of a comparison",
        "`better` or `worse`: the values of the two runs differ by more than chance explains (Mann-Whitney rank \
         test, below 1 in 100) and by more than the tolerance. `noise`: they do not.",
    ),
];

/// Explains a figure, a fault or another word, or all of them if no word is given.
///
/// # Errors
/// An unknown word.
pub(crate) fn explain(words: &[String]) -> Result<String, Error> {
    let rate = format!("Events in each second of all devices of a group: {}.", curve::FORMS);
    let figures = FIGURES.iter().map(|figure| (figure.name, figure.meaning));
    let faults = FAULTS.iter().map(|(_, name, meaning)| (*name, *meaning));
    let mut all: Vec<(&str, &str)> = figures.chain(faults).chain(WORDS).collect();
    all.push(("rate", &rate));
    let in_words = |(name, meaning): &(&str, &str)| format!("{name}\n    {meaning}\n");
    match words.join(" ").as_str() {
        "" => Ok(all.iter().map(in_words).collect()),
        asked => {
            let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(asked));
            found.map(in_words).ok_or_else(|| {
                let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
                Error::Refused(format!("{asked:?} is not explained; there are {}", names.join(", ")))
            })
        }
    }
}
