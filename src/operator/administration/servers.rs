//! Commands for the servers of a deployment.

use std::time::Duration;

use platform_model::error::{Error, Result};
use platform_model::timestamp::Timestamp;
use platform_store::Database;
use platform_store::realtime::servers::{Server, State, evict, list_servers, set_state};
use serde_json::{Value, json};

use super::in_force;
use crate::cli::{Output, ServerChoice, ServerTask};

/// The state of a server whose lease has ended.
const GONE: &str = "GONE";

/// Executes `platform server …` and returns the output: all servers, or the changed one.
///
/// # Errors
/// `Invalid` for an unknown server, or one in a state that does not permit the command.
pub async fn perform(database: &Database, task: &ServerTask) -> Result<String> {
    match task {
        ServerTask::List(list) => Ok(shown(&list_servers(database).await?, list.output)),
        ServerTask::Drain(choice) => turn(database, choice, State::Draining).await,
        ServerTask::Undrain(choice) => turn(database, choice, State::Up).await,
        ServerTask::Evict(given) => {
            let slot = find(database, &given.choice.server).await?.slot;
            evict(database, slot, given.force).await?;
            Ok(shown(&list_servers(database).await?, given.choice.output))
        }
    }
}

async fn turn(database: &Database, choice: &ServerChoice, state: State) -> Result<String> {
    let slot = find(database, &choice.server).await?.slot;
    set_state(database, slot, state).await?;
    in_force::wait(database).await;
    Ok(shown(&list_servers(database).await?, choice.output))
}

/// Finds a server by its slot or its name.
async fn find(database: &Database, text: &str) -> Result<Server> {
    let servers = list_servers(database).await?;
    let slot: Option<i16> = text.parse().ok();
    if let Some(found) = servers.iter().find(|server| Some(server.slot) == slot) {
        return Ok(found.clone());
    }
    named(servers, text)
}

/// Finds a server by its name. A server that crashed leaves its row until its slot is taken again, so the
/// name means the
/// one that lives.
fn named(servers: Vec<Server>, name: &str) -> Result<Server> {
    let (mut gone, mut living): (Vec<_>, Vec<_>) =
        servers.into_iter().filter(|server| server.name == name).partition(|server| server.state == GONE);
    match (living.pop(), living.is_empty(), gone.pop(), gone.is_empty()) {
        (Some(found), true, ..) | (None, _, Some(found), true) => Ok(found),
        (None, _, None, _) => Err(Error::Invalid(format!(
            "no server has the slot or the name '{name}'; `platform server list` shows all"
        ))),
        _ => Err(Error::Invalid(format!(
            "several servers have the name '{name}'; name the slot, which `platform server list` shows"
        ))),
    }
}

fn shown(servers: &[Server], output: Output) -> String {
    match output {
        Output::Table => table(servers),
        Output::Json => Value::from_iter(servers.iter().map(as_json)).to_string(),
    }
}

fn as_json(server: &Server) -> Value {
    json!({
        "slot": server.slot,
        "name": server.name,
        "version": server.version,
        "state": server.state,
        "startedAt": Timestamp::stored(server.started_at, 0),
        "ageSeconds": server.age.max(0.0).floor(),
        "leasedUntil": Timestamp::stored(server.leased_until, 0),
        "leaseSeconds": server.lease.floor(),
        "connections": server.connections,
        "address": server.address,
    })
}

/// Returns columns as wide as their widest value, without blanks at the ends of lines.
fn table(servers: &[Server]) -> String {
    let heading = ["SLOT", "NAME", "VERSION", "STATE", "AGE", "LEASE", "ADDRESS"].map(str::to_owned);
    let rows = servers.iter().map(|server| {
        let lease = if server.lease < 0.0 { "ended".to_owned() } else { seconds(server.lease) };
        let age = seconds(server.age);
        let slot = server.slot.to_string();
        [
            slot,
            server.name.clone(),
            server.version.clone(),
            server.state.clone(),
            age,
            lease,
            server.address.clone(),
        ]
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
    let line = |row: &[String; 7]| {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns a duration in seconds, minutes, hours or days, whichever is easiest to read.
fn seconds(time: f64) -> String {
    let whole = Duration::from_secs_f64(time.max(0.0)).as_secs();
    match whole {
        0..120 => format!("{whole}s"),
        120..7200 => format!("{}min", whole / 60),
        7200..172_800 => format!("{}h", whole / 3600),
        _ => format!("{}d", whole / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    fn server(slot: i16, name: &str, state: &str, age: f64, lease: f64) -> Server {
        Server {
            slot,
            name: name.into(),
            version: "0.1.0".into(),
            address: "http://10.0.0.1:80".into(),
            state: state.into(),
            started_at: OffsetDateTime::UNIX_EPOCH,
            age,
            leased_until: OffsetDateTime::UNIX_EPOCH,
            lease,
            connections: 30,
        }
    }

    #[test]
    fn name_means_the_server_that_lives() {
        let of = |states: &[&str]| -> Vec<Server> {
            (0..).zip(states).map(|(slot, state)| server(slot, "web1", state, 5.0, 5.0)).collect()
        };
        for (states, slot) in [
            (&["UP"][..], Some(0)),
            (&["GONE"], Some(0)),
            (&["GONE", "UP"], Some(1)),
            (&["DRAINING", "GONE", "GONE"], Some(0)),
            (&["UP", "UP"], None),
            (&["GONE", "GONE"], None),
            (&[], None),
        ] {
            let found = named(of(states), "web1").ok().map(|server| server.slot);
            assert_eq!(found, slot, "{states:?}");
        }
        assert!(named(of(&["UP"]), "web2").is_err());
    }

    #[test]
    fn table_has_a_line_for_each_server_in_columns() {
        let servers = [server(0, "a", "UP", 90_000.0, 9.7), server(10, "bravo", "GONE", 5.0, -3.0)];

        assert_eq!(
            table(&servers),
            "SLOT  NAME   VERSION  STATE  AGE  LEASE  ADDRESS\n\
             0     a      0.1.0    UP     25h  9s     http://10.0.0.1:80\n\
             10    bravo  0.1.0    GONE   5s   ended  http://10.0.0.1:80"
        );
    }
}
