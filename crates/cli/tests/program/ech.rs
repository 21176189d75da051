//! `tercel ech`, and `--ech` of `connect`, `serve` and `load`.

use std::fs;
use std::io::BufRead;

use serde_json::Value;
use tercel::ech::{Key, ServiceBinding};

use super::support::{Folder, Leaf, Outcome, Server, refs, run, tercel};

/// Makes a key, and returns its file and the printed record.
fn generate(folder: &Folder, name: &str, public_name: &str) -> (String, String) {
    let file = folder.file(name).display().to_string();
    let arguments = ["ech", "generate", "--public-name", public_name, "--out", &file];
    let outcome = run(tercel().args(arguments), b"").success();
    assert_eq!(outcome.said, "");
    (file, outcome.text())
}

/// The Base64 in a printed record.
fn base64(record: &str) -> &str {
    record.split_once("ech=\"").unwrap().1.trim_end().strip_suffix('"').unwrap()
}

fn json(outcome: Outcome) -> Value {
    serde_json::from_slice(&outcome.success().output).unwrap()
}

/// RFC 9848 3, RFC 9934 3
#[test]
fn a_generated_key_is_written_once_and_its_record_printed() {
    let folder = Folder::new();
    let (file, record) = generate(&folder, "one.ech", "cover.example");
    let start = "example.com. 300 IN HTTPS 1 . alpn=\"h2,http/1.1\" ech=\"";
    assert!(record.starts_with(start) && record.ends_with("\"\n"), "{record}");
    let pem = fs::read(&file).unwrap();
    let key = Key::from_pem(&pem).unwrap();
    assert_eq!(record.parse::<ServiceBinding>().unwrap().ech(), Some(key.config()));
    #[cfg(unix)]
    {
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&file).unwrap().permissions());
        // A umask may take more away.
        assert_eq!(mode & 0o777 & !0o640, 0, "{mode:o}");
        assert_eq!(mode & 0o600, 0o600, "{mode:o}");
    }

    let arguments = ["ech", "generate", "--public-name", "other.example", "--out", &file];
    let refused = run(tercel().args(arguments), b"");
    assert_eq!(refused.failure(), format!("{file}: exists already; --force replaces it"));
    assert_eq!(fs::read(&file).unwrap(), pem);
    let more =
        ["--force", "--owner", "a.example", "--ttl", "60", "--alpn", "", "--max-name-length"];
    let replaced = run(tercel().args(arguments).args(more).arg("40"), b"").success().text();
    assert!(replaced.starts_with("a.example. 60 IN HTTPS 1 . ech=\""), "{replaced}");
    let key = Key::from_pem(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(key.public_name(), "other.example");
    // No other file is left.
    assert_eq!(fs::read_dir(folder.file(".")).unwrap().count(), 1);

    for (name, owner) in [("192.0.2.1", "a"), ("a_b", "a"), ("", "a"), ("a", "a..b"), ("a", "a b")]
    {
        let arguments = ["ech", "generate", "--public-name", name, "--owner", owner, "--out", "x"];
        let refused = run(tercel().args(arguments), b"");
        assert_eq!(refused.status, Some(2), "{}", refused.said);
        let option = if owner == "a" { "--public-name: " } else { "--owner: " };
        assert!(refused.said.starts_with(&format!("error: {option}")), "{}", refused.said);
    }
}

