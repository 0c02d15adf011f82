//! `/cep/modules`: modules, which are texts of statements over the tenant's live stream
//! (docs/rules.md#event-processing-modules; ).
//!
//! A module is sent as a file or as text, and returned as JSON or as text, depending on `Content-Type` and
//! `Accept`.

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use platform_actors::Platform;
use platform_model::error::Error;
use platform_model::id::ModuleId;
use platform_model::realtime::module::{Module, ModulePatch};
use platform_model::role;
use platform_store::applications::modules;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::file::FRAMING;
use crate::http::multipart::{FORM_DATA, Form};
use crate::http::paging::Listing;
use crate::http::{RequestHead, reply};

/// The longest text of a module in bytes.
const TEXT_BYTES: usize = 1 << 20;
/// The media type of a module's text.
const TEXT: &str = "text/plain";

/// `GET /cep/modules`: returns a page of the tenant's modules, by id.
///
/// # Errors
/// 403 without ROLE_CEP_MANAGEMENT_READ, 422 for an invalid parameter.
pub async fn list(caller: Caller, head: RequestHead, platform: Component<Platform>) -> Result<HttpResponse> {
    caller.require(role::CEP_MANAGEMENT_READ)?;
    let listing = Listing::of(&head, "cepModuleCollection")?;
    let page = modules::list_modules(platform.database(), &caller.tenant, &listing.request).await?;
    listing.respond("modules", &page)
}

/// `POST /cep/modules`: deploys a text, which is the only part of a form or the body itself.
///
/// # Errors
/// 403 without ROLE_CEP_MANAGEMENT_ADMIN, 409 for a name that is taken, 413 for a text that is too long, 415
/// for any other type of body, 422 for a text with a mistake; the message says where it is.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::CEP_MANAGEMENT_ADMIN)?;
    let origin = caller.origin_by_role(&head)?;
    let media_type = head.accepted("cepModule")?;
    let text = match head.body_type().to_ascii_lowercase().as_str() {
        FORM_DATA => form(&head, body).await?,
        TEXT | "" => body.read(TEXT_BYTES).await?,
        other => {
            let message = format!("Unsupported type of body: {other}; allowed: {FORM_DATA} and {TEXT}");
            return Err(ApiError::UnsupportedMediaType(message));
        }
    };
    let module = platform.deploy_module(&caller.tenant, text, &origin).await?;
    let (links, module) = (head.links(), Arc::new(module));
    Ok(reply::created(&head, media_type, links.module(module.id), &module, &links))
}

/// `GET /cep/modules/<id>`: returns the module, or its text if the client prefers that.
///
/// # Errors
/// 403 without ROLE_CEP_MANAGEMENT_READ, 404 for an unknown module.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::CEP_MANAGEMENT_READ)?;
    let (database, tenant) = (platform.database(), &caller.tenant);
    if head.prefers(TEXT, "cepModule") {
        let text = modules::get_module_text(database, tenant, ModuleId::parse(&path)?).await?;
        let content_type = (header::CONTENT_TYPE, "text/plain;charset=UTF-8");
        return Ok(HttpResponse::Ok().insert_header(content_type).body(text));
    }
    let media_type = head.accepted("cepModule")?;
    let module = modules::get_module(database, tenant, ModuleId::parse(&path)?).await?;
    Ok(reply::found(media_type, &module, &head.links()))
}

/// `PUT /cep/modules/<id>`: a text replaces the module under a new id, which `Location` names; JSON renames,
/// deploys or undeploys it.
///
/// # Errors
/// The errors of [`create`]; 404 for an unknown module; 422 for an invalid member, and when the module cannot be
/// deployed.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::CEP_MANAGEMENT_ADMIN)?;
    let origin = caller.origin_by_role(&head)?;
    let id = ModuleId::parse(&path)?;
    modules::get_module(platform.database(), &caller.tenant, id).await?;
    let media_type = head.accepted("cepModule")?;
    let text = match head.body_type().to_ascii_lowercase().as_str() {
        FORM_DATA => form(&head, body).await?,
        TEXT => body.read(TEXT_BYTES).await?,
        _ => {
            head.check_content_type(&["cepModule"])?;
            let patch = ModulePatch::parse(body.json(platform.limits().body_bytes).await?)?;
            let module = platform.update_module(&caller.tenant, id, patch, &origin).await?;
            return Ok(reply::updated(&head, media_type, &Arc::new(module), &head.links()));
        }
    };
    let module: Arc<Module> = Arc::new(platform.replace_module(&caller.tenant, id, text, &origin).await?);
    let links = head.links();
    let mut response = reply::updated(&head, media_type, &module, &links);
    let location = header::HeaderValue::from_str(&links.module(module.id));
    response.headers_mut().insert(header::LOCATION, location.map_err(Error::unavailable)?);
    Ok(response)
}

/// `DELETE /cep/modules/<id>`: deletes a module and returns 204. Modules that depend on it are undeployed
///
///
/// # Errors
/// 403 without ROLE_CEP_MANAGEMENT_ADMIN, 404 for an unknown module.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    caller.require(role::CEP_MANAGEMENT_ADMIN)?;
    let origin = caller.origin_by_role(&head)?;
    platform.delete_module(&caller.tenant, ModuleId::parse(&path)?, &origin).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Reads the only part of a form, whatever its name is.
async fn form(head: &RequestHead, body: UnreadBody) -> Result<Bytes> {
    let mut form = Form::new(head, body, TEXT_BYTES + FRAMING).await?;
    only_part(&mut form).await
}

async fn only_part(form: &mut Form) -> Result<Bytes> {
    let wrong = |given: &str| Error::invalid_value("body", given, "one part, the text of a module");
    let part = form.next().await?.ok_or_else(|| wrong("a form without a part"))?;
    let text = part.read(TEXT_BYTES).await?;
    match form.next().await? {
        None => Ok(text.into()),
        Some(_) => Err(wrong("a form with several parts").into()),
    }
}
