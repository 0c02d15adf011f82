//! `/inventory/binaries`: managed objects with content (I-05, I-12, V-04, V-05).
//!
//! Bytes are streamed in both directions. Neither a whole file in memory nor a database connection is held
//! for a slow client.

use std::sync::Arc;

use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{DeleteManagedObject, ReplaceBinary, UpdateManagedObject};
use platform_actors::writes::NewObject;
use platform_model::access::{Api, Permission};
use platform_model::body::{Body, missing};
use platform_model::data::binary::{self, Binary};
use platform_model::devices::managed_object::{Cascade, ManagedObjectFilter, NewManagedObject};
use platform_model::devices::reference::WantedReferences;
use platform_model::error::Error;
use platform_model::id::{ManagedObjectId, TenantId};
use platform_model::limits::Limits;
use platform_model::naming::naming;
use platform_model::role;
use platform_store::data::binaries::Upload;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::file::{self, FRAMING};
use crate::http::multipart::{Form, Part};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The largest part `filesize` in bytes.
const MAX_SIZE_TEXT: usize = 64;

/// `POST /inventory/binaries`: stores a file and creates its managed object. The parts come in any order
/// (I-12a). If a client sends `object` and `filesize` before `file`, they are validated before the upload.
/// Without the part `object` the object gets the name and the media type of the file.
///
/// # Errors
/// 403 without ROLE_INVENTORY_ADMIN or ROLE_INVENTORY_CREATE, 400 for a malformed form, 413 for a file that
/// is too large, as soon as that is known, 415 for a body that is not a form, 422 for missing, duplicate or
/// invalid parts.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require_any(&[role::INVENTORY_ADMIN, role::INVENTORY_CREATE])?;
    let origin = caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?;
    let media_type = head.accepted("managedObject")?;
    let limits = platform.limits();
    let mut form = Form::new(&head, body, limits.binary_bytes + limits.body_bytes + FRAMING).await?;
    let ReceivedForm { object, upload, binary } =
        Box::pin(receive(&platform, &caller.tenant, &mut form)).await?;
    let (links, stores) = (origin.links.clone(), origin.mode.stores());

    let tenant = platform.tenant(&caller.tenant);
    let object = Box::pin(tenant.create_binary(NewObject { object, origin }, binary.id)).await?;

    if stores {
        upload.keep();
    }
    Ok(reply::created(&head, media_type, links.managed_object(object.id), &object, &links))
}

/// `GET /inventory/binaries`: returns a page of the binaries that the inventory shows to the caller.
///
/// # Errors
/// 422 for an invalid parameter, 413 when the query takes too long.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    let listing = Listing::of(&head, "managedObjectCollection")?;
    let filter = ManagedObjectFilter {
        fragment_type: Some(naming().fragment("IsBinary")),
        ..ManagedObjectFilter::default()
    };
    let database = platform.database();
    let authority = caller.authority(role::INVENTORY_READ, Api::ManagedObject, Permission::Read);
    let mut page = platform_store::devices::inventory::collection::list_managed_objects(
        database,
        &caller.tenant,
        &filter,
        &authority,
        &caller.user,
        &listing.request,
    )
    .await?;
    let wanted = WantedReferences::default();
    platform_store::devices::inventory::links::add_references(
        database,
        &caller.tenant,
        &mut page.members,
        wanted,
    )
    .await?;
    listing.respond("managedObjects", &page)
}

/// `GET /inventory/binaries/<id>`: returns the bytes, or a range of them (I-14a), with their media type and as an
/// attachment (V-05). If the content is deleted or replaced during the download, the response ends early, which the
/// client detects by its length.
///
/// # Errors
/// 403 for an object the caller may not see, 404 for an object that does not exist or is not a binary, 416 for a
/// range that does not exist.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let id = ManagedObjectId::parse(&path)?;
    caller.sees(&platform, id, WantedReferences::NONE).await?;
    let database = platform.database().clone();
    let binary = platform_store::data::binaries::get_binary(&database, &caller.tenant, id).await?;
    file::found(&head, database, caller.tenant.clone(), binary).await
}

