//! `/event/events/<id>/binaries`: the file of an event (docs/rules.md#events; V-03 to V-09).

use std::sync::Arc;

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use platform_actors::Platform;
use platform_actors::device::{PlaceEventBinary, RemoveEventBinary, Removed};
use platform_model::access::Api;
use platform_model::body::{Body, missing};
use platform_model::data::binary::{self, Binary};
use platform_model::data::event::Event;
use platform_model::data::event_binary::{Content, ContentRange, EventBinary, Placement};
use platform_model::error::{Error, Noun};
use platform_model::id::{EventId, ManagedObjectId};
use platform_model::origin::Origin;
use platform_model::role;
use platform_store::data::binaries::Upload;

use crate::auth::Caller;
use crate::http::body::UnreadBody;
use crate::http::component::Component;
use crate::http::error::{ApiError, Result};
use crate::http::file::{self, FRAMING};
use crate::http::multipart::{Form, Part, is_form};
use crate::http::{RequestHead, reply};

/// The largest part `object` in bytes. It holds a name and a type.
const MAX_OBJECT: usize = 64 << 10;

/// `GET /event/events/<id>/binaries`: returns the bytes, or a range of them (I-14a), with their media type and as an
/// attachment (V-05).
///
/// # Errors
/// 403 without ROLE_EVENT_READ, ownership of the source (U-10a) or a device permission, 404 for an unknown
/// event and for an event without a complete file, 416 for a range that does not exist.
pub async fn get(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let authority = caller.reads(role::EVENT_READ, Api::Event);
    let database = platform.database().clone();
    let id = EventId::parse(&path)?;
    let (event, content) =
        platform_store::data::events::get_event_with_binary(&database, &caller.tenant, id).await?;
    let has_fragment = |name: &str| event.fragments.get(name).is_some();
    caller.reaches_data_of(&platform, event.source, &authority, has_fragment).await?;
    match content {
        Some(Content::Complete(binary)) => file::found(&head, database, caller.tenant.clone(), binary).await,
        _ => Err(Error::not_found(Noun::EventBinary, id).into()),
    }
}

/// `POST /event/events/<id>/binaries`: stores the file of an event that has none, from a raw body, a form, or
/// with `Content-Range` the next chunk (V-03, V-04, V-06). Returns 201, or 200 for a chunk that is not the
/// last.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown event, 409 when it has a file, 413 for a file or a
/// chunk that is too large, 400 for a malformed form, 422 for a chunk that is not the next or whose length
/// differs from its header.
pub async fn create(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let event = WritableEvent::find(caller, &head, &path, &platform).await?;
    match (content_range(&head)?, is_form(&head)) {
        (Some(range), false) => event.upload(Placement::Chunk(range))?.chunk(&head, body, range).await,
        (Some(_), true) => {
            let allowed = "a raw body, because a chunk is not a form";
            Err(Error::invalid_value("Content-Type", "multipart/form-data", allowed).into())
        }
        (None, false) => event.upload(Placement::New)?.raw(&head, body).await,
        (None, true) => event.upload(Placement::New)?.form(&head, body).await,
    }
}

/// `PUT /event/events/<id>/binaries`: replaces the file by the raw body and returns 201. The file name stays.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown event or one without a file, 413 for a file that is
/// too large.
pub async fn update(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    body: UnreadBody,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let event = WritableEvent::find(caller, &head, &path, &platform).await?;
    if content_range(&head)?.is_some() {
        return Err(Error::invalid_value("Content-Range", "sent with PUT", "chunks by POST").into());
    }
    event.upload(Placement::Replacement)?.raw(&head, body).await
}

