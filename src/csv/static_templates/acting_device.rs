//! The device that acts: whose object static rows are about (H-02).

use actix_web::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use platform_actors::Error;
use platform_actors::model::access::{Api, Ownership, Permission};
use platform_actors::model::external_id::NewExternalId;
use platform_actors::model::id::{ManagedObjectId, TenantId};
use platform_actors::model::origin::DEVICE_USER;
use platform_actors::naming::naming;
use platform_actors::store;
use quick_cache::sync::Cache;

use super::json_object::JsonObject;
use super::serials::serial_type;
use crate::csv::engine::Engine;
use crate::csv::named_objects;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

pub(super) const OBJECTS: &str = "/inventory/managedObjects";
/// How many devices are remembered: a fleet that sends all the time finds its own.
const REMEMBERED_DEVICES: usize = 100_000;

/// The objects of devices by their serials, so that a row of a device that is known needs no look-up. An entry counts until a
/// name of its tenant changes, on whatever server.
#[derive(Debug)]
pub struct ActingDevices(Cache<(TenantId, Box<str>), Remembered>);

#[derive(Debug, Clone, Copy)]
struct Remembered {
    object: ManagedObjectId,
    /// See [`Database::names_generation`](store::Database::names_generation); read before the look-up.
    generation: u64,
}

impl Default for ActingDevices {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED_DEVICES))
    }
}

/// What became of the creation of a device.
pub(super) enum Named {
    /// The object is the one that was created.
    Created(ManagedObjectId),
    /// Somebody else was faster: theirs is the device, ours is gone.
    Found(ManagedObjectId),
}

impl Engine<'_> {
    /// The object of the acting device; of an unknown one it is created as by row 100 with defaults (H-02).
    ///
    /// # Errors
    /// 422 for a caller that is no device and names none; what the platform refused.
    pub(crate) async fn own_device(&self) -> Result<ManagedObjectId, Refusal> {
        let serial = self.serial()?;
        if let Some(object) = self.remembered(serial) {
            return Ok(object);
        }
        let find = async || match self.device_of(serial).await? {
            Some(object) => Ok(object),
            None => self.create_own(serial, None, None).await,
        };
        Box::pin(self.own_device.get_or_try_init(find)).await.copied()
    }

    /// The object of the acting device, if there is a device that acts and it has an object.
    ///
    /// # Errors
    /// 422 for what can be no serial; 503.
    pub(super) async fn known_device(&self) -> Result<Option<ManagedObjectId>, Refusal> {
        match self.serial() {
            Ok(serial) => self.device_of(serial).await,
            Err(_) => Ok(None),
        }
    }

    /// The object of a device that is known and whose name stands for the same still.
    fn remembered(&self, serial: &str) -> Option<ManagedObjectId> {
        let tenant = &self.caller.tenant;
        let known = self.edge.csv_devices.0.get(&(tenant.clone(), Box::from(serial)))?;
        let generation = self.edge.platform.database().names_generation(tenant);
        (known.generation == generation).then_some(known.object)
    }

    /// Creates the object of the acting device, if there is none.
    ///
    /// # Errors
    /// As [`Engine::own_device`]; 403 for a device the caller may not see.
    pub(super) async fn introduce(&self, name: Option<&str>, type_: Option<&str>) -> Result<(), Refusal> {
        let serial = self.serial()?;
        if self.device_of(serial).await?.is_some() {
            // Found by the store, which asks for no rights.
            let (of, value) = (serial_type(), utf8_percent_encode(serial, NON_ALPHANUMERIC));
            self.rest.call(Call::get(format!("/identity/externalIds/{of}/{value}"))).await?;
            return Ok(());
        }
        self.own_device.get_or_try_init(|| self.create_own(serial, name, type_)).await?;
        Ok(())
    }

    /// The object that a serial names, if any. Asks for no rights: that is for the call that follows.
    ///
    /// # Errors
    /// 422 for what can be no serial; 503.
    pub(super) async fn device_of(&self, serial: &str) -> Result<Option<ManagedObjectId>, Refusal> {
        let (database, tenant) = (self.edge.platform.database(), &self.caller.tenant);
        if let Some(object) = self.remembered(serial) {
            return Ok(Some(object));
        }
        let generation = database.names_generation(tenant);
        let pair = NewExternalId::new(serial_type(), serial.to_owned())?;
        match store::external_ids::get_external_id(database, tenant, pair).await {
            Ok((object, _)) => {
                let key = (tenant.clone(), Box::from(serial));
                self.edge.csv_devices.0.insert(key, Remembered { object, generation });
                Ok(Some(object))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates an object by a call and names it by a serial. Of several that do so at once the object of one stays, and all get
    /// that one.
    ///
    /// # Errors
    /// What the platform refused; nothing is left then.
    pub(super) async fn create_named(&self, creation: Call, serial: &str) -> Result<Named, Refusal> {
        let name = NewExternalId { type_: serial_type(), value: serial.to_owned() };
        match named_objects::create_named(&self.rest, creation, name).await? {
            Some(object) => Ok(Named::Created(object)),
            None => {
                let found = self.device_of(serial).await?;
                Ok(Named::Found(found.ok_or(Refusal::Rest(StatusCode::CONFLICT))?))
            }
        }
    }

    /// Why there is nothing to change of a device: 404, or 403 for who could not change it.
    pub(super) async fn nothing_to_change(&self, source: ManagedObjectId, role: &str, api: Api) -> Refusal {
        let authority = self.caller.authority(role, api, Permission::Admin);
        let by = (&authority, Ownership::Counts);
        match self.caller.reaches_data_of(self.edge, source, by, |_| true).await {
            Ok(()) => Refusal::Rest(StatusCode::NOT_FOUND),
            Err(error) => error.into(),
        }
    }

    /// The serial of the acting device: the one that is named, else that of the user.
    fn serial(&self) -> Result<&str, Refusal> {
        let named = self.wanted_device.as_deref();
        let serial = named.or_else(|| self.caller.user.strip_prefix(DEVICE_USER));
        serial.ok_or(Refusal::Rest(StatusCode::UNPROCESSABLE_ENTITY))
    }

    async fn create_own(
        &self,
        serial: &str,
        name: Option<&str>,
        type_: Option<&str>,
    ) -> Result<ManagedObjectId, Refusal> {
        let object = JsonObject::default()
            .text("name", Some(name.unwrap_or(&format!("Device {serial}"))))
            .text("type", Some(type_.unwrap_or(&naming().fragment("Device"))))
            .object(&naming().fragment("IsDevice"), JsonObject::default())
            .object(&naming().model("Agent"), JsonObject::default());
        match self.create_named(Call::post(OBJECTS, object.into_json()), serial).await? {
            Named::Created(object) | Named::Found(object) => Ok(object),
        }
    }
}
