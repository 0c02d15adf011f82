//! Uploaded versions of applications (W-02): one binary each, which holds the files of the archive one after the other.
//!
//! A new version is written beside the active one, as an [`Upload`](crate::data::binaries::Upload) without an
//! owner, and is activated in one step. Until then, and when the upload fails, the old version stays active and nobody
//! sees the new one.

use deadpool_postgres::GenericClient;
use platform_model::applications::application::{Application, ApplicationType};
use platform_model::applications::manifest::Manifest;
use platform_model::data::binary::Binary;
use platform_model::error::{Error, Noun, Result};
use platform_model::id::{ApplicationId, BinaryId, TenantId};
use tokio_postgres::types::{Json, ToSql};

use crate::Database;
use crate::applications::users::follow;
use crate::applications::{change, from_row};
use crate::query::prepared::PreparedQueries;
use crate::realtime::announcements::Announcements;

const LOCK: &str = include_str!("../../../../sql/queries/application_versions/lock.sql");
const DELETE_REPLACED: &str =
    include_str!("../../../../sql/queries/application_versions/delete_replaced.sql");
const ATTACH: &str = include_str!("../../../../sql/queries/application_versions/attach.sql");
const INSERT_FILES: &str = include_str!("../../../../sql/queries/application_versions/insert_files.sql");
const ACTIVATE: &str = include_str!("../../../../sql/queries/application_versions/activate.sql");
const FIND_FILES: &str = include_str!("../../../../sql/queries/application_versions/find_files.sql");
const COPY: [&str; 3] = [
    include_str!("../../../../sql/queries/application_versions/copy_binary.sql"),
    include_str!("../../../../sql/queries/application_versions/copy_chunks.sql"),
    include_str!("../../../../sql/queries/application_versions/copy_files.sql"),
];
const ACTIVATE_COPY: &str = include_str!("../../../../sql/queries/application_versions/activate_copy.sql");

/// The number of files that one statement inserts: about a quarter of a megabyte when paths are long.
const ENTERED_AT_ONCE: usize = 256;

/// A file of a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplicationFile {
    /// The path of the file in the archive.
    pub path: String,
    /// The `Content-Type` the file is sent with.
    pub content_type: String,
    /// The SHA-256 hash of the file.
    pub sha256: Vec<u8>,
    /// The offset of the file in the binary.
    pub start: i64,
    /// The length of the file in bytes.
    pub length: i64,
}

/// A version that was stored completely and does not belong to an application yet.
#[derive(Debug)]
pub struct NewVersion {
    /// The upload that holds the files.
    pub binary: Binary,
    /// The position of each file in the upload.
    pub files: Vec<ApplicationFile>,
    /// The manifest in the archive.
    pub manifest: Option<Manifest>,
}

/// Activates a version and deletes the old one. The application and its users get the roles that the manifest names
/// (W-03), and a microservice gets the context path of its manifest. One transaction, which notifies every server
/// process.
///
/// # Errors
/// `NotFound` for an application that does not belong to this tenant or was deleted meanwhile; `Duplicate` when the
/// context path is in use; `Invalid` for a context path the application cannot have; `Unavailable`, also when the
/// upload was swept away; `Database`.
pub async fn activate(
    database: &Database,
    tenant: &TenantId,
    id: ApplicationId,
    version: &NewVersion,
) -> Result<Application> {
    change(database, tenant, async |transaction, announcements| {
        enter(transaction, announcements, tenant, id, version).await
    })
    .await
}

