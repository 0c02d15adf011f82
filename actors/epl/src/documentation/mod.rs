//! Runs the examples of `docs/modules.md`: each `epl` block is a module, and the `transcript` block after it
//! lists exactly the inputs and the expected outputs. The appendix of the document explains the format of
//! transcripts.

mod store;
mod transcript;

use super::runtime::Budget;
use std::fmt::Write;
use std::sync::Arc;

use platform_model::limits::Limits;
use store::Store;
use transcript::{Line, START, Transcript, spaced};

use super::language;
use super::plan::{self, ModulePlan, StatementKind, Target};
use super::runtime::{Effect, Outcome, Runtime};
use super::value::Row;

const DOCUMENT: &str = include_str!("../../../../docs/modules.md");

/// The minimum number of examples; fewer would mean that examples were lost or not found.
const EXAMPLES: usize = 19;

struct Example<'a> {
    /// The line number in the document, counted from 1.
    line: usize,
    module: &'a str,
    transcript: &'a str,
}

#[test]
fn examples_of_the_document_produce_the_stated_output() {
    let examples = examples();
    assert!(examples.len() >= EXAMPLES, "only {} examples", examples.len());
    let mut wrong = String::new();
    for Example { line, module, transcript } in examples {
        let expected = Transcript::parse(transcript);
        let came = run(module, &expected);
        if came != expected.written() {
            writeln!(wrong, "line {line}:\n{}\ncame out as:\n{came}", expected.written()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A text that the document presents as a mistake is rejected with the documented message.
#[test]
fn mistakes_in_the_document_are_shown_as_stated() {
    let blocks = blocks();
    let mistakes = blocks.windows(2).filter(|pair| (pair[0].0, pair[1].0) == ("epl-mistake", "text"));
    let mut count = 0;
    for pair in mistakes {
        let [(_, line, module), (_, _, shown)] = pair else { unreachable!("windows of two") };
        let mistake = plan(module).expect_err(&format!("line {line} has no mistake"));
        assert_eq!(mistake, shown.trim_end(), "line {line}");
        count += 1;
    }
    assert!(count > 0);
}

/// A text that the document presents as a slip produces the documented warning.
#[test]
fn slips_in_the_document_cause_the_stated_warnings() {
    let blocks = blocks();
    let slips = blocks.windows(2).filter(|pair| (pair[0].0, pair[1].0) == ("epl-slips", "text"));
    let shown = slips.map(|pair| (pair[0].2, pair[1].2)).collect::<Vec<_>>();
    assert_eq!(shown.len(), 1);
    for (module, warnings) in shown {
        let plan = Arc::new(plan(module).expect("it is accepted").1);
        assert_eq!(plan.warnings(module, [&plan]), warnings.lines().collect::<Vec<_>>());
    }
}

/// Returns the name and the plan of a module.
fn plan(module: &str) -> Result<(Arc<str>, ModulePlan), String> {
    language::parse(module)
        .and_then(|tree| Ok((tree.name.text.clone(), plan::plan(&tree, &plan::Catalog::new())?)))
        .map_err(|mistake| mistake.shown(module).to_string())
}

fn examples() -> Vec<Example<'static>> {
    let blocks = blocks();
    let mut examples = Vec::new();
    for (place, (kind, line, module)) in blocks.iter().enumerate() {
        if *kind != "epl" {
            continue;
        }
        match blocks.get(place + 1) {
            Some(("transcript", _, transcript)) => {
                examples.push(Example { line: *line, module, transcript });
            }
            _ => panic!("the example of line {line} has no transcript"),
        }
    }
    examples
}

/// Returns the fenced code blocks of the document: their language, the line in which they start, and their
/// text.
fn blocks() -> Vec<(&'static str, usize, &'static str)> {
    let mut blocks = Vec::new();
    let (mut open, mut at) = (None, 0);
    for (number, line) in (1..).zip(DOCUMENT.split_inclusive('\n')) {
        let after = at + line.len();
        if let Some(kind) = line.strip_prefix("```") {
            open = match open {
                None => Some((kind.trim_end(), number, after)),
                Some((kind, number, from)) => {
                    blocks.push((kind, number, &DOCUMENT[from..at]));
                    None
                }
            };
        }
        at = after;
    }
    assert!(open.is_none(), "a block has no end");
    blocks
}

/// Runs a module with the inputs of a transcript and returns the transcript with the actual outputs.
fn run(module: &str, transcript: &Transcript) -> String {
    let (name, plan) = match plan(module) {
        Ok((name, plan)) => (name, Arc::new(plan)),
        Err(mistake) => return mistake,
    };
    let budget = Budget::of(&Limits::default());
    let store = Store::default();
    let mut runtime = Runtime::new(Arc::clone(&plan), budget, START);
    let mut written = String::new();
    for line in &transcript.lines {
        let mut outcome = Outcome::default();
        match line {
            Line::Out(_) => continue,
            Line::Store(kind, content) => store.put(kind, content),
            Line::Time(now, _) => advance(&mut runtime, *now, &store, &mut outcome),
            Line::Input { now, stream, content, input, .. } => {
                advance(&mut runtime, *now, &store, &mut outcome);
                if let Some(kind) = stream.words().0.strip_suffix("Created") {
                    store.put(kind, content);
                }
                runtime.feed_input(input, *now, &store, &mut outcome);
            }
        }
        writeln!(written, "{}", line.written()).unwrap();
        written.push_str(&shown(&name, &plan, &outcome));
    }
    written
}

/// Fires all timers that are due.
fn advance(runtime: &mut Runtime, now: i64, store: &Store, outcome: &mut Outcome) {
    runtime.advance(now, store, outcome);
    while runtime.next_deadline().is_some_and(|deadline| deadline <= now) {
        runtime.advance(now, store, outcome);
    }
}

/// Formats the outputs, one per line. A row that is written to the platform is also published; this is checked
/// but not shown.
fn shown(module: &str, plan: &ModulePlan, outcome: &Outcome) -> String {
    let mut written = String::new();
    let mut unpublished: Vec<&Arc<Row>> = Vec::new();
    for effect in &outcome.effects {
        match effect {
            Effect::Perform { stream, row, .. } => {
                writeln!(written, "> {} {}", stream.name(), spaced(&row.to_json())).unwrap();
                unpublished.push(row);
            }
            Effect::Publish { statement, row } if writes(plan, *statement) => {
                let place = unpublished.iter().position(|written| Arc::ptr_eq(written, row));
                unpublished.remove(place.expect("a published row of an output stream was written"));
            }
            Effect::Publish { statement, row } => {
                let statement = &plan.statements[*statement].name;
                writeln!(written, "> /{module}/{statement} {}", spaced(&row.to_json())).unwrap();
            }
            Effect::Forward { .. } => {}
        }
    }
    assert!(unpublished.is_empty(), "written and not published: {unpublished:?}");
    for (statement, fault) in &outcome.faults {
        writeln!(written, "! /{module}/{} {fault}", plan.statements[*statement].name).unwrap();
    }
    written
}

fn writes(plan: &ModulePlan, statement: usize) -> bool {
    match &plan.statements[statement].kind {
        StatementKind::Select(select) => matches!(select.into, Some(Target::Output(_))),
        _ => false,
    }
}
