//! What a configuration may say, and the one line about what it may not.

use crate::support::{Folder, quoted};
use tercel_proxy::{Config, Simple, check};

const GOOD: &str =
    "[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\ncertificates = \"c\"\n";

fn line(text: &str) -> String {
    match Config::parse("f.toml", text) {
        Ok(_) => panic!("taken: {text}"),
        Err(fault) => fault.to_string(),
    }
}

#[test]
fn each_fault_is_a_line_with_file_key_and_reason() {
    Config::parse("f.toml", GOOD).unwrap();
    let route = |text: &str| format!("{GOOD}[[listener.route]]\nnames = \"a.example\"\n{text}\n");
    for (text, expected) in [
        (
            format!("[resumption]\ntickets = \"shared\"\n{GOOD}"),
            "f.toml: resumption.ticket_keys: is missing",
        ),
        (
            format!("[resumption]\ntickets = \"off\"\nsession_ids = 9\n{GOOD}"),
            "f.toml: resumption.session_ids: are kept beside tickets only",
        ),
        (
            format!("[resumption]\nticket_keys = \"k\"\n{GOOD}"),
            "f.toml: resumption.ticket_keys: is only for",
        ),
        (
            format!("[resumption]\nsessions = \"shared\"\n{GOOD}"),
            "f.toml: resumption.sessions: need a store",
        ),
        (
            format!("[resumption]\nguard = \"shared\"\n{GOOD}"),
            "f.toml: resumption.guard: needs a store",
        ),
        (
            format!("[resumption]\nfreshness_window = 1\n{GOOD}"),
            "f.toml: resumption.freshness_window: 1 must be a whole number from 2 to 60",
        ),
        (
            format!("[resumption.store]\nconnections = 2\n{GOOD}"),
            "f.toml: resumption.store.url: is missing",
        ),
        (
            format!("[resumption.store]\nurl = \"redis://h\"\n{GOOD}"),
            "f.toml: resumption.store.secret: is missing",
        ),
        (
            format!("[resumption.store]\nurl = \"redis://h\"\nsecret = \"s\"\nkey = \"k\"\n{GOOD}"),
            "f.toml: resumption.store.certificate: is missing",
        ),
        (
            format!(
                "{GOOD}early_data = 1\n[resumption]\ntickets = \"shared\"\nticket_keys = \"k\"\n"
            ),
            "f.toml: listener[0].early_data: could be accepted again by each process",
        ),
        (
            format!("{GOOD}early_data_at_once = true\nsend_proxy_protocol = true\n"),
            "f.toml: listener[0].early_data_at_once: is for routes that accept early_data",
        ),
        (
            format!("{GOOD}early_data_at_once = true\nearly_data = 1\n"),
            "f.toml: listener[0].early_data_at_once: needs send_proxy_protocol",
        ),
        (format!("group = \"g\"\n{GOOD}"), "f.toml: group: is only for who gives up"),
        (
            format!("{GOOD}proxy_protocol_from = \"10.0.0.0/8\"\n"),
            "f.toml: listener[0].proxy_protocol_from: is for accept_proxy_protocol",
        ),
        (
            format!("{GOOD}accept_proxy_protocol = true\nproxy_protocol_from = []\n"),
            "f.toml: listener[0].proxy_protocol_from: is empty",
        ),
        (
            format!(
                "{GOOD}accept_proxy_protocol = true\nproxy_protocol_from = [\"::1\", \"10/8\"]\n"
            ),
            "f.toml: listener[0].proxy_protocol_from[1]: \"10/8\" must be an address or a network",
        ),
        (String::new(), "f.toml: listener: there is none"),
        (
            "listener = 1".to_owned(),
            "f.toml: listener: must be a list of tables, not a whole number",
        ),
        ("[listener]\n".to_owned(), "f.toml: listener: must be written [[listener]]"),
        ("a = \n".to_owned(), "f.toml: line 1: "),
        (format!("{GOOD}x = ["), "f.toml: line "),
        (
            format!("worker = 1\n{GOOD}"),
            "f.toml: worker: no such key here; there are workers, hash_lanes, drain",
        ),
        (format!("{GOOD}colour = 1\n"), "f.toml: listener[0].colour: no such key here"),
        (route("colour = 1"), "f.toml: listener[0].route[0].colour: no such key here"),
        (
            format!("workers = 0\n{GOOD}"),
            "f.toml: workers: 0 must be a whole number from 1 to 1024",
        ),
        (format!("workers = -1\n{GOOD}"), "f.toml: workers: -1 must be a whole number"),
        (format!("hash_lanes = 0\n{GOOD}"), "f.toml: hash_lanes: must be "),
        (
            format!("workers = \"2\"\n{GOOD}"),
            "f.toml: workers: must be a whole number from 1 to 1024, not a string",
        ),
        (
            format!("drain = 1e9\n{GOOD}"),
            "f.toml: drain: must be a number of seconds from 0 to 86400",
        ),
        (format!("drain = nan\n{GOOD}"), "f.toml: drain: must be a number of seconds"),
        (
            format!("drain = true\n{GOOD}"),
            "f.toml: drain: must be a number of seconds from 0 to 86400, not true or false",
        ),
        (format!("user = \"\"\n{GOOD}"), "f.toml: user: is empty"),
        (format!("log = 1\n{GOOD}"), "f.toml: log: must be a table, not a whole number"),
        (
            format!("[log]\nformat = \"xml\"\n{GOOD}"),
            "f.toml: log.format: \"xml\" must be one of \"text\", \"json\"",
        ),
        (
            format!("[log]\nlevel = \"loud\"\n{GOOD}"),
            "f.toml: log.level: \"loud\" must be one of \"error\"",
        ),
        (
            format!("[admin]\naddress = \"9090\"\n{GOOD}"),
            "f.toml: admin.address: \"9090\" must be ADDRESS:PORT",
        ),
        (format!("[limits]\nconnections = 0\n{GOOD}"), "f.toml: limits.connections: 0 must be"),
        (format!("[limits]\nper_client = 0\n{GOOD}"), "f.toml: limits.per_client: 0 must be"),
        (
            format!("[timeouts]\nidle = 0\n{GOOD}"),
            "f.toml: timeouts.idle: must be a number of seconds from 0.1",
        ),
        (format!("[timeouts]\nsleep = 1\n{GOOD}"), "f.toml: timeouts.sleep: no such key here"),
        (
            format!("[resumption]\ntickets = \"mine\"\n{GOOD}"),
            "f.toml: resumption.tickets: \"mine\" must be one of",
        ),
        (
            GOOD.replace("address = \"127.0.0.1:0\"\n", ""),
            "f.toml: listener[0].address: is missing",
        ),
        (
            GOOD.replace("127.0.0.1:0", "127.0.0.1"),
            "f.toml: listener[0].address: \"127.0.0.1\" must be ADDRESS:PORT",
        ),
        (
            GOOD.replace("127.0.0.1:0", ":x"),
            "f.toml: listener[0].address: \":x\" has no port after the colon",
        ),
        (
            GOOD.replace(":0\"", ":443\"") + &GOOD.replace(":0\"", ":443\""),
            "f.toml: listener[1].address: is that of another listener",
        ),
        (GOOD.replace("to = \"127.0.0.1:1\"\n", ""), "f.toml: listener[0].to: is missing"),
        (GOOD.replace("\"127.0.0.1:1\"", "[]"), "f.toml: listener[0].to: is empty"),
        (
            GOOD.replace("\"127.0.0.1:1\"", "[\"h:1\", 2]"),
            "f.toml: listener[0].to[1]: must be a string, not a whole number",
        ),
        (
            GOOD.replace("127.0.0.1:1", "127.0.0.1"),
            "f.toml: listener[0].to: \"127.0.0.1\" must be ADDRESS:PORT, NAME:PORT or unix:PATH",
        ),
        (
            GOOD.replace("127.0.0.1:1", "127.0.0.1:0"),
            "f.toml: listener[0].to: \"127.0.0.1:0\" has no port",
        ),
        (
            GOOD.replace("127.0.0.1:1", "127.0.1:80"),
            "f.toml: listener[0].to: \"127.0.1:80\" must be",
        ),
        (GOOD.replace("127.0.0.1:1", "a b:80"), "f.toml: listener[0].to: \"a b:80\" must be"),
        (
            GOOD.replace("127.0.0.1:1", "host:99999"),
            "f.toml: listener[0].to: \"host:99999\" must be",
        ),
        (
            GOOD.replace("127.0.0.1:1", "unix:run/x"),
            "f.toml: listener[0].to: \"unix:run/x\" must have an absolute path",
        ),
        (
            GOOD.replace("certificates = \"c\"\n", ""),
            "f.toml: listener[0].certificates: is missing",
        ),
        (format!("{GOOD}key = \"k\"\n"), "f.toml: listener[0].certificates: goes without"),
        (GOOD.replace("certificates", "certificate"), "f.toml: listener[0].key: is missing"),
        (GOOD.replace("certificates", "key"), "f.toml: listener[0].certificate: is missing"),
        (format!("{GOOD}connections = 0\n"), "f.toml: listener[0].connections: 0 must be"),
        (
            format!("{GOOD}accept_proxy_protocol = 1\n"),
            "f.toml: listener[0].accept_proxy_protocol: must be true or false",
        ),
        (format!("{GOOD}alpn = [\"\"]\n"), "f.toml: listener[0].alpn[0]: is empty"),
        (
            format!("{GOOD}alpn = \"{}\"\n", "x".repeat(256)),
            "f.toml: listener[0].alpn[0]: has more than 255 bytes",
        ),
        (
            format!("{GOOD}client_auth = \"yes\"\n"),
            "f.toml: listener[0].client_auth: \"yes\" must be one of",
        ),
        (
            format!("{GOOD}client_auth = \"required\"\n"),
            "f.toml: listener[0].client_ca: is missing",
        ),
        (format!("{GOOD}client_ca = \"x\"\n"), "f.toml: listener[0].client_ca: is of no use"),
        (
            format!("{GOOD}min_version = \"1.1\"\n"),
            "f.toml: listener[0].min_version: \"1.1\" must be one of \"1.2\", \"1.3\"",
        ),
        (format!("{GOOD}early_data = 99999\n"), "f.toml: listener[0].early_data: 99999 must be"),
        (
            format!("[resumption]\ntickets = \"off\"\n{GOOD}early_data = 1\n"),
            "f.toml: listener[0].early_data: needs sessions",
        ),
        (
            format!("{GOOD}connect = \"later\"\n"),
            "f.toml: listener[0].connect: \"later\" must be one of",
        ),
        (
            format!("{GOOD}on_truncation = \"end\"\n"),
            "f.toml: listener[0].on_truncation: \"end\" must be one of \"auto\", \"reset\"",
        ),
        (route("names = \"x\""), "f.toml: line "),
        (route("").replace("\"a.example\"", "[]"), "f.toml: listener[0].route[0].names: is empty"),
        (
            route("").replace("a.example", "a..example"),
            "f.toml: listener[0].route[0].names[0]: \"a..example\" is not a host name",
        ),
        (
            route("").replace("a.example", "a.*.example"),
            "f.toml: listener[0].route[0].names[0]: \"a.*.example\" may have a *",
        ),
        (
            route("").replace("a.example", "*.example"),
            "f.toml: listener[0].route[0].names[0]: \"*.example\" stands for",
        ),
        (
            route("").replace("a.example", "192.0.2.1"),
            "f.toml: listener[0].route[0].names[0]: \"192.0.2.1\" is an address",
        ),
        (
            route("[[listener.route]]\nnames = \"A.example\""),
            "f.toml: listener[0].route[1].names[0]: \"A.example\" is in another route",
        ),
        (
            format!("{GOOD}[[listener.route]]\n[[listener.route]]\n"),
            "f.toml: listener[0].route[1].names: is missing",
        ),
        (route("client_auth = \"required\""), "f.toml: listener[0].route[0].client_ca: is missing"),
        (route("to = [\"h:1\", \"h\"]"), "f.toml: listener[0].route[0].to[1]: \"h\" must be"),
    ] {
        let line = line(&text);
        assert!(line.starts_with(expected), "{line}\nfor\n{text}");
        assert!(!line.contains('\n'), "{line}");
    }
}

