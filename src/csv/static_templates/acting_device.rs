//! The device that acts: whose object static rows are about (H-02).

use actix_web::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use platform_actors::model::id::ManagedObjectId;
use platform_actors::naming::naming;

use crate::csv::engine::Engine;
use crate::csv::refusal::Refusal;
use crate::csv::rest_caller::Call;

impl Engine<'_> {
    /// The object of the acting device.
    ///
    /// # Errors
    /// 422 for a caller that is no device and names none.
    pub(crate) async fn own_device(&self) -> Result<ManagedObjectId, Refusal> {
        self.own_device.get_or_try_init(|| self.find_own_device()).await.copied()
    }

    async fn find_own_device(&self) -> Result<ManagedObjectId, Refusal> {
        let own = self.caller.user.strip_prefix("device_");
        let serial = self.wanted_device.as_deref().or(own);
        let serial = serial.ok_or(Refusal::Rest(StatusCode::UNPROCESSABLE_ENTITY))?;
        let (type_, value) = (naming().fragment("Serial"), utf8_percent_encode(serial, NON_ALPHANUMERIC));
        let found = self.rest.call(Call::get(format!("/identity/externalIds/{type_}/{value}"))).await?;
        let found = found.json().await?.unwrap_or_default();
        Ok(ManagedObjectId::parse(found["managedObject"]["id"].as_str().unwrap_or_default())?)
    }
}
