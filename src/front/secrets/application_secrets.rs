//! Stored secrets of applications: keys, which are looked up and shown to their owner (W-06), passwords of
//! the users of microservices (W-10, W-11), and passwords of external resources. All are sealed for their
//! purpose; none is stored in clear text.

use platform_model::applications::application::{
    ApplicationPatch, ApplicationType, NewApplication, Secret, ShownApplication, UserPurpose,
};
use platform_model::id::{ApplicationId, TenantId};
use platform_store::applications::SeenApplication;
use platform_store::applications::changes::{ChangedSecrets, StoredKey, StoredSecrets};
use platform_store::applications::users::UserSecret;

use super::password::{self, SecretKey};
use super::sealing::{place_of_application_key, place_of_application_user, place_of_resources_password};

impl SecretKey {
    /// Returns the secrets of a new application as they are stored. The password of a microservice's
    /// bootstrap user is generated (W-10).
    pub fn store_application_secrets(&self, new: &NewApplication) -> StoredSecrets {
        let (id, owner) = (new.application.id, &new.application.owner);
        let is_service = new.application.kind == ApplicationType::Microservice;
        let seal = |password: &Secret| self.seal_resources_password(id, password.as_str());
        StoredSecrets {
            key: self.store_application_key(id, new.key.as_str()),
            resources_password: new.resources_password.as_ref().map(seal),
            bootstrap: is_service.then(|| self.draw_user_secret(owner, id, UserPurpose::Bootstrap)),
        }
    }

    /// Returns the changed secrets of an application as they are stored.
    pub fn store_changed_secrets(&self, id: ApplicationId, patch: &ApplicationPatch) -> ChangedSecrets {
        let seal = |password: &Secret| self.seal_resources_password(id, password.as_str());
        ChangedSecrets {
            key: patch.key.as_ref().map(|key| self.store_application_key(id, key.as_str())),
            resources_password: patch.resources_password.as_ref().map(|new| new.as_ref().map(seal)),
        }
    }

    /// Returns an application as a tenant may see it: only the owner sees the key.
    pub fn show_application(&self, seen: SeenApplication) -> ShownApplication {
        let id = seen.application.id;
        let key = seen.sealed_key.and_then(|sealed| self.open_application_key(id, &sealed));
        ShownApplication { application: seen.application, key, health: None }
    }

    /// Returns the hash by which an application's key is looked up.
    pub fn hash_of_application_key(&self, key: &str) -> String {
        self.hash(key)
    }

    /// Returns an application's key as it is stored.
    pub fn store_application_key(&self, id: ApplicationId, key: &str) -> StoredKey {
        let sealed = self.sealing().seal(place_of_application_key(id), key);
        StoredKey { hash: self.hash_of_application_key(key), sealed }
    }

    /// Opens the stored key of an application; `None` if it was not sealed for it.
    pub fn open_application_key(&self, id: ApplicationId, sealed: &str) -> Option<String> {
        self.sealing().open(place_of_application_key(id), sealed)
    }

    /// Seals the password of `resourcesUrl`.
    pub fn seal_resources_password(&self, id: ApplicationId, password: &str) -> String {
        self.sealing().seal(place_of_resources_password(id), password)
    }

    /// Opens the stored password of `resourcesUrl`.
    pub fn open_resources_password(&self, id: ApplicationId, sealed: &str) -> Option<String> {
        self.sealing().open(place_of_resources_password(id), sealed)
    }

    /// Generates the password of a user of a microservice in a tenant.
    pub fn draw_user_secret(&self, tenant: &TenantId, id: ApplicationId, purpose: UserPurpose) -> UserSecret {
        let password = password::generate();
        let place = place_of_application_user(tenant, id, purpose.as_str());
        let sealed = self.sealing().seal(place, &password);
        UserSecret { hash: self.hash(&password), sealed }
    }

    /// Opens the stored password of a user of a microservice.
    pub fn open_user_secret(
        &self,
        tenant: &TenantId,
        id: ApplicationId,
        purpose: UserPurpose,
        sealed: &str,
    ) -> Option<String> {
        self.sealing().open(place_of_application_user(tenant, id, purpose.as_str()), sealed)
    }
}