#[test]
fn what_is_named_is_looked_at_before_anything_is_opened() {
    let folder = Folder::new(&["a.example"]);
    let good = format!("{}to = \"127.0.0.1:1\"\n", folder.listener());
    check(&Config::parse("f.toml", &good).unwrap()).unwrap();
    let authority = quoted(&folder.path("certs/a.example.key"));
    for (text, expected) in [
        (good.replace("certs", "none"), "f.toml: listener[0].certificates: "),
        (
            good.replace("127.0.0.1:1", "no-such-host.invalid:1"),
            "f.toml: listener[0].to: no-such-host.invalid:1: ",
        ),
        (
            format!("{good}client_auth = \"required\"\nclient_ca = \"/none\"\n"),
            "f.toml: listener[0].client_ca: /none: ",
        ),
        (
            format!("{good}client_auth = \"required\"\nclient_ca = {authority}\n"),
            "f.toml: listener[0].client_ca: ",
        ),
    ] {
        let fault = check(&Config::parse("f.toml", &text).unwrap()).unwrap_err().to_string();
        assert!(fault.starts_with(expected), "{fault}\nfor\n{text}");
        assert!(!fault.contains('\n'), "{fault}");
    }
    let missing = Config::load(&folder.path("none.toml")).unwrap_err();
    assert!(missing.to_string().contains("none.toml: No such file"), "{missing}");
}

