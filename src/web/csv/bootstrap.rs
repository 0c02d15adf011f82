//! Line 61: a device requests its credentials (docs/rules.md#rows-and-responses; S-45). The bootstrap user,
//! which devices without credentials share, may send nothing else (N-09a).

use actix_web::http::StatusCode;
use serde_json::json;

use super::engine::Engine;
use super::groups::message_id;
use super::line::{Lines, Record, Records};
use super::refusal::Refusal;
use super::rest_caller::Call;

/// Responds to each line 61 with `70,<line>,<id>,<tenant>,<user>,<password>`, as `POST
/// /devicecontrol/deviceCredentials` would. Other lines are invalid in such a body (S-45), and 403 for the
/// bootstrap user (N-09a).
pub(super) async fn collect(engine: &Engine<'_>, records: &Records<'_>) -> Lines {
    let mut lines = Lines::default();
    for record in records.iter() {
        let line = record.line;
        if let Err(refusal) = collect_one(engine, record, &mut lines).await {
            refusal.write(line, &mut lines);
        }
    }
    lines
}

async fn collect_one(engine: &Engine<'_>, record: Record<'_>, lines: &mut Lines) -> Result<(), Refusal> {
    let id = message_id(&record).ok_or(Refusal::Malformed)?;
    if id != 61 && engine.caller.is_bootstrap() {
        return Err(Refusal::Rest(StatusCode::FORBIDDEN));
    }
    if id != 61 || engine.x_id.is_some() {
        return Err(Refusal::InvalidMessageId);
    }
    let device = match record.values.map_err(|_| Refusal::Malformed)? {
        [_, device] if !device.is_empty() => device,
        _ => return Err(Refusal::WrongNumber),
    };
    let call = Call::post("/devicecontrol/deviceCredentials", json!({ "id": device }).to_string());
    let credentials = engine.rest.call(call.accepting_json()).await?.json().await?.unwrap_or_default();
    let member = |name: &str| credentials[name].as_str().unwrap_or_default().to_owned();
    let line = record.line.to_string();
    lines.push(["70".into(), line, member("id"), member("tenantId"), member("username"), member("password")]);
    Ok(())
}