/// `PUT /inventory/binaries/<id>`: replaces the content by the raw body and returns 201 (I-12). The file name
/// stays.
///
/// # Errors
/// 403 without the role or ownership, 404 for an object that does not exist or is not a binary, 413 for a
/// file that is too large.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    mut body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?;
    let id = ManagedObjectId::parse(&path)?;
    caller.reaches(&platform, id, &origin.authority).await?;
    let media_type = head.accepted("managedObject")?;
    let (database, limit) = (platform.database(), platform.limits().binary_bytes);
    let replaced = platform_store::data::binaries::get_binary(database, &caller.tenant, id).await?;
    if body.announced().is_some_and(|length| length > limit) {
        return Err(ApiError::TooLarge { limit });
    }
    let mut upload = Upload::begin(database, &caller.tenant, platform.next_id()?).await?;
    file::receive(&mut upload, &mut body, limit).await?;
    let content_type = binary::content_type(head.content_type());
    let binary = upload.finish(replaced.name, content_type).await?;
    let (links, stores) = (origin.links.clone(), origin.mode.stores());

    let patch = Arc::new(binary::replacement(&binary)?);
    let update = UpdateManagedObject { patch, origin: Arc::new(origin) };
    let message = ReplaceBinary { update, binary: binary.id };
    let object = platform.tenant(&caller.tenant).ask_device(id, message).await?;

    if stores {
        upload.keep();
    }
    Ok(reply::created(&head, media_type, links.managed_object(object.id), &object, &links))
}

/// `DELETE /inventory/binaries/<id>`: deletes the object and its bytes, and returns 204.
///
/// # Errors
/// 403 without the role or ownership, 404 for an object that does not exist or is not a binary.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Arc::new(caller.origin(&head, role::INVENTORY_ADMIN, Api::ManagedObject)?);
    let id = ManagedObjectId::parse(&path)?;
    caller.reaches(&platform, id, &origin.authority).await?;
    platform_store::data::binaries::get_binary(platform.database(), &caller.tenant, id).await?;
    platform
        .tenant(&caller.tenant)
        .ask_device(id, DeleteManagedObject { cascade: Cascade::default(), origin })
        .await?;
    Ok(HttpResponse::NoContent().finish())
}

/// A form that was received completely.
struct ReceivedForm {
    object: NewManagedObject,
    upload: Upload,
    binary: Binary,
}

async fn receive(platform: &Platform, tenant: &TenantId, form: &mut Form) -> Result<ReceivedForm> {
    let limits = platform.limits();
    let (mut object, mut size, mut file) = (None, None, None);
    while let Some(part) = form.next().await? {
        match part.name() {
            name @ "object" if object.is_some() => return Err(duplicate(name)),
            name @ "filesize" if size.is_some() => return Err(duplicate(name)),
            name @ "file" if file.is_some() => return Err(duplicate(name)),
            "object" => {
                let body = Body::parse(&part.read(limits.body_bytes).await?)?;
                object = Some(NewManagedObject::parse(body)?);
            }
            "filesize" => size = Some(expected_size(part, limits).await?),
            "file" => {
                let upload = Upload::begin(platform.database(), tenant, platform.next_id()?);
                file = Some(receive_file(upload.await?, part, size, limits).await?);
            }
            // Unknown parts are ignored, as unknown members are (C-08).
            _ => {}
        }
    }
    let absent = missing(&[("file", file.is_none())]);
    let (mut upload, name, content_type) = file.ok_or(absent)?;
    if size.is_some_and(|size| size != upload.length()) {
        return Err(other_size(size));
    }
    let mut object = match object {
        Some(object) => object,
        None => NewManagedObject::of_type(content_type.clone()),
    };
    let name = name.or_else(|| object.name.as_deref().and_then(binary::file_name));
    let name = name.unwrap_or_else(|| "file".into());
    object.name.get_or_insert_with(|| name.clone());
    let binary = upload.finish(name, content_type).await?;
    binary::describe(&mut object, &binary)?;
    Ok(ReceivedForm { object, upload, binary })
}

fn duplicate(name: &str) -> ApiError {
    let allowed = "'file' once, 'object' and 'filesize' at most once";
    Error::invalid_value("body", format!("part '{name}' a second time"), allowed).into()
}

fn other_size(size: Option<u64>) -> ApiError {
    Error::invalid_value("filesize", size.unwrap_or_default(), "the number of bytes of 'file'").into()
}

async fn expected_size(part: Part, limits: &Limits) -> Result<u64> {
    let size = binary::parse_size(&part.read(MAX_SIZE_TEXT).await?)?;
    if size <= limits.binary_bytes as u64 {
        Ok(size)
    } else {
        Err(ApiError::TooLarge { limit: limits.binary_bytes })
    }
}

/// Stores the bytes of the part `file`. Returns also the name and the media type it was sent with (V-04). If
/// its size is known already, more bytes than that are rejected.
async fn receive_file(
    mut upload: Upload,
    mut part: Part,
    size: Option<u64>,
    limits: &Limits,
) -> Result<(Upload, Option<String>, String)> {
    let name = part.file_name().and_then(binary::file_name);
    let content_type = binary::content_type(part.content_type());
    while let Some(chunk) = part.chunk().await? {
        file::check_size(limits.binary_bytes, &upload, &chunk)?;
        if size.is_some_and(|size| upload.length() + chunk.len() as u64 > size) {
            return Err(other_size(size));
        }
        upload.write(chunk).await?;
    }
    Ok((upload, name, content_type))
}
