//! Rows 80 to 84 and 88 on the Bayeux paths: notifications as lines (docs/rules.md#notifications-as-rows; S-50 to
//! S-59).
//!
//! Each row becomes a Bayeux message, and the reply to it becomes lines: sessions, permissions and held polls
//! are those of [`crate::realtime`]. Specific to CSV are [`rows`], the template sets of a session in
//! [`results`], and the body of a held connect in [`held_poll`].

mod held_poll;
mod replies;
mod results;
mod rows;

use std::time::Duration;

use actix_web::http::header;
use actix_web::web;
use platform_actors::session::SessionTemplates;
use platform_model::id::TenantId;
use platform_model::realtime::bayeux::channel::Endpoint;

use super::line::{Lines, Record, Records};
use super::refusal::{NO_TEMPLATE, Refusal};
use super::static_templates;
use super::{Csv, engine};
use crate::auth::{Caller, RequestSource};
use crate::http;
use crate::http::head::{Has, Head, X_FORWARDED_FOR};
use crate::http::{authority, client_address};
use crate::realtime::{Exchange, Held, Outcome, Realtime, Transport};
pub(crate) use held_poll::HeldPoll;
use held_poll::{Evaluation, HeldRow};
use results::Evaluated;
use rows::{Message, Row};

/// Returns whether a request to a Bayeux path contains rows (S-50).
pub(crate) fn is_meant(head: &impl Head) -> bool {
    let essence = http::essence(head);
    let of_text = ["text/plain", "text/csv"].iter().any(|csv| essence.eq_ignore_ascii_case(csv));
    of_text || head.has(&engine::X_ID)
}

/// Returns the number of rows of a request, as the rate of a tenant counts them (Z-20): at least one.
pub(crate) fn count(rows: &Records<'_>) -> u64 {
    rows.iter().len().max(1) as u64
}

/// Returns whether a request has a row 83.
pub(crate) fn has_poll(body: &Records<'_>) -> bool {
    body.iter().any(|row| row.first() == Some(rows::CONNECT))
}

/// The response to rows.
pub(crate) enum RowsResponse {
    /// Lines that are sent immediately.
    Lines(String),
    /// A held connect, whose lines are sent when the session replies.
    Held(Box<HeldPoll>),
}

/// Executes rows in order and returns their response. A row 83 alone is held; a row 83 among others returns
/// at once (B-15).
///
/// An error in a row is a line of the response (S-04).
pub(crate) async fn answer(
    endpoint: Endpoint,
    transport: Transport,
    caller: Caller,
    head: &(impl Head + Has<Realtime> + Has<Csv>),
    rows: &Records<'_>,
) -> RowsResponse {
    let mut client = Client {
        csv: head.state(),
        realtime: head.state::<Realtime>(),
        endpoint,
        transport,
        host: authority(head).unwrap_or_default(),
        source: RequestSource::of(client_address(head)),
        tenant: caller.tenant.clone(),
        caller: Some(caller),
        x_id: engine::header(head, &engine::X_ID),
    };
    let (mut lines, alone) = (Lines::default(), rows.iter().len() == 1);
    for record in rows.iter() {
        let line = record.line;
        match client.carry_out(record, alone, &mut lines).await {
            Ok(None) => {}
            Ok(Some(held)) => {
                let (csv, tenant) = (client.csv.clone(), client.tenant.clone());
                let held_row = HeldRow { csv, tenant, line, keep_alive: keep_alive(head) };
                return RowsResponse::Held(Box::new(HeldPoll::new(held, held_row)));
            }
            Err(refusal) => refusal.write(line, &mut lines),
        }
    }
    RowsResponse::Lines(lines.into_text())
}

/// Returns the time between the spaces of a held row. Devices pay for bytes, but a proxy closes a connection that is
/// silent for a minute (B-21b).
fn keep_alive(head: &(impl Head + Has<Realtime>)) -> Duration {
    let limits = head.state::<Realtime>().platform.limits();
    let is_carried =
        [&header::VIA, &header::FORWARDED, &X_FORWARDED_FOR].into_iter().any(|name| head.has(name));
    if is_carried { limits.keep_alive.min(limits.csv_keep_alive) } else { limits.csv_keep_alive }
}