async fn enter(
    client: &impl GenericClient,
    announcements: &Announcements,
    tenant: &TenantId,
    id: ApplicationId,
    version: &NewVersion,
) -> Result<Application> {
    let (owner, binary) = (tenant.as_str(), version.binary.id);
    let row = client.query_opt(LOCK, &[&owner, &id.0]).await?;
    let locked = row.ok_or_else(|| Error::not_found(Noun::Application, id))?;
    let (kind, name) = (ApplicationType::parse(locked.get(0))?, locked.get::<_, &str>(1));
    client.execute(DELETE_REPLACED, &[&owner, &id.0]).await?;
    if client.execute(ATTACH, &[&owner, &binary.0, &id.0]).await? == 0 {
        return Err(Error::unavailable("an upload was deleted before it was attached to its application"));
    }
    insert_files(client, tenant, binary, &version.files).await?;
    let manifest = version.manifest.as_ref();
    let path = manifest.and_then(|manifest| manifest.served_at(kind, name));
    let parameters: [&(dyn ToSql + Sync); 7] = [
        &owner,
        &id.0,
        &binary.0,
        &manifest.map(|manifest| Json(&manifest.text)),
        &path,
        &manifest.and_then(|manifest| manifest.required_roles.as_ref()),
        &manifest.and_then(|manifest| manifest.roles.as_ref()),
    ];
    let row = client.query_one(ACTIVATE, &parameters).await.map_err(Error::from);
    let taken = || format!("contextPath '{}'", path.unwrap_or_default());
    let row = row.map_err(|error| {
        if error.is_unique_violation() {
            Error::Duplicate { noun: Noun::Application, key: taken() }
        } else {
            error
        }
    });
    let application = from_row(&row?)?;
    let roles_before: [Vec<String>; 2] = [locked.get(2), locked.get(3)];
    if roles_before != [application.required_roles.clone(), application.roles.clone()] {
        follow(client, announcements, &application).await?;
    }
    Ok(application)
}

async fn insert_files(
    client: &impl GenericClient,
    tenant: &TenantId,
    binary: BinaryId,
    files: &[ApplicationFile],
) -> Result<()> {
    let statement = client.prepare_cached(INSERT_FILES).await?;
    for files in files.chunks(ENTERED_AT_ONCE) {
        let paths: Vec<_> = files.iter().map(|file| &*file.path).collect();
        let types: Vec<_> = files.iter().map(|file| &*file.content_type).collect();
        let digests: Vec<_> = files.iter().map(|file| &*file.sha256).collect();
        let starts: Vec<_> = files.iter().map(|file| file.start).collect();
        let lengths: Vec<_> = files.iter().map(|file| file.length).collect();
        let parameters: [&(dyn ToSql + Sync); 7] =
            [&tenant.as_str(), &binary.0, &paths, &types, &digests, &starts, &lengths];
        client.execute(&statement, &parameters).await?;
    }
    Ok(())
}

/// Returns those of the given paths at which a version has a file.
///
/// # Errors
/// `Unavailable` or `Database`.
pub async fn find_files(
    database: &Database,
    owner: &TenantId,
    binary: BinaryId,
    paths: &[&str],
) -> Result<Vec<ApplicationFile>> {
    let rows = database.reader().await?.rows(FIND_FILES, &[&owner.as_str(), &binary.0, &paths]).await?;
    let file = |row: &tokio_postgres::Row| ApplicationFile {
        path: row.get(0),
        content_type: row.get(1),
        sha256: row.get(2),
        start: row.get(3),
        length: row.get(4),
    };
    Ok(rows.iter().map(file).collect())
}

/// Copies the active version of the original to a clone (W-09), as part of the transaction that creates the clone and
/// locks the original. It does nothing when the original has no version. The copy gets the id of the clone, because an
/// id is used only once.
///
/// # Errors
/// `Database`.
pub(crate) async fn copy(client: &impl GenericClient, from: &Application, to: &Application) -> Result<()> {
    let (owner, new_owner) = (from.owner.as_str(), to.owner.as_str());
    let Some(version) = from.active_version else { return Ok(()) };
    for statement in COPY {
        client.execute(statement, &[&owner, &version.0, &new_owner, &to.id.0]).await?;
    }
    client.execute(ACTIVATE_COPY, &[&owner, &from.id.0, &new_owner, &to.id.0]).await?;
    Ok(())
}