/// `DELETE /event/events/<id>/binaries`: deletes the file, whether or not it is complete, and returns 204.
///
/// # Errors
/// 403 without the role or ownership, 404 for an unknown event or one without a file.
pub async fn remove(
    caller: Caller,
    head: RequestHead,
    path: web::Path<String>,
    platform: Component<Platform>,
) -> Result<HttpResponse> {
    let origin = Arc::new(caller.origin_of_data(&head, role::EVENT_ADMIN, Api::Event)?);
    let event = EventId::parse(&path)?;
    let source =
        platform_store::data::events::get_event(platform.database(), &caller.tenant, event).await?.source;
    let message = RemoveEventBinary { event, which: Removed::Present, origin };
    let removed = platform.tenant(&caller.tenant).ask_device(source, message).await;
    removed.map_err(|error| ApiError::gone_with_source(error, Noun::Event, event))?;
    Ok(HttpResponse::NoContent().finish())
}

/// An event whose file the caller may write.
struct WritableEvent<'e> {
    caller: Caller,
    platform: &'e Platform,
    event: Event,
    id: EventId,
    present: Option<Content>,
    origin: Origin,
    media_type: String,
}

impl<'e> WritableEvent<'e> {
    async fn find(caller: Caller, head: &RequestHead, path: &str, platform: &'e Platform) -> Result<Self> {
        let origin = caller.origin_of_data(head, role::EVENT_ADMIN, Api::Event)?;
        let media_type = head.accepted("event")?;
        let (database, id) = (platform.database(), EventId::parse(path)?);
        let (event, present) =
            platform_store::data::events::get_event_with_binary(database, &caller.tenant, id).await?;
        let has_fragment = |name: &str| event.fragments.get(name).is_some();
        caller.reaches_data_of(platform, event.source, &origin.authority, has_fragment).await?;
        Ok(Self { caller, platform, event, id, present, origin, media_type })
    }

    /// Rejects an upload that cannot be placed before its body is read. The device's actor checks again when
    /// the body is complete.
    fn upload(self, placement: Placement) -> Result<FileUpload<'e>> {
        placement.check(self.id, self.present.as_ref())?;
        let Self { caller, platform, event, id, origin, media_type, .. } = self;
        Ok(FileUpload { caller, platform, source: event.source, id, placement, origin, media_type })
    }
}

/// An upload to an event.
struct FileUpload<'e> {
    caller: Caller,
    platform: &'e Platform,
    source: ManagedObjectId,
    id: EventId,
    placement: Placement,
    origin: Origin,
    media_type: String,
}

