//! Notifications that no server sent: whoever may connect to the database can listen and notify, but forges nothing.

use futures_util::future::poll_fn;
use tokio::sync::mpsc;
use tokio_postgres::{AsyncMessage, Client, NoTls, Notification};

use super::*;

const CHANNEL: &str = "platform_tenant_main";

/// A client of the database that listens as servers do.
struct Listener {
    client: Client,
    heard: mpsc::UnboundedReceiver<Notification>,
}

impl Listener {
    async fn on(database: &TestDatabase) -> Self {
        let (client, mut connection) = tokio_postgres::connect(database.url(), NoTls).await.unwrap();
        let (sender, heard) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(notification) = message {
                    sender.send(notification).ok();
                }
            }
        });
        client.batch_execute(&format!("LISTEN \"{CHANNEL}\"")).await.unwrap();
        Self { client, heard }
    }

    /// Returns the next payload that contains this text.
    async fn hears(&mut self, text: &str) -> String {
        loop {
            let heard =
                tokio::time::timeout(Duration::from_secs(10), self.heard.recv()).await.unwrap().unwrap();
            if heard.payload().contains(text) {
                return heard.payload().to_owned();
            }
        }
    }

    async fn notify(&self, channel: &str, payload: &str) {
        self.client.execute("SELECT pg_notify($1, $2)", &[&channel, &payload]).await.unwrap();
    }
}

/// Returns the payload without its signature.
fn unsigned(payload: &str) -> &str {
    payload.split_once(':').unwrap().1
}

#[tokio::test]
async fn notification_that_no_server_sent_reaches_no_session_and_ends_none() {
    let pair = Pair::listening("/alarms/*").await;
    let (database, admin) = (pair.servers[0].database(), &pair.callers[0]);
    let device = admin.create_device("pump").await;
    let mut stranger = Listener::on(database).await;
    let first = admin.raise_alarm(&device, "genuine").await;
    let heard = stranger.hears("genuine").await;
    assert!(heard.starts_with('!'), "{heard}");

    let other =
        database.query("SELECT incarnation FROM servers ORDER BY slot", &[]).await[1].get::<_, i64>(0);
    let end = format!(r#"1-1-0.{{"End":{{"client":"{}"}}}}"#, pair.sessions[1].client);
    // A number that no server has used, so that only the signature is wrong.
    let (beginning, text) = heard.split_once(':').unwrap();
    let (beginning, _) = beginning.rsplit_once('.').unwrap();
    let forged = format!("{beginning}.999999999:{}", text.replace("genuine", "forged!"));
    for (channel, payload) in [
        (CHANNEL.to_owned(), forged),
        (CHANNEL.to_owned(), heard.replace("genuine", "forged!")),
        (CHANNEL.to_owned(), unsigned(&heard).replace("genuine", "forged!")),
        (CHANNEL.to_owned(), heard.clone()),
        (CHANNEL.to_owned(), "what is this?".to_owned()),
        (CHANNEL.to_owned(), "!".to_owned()),
        (CHANNEL.to_owned(), String::new()),
        (format!("platform_server_{other}"), heard.clone()),
        (format!("platform_server_{other}"), end),
        ("platform_users".to_owned(), "main/admin".to_owned()),
        ("platform_users".to_owned(), "main/".to_owned()),
        ("platform_users".to_owned(), heard.clone()),
    ] {
        stranger.notify(&channel, &payload).await;
    }
    let last = admin.raise_alarm(&device, "genuine too").await;

    pair.both_receive(&[format!("CREATE {}", id(&first)), format!("CREATE {}", id(&last))]).await;
    let metrics = pair.servers[1].stranger().get("/metrics").await.text;
    for reason in ["unsigned", "wrongly signed", "repeated"] {
        let counted = format!("platform_server_messages_ignored_total{{reason=\"{reason}\"}}");
        assert!(metrics.contains(&counted), "{reason}: {metrics}");
    }
}

#[tokio::test]
async fn server_of_an_earlier_version_is_understood_and_understands() {
    let pair = Pair::listening("/alarms/*").await;
    let (database, admin) = (pair.servers[0].database(), &pair.callers[0]);
    let device = admin.create_device("pump").await;
    let mut older = Listener::on(database).await;
    admin.raise_alarm(&device, "signed").await;
    assert!(older.hears("signed").await.starts_with('!'));

    // Servers up to version 0.1.0 leave `signer` as it is.
    let row = "INSERT INTO servers (slot, incarnation, name, version, address, connections, state, started_at, \
        leased_until, ids_until, token, takes_part) \
        VALUES (200, 999999, 'older', '0.1.0', '-', 1, 'UP', now(), now() + interval '1 hour', 0, 'older', true)";
    database.execute(row, &[]).await;
    let mut raised = 0;
    let plain = eventually("an alarm that an older server can read", async || {
        raised += 1;
        admin.raise_alarm(&device, &format!("plain{raised}")).await;
        let heard = older.hears(&format!("plain{raised}")).await;
        (!heard.starts_with('!')).then_some(heard)
    })
    .await;
    // Both servers have noticed it when both publish without signatures.
    until("an alarm of the other server", async || {
        raised += 1;
        pair.callers[1].raise_alarm(&device, &format!("plain{raised}")).await;
        !older.hears(&format!("plain{raised}")).await.starts_with('!')
    })
    .await;
    // The sessions from before may have ended meanwhile.
    let sessions = [pair.callers[0].listen("/alarms/*").await, pair.callers[1].listen("/alarms/*").await];
    let (_, batch) = plain.split_once('.').unwrap();
    older.notify(CHANNEL, &format!("999999-1-0.{}", batch.replace("plain", "older"))).await;
    for session in &sessions {
        let mut told = Vec::new();
        until("the alarm of the older server", async || {
            told.extend_from_slice(notifications(&session.glance().await));
            told.iter().any(|told| told["data"]["data"]["type"].as_str().unwrap().starts_with("older"))
        })
        .await;
        assert!(session.is_known().await);
    }

    database.execute("DELETE FROM servers WHERE name = 'older'", &[]).await;
    until("signatures again", async || {
        raised += 1;
        admin.raise_alarm(&device, &format!("again{raised}")).await;
        older.hears(&format!("again{raised}")).await.starts_with('!')
    })
    .await;
}
