//! Event-processing modules for the HTTP layer.

use std::sync::Arc;

use bytes::Bytes;
use platform_model::error::{Error, Result};
use platform_model::id::{ModuleId, TenantId};
use platform_model::links::Links;
use platform_model::origin::Origin;
use platform_model::realtime::module::{Module, ModulePatch, ModuleStatus};
use platform_model::tenancy::tenant::TenantLimit;
use platform_model::timestamp::Timestamp;
use platform_store::applications::modules::changes::{ChangedBy, ModuleChange, StoredModule, change_modules};
use tokio::sync::mpsc;

use super::Platform;
use crate::event_processing::OutboundRequest;
use crate::event_processing::deployment::changes::{self, NewModule};

impl Platform {
    /// Deploys a text as a new module. When this returns the module runs, unless another process runs the
    /// tenant's modules; there it starts a moment later.
    ///
    /// # Errors
    /// `Invalid` names the first error of the text and its position, and nothing is stored; `Duplicate` for a name that
    /// is taken; `QuotaExceeded` when the tenant has as many modules as it may have (Z-20); `Contended`, `Unavailable`
    /// or `Database`.
    pub async fn deploy_module(&self, tenant: &TenantId, text: Bytes, origin: &Origin) -> Result<Module> {
        let new = self.new_module(text)?;
        let most = self.database.tenant_limits().of(tenant).value(TenantLimit::Modules);
        self.modules.acquire_lease(tenant).await;
        self.change_modules(tenant, origin, move |stored| changes::deploy(stored, &new, most)).await
    }

    /// Replaces a module: the new text gets a new id, and the old module is deleted.
    ///
    /// # Errors
    /// The errors of [`deploy_module`](Self::deploy_module), and the old module keeps running then; `NotFound`.
    pub async fn replace_module(
        &self,
        tenant: &TenantId,
        id: ModuleId,
        text: Bytes,
        origin: &Origin,
    ) -> Result<Module> {
        let new = self.new_module(text)?;
        self.modules.acquire_lease(tenant).await;
        self.change_modules(tenant, origin, move |stored| changes::replace(stored, id, &new)).await
    }

    /// Renames, deploys or undeploys a module. Modules that depend on an undeployed one are undeployed too
    ///
    ///
    /// # Errors
    /// `NotFound`; `Duplicate` for a name that is taken; `Invalid` names the reason why the module cannot be
    /// deployed; `Contended`, `Unavailable` or `Database`.
    pub async fn update_module(
        &self,
        tenant: &TenantId,
        id: ModuleId,
        patch: ModulePatch,
        origin: &Origin,
    ) -> Result<Module> {
        let now = Timestamp::now();
        if patch.status == Some(ModuleStatus::Deployed) {
            self.modules.acquire_lease(tenant).await;
        }
        self.change_modules(tenant, origin, move |stored| changes::update(stored, id, &patch, now)).await
    }

    /// Deletes a module; modules that depend on it are undeployed.
    ///
    /// # Errors
    /// `NotFound`, `Contended`, `Unavailable` or `Database`.
    pub async fn delete_module(&self, tenant: &TenantId, id: ModuleId, origin: &Origin) -> Result<()> {
        let now = Timestamp::now();
        let deleted =
            self.change_modules(tenant, origin, move |stored| changes::delete(stored, id, now)).await;
        deleted.map(drop)
    }

    /// Takes the receiver of the requests that modules send to other servers. Returns `None` when it was taken
    /// before.
    pub fn take_outbound_requests(&self) -> Option<mpsc::Receiver<OutboundRequest>> {
        self.modules.take_outbound_requests()
    }

    /// Takes over the modules that no running process runs. They miss no input after this returns, so a starting server
    /// reports ready only then. Links in their notifications start with `links`.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn start_modules(&self, links: Links) -> Result<()> {
        self.modules.start(links).await
    }

    /// Runs the modules whose lease this process holds, and takes over modules that no process runs. It must be called
    /// several times per lease, and when [`modules_to_check`](Self::modules_to_check) resolves.
    ///
    /// # Errors
    /// `Unavailable` or `Database`.
    pub async fn keep_modules_going(&self) -> Result<()> {
        self.modules.check().await
    }

    /// Resolves when modules or their leases changed.
    pub async fn modules_to_check(&self) {
        self.modules.changes_to_check().await;
    }

    /// Returns the leases of this process's modules, so that another process runs them at once. Their state is lost
    ///
    pub async fn give_modules_back(&self) {
        self.modules.give_back().await;
    }

    fn new_module(&self, text: Bytes) -> Result<NewModule> {
        let text = std::str::from_utf8(&text).map_err(|error| {
            Error::Invalid(format!("the text of a module is UTF-8; byte {} is not", error.valid_up_to() + 1))
        })?;
        Ok(NewModule { id: ModuleId(self.ids.next()?), text: Arc::from(text), now: Timestamp::now() })
    }

    async fn change_modules(
        &self,
        tenant: &TenantId,
        origin: &Origin,
        decide: impl Fn(&[StoredModule]) -> Result<(Vec<ModuleChange>, Module)> + Clone + Send + 'static,
    ) -> Result<Module> {
        let by = ChangedBy { origin, ids: &self.ids, fence: None };
        let changed = {
            let _turn = self.modules.changing.acquire().await;
            change_modules(&self.database, tenant, by, decide).await?
        };
        match changed.status {
            ModuleStatus::Deployed => self.modules.deployed(tenant).await,
            ModuleStatus::NotDeployed => self.modules.changed(tenant).await,
        }
        Ok(changed)
    }
}
