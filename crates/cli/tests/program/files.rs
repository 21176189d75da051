//! `--root` serves files, and nothing else.

use std::fs;

use super::support::{Folder, Server, payload};

fn site() -> (Folder, Server, Vec<u8>) {
    let folder = Folder::new();
    let data = payload(1 << 20);
    fs::create_dir_all(folder.file("site/sub")).unwrap();
    folder.write("secret", "secret");
    folder.write("site/index.html", "<p>index");
    folder.write("site/sub/index.html", "<p>sub");
    folder.write("site/data.bin", &data);
    let root = folder.file("site").display().to_string();
    let server = Server::start(&["--root", &root]);
    (folder, server, data)
}

#[test]
fn files_are_served_whole() {
    let (_folder, server, data) = site();
    let index = server.get("/");
    assert!(index.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"));
    assert!(index.ends_with("\r\n\r\n<p>index"));
    assert!(server.get("/sub/?query").ends_with("\r\n\r\n<p>sub"));
    let request = b"GET /data.bin HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    for version in ["--tls1.3", "--tls1.2"] {
        let answer = server.request(&[version], request).success().output;
        assert!(answer.ends_with(&data), "{} bytes", answer.len());
    }
}

#[test]
fn other_requests_get_their_status() {
    let (_folder, server, _) = site();
    for (path, status) in [
        ("/none", "404 Not Found"),
        ("/../secret", "403 Forbidden"),
        ("/%2e%2e/secret", "403 Forbidden"),
        ("/%zz", "400 Bad Request"),
        ("/sub", "301 Moved Permanently"),
    ] {
        let answer = server.get(path);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{path}: {answer}");
        assert!(!answer.contains("secret"), "{path}: {answer}");
    }
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"),
        ("no request\r\n\r\n", "400 Bad Request"),
        ("GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
    ] {
        let answer = server.connect(&["--quiet"], request.as_bytes()).success().text();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
        assert!(answer.contains("Connection: close\r\n"), "{answer}");
    }
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nA: {}\r\n\r\n", "b".repeat(20_000));
    let answer = server.connect(&["--quiet"], long.as_bytes()).success().text();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn one_connection_carries_many_requests() {
    let (_folder, server, _) = site();
    let requests = b"GET / HTTP/1.1\r\nHost: x\r\n\r\nHEAD / HTTP/1.1\r\nHost: x\r\n\r\n\
        GET /sub/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let answers = server.connect(&[], requests).success().text();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
    assert_eq!(answers.matches("<p>index").count(), 1, "{answers}");
    assert!(answers.ends_with("<p>sub"), "{answers}");
}
