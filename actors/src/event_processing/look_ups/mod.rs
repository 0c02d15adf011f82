//! Look-ups of modules: the only path by which expressions query the store, with limits.
//!
//! Look-ups use a connection pool of their own, so that modules take no connections from clients or devices,
//! and wait for a connection in order of arrival. A look-up that exceeds its deadline is a fault.

mod finders;
mod placeholders;

use std::sync::Arc;
use std::time::Duration;

use platform_epl::plan::expression::Finder;
use platform_epl::runtime::LookUps;
use platform_epl::value::{Fault, Object, ObjectKind, Value};
use platform_model::devices::managed_object::ManagedObject;
use platform_model::devices::reference::{WantedParents, WantedReferences};
use platform_model::error::{Error, Result};
use platform_model::id::{AlarmId, EventId, ManagedObjectId, MeasurementId, OperationId, TenantId};
use platform_store::Database;
use platform_store::data::alarms;
use platform_store::data::events;
use platform_store::data::measurements::rows;
use platform_store::data::operations;
use platform_store::devices::availability;
use platform_store::devices::inventory::managed_objects;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::writes::cells::id_of;

/// The maximum number of concurrent look-ups of all modules of a process. Each uses a connection.
const AT_ONCE: usize = 4;
/// The deadline of a look-up, including the time it waits for a connection.
const LONGEST: Duration = Duration::from_secs(5);
/// Modules also see the parents of an object.
const WANTED: WantedReferences = WantedReferences { children: true, parents: WantedParents::Named };

/// The connection pool for look-ups, which all modules of a process share. It is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LookUpPath {
    database: Database,
    turns: Arc<Semaphore>,
}

impl LookUpPath {
    /// # Errors
    /// Returns no error if the database address was parsed before.
    pub(crate) fn new(database: &Database) -> Result<Self> {
        let database = database.apart(AT_ONCE, LONGEST)?;
        Ok(Self { database, turns: Arc::new(Semaphore::new(AT_ONCE)) })
    }

    /// Returns the database that uses the connections of this pool.
    pub(crate) fn database(&self) -> &Database {
        &self.database
    }
}

/// The look-ups of the modules of one tenant. It blocks, so it must be called on a thread that may block
/// (`spawn_blocking`).
#[derive(Debug, Clone)]
pub(crate) struct StoreLookUps {
    path: LookUpPath,
    tenant: TenantId,
}

impl StoreLookUps {
    pub(crate) fn new(path: LookUpPath, tenant: TenantId) -> Self {
        Self { path, tenant }
    }

    async fn look_up(&self, finder: &Finder, arguments: &[Value]) -> Result<Value> {
        let _turn = self.path.turns.acquire().await;
        let first = arguments.first().unwrap_or(&Value::Null);
        match finder {
            Finder::ById(kind) => self.find_by_id(*kind, first).await,
            Finder::By { kind, take, filters } => {
                finders::find(&self.path.database, &self.tenant, *kind, *take, filters, arguments).await
            }
            Finder::InMaintenanceMode => {
                let Some(device) = known_id(first, ManagedObjectId::parse)? else { return Ok(Value::Null) };
                let (database, tenant) = (&self.path.database, &self.tenant);
                Ok(Value::Boolean(availability::is_in_maintenance(database, tenant, device).await?))
            }
            Finder::ReplaceAllPlaceholders => {
                let object = arguments.get(1).unwrap_or(&Value::Null);
                match first.as_text() {
                    Some(text) => self.replace_placeholders(&text, object).await,
                    None => Ok(Value::Null),
                }
            }
        }
    }

    /// Returns the object with this id, or null if there is none or if the argument is not an id.
    async fn find_by_id(&self, kind: ObjectKind, id: &Value) -> Result<Value> {
        let (database, tenant) = (&self.path.database, &self.tenant);
        let found = match kind {
            ObjectKind::ManagedObject => self.find_managed_object(id).await?.map(Object::ManagedObject),
            ObjectKind::Event => known(id, EventId::parse, |id| events::get_event(database, tenant, id))
                .await?
                .map(Object::Event),
            ObjectKind::Measurement => {
                known(id, MeasurementId::parse, |id| rows::get_measurement(database, tenant, id))
                    .await?
                    .map(Object::Measurement)
            }
            ObjectKind::Operation => {
                known(id, OperationId::parse, |id| operations::get_operation(database, tenant, id))
                    .await?
                    .map(Object::Operation)
            }
            ObjectKind::Alarm => known(id, AlarmId::parse, |id| alarms::get_alarm(database, tenant, id))
                .await?
                .map(Object::Alarm),
        };
        Ok(found.map_or(Value::Null, Value::Object))
    }

    async fn find_managed_object(&self, id: &Value) -> Result<Option<Arc<ManagedObject>>> {
        let (database, tenant) = (&self.path.database, &self.tenant);
        let get = |id| managed_objects::get_managed_object(database, tenant, id, WANTED);
        known(id, ManagedObjectId::parse, get).await
    }
}

impl LookUps for StoreLookUps {
    fn find(&self, finder: &Finder, arguments: &[Value]) -> Result<Value, Fault> {
        let looking = timeout(LONGEST, self.look_up(finder, arguments));
        match Handle::current().block_on(looking) {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(Fault::new(error.to_string())),
            Err(_) => Err(Fault::new("a look-up took longer than 5 seconds")),
        }
    }
}

/// Returns what an argument refers to; `None` if it does not exist or if the argument is not an id.
async fn known<I, T, F: Future<Output = Result<T>>>(
    argument: &Value,
    parse: impl Fn(&str) -> Result<I>,
    read: impl FnOnce(I) -> F,
) -> Result<Option<Arc<T>>> {
    let Some(id) = known_id(argument, parse)? else { return Ok(None) };
    match read(id).await {
        Ok(found) => Ok(Some(Arc::new(found))),
        Err(Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the id in an argument; `None` for null and for text that is not an id.
///
/// # Errors
/// Returns `Invalid` if the type of the argument cannot represent an id.
fn known_id<I>(argument: &Value, parse: impl Fn(&str) -> Result<I>) -> Result<Option<I>> {
    match argument {
        Value::Null => Ok(None),
        value => Ok(parse(&id_of("id", value)?).ok()),
    }
}
