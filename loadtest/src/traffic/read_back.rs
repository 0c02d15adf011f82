//! Reads back the stored rows, device by device, to compare it with the ledger.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::try_join_all;
use serde::Deserialize;

use crate::error::Error;
use crate::ledger::ReceiverId;
use crate::ledger::mark::Mark;
use crate::ledger::run::Run;
use crate::progress::Progress;
use crate::protocol::body::{Kind, Marked};
use crate::protocol::csv::rows::FromRow;
use crate::target::Target;
use crate::target::pages::{PAGE_SIZE, each_page};

/// The number of connections that read.
const CONNECTIONS: usize = 8;
/// The members of a page of measurements whose marks are not texts.
#[derive(Debug, Deserialize)]
struct PageOfMeasurements {
    #[serde(default)]
    measurements: Vec<Marked>,
}

/// The members of a page of measurements that came from rows.
#[derive(Debug, Deserialize)]
struct PageOfRows {
    #[serde(default)]
    measurements: Vec<FromRow>,
}

/// The rows of the ledger that belong to a device: by default one, and otherwise one for each topic.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    /// The lane of the first device.
    pub(crate) first: u32,
    /// The lanes of each device.
    pub(crate) each: u32,
}

/// One lane for each device.
pub(crate) const DEVICES: Lanes = Lanes { first: 0, each: 1 };

/// Reads everything that these kinds of writes stored for every device, and records it in the ledger.
///
/// # Errors
/// The first response other than 200.
pub(crate) async fn read_back(
    target: &Target,
    run: &Run,
    receiver: ReceiverId,
    kinds: &[Kind],
    ids: &[String],
    lanes: Lanes,
) -> Result<(), Error> {
    let mut paths: Vec<&'static str> = kinds.iter().map(|kind| kind.read_path()).collect();
    paths.dedup();
    let of_rows = kinds.iter().any(|kind| matches!(kind, Kind::Reading | Kind::StaticRows(_)));
    let progress = Progress::count("reading back", ids.len());
    let cursor = AtomicUsize::new(0);
    let read_some = async || {
        let mut connection = target.connect().await?;
        loop {
            let device = cursor.fetch_add(1, Ordering::Relaxed);
            let Some(id) = ids.get(device) else { return Ok::<(), Error>(()) };
            let mut marks = Vec::new();
            let mut add = |body: &[u8]| {
                marks.extend(Mark::scan(body));
                if of_rows {
                    marks.extend(sequences(body)?.map(|n| run.mark_of(device as u32, n)));
                } else {
                    marks.extend(readings(body)?);
                }
                Ok(())
            };
            for path in &paths {
                let first = format!("{path}?source={id}&pageSize={PAGE_SIZE}");
                each_page(target, &mut connection, first, &mut add).await?;
            }
            let first = lanes.first + device as u32 * lanes.each;
            for lane in first + 1..first + lanes.each {
                run.found(receiver, lane, marks.extract_if(.., |mark| mark.device == lane).collect());
            }
            run.found(receiver, first, marks);
            progress.advance();
        }
    };
    try_join_all((0..CONNECTIONS.min(ids.len())).map(|_| read_some())).await.map(drop)
}

/// Returns the marks of the measurements of a page.
fn readings(body: &[u8]) -> Result<impl Iterator<Item = Mark>, Error> {
    let page: PageOfMeasurements = serde_json::from_slice(body).map_err(std::io::Error::from)?;
    Ok(page.measurements.into_iter().filter_map(|measurement| measurement.mark()))
}

