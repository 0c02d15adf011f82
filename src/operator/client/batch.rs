//! Requests for many ids or objects: they are sent one after the other or several at a time, and each that fails is
//! named with its input, so that it can be repeated.

use std::cell::RefCell;
use std::fs::File;
use std::io::{IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};

use clap::{Arg, ArgMatches, value_parser};
use futures_util::{Stream, StreamExt, stream};
use indicatif::ProgressBar;
use platform_front::terminal::say;
use tokio::signal::ctrl_c;

use super::commands::WORKERS;
use super::failure::{Code, Failure};
use super::http::Response;
use super::output::Printer;
use super::requests::{Command, Request};

/// The flag for the file of inputs that are left.
const LEFT: &str = "left";
/// The number of requests from which a progress bar is shown.
const MANY: usize = 20;
/// The most characters of an input that a message shows.
const SHOWN: usize = 100;

/// Returns the flag that names the file of inputs that are left.
pub(super) fn left() -> Arg {
    let help =
        "Write the ids or objects whose requests failed or were not sent to this file, one in each line";
    Arg::new(LEFT).long(LEFT).value_name("FILE").help(help).value_parser(value_parser!(PathBuf))
}

type Outcome = Result<Response, Failure>;

/// The requests of a command while they are sent.
struct Batch {
    inputs: Vec<String>,
    ended: usize,
    failed: Vec<(usize, Code)>,
    bar: ProgressBar,
}

impl Command<'_> {
    /// Sends requests and prints their responses. A failed request does not prevent the others. Ctrl-C ends the command
    /// with the number of requests that have ended.
    pub(super) async fn send_all(&mut self, requests: Vec<Request>) -> Result<(), Failure> {
        if self.is_dry_run() {
            return self.describe(&requests);
        }
        let all = requests.len();
        let mut printer = self.printer(all > 1);
        // Verbs that always send one request do not have this flag.
        let workers =
            self.matches.try_get_one::<u64>(WORKERS).ok().flatten().map_or(1, |workers| *workers as usize);
        let workers = workers.min(all.max(1));
        let mut batch = Batch::of(&requests);
        // Each request in progress uses a connection of its own.
        let idle = RefCell::new((0..workers).map(|_| self.server.another()).collect::<Vec<_>>());
        let outcomes = stream::iter(requests).map(async |Request { path, content, .. }| {
            let mut server = idle.borrow_mut().pop().expect("there are as many as requests under way");
            let outcome = server.expect(&self.operation.method, &path, content.as_ref()).await;
            idle.borrow_mut().push(server);
            outcome
        });
        let done = batch.run(pin!(outcomes.buffered(workers)), &mut printer).await;
        batch.bar.finish_and_clear();
        printer.end()?;
        batch.end(left_file(self.matches), done?)
    }
}

fn left_file(matches: &ArgMatches) -> Option<&Path> {
    matches.try_get_one::<PathBuf>(LEFT).ok().flatten().map(PathBuf::as_path)
}

/// The reason why a batch has ended.
#[derive(PartialEq, Eq)]
enum End {
    AllSent,
    Interrupted,
}

impl Batch {
    fn of(requests: &[Request]) -> Self {
        let all = requests.len();
        let is_shown = all >= MANY && stderr().is_terminal() && !stdout().is_terminal();
        let bar = if is_shown { ProgressBar::new(all as u64) } else { ProgressBar::hidden() };
        let inputs = requests.iter().map(|request| request.input.clone()).collect();
        Self { inputs, ended: 0, failed: Vec::new(), bar }
    }

    async fn run(
        &mut self,
        mut outcomes: Pin<&mut impl Stream<Item = Outcome>>,
        printer: &mut Printer<std::io::StdoutLock<'static>>,
    ) -> Result<End, Failure> {
        let all = self.inputs.len();
        loop {
            let outcome = tokio::select! {
                // The handler of the signal must exist before the first request is sent.
                biased;
                Ok(()) = ctrl_c(), if all > 1 => return Ok(End::Interrupted),
                outcome = outcomes.next() => outcome,
            };
            match outcome {
                None => return Ok(End::AllSent),
                Some(Ok(response)) if response.body.is_empty() => {}
                Some(Ok(response)) => printer.print(&[response.json()?])?,
                Some(Err(failure)) if all == 1 => return Err(failure),
                Some(Err(failure)) => {
                    let input = shortened(&self.inputs[self.ended]);
                    self.bar.suspend(|| say(format_args!("{}, {input}: {failure}", self.ended + 1)));
                    self.failed.push((self.ended, failure.code()));
                }
            }
            self.ended += 1;
            self.bar.inc(1);
        }
    }

    /// Writes the inputs that are left and returns what the command reports.
    fn end(&self, file: Option<&Path>, end: End) -> Result<(), Failure> {
        let (all, failed) = (self.inputs.len(), self.failed.len());
        let hint = match file {
            Some(file) => {
                self.write(file)?;
                format!("the inputs that are left are in {}", file.display())
            }
            None => format!("with --{LEFT} FILE the inputs that are left are stored for another run"),
        };
        if end == End::Interrupted {
            let ended = self.ended - failed;
            let text = format!(
                "interrupted: {ended} of {all} requests are done, {failed} failed; some others may be done, too"
            );
            return Err(Failure::new(Code::Interrupted, text).hint(hint));
        }
        match self.failed.first() {
            Some((_, code)) => {
                Err(Failure::new(*code, format!("{failed} of {all} requests failed")).hint(hint))
            }
            None => Ok(()),
        }
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        let failed = self.failed.iter().map(|(index, _)| *index);
        let lines =
            failed.chain(self.ended..self.inputs.len()).map(|index| format!("{}\n", self.inputs[index]));
        let written =
            File::create(path).and_then(|mut file| file.write_all(lines.collect::<String>().as_bytes()));
        written.map_err(|error| Failure::new(Code::Failed, format!("{}: {error}", path.display())))
    }
}

fn shortened(input: &str) -> String {
    match input.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &input[..end]),
        None => input.to_owned(),
    }
}