/// RFC 9849 4, RFC 9848 3
#[test]
fn configurations_are_shown_in_each_form() {
    let folder = Folder::new();
    let (file, record) = generate(&folder, "one.ech", "cover.example");
    let show = |arguments: &[&str]| run(tercel().args(["ech", "show"]).args(arguments), b"");
    let text = show(&[&file]).success().text();
    for line in [
        "private-key          yes",
        "config               1 of 1",
        "version              fe0d",
        "public-name          cover.example",
        "kem                  DHKEM(X25519, HKDF-SHA256)",
        "maximum-name-length  0",
        "usable               yes",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let words: Vec<_> = record.split_whitespace().collect();
    for source in [&[record.as_str()][..], &[base64(&record)], &words] {
        let shown = show(source).success().text();
        assert!(shown.contains("public-name") && !shown.contains("private-key"), "{shown}");
        assert_eq!(shown.contains("priority"), source != [base64(&record)], "{shown}");
    }
    let from_input = run(tercel().args(["ech", "show", "--json", "-"]), record.as_bytes());
    let value = json(from_input);
    assert_eq!(value["usable"], "cover.example");
    assert_eq!(value["record"]["alpn"], serde_json::json!(["h2", "http/1.1"]));
    assert_eq!(value["configs"][0]["version"], "fe0d");
    assert_eq!(value["configs"][0]["cipher_suites"][0], "HKDF-SHA256 with AES-128-GCM");
    assert_eq!(value["private_key"], false);

    // An unknown version and an unknown algorithm are shown, too.
    let list = Key::generate("a.example", 0).unwrap().config();
    let mut bytes = list.as_bytes().to_vec();
    bytes[3] ^= 1;
    let raw = folder.write("version", &bytes);
    assert!(show(&[&raw]).success().text().contains("no: unknown version"));
    (bytes[3], bytes[8]) = (bytes[3] ^ 1, 0x99);
    let raw = folder.write("kem", &bytes);
    let shown = show(&[&raw]).success().text();
    assert!(shown.contains("kem                  0x0099"), "{shown}");
    assert!(shown.contains("no: unsupported algorithm"), "{shown}");

    for (source, expected) in [
        ("1 . alpn=h2 port=x", "the parameter port has a malformed value"),
        ("a. 1 IN MX 10 b.", "the record is of type MX, not HTTPS"),
        ("AAAA", "malformed ECH configurations"),
        ("missing.ech", "there is no file `missing.ech`"),
    ] {
        assert!(show(&[source]).failure().contains(expected), "{source}");
    }
}

/// RFC 9849 6.1, 7.1
#[test]
fn the_name_is_encrypted() {
    let folder = Folder::new();
    let (file, record) = generate(&folder, "one.ech", "cover.example");
    let server = Server::start(&["--ech", &file]);
    for source in [&file, &record, base64(&record)] {
        let options = ["--ech", source, "--name", "localhost"];
        let outcome = server.connect(&options, b"GET / HTTP/1.0\r\n\r\n").success();
        assert_eq!(outcome.reported("ech"), ["accepted"], "{}", outcome.said);
        assert_eq!(outcome.reported("ech-outer-name"), ["cover.example"]);
        assert_eq!(outcome.reported("ech-inner-name"), ["localhost"]);
        assert!(outcome.reported("ech-retried").is_empty());
        assert!(outcome.text().contains("<th>ech</th><td>accepted</td>"));
    }
    let value = json(server.connect(&["--ech", &file, "--name", "localhost", "--json"], b""));
    assert_eq!(value["ech"], "accepted");
    assert_eq!(value["ech_outer_name"], "cover.example");
    assert_eq!(value["ech_inner_name"], "localhost");
    server.wait_for("name=localhost ech=accepted outer-name=cover.example");
}

/// RFC 9849 6.1.6, 7.1
#[test]
fn an_outdated_configuration_is_replaced_by_that_of_the_server() {
    let folder = Folder::new();
    let keys = folder.file("keys");
    fs::create_dir(&keys).unwrap();
    let (_, outdated) = generate(&folder, "outdated", "cover.example");
    let (_, previous) = generate(&folder, "keys/1.ech", "cover.example");
    let (_, current) = generate(&folder, "keys/2.ech", "cover.example");
    generate(&folder, "keys/unused.pem", "other.example");
    let server = Server::start(&["--ech", &keys.display().to_string()]);
    let connect = |record: &str, more: &[&str]| {
        let options = ["--ech", base64(record), "--name", "localhost"];
        server.connect(&[&options, more].concat(), b"GET / HTTP/1.0\r\n\r\n")
    };
    for record in [&previous, &current] {
        let outcome = connect(record, &[]).success();
        assert!(outcome.reported("ech-retried").is_empty(), "{}", outcome.said);
        assert_eq!(outcome.reported("ech"), ["accepted"]);
    }
    let outcome = connect(&outdated, &[]).success();
    let said = "cover.example rejected Encrypted ClientHello; connecting again with the \
                configurations that it sent\n";
    assert!(outcome.said.starts_with(said), "{}", outcome.said);
    assert_eq!(outcome.reported("ech"), ["accepted"]);
    assert_eq!(outcome.reported("ech-retried"), ["yes"]);
    assert!(outcome.text().contains("<th>ech</th><td>accepted</td>"));
    let value = json(connect(&outdated, &["--json", "--quiet"]));
    assert_eq!((&value["ech"], &value["ech_retried"]), (&"accepted".into(), &true.into()));
}

/// RFC 9849 6.1.6
#[test]
fn a_server_without_keys_is_asked_again_without_encryption() {
    let folder = Folder::new();
    let (_, record) = generate(&folder, "one.ech", "localhost");
    let server = Server::start(&[]);
    let outcome = server.connect(&["--ech", base64(&record)], b"").success();
    let said = "localhost rejected Encrypted ClientHello; connecting again without it";
    assert!(outcome.said.starts_with(said), "{}", outcome.said);
    assert_eq!(outcome.reported("ech"), ["not offered"]);

    // A server that cannot prove the public name gets nothing.
    let (_, record) = generate(&folder, "two.ech", "cover.example");
    let refused = server.connect(&["--ech", base64(&record), "--json"], b"");
    let expected = "its certificate for the public name was refused";
    assert!(refused.failure().contains(expected), "{}", refused.said);
    assert!(!refused.said.contains("--name"), "{}", refused.said);
    let value: Value = serde_json::from_slice(&refused.output).unwrap();
    assert_eq!(value["reason"], "certificate");
}

/// RFC 9849 6.2
#[test]
fn random_contents_are_the_default() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let with_keys = Server::start(&["--ech", &file]);
    let without = Server::start(&[]);
    for server in [&with_keys, &without] {
        for (options, expected) in [
            (&[][..], "grease"),
            (&["--ech", "grease"], "grease"),
            (&["--ech", "off"], "not offered"),
            (&["--tls1.2"], "not offered"),
        ] {
            let outcome = server.connect(options, b"").success();
            assert_eq!(outcome.reported("ech"), [expected], "{options:?}");
        }
    }
    with_keys.wait_for("ech=rejected");
    assert!(!without.end().contains("ech="));
}

