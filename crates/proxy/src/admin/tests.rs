//! Requests as Prometheus, load balancers and strangers make them.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

struct Served {
    address: std::net::SocketAddr,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    task: JoinHandle<Infallible>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn served() -> Served {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (health, metrics) = (Health::new(), Metrics::new(1));
    let task = tokio::spawn(serve(listener, Arc::clone(&metrics), Arc::clone(&health)));
    Served { address, health, metrics, task }
}

impl Served {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn ask(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        answer_of(&mut stream).await
    }

    async fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await
    }
}

/// All until the server closes, which it may do by a reset when something was left unread.
async fn answer_of(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    let _ = timeout(Duration::from_secs(60), read).await.expect("bounded in time");
    String::from_utf8(answer).unwrap()
}

fn status(answer: &str) -> &str {
    answer.get(9..12).unwrap_or("none")
}

#[tokio::test]
async fn health_follows_the_process() {
    let served = served().await;
    assert_eq!(status(&served.get("/healthz").await), "503");
    served.health.serving(2);
    assert_eq!(status(&served.get("/healthz").await), "200");
    served.health.listener_lost();
    let answer = served.get("/healthz").await;
    assert!(
        status(&answer) == "503" && answer.ends_with("1 of 2 listeners are left\n"),
        "{answer}"
    );
    served.health.serving(2);
    assert_eq!(status(&served.get("/healthz").await), "200");
    served.health.draining();
    let answer = served.get("/healthz").await;
    assert!(status(&answer) == "503" && answer.ends_with("draining\n"), "{answer}");
}

#[tokio::test]
async fn metrics_are_of_their_type() {
    let served = served().await;
    served.metrics.shard(0).accepted();
    let answer = served.get("/metrics").await;
    assert_eq!(status(&answer), "200");
    assert!(answer.contains(&format!("content-type: {}\r\n", metrics::CONTENT_TYPE)), "{answer}");
    assert!(answer.contains("\ntercel_connections_accepted_total 1\n"), "{answer}");
    assert!(answer.ends_with("# EOF\n"));
    let head = served.ask("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(status(&head) == "200" && head.ends_with("\r\n\r\n"), "{head}");
}

#[tokio::test]
async fn there_is_nothing_else() {
    let served = served().await;
    for path in ["/", "/metrics/", "/healthz/x", "/debug", "//metrics", "/..%2fmetrics"] {
        assert_eq!(status(&served.get(path).await), "404", "{path}");
    }
    let answer = served.ask("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&answer), "405");
    assert!(answer.contains("allow: GET, HEAD"), "{answer}");
    assert_eq!(status(&served.ask("nonsense\r\n\r\n").await), "400");
}

#[tokio::test]
async fn a_request_has_bounds() {
    let served = served().await;
    let long = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(HEAD));
    assert_ne!(status(&served.ask(&long).await), "200");
    let fields = "X: y\r\n".repeat(FIELDS + 1);
    let many = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    assert_eq!(status(&served.ask(&many).await), "431");
}

#[tokio::test]
async fn who_sends_nothing_is_closed_and_holds_up_only_so_many() {
    let served = served().await;
    served.health.serving(1);
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        silent.push(served.connect().await);
    }
    let began = std::time::Instant::now();
    assert_eq!(status(&served.get("/healthz").await), "200", "after the silent ones are closed");
    assert!(began.elapsed() >= HEAD_TIME / 2, "so many at a time");
    assert!(began.elapsed() < CONNECTION_TIME, "the head has a time of its own");
    for stream in &mut silent {
        assert_ne!(status(&answer_of(stream).await), "200");
    }
}
