//! The registration of template sets (S-10 to S-17).

pub(super) mod draft;
mod storing;

use draft::{Draft, Section, sections};

use super::engine::Engine;
use super::groups::GroupedLines;
use super::line::{Lines, Records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::template_sets::Set;

/// The response to a registration of an X-Id that is taken (S-13).
const EXISTING: &str = "41,Cannot create templates for already existing template object";

/// Registers the sets of a body, each completely or not at all (S-13, S-14). An X-Id without templates is
/// only looked up (S-10).
pub(super) async fn register(engine: &Engine<'_>, records: &Records<'_>) -> String {
    let mut answer = GroupedLines::default();
    for section in sections(engine.x_id.as_deref(), records) {
        answer.begin(section.group());
        match section {
            Section::Unnamed(malformed) => answer.lines().append(&malformed),
            Section::Alone(draft) | Section::Grouped(draft) => {
                let line = draft.line;
                if let Err(refusal) = register_one(engine, draft, answer.lines()).await {
                    refusal.write(line, answer.lines());
                }
            }
            Section::NoXId => answer.lines().push_text(NO_TEMPLATE),
        }
    }
    answer.finish()
}

/// Looks up the set first: the flaws of a set that exists already do not matter.
async fn register_one(engine: &Engine<'_>, draft: Draft, lines: &mut Lines) -> Result<(), Refusal> {
    let (database, tenant) = (engine.csv.platform.database(), &engine.caller.tenant);
    match engine.csv.templates.select(database, tenant, &draft.x_id).await? {
        Some(Set::Registered(known)) if draft.is_empty => lines.push(["20", &known.object.to_string()]),
        _ if draft.is_empty => lines.push_text(NO_TEMPLATE),
        // The built-in set cannot be replaced.
        Some(_) => lines.push_text(EXISTING),
        None if !draft.flaws.is_empty() => lines.append(&draft.flaws),
        None => match storing::store(engine, draft).await? {
            Some(object) => lines.push(["20", &object.to_string()]),
            None => lines.push_text(EXISTING),
        },
    }
    Ok(())
}
