//! Messages to people and what else is accepted but not delivered: mails, texts, calls, exports.

use super::cells::Cells;
use crate::error::Result;
use crate::event_processing::stream::{OutputStream, Row};

/// What must not be null in a row of a stream that sends something; none for others.
fn mandatory(stream: OutputStream) -> Option<&'static [&'static str]> {
    Some(match stream {
        OutputStream::SendEmail => &["receiver", "subject", "text", "replyTo"],
        OutputStream::SendSms => &["receiver", "text"],
        OutputStream::SendPush => &["type", "message", "deviceId"],
        OutputStream::SendSpeech => {
            &["phoneNumber", "textToSpeech", "deviceId", "attempts", "timeout", "alarmId"]
        }
        OutputStream::SendExport => &["enabledSources"],
        OutputStream::SendDashboard => &[],
        _ => return None,
    })
}

/// Whether a stream only tells somebody something.
pub(super) fn is_message(stream: OutputStream) -> bool {
    mandatory(stream).is_some()
}

/// Checks a message.
///
/// # Errors
/// `Invalid` names all mandatory columns that are null.
pub(super) fn check(stream: OutputStream, row: &Row) -> Result<()> {
    let row = Cells(row);
    let columns: Vec<(&str, bool)> =
        mandatory(stream).into_iter().flatten().map(|name| (*name, row.get(name).is_none())).collect();
    match columns.iter().any(|(_, is_missing)| *is_missing) {
        true => Err(crate::model::body::missing(&columns)),
        false => Ok(()),
    }
}
