//! Reads back what the devices stored.

use std::collections::BTreeMap;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::clients::OPERATIONS;
use super::shared::Shared;
use crate::error::Error;
use crate::ledger::ReceiverId;
use crate::ledger::mark::{self, Mark};
use crate::ledger::session::TOPICS;
use crate::protocol::body::Kind;
use crate::protocol::operations::{self, Operation};
use crate::traffic::read_back::{Lanes, read_back};

/// Reads back all stored data.
pub(super) async fn read_back_all(
    shared: &Shared,
    database: ReceiverId,
    began_at: OffsetDateTime,
) -> Result<(), Error> {
    let refused = |error| Error::Refused(format!("the stored data could not be read back: {error}"));
    read_homes_back(shared, database, began_at).await.map_err(refused)
}

async fn read_homes_back(
    shared: &Shared,
    database: ReceiverId,
    began_at: OffsetDateTime,
) -> Result<(), Error> {
    let kinds = [Kind::Alarm, Kind::Event, Kind::NotifiedMeasurement];
    let since = began_at.replace_nanosecond(0).unwrap_or(began_at).format(&Rfc3339).unwrap_or_default();
    for home in shared.world.homes() {
        let target = shared.world.administrator(home).at(&shared.targets[0]);
        let devices = shared.world.devices_of(home);
        let of_home = &shared.world.devices[devices.start as usize..devices.end as usize];
        let ids: Vec<String> = of_home.iter().map(|device| device.id.clone()).collect();
        let lanes = Lanes { first: devices.start * TOPICS, each: TOPICS };
        read_back(&target, &shared.run, database, &kinds, &ids, lanes).await?;
        let query = format!("fragmentType={}&dateFrom={since}", mark::FRAGMENT);
        let listed = operations::list(&target, &mut target.connect().await?, &query).await?;
        note_operations(shared, database, &listed);
    }
    Ok(())
}

/// Records the operations of this run that the server lists.
fn note_operations(shared: &Shared, database: ReceiverId, listed: &[Operation]) {
    let mut of_lanes: BTreeMap<u32, Vec<Mark>> = BTreeMap::new();
    for operation in listed {
        let Some(mark) = operation.mark().filter(|mark| shared.run.is_own(*mark)) else { continue };
        shared.operations.lock().listed(operation);
        of_lanes.entry(mark.device).or_default().push(mark);
    }
    for (lane, marks) in of_lanes {
        assert_eq!(lane % TOPICS, OPERATIONS);
        shared.run.found(database, lane, marks);
    }
}