/// The client that sent the rows.
struct Client<'e> {
    csv: &'e web::Data<Csv>,
    realtime: &'e Realtime,
    endpoint: Endpoint,
    transport: Transport,
    host: &'e str,
    source: RequestSource,
    tenant: TenantId,
    caller: Option<Caller>,
    /// The header `X-Id`.
    x_id: Option<String>,
}

impl Client<'_> {
    /// Executes a row. Returns the connect if it is held.
    ///
    /// # Errors
    /// The row is invalid, or a look-up failed.
    async fn carry_out(
        &mut self,
        record: Record<'_>,
        alone: bool,
        lines: &mut Lines,
    ) -> Result<Option<Held>, Refusal> {
        let line = record.line;
        let row = Row::of(record)?;
        let templates = self.templates(&row);
        if let Some(templates) = &templates {
            if templates.extra.len() > rows::EXTRA_SETS {
                replies::write_denied(lines);
                return Ok(None);
            }
            if !self.are_known(templates).await? {
                lines.push_text(NO_TEMPLATE);
                return Ok(None);
            }
        }
        match self.exchange(&row, alone, templates).await? {
            Outcome::Replies(json) | Outcome::Farewell(json) => {
                replies::write(&row, line, &json, self.csv, lines);
            }
            Outcome::Held(held) if alone => return Ok(Some(held)),
            Outcome::Held(held) => self.connect_at_once(held, line, lines).await,
        }
        Ok(None)
    }

    /// Returns the template sets that a row adds to its session. A session without an X-Id uses the static
    /// responses (H-01).
    fn templates(&self, row: &Row) -> Option<SessionTemplates> {
        let of_header = self.x_id.as_deref().map(Box::from);
        match row.message {
            Message::Handshake | Message::Consume => {
                let x_id = of_header.unwrap_or_else(|| static_templates::x_id().into());
                Some(SessionTemplates { header: vec![x_id], extra: Vec::new() })
            }
            Message::Subscribe => {
                let header = of_header.into_iter().collect();
                Some(SessionTemplates { header, extra: row.x_ids.clone() })
            }
            _ => None,
        }
    }

    async fn are_known(&self, templates: &SessionTemplates) -> Result<bool, Refusal> {
        let database = self.csv.platform.database();
        for x_id in templates.header.iter().chain(&templates.extra) {
            if self.csv.templates.select(database, &self.tenant, x_id).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Processes the row with the Bayeux engine.
    async fn exchange(
        &mut self,
        row: &Row,
        alone: bool,
        templates: Option<SessionTemplates>,
    ) -> Result<Outcome, Refusal> {
        let mut exchange = Exchange {
            realtime: self.realtime,
            endpoint: self.endpoint,
            transport: self.transport.clone(),
            host: self.host,
            links: None,
            source: self.source,
            caller: &mut self.caller,
            attached: &mut Vec::new(),
            templates,
        };
        Ok(exchange.process(row.bayeux(alone).as_bytes()).await?)
    }

    /// Responds to a connect among other rows with the notifications there are (B-15).
    async fn connect_at_once(&self, mut held: Held, line: usize, lines: &mut Lines) {
        let answer = held.answer().await;
        if answer.delivery.notifications.is_empty() {
            return replies::write_connected(&answer, line, self.csv, lines);
        }
        let mut evaluation = Evaluation::new(held, answer, self.csv.clone(), self.tenant.clone());
        let Ok(Evaluated { text, count, position }) = (&mut evaluation).await else { return };
        let (answer, _) = evaluation.taken(count);
        text.strip_suffix('\n').into_iter().for_each(|text| lines.push_text(text));
        position.into_iter().for_each(|position| replies::write_position(position, None, lines));
        if text.is_empty() || answer.restores_interval {
            replies::write_connected(&answer, line, self.csv, lines);
        }
    }
}
