//! Keys of applications, for tests of several nouns.

use platform_front::secrets::password::SecretKey;

use super::TestDatabase;

/// The header that carries a key.
pub const KEY: &str = "X-Platform-Application-Key";

/// Adds an application of a tenant and notifies the servers.
pub async fn insert_application(database: &TestDatabase, tenant: &str, name: &str, key: &str) {
    let secret = SecretKey::load(&database.data_dir().join("secret.key")).unwrap().unwrap();
    let statement = "INSERT INTO applications (tenant, id, name, type, availability, key_hash, sealed_key, \
            required_roles, roles, created_at) \
        VALUES ($1, (SELECT coalesce(max(id), 0) + 1 FROM applications), $2, 'EXTERNAL', 'PRIVATE', $3, '', \
            '{}', '{}', now())";
    database.execute(statement, &[&tenant, &name, &secret.hash_of_application_key(key)]).await;
    announce(database).await;
}

/// Notifies the servers that applications changed.
pub async fn announce(database: &TestDatabase) {
    database.announce("main/+applications").await;
}
