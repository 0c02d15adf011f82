//! The format of publications between servers: JSON in the payloads of `NOTIFY`, cut into pieces, because PostgreSQL
//! limits a payload to fewer than 8000 bytes.

use std::fmt::Display;

use platform_model::realtime::publication::Publication;
use platform_model::realtime::transactions::TransactionId;

/// The most bytes of text in one piece; the head of a piece needs a few more.
const PIECE_BYTES: usize = 7800;

/// Publications that came through the database, and the transaction that stored what they are about, if it is known.
pub(super) type Received = (Vec<Publication>, Option<TransactionId>);

/// Returns the payloads of the publications of one transaction. `batch` is a number that this server uses once. The id
/// of the transaction is a part of the name of the batch, which servers of earlier versions do not read.
pub(super) fn payloads(
    server: i64,
    batch: u64,
    transaction: Option<TransactionId>,
    publications: &[Publication],
) -> Vec<String> {
    match transaction {
        Some(id) => cut(server, format_args!("{batch}:{id}"), &encode(publications)),
        None => cut(server, batch, &encode(publications)),
    }
}

/// Returns the transaction that a payload names, if there is one.
fn transaction(payload: &str) -> Option<TransactionId> {
    let (head, _) = payload.split_once(['+', '.'])?;
    let (batch, _) = head.rsplit_once('-')?;
    TransactionId::parse(batch.split_once(':')?.1)
}

/// Returns the text of publications.
pub(crate) fn encode(publications: &[Publication]) -> String {
    serde_json::to_string(publications).expect("publications are JSON")
}

/// Cuts a text into payloads. `batch` is a name that this server uses once on a channel.
pub(crate) fn cut(server: i64, batch: impl Display, text: &str) -> Vec<String> {
    let mut pieces = Vec::with_capacity(text.len() / PIECE_BYTES + 1);
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, left) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        let end = if left.is_empty() { '.' } else { '+' };
        pieces.push(format!("{server}-{batch}-{}{end}{piece}", pieces.len()));
        rest = left;
    }
    pieces
}

/// Puts pieces together. PostgreSQL delivers the pieces of one transaction in order and without others in between.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    /// The server and the batch of the pieces so far, their number and their text.
    begun: Option<Begun>,
}

#[derive(Debug)]
struct Begun {
    batch: String,
    pieces: usize,
    text: String,
}

/// A payload that no server of this version or the one before sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable;

impl Assembly {
    /// Processes the next payload of a channel. Returns the text when the payload is the last one of its batch.
    ///
    /// # Errors
    /// `Unreadable` when pieces are missing: something was not received.
    pub(crate) fn take(&mut self, payload: &str) -> Result<Option<String>, Unreadable> {
        let at = payload.find(['+', '.']).ok_or(Unreadable)?;
        let (head, text) = payload.split_at(at);
        let (batch, number) = head.rsplit_once('-').ok_or(Unreadable)?;
        let number: usize = number.parse().map_err(|_| Unreadable)?;
        let (is_last, text) = (text.starts_with('.'), &text[1..]);
        let mut begun = match (self.begun.take(), number) {
            (None, 0) => Begun { batch: batch.into(), pieces: 0, text: String::new() },
            (Some(begun), _) if begun.batch == batch && begun.pieces == number => begun,
            _ => return Err(Unreadable),
        };
        begun.pieces += 1;
        begun.text.push_str(text);
        if !is_last {
            self.begun = Some(begun);
            return Ok(None);
        }
        Ok(Some(begun.text))
    }

    /// Processes the next payload of a tenant. Returns the publications and their transaction when the payload is the
    /// last one of its batch.
    ///
    /// # Errors
    /// `Unreadable` when pieces are missing or the text cannot be parsed: something was not received.
    pub(super) fn take_publications(&mut self, payload: &str) -> Result<Option<Received>, Unreadable> {
        let Some(text) = self.take(payload)? else { return Ok(None) };
        let publications = serde_json::from_str(&text).map_err(|_| Unreadable)?;
        Ok(Some((publications, transaction(payload))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(json: &str) -> Publication {
        Publication::Row { module: "m".into(), statement: "s".into(), json: json.into() }
    }

    fn rows(publications: &[Publication]) -> Vec<&str> {
        let mut rows = Vec::new();
        for publication in publications {
            let Publication::Row { json, .. } = publication else { panic!("a row, not {publication:?}") };
            rows.push(&**json);
        }
        rows
    }

    #[test]
    fn small_batch_is_one_payload() {
        let payloads = payloads(7, 1, None, &[row("{}"), row("[1]")]);
        assert_eq!(payloads.len(), 1);
        let read = Assembly::default().take_publications(&payloads[0]).expect("readable").expect("complete");
        assert_eq!(rows(&read.0), ["{}", "[1]"]);
    }

    #[test]
    fn payloads_of_one_and_of_several_pieces_name_their_transaction() {
        for length in [1, 20_000] {
            let payloads = payloads(7, 1, TransactionId::parse("99"), &[row(&"x".repeat(length))]);
            let mut assembly = Assembly::default();
            let read =
                payloads.iter().filter_map(|payload| assembly.take_publications(payload).expect("readable"));
            let transactions: Vec<_> = read.map(|(_, transaction)| transaction).collect();
            assert_eq!(transactions, [TransactionId::parse("99")], "{length}");
        }
        let unnamed = payloads(7, 1, None, &[row("a:5-1.")]);
        let (_, transaction) =
            Assembly::default().take_publications(&unnamed[0]).expect("readable").expect("complete");
        assert_eq!(transaction, None);
    }

    #[test]
    fn large_batch_is_cut_between_characters_and_put_together_again() {
        let json = "é€𝄞".repeat(5000);
        let payloads = payloads(7, 1, None, &[row(&json)]);
        assert!(payloads.len() > 1 && payloads.iter().all(|payload| payload.len() < 8000));
        let mut assembly = Assembly::default();
        let (last, first) = payloads.split_last().expect("some");
        for payload in first {
            assert_eq!(assembly.take(payload).expect("readable").map(|_| ()), None);
        }
        let (read, _) = assembly.take_publications(last).expect("readable").expect("complete");
        assert_eq!(rows(&read), [json]);
    }

    #[test]
    fn missing_piece_is_noticed() {
        let payloads = payloads(7, 1, None, &[row(&"x".repeat(20_000))]);
        let mut assembly = Assembly::default();
        assert!(assembly.take(&payloads[0]).expect("readable").is_none());
        assert!(assembly.take(&payloads[2]).is_err());
        assert!(Assembly::default().take(&payloads[1]).is_err());
        assert!(Assembly::default().take("what is this?").is_err());
    }
}