/// Returns the sequences of the measurements of a page that came from rows.
fn sequences(body: &[u8]) -> Result<impl Iterator<Item = u32>, Error> {
    let page: PageOfRows = serde_json::from_slice(body).map_err(std::io::Error::from)?;
    Ok(page.measurements.into_iter().filter_map(|measurement| measurement.sequence()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::ledger::{Outcome, Watch};
    use crate::target::Reach;

    /// Responds to each request with the page that its target names.
    async fn serve(listener: TcpListener, pages: Vec<(String, String)>) {
        let pages = Arc::new(pages);
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_all(stream, Arc::clone(&pages)));
        }
    }

    async fn answer_all(mut stream: TcpStream, pages: Arc<Vec<(String, String)>>) {
        let mut request = [0; 4096];
        while let Ok(length @ 1..) = stream.read(&mut request).await {
            let head = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default();
            let page = pages.iter().find(|(of, _)| of == path);
            let (status, body) = page.map_or(("404 Not Found", "{}"), |(_, body)| ("200 OK", body.as_str()));
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            if stream.write_all(answer.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    #[tokio::test]
    async fn every_page_of_every_device_is_read_and_compared() {
        let run = Arc::new(Run::new(2));
        let receiver = run.add_receiver(Watch::All);
        let marks: Vec<Mark> =
            [(0, 3), (1, 1), (1, 1)].map(|(device, rows)| run.post(device, rows, 0)).into();
        for (mark, rows) in marks.iter().zip([3, 1, 1]) {
            run.settle(*mark, rows, Outcome::Acknowledged);
        }
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let row = |mark: Mark| {
            format!(r#"{{"lt_Mark":{{"run":{{"value":{}.0}},"n":{{"value":{}}}}}}}"#, mark.run, mark.number())
        };
        let first = "/measurement/measurements?source=a&pageSize=2000".to_owned();
        let second = "/measurement/measurements?source=b&pageSize=2000".to_owned();
        let newest = format!(
            r#"{{"measurements":[{},{}],"next":"{url}/more"}}"#,
            row(marks[0].following(2)),
            row(marks[0])
        );
        let rest = format!(r#"{{"measurements":[{}]}}"#, row(marks[0].following(1)));
        let incomplete = format!(r#"{{"measurements":[{}]}}"#, row(marks[1]));
        let pages = vec![(first, newest), ("/more".to_owned(), rest), (second, incomplete)];
        let server = tokio::spawn(serve(listener, pages));
        let target = Arc::new(Target::resolve(&url, Reach::Loopback, "a", "b").unwrap());
        let ids = Arc::new(vec!["a".to_owned(), "b".to_owned()]);
        read_back(&target, &run, receiver, &[Kind::Measurement], &ids, DEVICES).await.unwrap();
        let audit = run.audit();
        assert_eq!((audit.expected, audit.delivered, audit.lost, audit.torn), (5, 4, 1, 0));
        server.abort();
    }

    #[tokio::test]
    async fn measurements_of_rows_are_recognized_by_their_values() {
        let run = Arc::new(Run::new(1));
        let receiver = run.add_receiver(Watch::All);
        let first = run.post_apart(0, 3, 0);
        run.settle(first, 3, Outcome::Acknowledged);
        let event = run.post(0, 1, 0);
        run.settle(event, 1, Outcome::Acknowledged);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let row = |value| format!(r#"{{"lt_Temperature":{{"T":{{"value":{value},"unit":"C"}}}}}}"#);
        let pages = vec![
            (
                "/measurement/measurements?source=a&pageSize=2000".to_owned(),
                format!(r#"{{"measurements":[{},{},{}]}}"#, row(2), row(0), row(0)),
            ),
            (
                "/event/events?source=a&pageSize=2000".to_owned(),
                format!(r#"{{"events":[{{"loadtest_Sequence":"{event}"}}]}}"#),
            ),
        ];
        let server = tokio::spawn(serve(listener, pages));
        let target = Arc::new(Target::resolve(&url, Reach::Loopback, "a", "b").unwrap());
        let (kinds, ids) = ([Kind::StaticRows(1), Kind::Event], Arc::new(vec!["a".to_owned()]));
        read_back(&target, &run, receiver, &kinds, &ids, DEVICES).await.unwrap();
        let audit = run.audit();
        assert_eq!((audit.expected, audit.delivered, audit.lost, audit.doubled), (4, 3, 1, 1));
        server.abort();
    }
}
