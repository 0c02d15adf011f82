//! The commands of nouns. Each is one operation of the API, which is requested once or for many objects.

use clap::ArgMatches;
use clap::parser::ValueSource;
use form_urlencoded::Serializer;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use platform_front::terminal::print;
use serde_json::Value;

use super::body::{absolute, bodies, missing_device, piped_ids, read, set_device, value_of};
use super::commands::{COLUMNS, DATA, DRY_RUN, ID, LIMIT, OUTPUT, TENANT};
use super::content::Content;
use super::failure::{Code, Failure};
use super::http::Server;
use super::noun::{Noun, Order, Verb};
use super::output::{Form, Printer};
use super::reference::Operation;
use super::{consumer, trace};

/// The characters of an id that are not escaped in a path.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The page size when all pages are read.
const PAGE: u64 = 500;
/// The parameter that reverses the order of a list.
const REVERT: &str = "revert=";

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
        Verb::Get | Verb::Update => {
            let requests = command.of_ids(verb).await?;
            command.send_all(requests).await
        }
        Verb::Delete => {
            let requests = command.of_ids(verb).await?;
            command.confirm_deletion(&requests).await?;
            command.send_all(requests).await
        }
        Verb::UpdateMany | Verb::DeleteMany => command.change_many(verb).await,
        Verb::Upload | Verb::Replace => command.upload().await,
        Verb::Download => command.download().await,
        Verb::Register => command.register().await,
        Verb::Seek => command.seek().await,
        Verb::Tail => consumer::tail(command.server, command.matches).await,
        Verb::Follow(subject) => {
            trace::follow(command.server, (command.noun, subject), command.matches).await
        }
        Verb::Explain => command.explain().await,
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
    /// The id, or the object as JSON in one line, with which the request can be repeated.
    pub(super) input: String,
}

impl Request {
    /// Returns a request that is not one of several.
    pub(super) fn only(path: String, content: Option<Content>) -> Self {
        Self { path, content, input: String::new() }
    }
}

impl Command<'_> {
    pub(super) fn is_dry_run(&self) -> bool {
        self.matches.get_flag(DRY_RUN)
    }

    pub(super) fn printer(&self, many: bool) -> Printer<std::io::StdoutLock<'static>> {
        // Deletions have no output, and their flags lack the format.
        let form = self.matches.try_get_one::<Form>(OUTPUT).ok().flatten().copied().unwrap_or(Form::Jsonl);
        let columns = self.matches.try_get_many::<String>(COLUMNS).ok().flatten();
        let printer =
            Printer::stdout(form, columns.into_iter().flatten().cloned().collect(), self.noun.id, many);
        match self.matches.try_get_one::<String>(COLUMNS) {
            Ok(Some(_)) if self.matches.value_source(COLUMNS) == Some(ValueSource::CommandLine) => {
                printer.with_chosen_columns()
            }
            _ => printer,
        }
    }

    /// Prints the objects of all pages, or as many as `--limit` allows.
    async fn list(&mut self) -> Result<(), Failure> {
        let limit = self.matches.get_one::<u64>(LIMIT).copied().unwrap_or(u64::MAX);
        let mut query = self.query();
        if let (None, Some((name, value))) = (query.as_ref(), self.noun.unfiltered) {
            let value = self.server.words.of(value);
            query = Some(Serializer::new(String::new()).append_pair(name, &value).finish());
        }
        // People read the newest first, whatever the order of the API is (P-08).
        if self.noun.order == Order::OldestFirst
            && !query.as_deref().is_some_and(|query| query.contains(REVERT))
        {
            query = Some(query.map_or(String::new(), |query| query + "&") + REVERT + "true");
        }
        let parent = self.parent();
        let path = self.path(&parent).await?;
        let page_size = limit.min(PAGE).to_string();
        let mut path = match query {
            Some(query) => format!("{path}?{query}&pageSize={page_size}"),
            None => format!("{path}?pageSize={page_size}"),
        };
        if self.is_dry_run() {
            return self.describe(&[Request::only(path, None)]);
        }
        let (mut printer, mut left) = (self.printer(true), limit);
        loop {
            let page = self.server.expect("GET", &path, None).await?.json()?;
            let list = self.operation.list.and_then(|list| page[list].as_array());
            let list = list.ok_or_else(|| Failure::new(Code::Failed, "the response is not a page"))?;
            let shown = list.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            printer.print(&list[..shown])?;
            left -= shown as u64;
            match next_of(&page) {
                Some(next) if left > 0 && !list.is_empty() => path = next,
                _ => return printer.end(),
            }
        }
    }

    /// Returns the id of the object to which a list or a new object belongs; empty if the path has none.
    fn parent(&self) -> String {
        self.matches.try_get_one::<String>(ID).ok().flatten().cloned().unwrap_or_default()
    }

    /// Returns the requests that create objects.
    async fn creations(&mut self) -> Result<Vec<Request>, Failure> {
        let parent = self.parent();
        let path = self.path(&parent).await?;
        if !self.operation.takes_json {
            let data = self.matches.get_one::<String>(DATA).map_or("-", String::as_str);
            return Ok(vec![Request::only(path, Some(Content::Text(read(data)?)))]);
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
            .map(|body| Request {
                path: path.clone(),
                input: body.to_string(),
                content: Some(Content::Json(body)),
            })
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
        let ids = self.matches.try_get_many::<String>(ID).ok().flatten();
        let ids: Vec<String> = ids.into_iter().flatten().cloned().collect();
        let has_no_id = self.operation.variables().all(|variable| variable == TENANT);
        let ids = match ids.is_empty() {
            true if has_no_id => vec![String::new()],
            true => piped_ids(self.noun.id)?,
            false => ids,
        };
        let query = self.query();
        let mut requests = Vec::new();
        for id in ids {
            let mut path = self.path(&id).await?;
            if let Some(query) = &query {
                path = format!("{path}?{query}");
            }
            requests.push(Request { path, content: content.clone(), input: id });
        }
        Ok(requests)
    }

    /// Prints the requests without sending them.
    pub(super) fn describe(&self, requests: &[Request]) -> Result<(), Failure> {
        for Request { path, content, .. } in requests {
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
                let text = if filter.is_time { absolute(&text) } else { text };
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

/// Returns the path and the query of the next page.
pub(super) fn next_of(page: &Value) -> Option<String> {
    let next = page["next"].as_str()?.parse::<hyper::Uri>().ok()?;
    Some(next.path_and_query()?.to_string())
}

pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, KEPT).to_string()
}
