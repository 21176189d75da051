//! HTTP/2, by ALPN: the page, files, and the limits are those of HTTP/1.1. RFC 9113

use std::process::Command;

use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tercel::ClientConfig;
use tercel::pki::Roots;
use tercel_tokio::Connector;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::support::{Folder, LIMIT, Server, connect, payload, run};

/// An HTTP/2 connection, and the task that ends with it.
async fn open(server: &Server) -> (SendRequest<String>, JoinHandle<hyper::Result<()>>) {
    let mut roots = Roots::new();
    roots.add_pem(&std::fs::read(&server.ca).unwrap()).unwrap();
    let config = ClientConfig::builder().roots(roots).alpn(&["h2", "http/1.1"]).build();
    let socket = TcpStream::connect(&server.address).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let stream = Connector::new(config.unwrap()).connect(name, socket).await.unwrap();
    assert_eq!(stream.info().alpn.as_deref(), Some(&b"h2"[..]));
    let begun = handshake(TokioExecutor::new(), TokioIo::new(Box::new(stream)));
    let (sender, connection) = Box::pin(begun).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn request(method: &str, path: &str) -> Request<String> {
    let target = format!("https://localhost{path}");
    Request::builder().method(method).uri(target).body(String::new()).unwrap()
}

async fn content(response: Response<Incoming>) -> Vec<u8> {
    let mut body = response.into_body();
    let mut all = Vec::new();
    let mut body = std::pin::Pin::new(&mut body);
    while let Some(frame) = std::future::poll_fn(|c| body.as_mut().poll_frame(c)).await {
        all.extend_from_slice(frame.unwrap().data_ref().unwrap());
    }
    all
}

#[tokio::test]
async fn requests_share_a_connection() {
    let folder = Folder::new();
    let data = payload(1 << 20);
    folder.write("data.bin", &data);
    folder.write("index.html", "<p>index");
    let server = Server::start(&["--root", &folder.0.display().to_string()]);
    let (mut sender, _task) = Box::pin(open(&server)).await;
    let large = sender.send_request(request("GET", "/data.bin")).await.unwrap();
    let small = sender.send_request(request("GET", "/?query")).await.unwrap();
    assert_eq!((large.status(), small.status()), (StatusCode::OK, StatusCode::OK));
    assert_eq!(small.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(large.headers()["content-length"], "1048576");
    assert_eq!(content(small).await, b"<p>index");
    assert!(content(large).await == data);

    let head = sender.send_request(request("HEAD", "/data.bin")).await.unwrap();
    assert_eq!(head.headers()["content-length"], "1048576");
    assert!(content(head).await.is_empty());
}

#[tokio::test]
async fn other_requests_get_their_status() {
    let folder = Folder::new();
    std::fs::create_dir(folder.file("site")).unwrap();
    folder.write("secret", "secret");
    let server = Server::start(&["--root", &folder.file("site").display().to_string()]);
    let (mut sender, _task) = Box::pin(open(&server)).await;
    for (method, path, status) in [
        ("GET", "/none", 404),
        ("GET", "/../secret", 403),
        ("GET", "/%2e%2e/secret", 403),
        ("GET", "/..%2fsecret", 403),
        ("GET", "/%zz", 400),
        ("POST", "/", 405),
        ("OPTIONS", "/", 405),
    ] {
        let response = sender.send_request(request(method, path)).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{method} {path}");
        assert_eq!(response.headers().contains_key("allow"), status == 405, "{method} {path}");
        let text = String::from_utf8(content(response).await).unwrap();
        assert!(!text.contains("secret"), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_client_without_requests_is_not_waited_for() {
    let server = Server::start(&["--timeout", "1"]);
    let (mut sender, task) = Box::pin(open(&server)).await;
    let page = sender.send_request(request("GET", "/")).await.unwrap();
    assert!(String::from_utf8(content(page).await).unwrap().contains("<td>h2</td>"));
    // The client keeps the connection, and the server ends it.
    tokio::time::timeout(LIMIT, task).await.unwrap().unwrap().unwrap();
    server.wait_for("timed out");
    drop(sender);
}

#[test]
fn clients_of_both_versions_are_served() {
    let server = Server::start(&[]);
    let get = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for options in [&["--alpn", "http/1.1"][..], &[]] {
        let options = [&["--ca", &server.ca, "--quiet"], options].concat();
        let page = connect(&server.address, &options, get).success().text();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    }
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let port = server.address.rsplit(':').next().unwrap();
    let url = format!("https://localhost:{port}/");
    for (option, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let mut curl = super::support::curl();
        curl.args(["--silent", "--show-error", "--cacert", &server.ca, option]);
        // Two requests use one connection.
        curl.args(["--write-out", "[%{http_version} %{num_connects}]", &url, &url]);
        let text = run(&mut curl, b"").success().text();
        for connects in [1, 0] {
            assert!(text.contains(&format!("[{version} {connects}]")), "{text}");
        }
    }
}
