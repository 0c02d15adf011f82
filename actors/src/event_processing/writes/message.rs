//! Streams that are accepted but not delivered: mails, text messages, calls and exports.

use platform_epl::stream::OutputStream;
use platform_epl::value::Row;
use platform_model::error::Result;

use super::cells::Cells;

/// Returns the required columns of a stream that sends something; `None` for other streams.
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

/// Returns whether a stream only sends a message.
pub(super) fn is_message(stream: OutputStream) -> bool {
    mandatory(stream).is_some()
}

/// Checks a message.
///
/// # Errors
/// Returns `Invalid` with the names of all required columns that are null.
pub(super) fn check(stream: OutputStream, row: &Row) -> Result<()> {
    let row = Cells(row);
    let columns: Vec<(&str, bool)> =
        mandatory(stream).into_iter().flatten().map(|name| (*name, row.get(name).is_none())).collect();
    if columns.iter().any(|(_, is_missing)| *is_missing) {
        Err(platform_model::body::missing(&columns))
    } else {
        Ok(())
    }
}
