//! Questions before a command does what cannot be undone.

use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write, stderr, stdin};

use clap::{Arg, ArgAction};

use super::commands::ID;
use super::failure::{Code, Failure};
use super::noun::Verb;
use super::output::text_of;
use super::reference::Operation;
use super::requests::{Command, Request};

pub(super) const YES: &str = "yes";
/// The most objects that a question names one by one.
const NAMED: usize = 5;

/// Returns the flag with which a command does not ask.
pub(super) fn yes() -> Arg {
    let yes = Arg::new(YES).long(YES).short('y').action(ArgAction::SetTrue);
    yes.help("Do not ask; needed where nobody can be asked")
}

/// The word that a question requires.
enum Required<'w> {
    Yes,
    /// This word, which nobody types by accident.
    Word(&'w str),
}

impl Command<'_> {
    /// Asks before objects are deleted. Ids that were given as arguments of a script need no consent, except those of
    /// tenants; ids from a pipe always need one, because nobody has read them.
    ///
    /// # Errors
    /// Consent is refused, nobody can be asked, or the only object does not exist.
    pub(super) async fn confirm_deletion(&mut self, requests: &[Request]) -> Result<(), Failure> {
        if self.is_dry_run() || self.matches.get_flag(YES) {
            return Ok(());
        }
        let is_given = self.matches.get_many::<String>(ID).is_some_and(|ids| ids.len() > 0);
        let Some(terminal) = terminal() else {
            if is_given && self.noun.name != "tenant" {
                return Ok(());
            }
            let what = self.counted(requests.len());
            let at = &self.server.url;
            return Err(Failure::usage(format!("{what} at {at} would be deleted, and nobody can be asked"))
                .hint("--yes says to delete, --dry-run shows what would be"));
        };
        let mut names = Vec::new();
        for request in requests.iter().take(NAMED) {
            names.push(self.described(request, requests.len()).await?);
        }
        if requests.len() > NAMED {
            names.push(format!("… and {} more", requests.len() - NAMED));
        }
        let (what, at) = (self.counted(requests.len()), &self.server.url);
        let question = format!("{}\n{what}{} at {at} will be deleted.", names.join("\n"), self.noun.loss);
        let count = requests.len().to_string();
        match (self.noun.name, requests) {
            ("tenant", [only]) => ask(terminal, &question, "delete", &Required::Word(&only.input)),
            ("tenant", _) => ask(terminal, &question, "delete", &Required::Word(&count)),
            _ => ask(terminal, &question, "delete", &Required::Yes),
        }
    }

    fn counted(&self, count: usize) -> String {
        let name = self.noun.name;
        if count == 1 { format!("1 {name}") } else { format!("{count} {name}s") }
    }

    /// Returns the id of an object and the columns of its list.
    async fn described(&mut self, request: &Request, all: usize) -> Result<String, Failure> {
        let get =
            self.noun.verbs.iter().find(|(verb, _)| *verb == Verb::Get).map(|(_, id)| Operation::named(id));
        let path = request.path.split('?').next().unwrap_or_default();
        if get.is_none_or(|get| get.path != self.operation.path) {
            return Ok(format!("  {}", request.input));
        }
        let object = match self.server.expect("GET", path, None).await {
            Ok(response) => response.json()?,
            Err(failure) if all == 1 => return Err(failure),
            Err(_) => return Ok(format!("  {}", request.input)),
        };
        let columns = self.noun.columns.iter().filter(|column| !self.noun.id.contains(column));
        let texts = columns.map(|column| text_of(&object, column)).filter(|text| !text.is_empty());
        Ok(format!("  {}  {}", request.input, texts.collect::<Vec<_>>().join("  ")))
    }
}

/// Asks whether objects that match a filter are to be changed or deleted.
///
/// # Errors
/// Consent is refused, or nobody can be asked.
pub(super) fn confirm(matching: &str, deed: &str) -> Result<(), Failure> {
    match terminal() {
        Some(terminal) => ask(terminal, &format!("{matching}."), deed, &Required::Yes),
        None => Err(Failure::usage(format!("{matching}, and nobody can be asked"))
            .hint(format!("--yes says to {deed} them"))),
    }
}

/// Returns the terminal at which somebody can be asked: standard input, or the terminal of the process if standard
/// input is a pipe and messages are read there.
pub(super) fn terminal() -> Option<Box<dyn BufRead>> {
    if !stderr().is_terminal() {
        return None;
    }
    if stdin().is_terminal() {
        return Some(Box::new(stdin().lock()));
    }
    let terminal = File::open("/dev/tty").ok()?;
    Some(Box::new(BufReader::new(terminal)))
}

fn ask(
    mut terminal: Box<dyn BufRead>,
    question: &str,
    deed: &str,
    required: &Required<'_>,
) -> Result<(), Failure> {
    let mut shown = stderr();
    let question = platform_front::terminal::harmless(question);
    match required {
        Required::Yes => write!(shown, "{question} Do you want to {deed} them? [y/N] ")?,
        Required::Word(word) => write!(shown, "{question} Type {word} to {deed}: ")?,
    }
    shown.flush()?;
    let mut answer = String::new();
    terminal.read_line(&mut answer)?;
    let answer = answer.trim();
    let agrees = match required {
        Required::Yes => ["y", "yes"].contains(&answer.to_lowercase().as_str()),
        Required::Word(word) => answer == *word,
    };
    if agrees { Ok(()) } else { Err(Failure::new(Code::Failed, "nothing was changed")) }
}
