//! The acting device: the device whose object static rows refer to (H-02).

use actix_web::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use platform_model::access::{Api, Permission};
use platform_model::devices::external_id::NewExternalId;
use platform_model::error::Error;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::naming::naming;
use platform_model::origin::DEVICE_USER;
use quick_cache::sync::Cache;

use super::json_object::JsonObject;
use super::serials::serial_type;
use crate::csv::engine::Engine;
use crate::csv::named_objects;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

pub(super) const OBJECTS: &str = "/inventory/managedObjects";
/// The number of devices whose objects are cached, sufficient for a fleet that sends continuously.
const REMEMBERED_DEVICES: usize = 100_000;

/// A cache of the objects of devices by serial, so that a row of a known device needs no query. An entry is
/// valid until an external id of its tenant changes, at any server.
#[derive(Debug)]
pub(crate) struct ActingDevices(Cache<(TenantId, Box<str>), CachedDevice>);

#[derive(Debug, Clone, Copy)]
struct CachedDevice {
    object: ManagedObjectId,
    /// The value of [`Database::names_generation`](platform_store::Database::names_generation) before the look-up.
    generation: u64,
}

impl Default for ActingDevices {
    fn default() -> Self {
        Self(Cache::new(REMEMBERED_DEVICES))
    }
}

/// The result of creating a device.
pub(super) enum Named {
    /// The object was created.
    Created(ManagedObjectId),
    /// A concurrent request created the device; the object of this request was deleted.
    Found(ManagedObjectId),
}

impl Engine<'_> {
    /// Returns the object of the acting device. For an unknown device it is created with the defaults of row
    /// 100 (H-02).
    ///
    /// # Errors
    /// 422 for a caller that is not a device and names none; the error of a call.
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

    /// Returns the object of the acting device, if there is one.
    ///
    /// # Errors
    /// 422 for an invalid serial; 503.
    pub(super) async fn known_device(&self) -> Result<Option<ManagedObjectId>, Refusal> {
        match self.serial() {
            Ok(serial) => self.device_of(serial).await,
            Err(_) => Ok(None),
        }
    }

    /// Returns the cached object of a device, if the entry is still valid.
    fn remembered(&self, serial: &str) -> Option<ManagedObjectId> {
        let tenant = &self.caller.tenant;
        let known = self.csv.devices.0.get(&(tenant.clone(), Box::from(serial)))?;
        let generation = self.csv.platform.database().names_generation(tenant);
        (known.generation == generation).then_some(known.object)
    }

    /// Creates the object of the acting device, if there is none.
    ///
    /// # Errors
    /// Fails like [`Engine::own_device`], and with 403 if the caller may not see the device.
    pub(super) async fn introduce(&self, name: Option<&str>, type_: Option<&str>) -> Result<(), Refusal> {
        let serial = self.serial()?;
        if self.device_of(serial).await?.is_some() {
            // The store found the object without checking rights, so a call checks them.
            let (of, value) = (serial_type(), utf8_percent_encode(serial, NON_ALPHANUMERIC));
            self.rest.call(Call::get(format!("/identity/externalIds/{of}/{value}"))).await?;
            return Ok(());
        }
        self.own_device.get_or_try_init(|| self.create_own(serial, name, type_)).await?;
        Ok(())
    }

    /// Returns the object of a serial, if any. It checks no rights: the call that follows does.
    ///
    /// # Errors
    /// 422 for an invalid serial; 503.
    pub(super) async fn device_of(&self, serial: &str) -> Result<Option<ManagedObjectId>, Refusal> {
        let (database, tenant) = (self.csv.platform.database(), &self.caller.tenant);
        if let Some(object) = self.remembered(serial) {
            return Ok(Some(object));
        }
        let generation = database.names_generation(tenant);
        let pair = NewExternalId::new(serial_type(), serial.to_owned())?;
        match platform_store::devices::inventory::external_ids::get_external_id(database, tenant, pair).await
        {
            Ok((object, _)) => {
                let key = (tenant.clone(), Box::from(serial));
                self.csv.devices.0.insert(key, CachedDevice { object, generation });
                Ok(Some(object))
            }
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates an object by a call and adds a serial to it. Of concurrent requests one object remains, and
    /// all get that one.
    ///
    /// # Errors
    /// The error of a call; then no object remains.
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

    /// Returns the refusal for a change without a target: 404, or 403 for a caller who could not change it.
    pub(super) async fn nothing_to_change(&self, source: ManagedObjectId, role: &str, api: Api) -> Refusal {
        let authority = self.caller.authority(role, api, Permission::Admin);
        match self.caller.reaches_data_of(&self.csv.platform, source, &authority, |_| true).await {
            Ok(()) => Refusal::Rest(StatusCode::NOT_FOUND),
            Err(error) => error.into(),
        }
    }

    /// Returns the serial of the acting device: the one of the header, otherwise that of the user.
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