impl FileUpload<'_> {
    async fn raw(self, head: &RequestHead, body: UnreadBody) -> Result<HttpResponse> {
        let limit = self.platform.limits().binary_bytes;
        let mut upload = self.receive(body, limit).await?;
        let finished = upload.finish(self.id.to_string(), binary::content_type(head.content_type())).await?;
        self.place(head, upload, finished).await
    }

    async fn chunk(self, head: &RequestHead, body: UnreadBody, range: ContentRange) -> Result<HttpResponse> {
        let limits = self.platform.limits();
        let limit = if range.length() > limits.binary_chunk_bytes as u64 {
            Some(limits.binary_chunk_bytes)
        } else {
            (range.reaches() > limits.binary_bytes as u64).then_some(limits.binary_bytes)
        };
        if let Some(limit) = limit {
            return Err(ApiError::TooLarge { limit });
        }
        let limit = limits.binary_chunk_bytes;
        let announced = body.announced().filter(|length| *length <= limit);
        if let Some(Err(error)) = announced.map(|length| range.check_length(length as u64)) {
            return Err(error.into());
        }
        let mut upload = self.receive(body, limit).await?;
        range.check_length(upload.length())?;
        let finished = upload.finish(self.id.to_string(), binary::content_type(head.content_type())).await?;
        self.place(head, upload, finished).await
    }

    /// Stores a raw body.
    async fn receive(&self, mut body: UnreadBody, limit: usize) -> Result<Upload> {
        if body.announced().is_some_and(|length| length > limit) {
            return Err(ApiError::TooLarge { limit });
        }
        let mut upload = self.begin().await?;
        file::receive(&mut upload, &mut body, limit).await?;
        Ok(upload)
    }

    async fn form(self, head: &RequestHead, body: UnreadBody) -> Result<HttpResponse> {
        let limit = self.platform.limits().binary_bytes + MAX_OBJECT + FRAMING;
        let mut form = Form::new(head, body, limit).await?;
        let (upload, finished) = Box::pin(self.receive_form(&mut form)).await?;
        self.place(head, upload, finished).await
    }

    /// Receives a form: either one part with the file, or the parts `object`, with a name and a type, and
    /// `file` (V-04).
    async fn receive_form(&self, form: &mut Form) -> Result<(Upload, Binary)> {
        let (mut described, mut file) = (None, None);
        while let Some(part) = form.next().await? {
            match part.name() {
                "object" if described.is_none() && part.file_name().is_none() => {
                    described = Some(FileDescription::read(part).await?);
                }
                _ if file.is_none() => file = Some(self.receive_file(part).await?),
                name => {
                    let allowed = "one part with the file, beside it one 'object'";
                    return Err(Error::invalid_value("body", format!("part '{name}'"), allowed).into());
                }
            }
        }
        let Some((mut upload, name, part_name, content_type)) = file else {
            return Err(missing(&[("file", true)]).into());
        };
        let described = described.unwrap_or_default();
        let name = name.or(described.name).or(part_name).unwrap_or_else(|| self.id.to_string());
        let content_type = content_type.or(described.type_);
        let finished = upload.finish(name, binary::content_type(content_type.as_deref())).await?;
        Ok((upload, finished))
    }

    /// Stores the bytes of a part. Returns also the names of file and part, and the media type of the part.
    async fn receive_file(
        &self,
        mut part: Part,
    ) -> Result<(Upload, Option<String>, Option<String>, Option<String>)> {
        let name = part.file_name().and_then(binary::file_name);
        let part_name = binary::file_name(part.name());
        let content_type = part.content_type().map(ToOwned::to_owned);
        let mut upload = self.begin().await?;
        while let Some(chunk) = part.chunk().await? {
            file::check_size(self.platform.limits().binary_bytes, &upload, &chunk)?;
            upload.write(chunk).await?;
        }
        Ok((upload, name, part_name, content_type))
    }

    async fn begin(&self) -> Result<Upload> {
        let platform = &self.platform;
        Ok(Upload::begin(platform.database(), &self.caller.tenant, platform.next_id()?).await?)
    }

    /// Attaches the received file to the event, and responds.
    async fn place(self, head: &RequestHead, upload: Upload, finished: Binary) -> Result<HttpResponse> {
        let (links, stores) = (self.origin.links.clone(), self.origin.mode.stores());
        let (event, placement, origin) = (self.id, self.placement, Arc::new(self.origin));
        let message = PlaceEventBinary { event, upload: finished, placement, origin };
        let tenant = self.platform.tenant(&self.caller.tenant);

        let placed = tenant
            .ask_device(self.source, message)
            .await
            .map_err(|e| ApiError::gone_with_source(e, Noun::Event, event))?;

        if stores {
            upload.keep();
        }
        let placed: Arc<EventBinary> = Arc::new(placed);
        Ok(match placed.content {
            Content::Incomplete(_) => reply::updated(head, self.media_type, &placed, &links),
            Content::Complete(_) => {
                let location = links.event_binary(event, placed.id);
                reply::created(head, self.media_type, location, &placed, &links)
            }
        })
    }
}

/// The part `object`: a description of the file.
#[derive(Default)]
struct FileDescription {
    name: Option<String>,
    type_: Option<String>,
}

impl FileDescription {
    async fn read(part: Part) -> Result<Self> {
        let mut body = Body::parse(&part.read(MAX_OBJECT).await?)?;
        let name = body.take_text("name", MAX_OBJECT)?.as_deref().and_then(binary::file_name);
        Ok(Self { name, type_: body.take_text("type", MAX_OBJECT)? })
    }
}

fn content_range(head: &RequestHead) -> Result<Option<ContentRange>> {
    let header = head.headers().get(header::CONTENT_RANGE);
    Ok(header.map(|value| ContentRange::parse(&String::from_utf8_lossy(value.as_bytes()))).transpose()?)
}
