//! Serves the figures of a run to Prometheus while it runs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::live::Live;
use crate::error::Error;

/// The longest time for a request and its response.
const LIMIT: Duration = Duration::from_secs(5);
/// The longest head of a request in bytes.
const LONGEST: usize = 8192;

/// The server of the figures; dropping it ends it.
#[derive(Debug)]
pub(super) struct Metrics(JoinHandle<()>);

impl Metrics {
    /// Serves the figures at an address, if there is one, and prints it.
    ///
    /// # Errors
    /// The address cannot be used.
    pub(super) async fn start(address: Option<SocketAddr>, live: &Arc<Live>) -> Result<Option<Self>, Error> {
        let Some(address) = address else { return Ok(None) };
        let refused = |error| Error::Refused(format!("--metrics {address}: {error}"));
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        eprintln!("figures of the run at http://{}/metrics", listener.local_addr().map_err(refused)?);
        let live = Arc::clone(live);
        Ok(Some(Self(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(timeout(LIMIT, respond(stream, Arc::clone(&live))));
            }
        }))))
    }
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Responds to one request.
async fn respond(mut stream: TcpStream, live: Arc<Live>) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut head).await? == 0 || head.len() > LONGEST {
            return Ok(());
        }
    }
    let is_asked = head.starts_with(b"GET /metrics ");
    let (status, body) = match is_asked {
        true => ("200 OK", live.metrics()),
        false => ("404 Not Found", "The figures are at /metrics.\n".to_owned()),
    };
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: \
         close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(response.as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::population::series::Second;
    use crate::scenario_file::sample::Sample;

    async fn fetch(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    }

    #[tokio::test]
    async fn figures_are_served_as_prometheus_reads_them() {
        let live = Arc::new(Live::new());
        live.begin(1, 0.0);
        let events = Second { posted: vec![20_000; 3], failed: 1, ..Second::default() };
        live.add(&Sample { at: 1.0, values: [("sessions".to_owned(), 7.0)].into() }, Some(&events));
        live.begin(2, 5.0);
        live.add(&Sample { at: 6.0, values: [("sessions".to_owned(), 8.0)].into() }, Some(&events));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let _metrics = Metrics::start(Some(address), &live).await.unwrap();

        let text = fetch(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;

        for line in [
            "HTTP/1.1 200 OK\r\n",
            "# TYPE loadtest_posts_total counter\nloadtest_posts_total 6\n",
            "loadtest_posts_failed_total 2\n",
            "loadtest_phase 3\n",
            "loadtest_sessions 8\n",
            "loadtest_post_seconds{quantile=\"0.99\"} 0.020",
            "loadtest_post_seconds_count 3\n",
        ] {
            assert!(text.contains(line), "{line:?} not in\n{text}");
        }
        assert!(fetch(address, "GET / HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 404 "));
    }
}