/// RFC 9849 6.1.5
#[test]
fn sessions_and_retries_go_with_encryption() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let server = Server::start(&["--ech", &file, "--early-data", "4096", "--groups", "secp384r1"]);
    let sessions = folder.file("sessions").display().to_string();
    let early = folder.write("early", "GET / HTTP/1.0\r\n\r\n");
    let options = ["--ech", &file, "--name", "localhost", "--session-file", &sessions];
    let connect = |more: &[&str]| {
        let outcome = server.connect(&[&options, more].concat(), b"GET / HTTP/1.0\r\n\r\n");
        let outcome = outcome.success();
        assert_eq!(outcome.reported("ech"), ["accepted"], "{}", outcome.said);
        outcome
    };
    let outcome = connect(&[]);
    assert_eq!(
        (outcome.reported("retried"), outcome.reported("resumed")),
        (vec!["yes"], vec!["no"])
    );
    let outcome = connect(&["--groups", "secp384r1", "--early-data", &early]);
    assert_eq!(outcome.reported("resumed"), ["yes"]);
    assert_eq!(outcome.reported("early-data"), ["accepted"]);
}

/// RFC 9849 6.1, 6.2
#[test]
fn load_is_generated_with_encryption() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let (_, outdated) = generate(&folder, "outdated", "cover.example");
    let server = Server::start(&["--ech", &file]);
    let load = |source: &str| {
        let mut command = tercel();
        command.args(["load", &server.address, "--ca", &server.ca, "--name", "localhost"]);
        command.args(["--full", "--connections", "1", "--threads", "1", "--seconds", "1"]);
        run(command.args(["--warm-up", "0", "--ech", source]), b"")
    };
    load(&file).success();
    server.wait_for("name=localhost ech=accepted outer-name=cover.example");
    load("grease").success();
    server.wait_for("name=localhost ech=rejected");
    let failed = load(base64(&outdated));
    assert_eq!(failed.status, Some(1), "{}", failed.said);
    assert!(String::from_utf8_lossy(&failed.output).contains("the server rejected ECH"));
    assert_eq!(load("auto").status, Some(2));
}

#[test]
fn unsuitable_options_are_refused_before_a_connection() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let refused = |arguments: &[&str]| run(tercel().args(arguments), b"").said;
    let said = refused(&["connect", "127.0.0.1:1", "--ech", &file, "--tls1.2"]);
    assert!(said.contains("--ech needs TLS 1.3"), "{said}");
    let said = refused(&["connect", "127.0.0.1:1", "--ech", "missing.ech"]);
    assert!(said.contains("--ech: there is no file `missing.ech`"), "{said}");
    let said = refused(&["serve", "--ech", "missing.ech"]);
    assert!(said.contains("missing.ech: "), "{said}");
    let empty = folder.file("empty");
    fs::create_dir(&empty).unwrap();
    let said = refused(&["serve", "--ech", &empty.display().to_string()]);
    assert!(said.contains("there is no file *.ech"), "{said}");
    #[cfg(not(feature = "dns"))]
    {
        let said = refused(&["connect", "127.0.0.1:1", "--ech", "auto"]);
        assert!(said.contains("without lookups in DNS: build it with the feature dns"), "{said}");
    }
}

