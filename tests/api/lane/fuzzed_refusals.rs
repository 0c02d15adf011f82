//! Random clients that are still sending when their request is refused: each reads the refusal, however it frames and
//! cuts its body, and wherever it stops (C-07b).
//!
//! To search for ten minutes: `REFUSALS_FUZZ_SECONDS=600 cargo test --test notifications lane::fuzzed_refusals`.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::iter::once;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::early_refusals::{GUESS, pair, refused, send_all};
use super::responses::Conversation;
use super::sample::Sample;
use super::*;

/// The clients of an ordinary run, at each of two servers.
const CLIENTS: usize = 100;

/// A client that sends a request with a body.
#[derive(Debug, Clone)]
struct Client {
    request: Index,
    /// The length of the body in bytes.
    length: usize,
    /// The part of the body that it sends before it reads, in percent.
    sends: usize,
    /// The bytes that it writes at once.
    piece: usize,
    pause: Duration,
    /// The length of the chunks; `None` for a body whose length the head announces.
    chunk: Option<usize>,
    /// Whether the head asks whether the body is welcome. This client does not wait for the response.
    expects: bool,
}

fn clients() -> impl Strategy<Value = Client> {
    // The lengths around those of buffers, and those that fill all buffers of a connection.
    let length = prop_oneof![
        4 => 1..4096_usize,
        2 => select(vec![16_384_usize, 32_768, 65_536, 131_072]).prop_flat_map(|most| most - 2..most + 3),
        2 => 100_000..2_000_000_usize,
        1 => Just(8 << 20),
    ];
    let chunks = prop_oneof![1 => Just(None), 1 => (1..1000_usize).prop_map(Some)];
    let pause = select(vec![Duration::ZERO, Duration::ZERO, Duration::from_millis(1)]);
    let sends = prop_oneof![2 => Just(100), 1 => 1..100_usize];
    (any::<Index>(), length, sends, 1..5_usize, pause, chunks, any::<bool>()).prop_map(
        |(request, length, sends, pieces, pause, chunks, expects)| {
            let (piece, chunk) = (length / pieces + 1, chunks.map(|chunks| length / chunks + 1));
            Client { request, length, sends, piece, pause, chunk, expects }
        },
    )
}

impl Client {
    fn head(&self, request: &Sample) -> String {
        let request = match self.chunk {
            Some(_) => request.clone().unmeasured().with("Transfer-Encoding: chunked"),
            None => request.clone().unmeasured().with(&format!("Content-Length: {}", self.length)),
        };
        if self.expects { request.with("Expect: 100-continue") } else { request }.head()
    }

    /// Returns the bytes behind the head that the client sends.
    fn body(&self) -> Vec<u8> {
        let content = vec![b'x'; self.length];
        let mut body = match self.chunk {
            None => content,
            Some(length) => {
                let chunk =
                    |chunk: &[u8]| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat();
                content.chunks(length).map(chunk).chain(once(b"0\r\n\r\n".to_vec())).flatten().collect()
            }
        };
        body.truncate((body.len() * self.sends / 100).max(1));
        body
    }
}

fn rand_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[tokio::test]
async fn refusal_reaches_every_random_client_that_is_still_sending() {
    let seed = rand_seed();
    let mut random = TestRunner::new(Config { rng_seed: RngSeed::Fixed(seed), ..Config::default() });
    let seconds = std::env::var("REFUSALS_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let pair = pair().await;
    let mut requests = Vec::new();
    for side in pair.sides() {
        requests.push(refused(side).await);
    }

    for n in 0.. {
        if end.map_or(n >= CLIENTS, |end| Instant::now() >= end) {
            break;
        }
        let client = clients().new_tree(&mut random).unwrap().current();
        for (side, requests) in pair.sides().into_iter().zip(&requests) {
            // Whether a body is too large depends on its length, and guesses of a password are delayed.
            let is_guess = |request: &Sample| request.head().contains(GUESS);
            let depends = |(request, status): &&(Sample, u16)| *status == 413 || is_guess(request);
            let requests: Vec<_> = requests.iter().filter(|request| !depends(request)).collect();
            let (request, status) = client.request.get(&requests);
            let mut conversation = Conversation::open(side.address).await;
            conversation.send(client.head(request)).await;
            let answer = send_all(conversation, client.body().chunks(client.piece), client.pause).await;
            assert_eq!(answer.status(), *status, "seed {seed}: {client:?} {request:?}: {answer:?}");
        }
    }
}