/// The example of the manual says what it means, and its values are the defaults where it says so.
#[test]
fn the_manuals_example_is_good() {
    let manual = include_str!("../../../../docs/proxy.md");
    let example = manual.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let config = Config::parse("docs/proxy.md", example).unwrap();
    assert_eq!(config.listeners.len(), 2);
    assert_eq!(config.listeners[0].routes.len(), 3);
    let plain = Config::parse("f.toml", GOOD).unwrap();
    assert_eq!(config.timeouts, plain.timeouts);
    assert_eq!(config.limits.connections, plain.limits.connections);
    assert_eq!(config.log, plain.log);
    assert_eq!(config.drain, plain.drain);
}

#[test]
fn options_are_called_by_their_names() {
    let simple = Simple {
        listen: "127.0.0.1:0".to_owned(),
        to: vec!["127.0.0.1:1".to_owned()],
        certificates: Some("c".into()),
        ..Simple::default()
    };
    let config = Config::simple(&simple).unwrap();
    assert_eq!(config.listeners.len(), 1);
    for (bad, expected) in [
        (Simple { listen: "x".to_owned(), ..simple.clone() }, "command line: --listen: "),
        (Simple { to: vec!["x".to_owned()], ..simple.clone() }, "command line: --to: "),
        (
            Simple { to: vec!["h:1".to_owned(), "x".to_owned()], ..simple.clone() },
            "command line: --to: ",
        ),
        (Simple { certificates: None, ..simple.clone() }, "command line: --cert-dir: "),
        (Simple { key: Some("k".into()), ..simple.clone() }, "command line: --cert-dir: "),
        (Simple { workers: Some(0), ..simple.clone() }, "command line: --workers: "),
        (Simple { admin: Some("x".to_owned()), ..simple.clone() }, "command line: --admin: "),
        (Simple { log: Some("x".to_owned()), ..simple.clone() }, "command line: --log: "),
        (
            Simple { log_level: Some("x".to_owned()), ..simple.clone() },
            "command line: --log-level: ",
        ),
    ] {
        let fault = Config::simple(&bad).unwrap_err().to_string();
        assert!(fault.starts_with(expected), "{fault}");
    }
    let fault = check(&config).unwrap_err().to_string();
    assert!(fault.starts_with("command line: --cert-dir: "), "{fault}");
}

#[test]
fn the_manual_has_every_key() {
    let manual = include_str!("../../../../docs/proxy.md");
    let route = "[[listener.route]]\nnames = \"a.example\"\n";
    let store = "[resumption.store]\nurl = \"redis://h\"\nsecret = \"s\"\n";
    // A key that is not known has those told that are.
    for text in [
        format!("? = 1\n{GOOD}"),
        format!("[admin]\n? = 1\n{GOOD}"),
        format!("[log]\n? = 1\n{GOOD}"),
        format!("[limits]\n? = 1\n{GOOD}"),
        format!("[timeouts]\n? = 1\n{GOOD}"),
        format!("[resumption]\n? = 1\n{GOOD}"),
        format!("{store}? = 1\n{GOOD}"),
        format!("{GOOD}? = 1\n"),
        format!("{GOOD}{route}? = 1\n"),
    ] {
        let told = line(&text.replace("? =", "unknown ="));
        let (_, known) = told.split_once("there are ").unwrap_or_else(|| panic!("{told}"));
        for key in known.split(", ") {
            let places = [format!("\n{key} = "), format!("\n# {key} = "), format!("{key}]")];
            assert!(places.iter().any(|place| manual.contains(place)), "{key} of {text}");
        }
    }
}
