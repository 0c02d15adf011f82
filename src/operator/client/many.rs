//! `update-many` and `delete-many`: one request changes or deletes all objects that match a filter. The command first
//! prints how many match and asks for confirmation.

use platform_front::terminal::say;
use serde_json::{Map, Value};

use super::body::value_of_flag;
use super::commands::{FIELD, fields, kebab};
use super::confirm::{YES, confirm, yes};
use super::content::Content;
use super::failure::{Code, Failure};
use super::noun::Verb;
use super::reference::Operation;
use super::requests::{Command, Request};

/// The prefix of the ids of arguments for new values. The flags themselves start with `new-`.
const NEW: &str = "new:";

/// Adds the flags for the filters and for the new values.
pub(super) fn arguments(command: clap::Command, operation: &Operation) -> clap::Command {
    command
        .args(fields(FIELD, "", &operation.filters))
        .args(fields(NEW, "new-", &operation.members))
        .arg(yes())
}

impl Command<'_> {
    /// Changes or deletes all objects that match the filters of the command.
    ///
    /// # Errors
    /// No filter is given, the confirmation is refused, or a request fails.
    pub(super) async fn change_many(&mut self, verb: Verb) -> Result<(), Failure> {
        let query = self.query().ok_or_else(|| {
            Failure::usage("no filter is given")
                .hint("`--help` lists them; one that matches everything is --date-from 0001-01-01")
        })?;
        // The server refuses these changes without one of them; it would do so only after the question.
        let required = if verb == Verb::UpdateMany { self.noun.changes_need } else { &[] };
        let is_given =
            |name: &&str| form_urlencoded::parse(query.as_bytes()).any(|(given, _)| given == *name);
        if !required.is_empty() && !required.iter().any(is_given) {
            let flags: Vec<_> = required.iter().map(|name| format!("--{}", kebab(name))).collect();
            return Err(Failure::usage(format!("one of these filters is needed, too: {}", flags.join(", "))));
        }
        let path = format!("{}?{query}", self.path("").await?);
        let content = if verb == Verb::UpdateMany { Some(self.changes()?) } else { None };
        if self.is_dry_run() {
            return self.describe(&[Request::only(path, content)]);
        }
        let counted = format!("{path}&pageSize=1&withTotalPages=true");
        let page = self.server.expect("GET", &counted, None).await?.json()?;
        let count = page["statistics"]["totalPages"].as_u64();
        let count =
            count.ok_or_else(|| Failure::new(Code::Failed, "the server does not return how many match"))?;
        let matching = self.matching(count);
        if count == 0 {
            say(&matching);
            return Ok(());
        }
        let deed = if verb == Verb::UpdateMany { "change" } else { "delete" };
        if self.matches.get_flag(YES) {
            say(&matching);
        } else {
            confirm(&matching, deed)?;
        }
        let response = self.server.expect(&self.operation.method, &path, content.as_ref()).await?;
        say(if response.status == 202 { "the server continues in the background" } else { "done" });
        Ok(())
    }

    /// Returns a body with the new values.
    fn changes(&self) -> Result<Content, Failure> {
        let mut body = Map::new();
        for field in &self.operation.members {
            if let Some(value) = value_of_flag(field, &format!("{NEW}{}", field.name), self.matches) {
                body.insert(self.server.words.of(field.name), value);
            }
        }
        if body.is_empty() {
            return Err(Failure::usage("nothing is to be changed")
                .hint("`--help` lists the flags that begin with --new"));
        }
        Ok(Content::Json(Value::Object(body)))
    }

    fn matching(&self, count: u64) -> String {
        let name = if self.noun.name == "audit" { "audit record" } else { self.noun.name };
        match count {
            1 => format!("1 {name} matches at {}", self.server.url),
            _ => format!("{count} {name}s match at {}", self.server.url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::nouns::nouns;

    #[test]
    fn what_is_counted_is_what_is_changed() {
        for noun in nouns() {
            let named = |verb| {
                noun.verbs.iter().find(|(known, _)| *known == verb).map(|(_, id)| Operation::named(id))
            };
            for many in [Verb::UpdateMany, Verb::DeleteMany].into_iter().filter_map(named) {
                let list = named(Verb::List).expect("a noun with many objects has a list");
                assert_eq!(many.path, list.path);
                for filter in &many.filters {
                    let is_counted = list.filters.iter().any(|known| known.name == filter.name);
                    assert!(is_counted, "a list of {} has no filter {}", noun.name, filter.name);
                }
            }
        }
    }
}
