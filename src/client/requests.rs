//! The commands of nouns. Each is one operation of the API, which is requested once or for many objects.

use std::cell::RefCell;
use std::io::{IsTerminal, stderr, stdout};
use std::pin::pin;

use clap::ArgMatches;
use form_urlencoded::Serializer;
use futures_util::{StreamExt, stream};
use indicatif::ProgressBar;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::body::{bodies, missing_device, piped_ids, read, set_device, value_of};
use super::commands::{COLUMNS, DATA, DRY_RUN, ID, LIMIT, OUTPUT, TENANT, WORKERS};
use super::content::Content;
use super::failure::{Code, Failure};
use super::http::Server;
use super::nouns::{Noun, Verb};
use super::output::{Form, Printer};
use super::reference::Operation;
use crate::terminal::{print, say};

/// The characters of an id that are not escaped in a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The page size when all pages are read.
const PAGE: u64 = 500;
/// The number of requests from which a progress bar is shown.
const MANY: usize = 20;

/// Runs the command of a verb.
///
/// # Errors
/// The command line is wrong, or a request failed. The remaining requests are sent even after a failure.
pub(super) async fn run(
    server: &mut Server,
    noun: &Noun,
    verb: Verb,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let operation = noun.verbs.iter().find(|(known, _)| *known == verb).map(|(_, id)| Operation::named(id));
    let operation = operation.expect("clap knows the verbs of a noun");
    let mut command = Command { server, noun, operation, matches, tenant: None };
    match verb {
        Verb::List => command.list().await,
        Verb::Create => {
            let requests = command.creations().await?;
            command.send_all(requests).await
        }
        Verb::Get | Verb::Update | Verb::Delete => {
            let requests = command.of_ids(verb).await?;
            command.send_all(requests).await
        }
        Verb::UpdateMany | Verb::DeleteMany => command.change_many(verb).await,
        Verb::Upload | Verb::Replace => command.upload().await,
        Verb::Download => command.download().await,
        Verb::Register => command.register().await,
    }
}

/// A running command.
pub(super) struct Command<'c> {
    pub(super) server: &'c mut Server,
    pub(super) noun: &'c Noun,
    pub(super) operation: Operation,
    pub(super) matches: &'c ArgMatches,
    /// The tenant in the path, once it is known.
    tenant: Option<String>,
}

/// A request to send.
pub(super) struct Request {
    pub(super) path: String,
    pub(super) content: Option<Content>,
}

