//! Microservices behind the platform, for tests of several nouns.

use platform_operator::administration::applications::perform;
use platform_operator::administration::in_force::wait_if_announced;
use platform_operator::cli::{ApplicationRoute, ApplicationTask};
use serde_json::json;
use tokio::net::TcpListener;

use super::{Caller, RawConnection, TestDatabase, TestServer};

/// Runs a microservice of tenant `main` that gives every request the same response, until the test ends.
pub async fn run_everywhere(server: &TestServer, name: &str) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let application = create_microservice(&server.admin(), name).await;
    route(server.database(), &application, Some(&address)).await.unwrap();
    tokio::spawn(answer_all(listener, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"));
}

/// Creates a microservice of the caller's tenant and returns its id.
pub async fn create_microservice(caller: &Caller, name: &str) -> String {
    let body = json!({"name": name, "key": format!("{name}-key"), "type": "MICROSERVICE"});
    let created = caller.create("/application/applications", &body).await;
    created["id"].as_str().unwrap().to_owned()
}

/// Gives every request the same response, each on a connection of its own.
pub async fn answer_all(listener: TcpListener, answer: &'static str) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(async move {
            let mut connection = RawConnection::accepted(stream);
            let mut came = connection.read_until("\r\n\r\n").await;
            let length = field(&came, "Content-Length").map_or(0, |length| length.parse().unwrap());
            while came.split_once("\r\n\r\n").unwrap().1.len() < length {
                came += &String::from_utf8_lossy(&connection.read_at_most(4096).await);
            }
            connection.send(answer).await;
        });
    }
}

/// Runs `platform admin application route <application> <address>`, or with `--none`. Returns its output or its error.
pub async fn route(
    database: &TestDatabase,
    application: &str,
    address: Option<&str>,
) -> Result<String, String> {
    let store = database.open();
    store.sign_with(database.key().messages().clone()).await.map_err(|error| error.to_string())?;
    let route = ApplicationRoute {
        application: application.into(),
        address: address.map(Into::into),
        none: address.is_none(),
    };
    let outcome = perform(&store, &ApplicationTask::Route(route)).await.map_err(|error| error.to_string())?;
    // Otherwise the next request may still go to the address of the test before.
    wait_if_announced(&store).await;
    Ok(outcome)
}

/// Returns the value of a header in a response or request head.
pub fn field<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    fields.find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}
