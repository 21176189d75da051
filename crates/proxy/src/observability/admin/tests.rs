//! Valid, malformed and excessive admin requests.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::*;

struct TestServer {
    address: std::net::SocketAddr,
    health: Arc<Health>,
    metrics: Arc<Metrics>,
    task: JoinHandle<Infallible>,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn start_server() -> TestServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (health, metrics) = (Health::new(), Metrics::new(1));
    let task = tokio::spawn(serve(listener, Arc::clone(&metrics), Arc::clone(&health)));
    TestServer { address, health, metrics, task }
}

impl TestServer {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn send(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request.as_bytes()).await.unwrap();
        read_response(&mut stream).await
    }

    async fn get(&self, path: &str) -> String {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await
    }
}

/// Reads until the server closes, possibly with a reset if it left input unread.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut response = Vec::new();
    let read = stream.read_to_end(&mut response);
    let _ = timeout(Duration::from_secs(60), read).await.expect("bounded in time");
    String::from_utf8(response).unwrap()
}

fn status(response: &str) -> &str {
    response.get(9..12).unwrap_or("none")
}

#[tokio::test]
async fn health_follows_the_process_state() {
    let server = start_server().await;
    assert_eq!(status(&server.get("/healthz").await), "503");
    server.health.serving(2);
    assert_eq!(status(&server.get("/healthz").await), "200");
    server.health.listener_lost();
    let response = server.get("/healthz").await;
    assert!(
        status(&response) == "503" && response.ends_with("1 of 2 listeners are running\n"),
        "{response}"
    );
    server.health.serving(2);
    assert_eq!(status(&server.get("/healthz").await), "200");
    server.health.thread_lost();
    let response = server.get("/healthz").await;
    assert!(status(&response) == "503" && response.contains("a thread exited"), "{response}");
    server.health.draining();
    let response = server.get("/healthz").await;
    assert!(status(&response) == "503" && response.ends_with("draining\n"), "{response}");
}

#[tokio::test]
async fn metrics_have_the_openmetrics_content_type() {
    let server = start_server().await;
    server.metrics.shard(0).accepted();
    let response = server.get("/metrics").await;
    assert_eq!(status(&response), "200");
    assert!(
        response.contains(&format!("content-type: {}\r\n", metrics::CONTENT_TYPE)),
        "{response}"
    );
    assert!(response.contains("\ntercel_connections_accepted_total 1\n"), "{response}");
    assert!(response.ends_with("# EOF\n"));
    let head = server.send("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(status(&head) == "200" && head.ends_with("\r\n\r\n"), "{head}");
}

#[tokio::test]
async fn unknown_paths_and_methods_are_refused() {
    let server = start_server().await;
    for path in ["/", "/metrics/", "/healthz/x", "/debug", "//metrics", "/..%2fmetrics"] {
        assert_eq!(status(&server.get(path).await), "404", "{path}");
    }
    let response =
        server.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&response), "405");
    assert!(response.contains("allow: GET, HEAD"), "{response}");
    assert_eq!(status(&server.send("nonsense\r\n\r\n").await), "400");
}

#[tokio::test]
async fn request_head_is_limited() {
    let server = start_server().await;
    let long = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n", "a".repeat(HEAD));
    assert_ne!(status(&server.send(&long).await), "200");
    let fields = "X: y\r\n".repeat(FIELDS + 1);
    let many = format!("GET /metrics HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    assert_eq!(status(&server.send(&many).await), "431");
}

#[tokio::test]
async fn admin_connections_are_limited_in_number() {
    let server = start_server().await;
    server.health.serving(1);
    let began = std::time::Instant::now();
    let mut silent = Vec::new();
    for _ in 0..CONNECTIONS {
        silent.push(server.connect().await);
    }
    let mut waiting = Box::pin(server.get("/healthz"));
    let at_once = timeout(Duration::from_millis(100), &mut waiting).await.is_ok();
    assert!(!at_once || began.elapsed() >= HEAD_TIME, "more than the limit at a time");
    if !at_once {
        silent.pop();
        assert_eq!(status(&waiting.await), "200", "after one of the others has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn admin_connections_time_out() {
    let (health, metrics) = (Health::new(), Metrics::new(1));
    let served = |capacity: usize, sent: &'static [u8]| {
        let (health, metrics) = (Arc::clone(&health), Arc::clone(&metrics));
        async move {
            let (mut near, far) = tokio::io::duplex(capacity);
            let began = tokio::time::Instant::now();
            near.write_all(sent).await.unwrap();
            answer_in_time(far, metrics, health).await;
            began.elapsed()
        }
    };
    assert_eq!(served(1000, b"").await.as_secs(), HEAD_TIME.as_secs());
    assert_eq!(served(1000, b"GET /healthz HTTP/1.1\r\nX").await.as_secs(), HEAD_TIME.as_secs());
    // A client that does not read its answer.
    let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(served(request.len(), request).await.as_secs(), CONNECTION_TIME.as_secs());
}
