//! What is done to the servers while they are used, one thing after the other.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::servers::{Servers, cut_listening_connections};
use crate::cli::{Cluster, Disturbance};
use crate::error::Error;
use crate::run::Run;
use crate::session_ledger::Disturbed;

/// Disturbs the servers every few seconds until the posts end at `end` (microseconds of the run). The last
/// disturbance is over before that, with as much time after it as between two.
///
/// # Errors
/// A server does not become ready again, or the database is not reachable.
pub(super) async fn disturb(
    run: &Run,
    settings: &Cluster,
    servers: &mut Servers,
    end: u64,
) -> Result<Vec<Disturbed>, Error> {
    let mut disturbances = Vec::new();
    let Some(disturbance) = settings.disturbance() else { return Ok(disturbances) };
    let every = Duration::from_secs(settings.every);
    let lasting = match disturbance {
        Disturbance::Pause(seconds) => Duration::from_secs(seconds),
        _ => Duration::ZERO,
    };
    let latest = run.instant(end).checked_sub(lasting + every / 2).map(Instant::from_std);
    for number in (0..servers.targets.len()).cycle() {
        sleep(every).await;
        if latest.is_none_or(|latest| Instant::now() > latest) {
            break;
        }
        let from = run.now();
        let (server, what) = match disturbance {
            Disturbance::Kill => {
                servers.kill(number).await?;
                let killed = run.now();
                servers.restart(number).await?;
                disturbances.push(Disturbed { server: Some(number), from, until: killed });
                (Some(number), "killed and restarted")
            }
            Disturbance::Pause(_) => {
                servers.running(number)?.pause()?;
                sleep(lasting).await;
                servers.running(number)?.resume()?;
                disturbances.push(Disturbed { server: Some(number), from, until: run.now() });
                (Some(number), "paused")
            }
            Disturbance::Cut => {
                if cut_listening_connections(&servers.database().await?).await? == 0 {
                    return Err(Error::Refused("no listening connection was found".to_owned()));
                }
                disturbances.push(Disturbed { server: None, from, until: run.now() });
                (None, "all listening connections cut")
            }
            Disturbance::Restart => {
                servers.stop_one(number).await?;
                servers.restart(number).await?;
                disturbances.push(Disturbed { server: Some(number), from, until: run.now() });
                (Some(number), "stopped and replaced")
            }
            Disturbance::Immediate => {
                disturbances.push(Disturbed { server: None, from, until: from });
                servers.stop_postgres().await?;
                (None, "PostgreSQL stopped immediately and started")
            }
        };
        let seconds = |micros: u64| micros as f64 / 1e6;
        let server = server.map_or(String::new(), |server| format!("server {server} "));
        eprintln!("{:.3} s: {server}{what}, until {:.3} s", seconds(from), seconds(run.now()));
    }
    Ok(disturbances)
}