impl Command<'_> {
    pub(super) fn is_dry_run(&self) -> bool {
        self.matches.get_flag(DRY_RUN)
    }

    pub(super) fn printer(&self, many: bool) -> Printer<std::io::StdoutLock<'static>> {
        // Deletions have no output, and their flags lack the format.
        let form = self.matches.try_get_one::<Form>(OUTPUT).ok().flatten().copied().unwrap_or(Form::Jsonl);
        let columns = self.matches.try_get_many::<String>(COLUMNS).ok().flatten();
        Printer::stdout(form, columns.into_iter().flatten().cloned().collect(), self.noun.id, many)
    }

    /// Prints the objects of all pages, or as many as `--limit` allows.
    async fn list(&mut self) -> Result<(), Failure> {
        let limit = self.matches.get_one::<u64>(LIMIT).copied().unwrap_or(u64::MAX);
        let mut query = self.query();
        if let (None, Some((name, value))) = (query.as_ref(), self.noun.unfiltered) {
            let value = self.server.words.of(value);
            query = Some(Serializer::new(String::new()).append_pair(name, &value).finish());
        }
        let path = self.path("").await?;
        let page_size = limit.min(PAGE).to_string();
        let mut path = match query {
            Some(query) => format!("{path}?{query}&pageSize={page_size}"),
            None => format!("{path}?pageSize={page_size}"),
        };
        if self.is_dry_run() {
            return self.describe(&[Request { path, content: None }]);
        }
        let (mut printer, mut left) = (self.printer(true), limit);
        loop {
            let page = self.server.expect("GET", &path, None).await?.json()?;
            let list = self.operation.list.and_then(|list| page[list].as_array());
            let list = list.ok_or_else(|| Failure::new(Code::Failed, "the response is not a page"))?;
            let shown = list.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            printer.print(&list[..shown])?;
            left -= shown as u64;
            let next = page["next"].as_str().and_then(|next| next.parse::<hyper::Uri>().ok());
            match next.as_ref().and_then(hyper::Uri::path_and_query) {
                Some(next) if left > 0 && !list.is_empty() => path = next.to_string(),
                _ => return printer.end(),
            }
        }
    }

    /// Returns the requests that create objects.
    async fn creations(&mut self) -> Result<Vec<Request>, Failure> {
        let path = self.path("").await?;
        if !self.operation.takes_json {
            let data = self.matches.get_one::<String>(DATA).map_or("-", String::as_str);
            return Ok(vec![Request { path, content: Some(Content::Text(read(data)?)) }]);
        }
        let mut bodies = bodies(self.noun, &self.operation, self.matches, &self.server.words)?;
        if let Some(member) = missing_device(&self.operation, &bodies) {
            let devices = piped_ids(&["id"]).map_err(|failure| failure.hint("--device names a device"))?;
            let of_device = |device: &String| {
                let of_bodies = bodies.iter().map(|body| set_device(body, member, device));
                of_bodies.collect::<Vec<_>>()
            };
            bodies = devices.iter().flat_map(of_device).collect();
        }
        Ok(bodies
            .into_iter()
            .map(|body| Request { path: path.clone(), content: Some(Content::Json(body)) })
            .collect())
    }

    /// Returns a request for each id that is given or piped.
    async fn of_ids(&mut self, verb: Verb) -> Result<Vec<Request>, Failure> {
        let content = if verb == Verb::Update {
            let mut bodies = bodies(self.noun, &self.operation, self.matches, &self.server.words)?;
            match (bodies.pop(), bodies.is_empty()) {
                (Some(body), true) if body != Value::Object(serde_json::Map::new()) => {
                    Some(Content::Json(body))
                }
                (_, false) => return Err(Failure::usage("--data has several objects; an update needs one")),
                _ => {
                    return Err(Failure::usage("nothing is to be changed").hint("`--help` lists what can be"));
                }
            }
        } else {
            None
        };
        let ids: Vec<String> = self.matches.get_many(ID).into_iter().flatten().cloned().collect();
        let ids = if ids.is_empty() { piped_ids(self.noun.id)? } else { ids };
        let query = self.query();
        let mut requests = Vec::new();
        for id in ids {
            let mut path = self.path(&id).await?;
            if let Some(query) = &query {
                path = format!("{path}?{query}");
            }
            requests.push(Request { path, content: content.clone() });
        }
        Ok(requests)
    }

    /// Sends requests and prints their responses. A failed request does not prevent the others.
    pub(super) async fn send_all(&mut self, requests: Vec<Request>) -> Result<(), Failure> {
        if self.is_dry_run() {
            return self.describe(&requests);
        }
        let (all, mut failures) = (requests.len(), Vec::new());
        let mut printer = self.printer(all > 1);
        let shown = all >= MANY && stderr().is_terminal() && !stdout().is_terminal();
        let bar = if shown { ProgressBar::new(all as u64) } else { ProgressBar::hidden() };
        // Verbs that always send one request do not have this flag.
        let workers =
            self.matches.try_get_one::<u64>(WORKERS).ok().flatten().map_or(1, |workers| *workers as usize);
        let workers = workers.min(all.max(1));
        // Each request in progress uses a connection of its own.
        let idle = RefCell::new((0..workers).map(|_| self.server.another()).collect::<Vec<_>>());
        let outcomes = stream::iter(requests).map(async |Request { path, content }| {
            let mut server = idle.borrow_mut().pop().expect("there are as many as requests under way");
            let outcome = server.expect(&self.operation.method, &path, content.as_ref()).await;
            idle.borrow_mut().push(server);
            (path, outcome)
        });
        let mut outcomes = pin!(outcomes.buffered(workers));
        while let Some((path, outcome)) = outcomes.next().await {
            match outcome {
                Ok(response) if response.body.is_empty() => {}
                Ok(response) => printer.print(&[response.json()?])?,
                Err(failure) if all == 1 => return Err(failure),
                Err(failure) => {
                    bar.suspend(|| say(format_args!("{path}: {failure}")));
                    failures.push(failure.code());
                }
            }
            bar.inc(1);
        }
        bar.finish_and_clear();
        printer.end()?;
        match failures.first() {
            Some(code) => Err(Failure::new(*code, format!("{} of {all} requests failed", failures.len()))),
            None => Ok(()),
        }
    }

    /// Prints the requests without sending them.
    pub(super) fn describe(&self, requests: &[Request]) -> Result<(), Failure> {
        for Request { path, content } in requests {
            let content = content.as_ref().map(|content| format!("{}\n", content.described()));
            let request = format!("{} {}{path}\n", self.operation.method, self.server.url);
            print((request + &content.unwrap_or_default()).as_bytes())?;
        }
        Ok(())
    }

    /// Returns the query string of the flags; `None` if no flag is given.
    pub(super) fn query(&self) -> Option<String> {
        let mut query = Serializer::new(String::new());
        let mut any = false;
        for filter in &self.operation.filters {
            if let Some(value) = value_of(filter, self.matches) {
                let text = value.as_str().map_or_else(|| value.to_string(), Into::into);
                query.append_pair(&self.server.words.of(filter.name), &text);
                any = true;
            }
        }
        any.then(|| query.finish())
    }

    /// Returns the path for an id. If the path has several variables, slashes separate the parts of the id.
    pub(super) async fn path(&mut self, id: &str) -> Result<String, Failure> {
        let variables = self.operation.variables().filter(|variable| *variable != TENANT).count();
        let mut parts = id.splitn(variables.max(1), '/');
        let mut path = String::new();
        for segment in self.operation.path.split('/').skip(1) {
            path.push('/');
            if segment == "{tenant}" {
                path.push_str(&escaped(&self.tenant().await?));
            } else if segment.starts_with('{') {
                let part = parts.next().filter(|part| !part.is_empty());
                let form = self.noun.id.join("/");
                path.push_str(&escaped(
                    part.ok_or_else(|| Failure::usage(format!("{id:?} is not an id: {form}")))?,
                ));
            } else {
                path.push_str(segment);
            }
        }
        Ok(path)
    }

    /// Returns the tenant of the command: from the flag, else from the user name, else as the server reports it.
    async fn tenant(&mut self) -> Result<String, Failure> {
        if let Some(tenant) = &self.tenant {
            return Ok(tenant.clone());
        }
        let given = self.matches.get_one::<String>(TENANT).cloned();
        let given = given.or_else(|| Some(self.server.user.split_once('/')?.0.to_owned()));
        let tenant = match given {
            Some(tenant) => tenant,
            None => {
                let current = self.server.expect("GET", "/tenant/currentTenant", None).await?.json()?;
                let name = current["name"].as_str().or_else(|| current["id"].as_str());
                name.ok_or_else(|| {
                    Failure::new(Code::Failed, "the server names no tenant").hint("give --tenant")
                })?
                .into()
            }
        };
        self.tenant = Some(tenant.clone());
        Ok(tenant)
    }
}

pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
