//! Server-sent events.

use super::*;

/// A stream of server-sent events.
struct Stream {
    response: reqwest::Response,
    text: String,
}

/// One event: its id, its name, and its data.
#[derive(Debug, PartialEq)]
struct Event {
    id: Option<String>,
    name: Option<String>,
    data: Value,
}

impl Stream {
    async fn open(caller: &Caller, name: &str, last: Option<i64>) -> Self {
        let request = caller.request("GET", &format!("{CONSUMERS}/{name}/events"));
        let request = match last {
            Some(last) => request.header("Last-Event-ID", &last.to_string()),
            None => request,
        };
        let response = request.header("Accept", "text/event-stream").head().await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        Self { response, text: String::new() }
    }

    /// Returns the next event with data; `None` at the end of the stream.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| {
                    let mut lines = block.lines();
                    lines.find_map(|line| line.strip_prefix(&format!("{name}: "))).map(ToOwned::to_owned)
                };
                if let Some(data) = field("data") {
                    let data = serde_json::from_str(&data).unwrap();
                    return Some(Event { id: field("id"), name: field("event"), data });
                }
            }
            let chunk = soon("a chunk of the stream", self.response.chunk()).await.unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }
}

#[tokio::test]
async fn notifications_are_streamed_and_the_last_event_id_acknowledges_them() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "stream", &["/events/*"]).await;
    admin.create_event(&device, "one").await;
    let mut stream = Stream::open(&admin, "stream", None).await;
    let one = stream.next().await.unwrap();
    let position = one.data["position"].as_i64().unwrap();
    assert_eq!((&one.id, &one.name), (&Some(position.to_string()), &None));
    assert_eq!(one.data["channel"], format!("/events/{device}"));
    assert_eq!(one.data["data"]["data"]["type"], "one");
    admin.create_event(&device, "two").await;
    assert_eq!(stream.next().await.unwrap().data["position"], position + 1);
    assert_eq!(shown(&admin, "stream").await["reader"]["way"], "EVENTS");
    assert_eq!(shown(&admin, "stream").await["backlog"]["notifications"], 2, "nothing is acknowledged");
    drop(stream);

    let mut again = Stream::open(&admin, "stream", None).await;
    assert_eq!(again.next().await.unwrap(), one);
    let mut rest = Stream::open(&admin, "stream", Some(position)).await;
    assert_eq!(rest.next().await.unwrap().data["position"], position + 1);
    assert_eq!(shown(&admin, "stream").await["backlog"]["notifications"], 1);
}

#[tokio::test]
async fn older_stream_learns_that_another_reader_took_over() {
    let (_server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "stream", &["/events/*"]).await;
    let mut older = Stream::open(&admin, "stream", None).await;
    let mut newer = Stream::open(&admin, "stream", None).await;
    let superseded = older.next().await.unwrap();
    assert_eq!(superseded.name.as_deref(), Some("superseded"));
    assert_eq!(older.next().await, None, "the stream has ended");
    admin.create_event(&device, "one").await;
    assert_eq!(newer.next().await.unwrap().data["data"]["data"]["type"], "one");
}

#[tokio::test]
async fn gap_is_an_event_whose_id_acknowledges_it() {
    let (server, admin, device) = TestServer::shared().await.with_device("pump").await;
    consumer(&admin, "stream", &["/events/*"]).await;
    admin.create_event(&device, "one").await;
    server.execute("UPDATE consumers SET lapsed_at = now() WHERE tenant = $1", &[]).await;
    let mut stream = Stream::open(&admin, "stream", None).await;
    let gap = stream.next().await.unwrap();
    assert_eq!(gap.name.as_deref(), Some("gap"));
    assert_eq!(gap.data["recovered"], false);
    let to = gap.data["missed"]["to"].as_i64().unwrap();
    assert_eq!(gap.id, Some(to.to_string()));
    drop(stream);
    let mut known = Stream::open(&admin, "stream", Some(to)).await;
    admin.create_event(&device, "two").await;
    assert_eq!(known.next().await.unwrap().data["data"]["data"]["type"], "two", "the gap is known");
}

#[tokio::test]
async fn invalid_last_event_id_is_rejected() {
    let (_server, admin) = TestServer::shared().await.with_admin();
    consumer(&admin, "stream", &["/events/*"]).await;
    for (id, part) in [("x", "Last-Event-ID"), ("-1", "Last-Event-ID"), ("5", "at most 0")] {
        let request = admin.request("GET", &format!("{CONSUMERS}/stream/events")).header("Last-Event-ID", id);
        let refused = request.send().await.expect(422);
        assert!(refused.message().contains(part), "{id}: {}", refused.message());
    }
}

#[tokio::test]
async fn stream_ends_when_a_right_is_lost() {
    let (server, admin) = TestServer::shared().await.with_admin();
    let user = server.user_with("reader", &["ROLE_ALARM_READ"]).await;
    consumer(&user, "mine", &["/alarms/*"]).await;
    let mut stream = Stream::open(&user, "mine", None).await;
    admin.delete("/user/<tenant>/users/reader/roles/ROLE_ALARM_READ").await.expect(204);
    assert_eq!(stream.next().await, None);
    user.get(&format!("{CONSUMERS}/mine/events")).await.expect(403);
}