/// The server prints the command that offers its configuration.
#[test]
fn the_printed_command_offers_the_configuration() {
    let folder = Folder::new();
    let keys = folder.file("keys");
    fs::create_dir(&keys).unwrap();
    let (file, _) = generate(&folder, "keys/one.ech", "cover.example");
    let (last, _) = generate(&folder, "keys/two.ech", "cover.example");
    let commands = |options: &[&str]| {
        let state = folder.file("state").display().to_string();
        let mut serve = tercel();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--state-dir", &state]).args(options);
        let mut serve = serve.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(serve.stdout.take().unwrap()).lines();
        let connect = lines.find_map(|line| line.ok().filter(|line| line.contains(" connect ")));
        serve.kill().unwrap();
        serve.wait().unwrap();
        connect.unwrap()
    };
    assert!(commands(&["--ech", &file]).ends_with(&format!(" --ech {file}")));
    let directory = keys.display().to_string();
    assert!(commands(&["--ech", &directory]).ends_with(&format!(" --ech {last}")));
    assert!(!commands(&[]).contains("--ech"));
}

/// RFC 9849 6.1, 6.1.6
#[cfg(feature = "http3")]
#[test]
fn the_name_is_encrypted_over_quic() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let (_, outdated) = generate(&folder, "outdated.ech", "cover.example");
    let server = Server::start(&["--http3", "--ech", &file]);
    let connect = |source: &str, more: &[&str]| {
        let options = ["--http3", "--name", "localhost", "--ech", source];
        server.connect(&[&options, more].concat(), b"")
    };
    let outcome = connect(&file, &[]).success();
    assert_eq!(outcome.reported("ech"), ["accepted"], "{}", outcome.said);
    assert_eq!(outcome.reported("ech-outer-name"), ["cover.example"]);
    assert_eq!(outcome.reported("ech-inner-name"), ["localhost"]);
    assert!(outcome.reported("ech-retried").is_empty());
    let outcome = connect(base64(&outdated), &[]).success();
    let said = "cover.example rejected Encrypted ClientHello; connecting again with the \
                configurations that it sent\n";
    assert!(outcome.said.starts_with(said), "{}", outcome.said);
    assert_eq!(outcome.reported("ech"), ["accepted"]);
    assert_eq!(outcome.reported("ech-retried"), ["yes"]);
    assert_eq!(connect("grease", &[]).success().reported("ech"), ["grease"]);
    assert_eq!(connect("off", &[]).success().reported("ech"), ["not offered"]);
    let value = json(connect(&file, &["--json"]));
    assert_eq!(
        (&value["ech"], &value["ech_inner_name"]),
        (&"accepted".into(), &"localhost".into())
    );
    // A server without keys, and one that cannot prove the public name.
    let without = Server::start(&["--http3"]);
    let (_, own) = generate(&folder, "own.ech", "localhost");
    let options = ["--http3", "--ech", base64(&own)];
    let outcome = without.connect(&options, b"").success();
    assert!(outcome.said.contains("connecting again without it"), "{}", outcome.said);
    assert_eq!(outcome.reported("ech"), ["not offered"]);
    let options = ["--http3", "--ech", base64(&outdated), "--json"];
    let refused = without.connect(&options, b"");
    let expected = "its certificate for the public name was refused";
    assert!(refused.failure().contains(expected), "{}", refused.said);
    let value: Value = serde_json::from_slice(&refused.output).unwrap();
    assert_eq!(value["reason"], "certificate");
}

/// RFC 9849 6.1.6
#[test]
fn a_server_without_a_certificate_for_the_public_name_warns() {
    let folder = Folder::new();
    let (file, _) = generate(&folder, "one.ech", "cover.example");
    let leaf = Leaf::new("localhost", 2099);
    let files = leaf.write(&folder, "leaf");
    let server = Server::start(&[&refs(&files)[..], &["--ech", &file]].concat());
    server.wait_for("no certificate for the public name cover.example of --ech");
}
