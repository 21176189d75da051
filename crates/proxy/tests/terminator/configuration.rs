//! Valid and invalid configurations, and their error messages.

use crate::support::{Folder, quoted};
use tercel_proxy::{CommandLineOptions, Config, check};

const GOOD: &str =
    "[[listener]]\naddress = \"127.0.0.1:0\"\nto = \"127.0.0.1:1\"\ncertificates = \"c\"\n";

fn line(text: &str) -> String {
    match Config::parse("f.toml", text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(error) => error.to_string(),
    }
}

/// Checks that the error for each configuration is one line with this beginning.
fn assert_errors<const N: usize>(cases: [(String, &str); N]) {
    for (text, expected) in cases {
        let line = line(&text);
        assert!(line.starts_with(expected), "{line}\nfor\n{text}");
        assert!(!line.contains('\n'), "{line}");
    }
}

/// A configuration whose route for `a.example` contains this text.
fn route(text: &str) -> String {
    format!("{GOOD}[[listener.route]]\nnames = \"a.example\"\n{text}\n")
}

/// RFC 8470 5.1
#[test]
fn errors_about_resumption_are_one_line_with_file_key_and_reason() {
    Config::parse("f.toml", GOOD).unwrap();
    assert_errors([
        (
            format!("[resumption]\ntickets = \"shared\"\n{GOOD}"),
            "f.toml: resumption.ticket_keys: is missing",
        ),
        (
            format!("[resumption]\ntickets = \"off\"\nsession_ids = 9\n{GOOD}"),
            "f.toml: resumption.session_ids: cannot be set with tickets = \"off\"",
        ),
        (
            format!("[resumption]\nticket_keys = \"k\"\n{GOOD}"),
            "f.toml: resumption.ticket_keys: requires",
        ),
        (
            format!("[resumption]\nsessions = \"shared\"\n{GOOD}"),
            "f.toml: resumption.sessions: requires a store",
        ),
        (
            format!("[resumption]\nguard = \"shared\"\n{GOOD}"),
            "f.toml: resumption.guard: requires a store",
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
            "f.toml: listener[0].early_data: could be replayed to every process",
        ),
        (
            format!("{GOOD}early_data_at_once = true\nsend_proxy_protocol = true\n"),
            "f.toml: listener[0].early_data_at_once: requires early_data",
        ),
        (
            format!("{GOOD}early_data_at_once = true\nearly_data = 1\n"),
            "f.toml: listener[0].early_data_at_once: requires send_proxy_protocol",
        ),
        (
            format!("[resumption]\ntickets = \"mine\"\n{GOOD}"),
            "f.toml: resumption.tickets: \"mine\" must be one of",
        ),
        (format!("{GOOD}early_data = 99999\n"), "f.toml: listener[0].early_data: 99999 must be"),
        (
            format!("[resumption]\ntickets = \"off\"\n{GOOD}early_data = 1\n"),
            "f.toml: listener[0].early_data: requires session resumption",
        ),
    ]);
}

#[test]
fn errors_about_global_settings_are_one_line_with_file_key_and_reason() {
    assert_errors([
        (format!("group = \"g\"\n{GOOD}"), "f.toml: group: requires user"),
        ("a = \n".to_owned(), "f.toml: line 1: "),
        (format!("{GOOD}x = ["), "f.toml: line "),
        (
            format!("worker = 1\n{GOOD}"),
            "f.toml: worker: unknown key in the top level; did you mean `workers`? known keys: \
             workers, hash_lanes, drain",
        ),
        (
            format!("workers = 0\n{GOOD}"),
            "f.toml: workers: 0 must be a whole number from 1 to 1024",
        ),
        (format!("workers = -1\n{GOOD}"), "f.toml: workers: -1 must be a whole number"),
        (format!("hash_lanes = 0\n{GOOD}"), "f.toml: hash_lanes: must be "),
        (format!("[kernels]\naes-gcm = 1\n{GOOD}"), "f.toml: kernels.aes-gcm: must be "),
        (
            format!("[kernels]\naes_gcm = false\n{GOOD}"),
            "f.toml: kernels.aes_gcm: unknown key in [kernels]; did you mean `aes-gcm`?",
        ),
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
        (format!("[timeouts]\nsleep = 1\n{GOOD}"), "f.toml: timeouts.sleep: unknown key"),
    ]);
}

#[test]
fn errors_about_listeners_are_one_line_with_file_key_and_reason() {
    assert_errors([
        (
            format!("{GOOD}proxy_protocol_from = \"10.0.0.0/8\"\n"),
            "f.toml: listener[0].proxy_protocol_from: requires accept_proxy_protocol = true",
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
        (String::new(), "f.toml: listener: is missing"),
        (
            "listener = 1".to_owned(),
            "f.toml: listener: must be a list of tables, not a whole number",
        ),
        ("[listener]\n".to_owned(), "f.toml: listener: must be written [[listener]]"),
        (format!("{GOOD}colour = 1\n"), "f.toml: listener[0].colour: unknown key"),
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
            "f.toml: listener[1].address: is already used by another listener",
        ),
        (format!("{GOOD}connections = 0\n"), "f.toml: listener[0].connections: 0 must be"),
        (
            format!("{GOOD}accept_proxy_protocol = 1\n"),
            "f.toml: listener[0].accept_proxy_protocol: must be true or false",
        ),
    ]);
}

/// Without the unknown key, the error would be that a key is missing.
#[test]
fn misspelt_keys_are_named_with_their_line_and_the_nearest_key() {
    let listener = "f.toml: listener[0].adress: unknown key in [[listener]]; did you mean \
                    `address`? known keys: address, connections, ";
    assert_errors([
        (GOOD.replace("address", "adress"), listener),
        (
            format!("{}kye = \"k\"\n", GOOD.replace("certificates", "certificate")),
            "f.toml: listener[0].kye: unknown key in [[listener]]; did you mean `key`?",
        ),
        (
            GOOD.replace("[[listener]]", "[[listner]]"),
            "f.toml: listner: unknown key in the top level; did you mean `listener`?",
        ),
        (
            route("").replace("names", "name"),
            "f.toml: listener[0].route[0].name: unknown key in [[listener.route]]; did you mean \
             `names`?",
        ),
        (
            format!("[resumption.store]\nulr = \"redis://h\"\nsecret = \"s\"\n{GOOD}"),
            "f.toml: resumption.store.ulr: unknown key in [resumption.store]; did you mean `url`?",
        ),
        (
            format!("{GOOD}zzz = 1\n"),
            "f.toml: listener[0].zzz: unknown key in [[listener]]; known keys: ",
        ),
    ]);
    let misspelt = line(&GOOD.replace("address", "adress"));
    assert!(misspelt.ends_with(" (line 2)"), "{misspelt}");
    let wrong_type = line(&format!("workers = 1\n[log]\nlevel = 3\n{GOOD}"));
    assert_eq!(wrong_type, "f.toml: log.level: must be a string, not a whole number (line 3)");
}

#[test]
fn errors_about_route_settings_are_one_line_with_file_key_and_reason() {
    assert_errors([
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
        (format!("{GOOD}key = \"k\"\n"), "f.toml: listener[0].certificates: cannot be combined"),
        (GOOD.replace("certificates", "certificate"), "f.toml: listener[0].key: is missing"),
        (GOOD.replace("certificates", "key"), "f.toml: listener[0].certificate: is missing"),
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
        (format!("{GOOD}client_ca = \"x\"\n"), "f.toml: listener[0].client_ca: has no effect"),
        (
            format!("{GOOD}min_version = \"1.1\"\n"),
            "f.toml: listener[0].min_version: \"1.1\" must be one of \"1.2\", \"1.3\"",
        ),
        (
            format!("{GOOD}connect = \"later\"\n"),
            "f.toml: listener[0].connect: \"later\" must be one of",
        ),
        (
            format!("{GOOD}on_truncation = \"end\"\n"),
            "f.toml: listener[0].on_truncation: \"end\" must be one of \"auto\", \"reset\"",
        ),
    ]);
}

#[test]
fn errors_about_routes_are_one_line_with_file_key_and_reason() {
    assert_errors([
        (route("colour = 1"), "f.toml: listener[0].route[0].colour: unknown key"),
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
            "f.toml: listener[0].route[0].names[0]: \"*.example\" matches every",
        ),
        (
            route("").replace("a.example", "192.0.2.1"),
            "f.toml: listener[0].route[0].names[0]: \"192.0.2.1\" is an IP address",
        ),
        (
            route("[[listener.route]]\nnames = \"A.example\""),
            "f.toml: listener[0].route[1].names[0]: \"A.example\" is already used",
        ),
        (
            format!("{GOOD}[[listener.route]]\n[[listener.route]]\n"),
            "f.toml: listener[0].route[1].names: is missing",
        ),
        (route("client_auth = \"required\""), "f.toml: listener[0].route[0].client_ca: is missing"),
        (route("to = [\"h:1\", \"h\"]"), "f.toml: listener[0].route[0].to[1]: \"h\" must be"),
    ]);
}

#[test]
fn check_loads_files_and_resolves_names() {
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
        let error = check(&Config::parse("f.toml", &text).unwrap()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\nfor\n{text}");
        assert!(!error.contains('\n'), "{error}");
    }
    let missing = Config::load(&folder.path("none.toml")).unwrap_err();
    assert!(missing.to_string().contains("none.toml: No such file"), "{missing}");
}

/// The manual's example is valid, and its values are defaults where it says that they are.
#[test]
fn manual_example_is_valid() {
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

/// The connections to the store are made by the same process, so the option holds for them, too.
#[test]
fn fips_holds_for_the_store() {
    let parse = |fips: bool| {
        let store = "[resumption.store]\nurl = \"rediss://store.example\"\nsecret = \"s\"\n";
        Config::parse("f.toml", &format!("fips = {fips}\n{GOOD}\n{store}"))
    };
    let of_store = |config: Config| config.resumption.fleet.unwrap().store.unwrap().fips;
    assert!(!of_store(parse(false).unwrap()));
    match parse(true) {
        Ok(config) => assert!(of_store(config)),
        Err(error) => assert_eq!(tercel::fips::fips_module(), None, "{error}"),
    }
}

/// The example for systemd is valid, and listens on the address of the socket unit.
#[test]
fn example_for_systemd_is_valid() {
    let example = include_str!("../../examples/systemd/proxy.toml");
    let config = Config::parse("proxy.toml", example).unwrap();
    let [listener] = config.listeners.as_slice() else { panic!("{:?}", config.listeners) };
    let socket = include_str!("../../examples/systemd/tercel-proxy.socket");
    assert!(socket.contains(&format!("\nListenStream={}\n", listener.address)), "{socket}");
}

#[test]
fn command_line_errors_name_the_option() {
    let simple = CommandLineOptions {
        listen: "127.0.0.1:0".to_owned(),
        to: vec!["127.0.0.1:1".to_owned()],
        certificates: Some("c".into()),
        ..CommandLineOptions::default()
    };
    let config = Config::from_options(&simple).unwrap();
    assert_eq!(config.listeners.len(), 1);
    for (bad, expected) in [
        (
            CommandLineOptions { listen: "x".to_owned(), ..simple.clone() },
            "command line: --listen: ",
        ),
        (CommandLineOptions { to: vec!["x".to_owned()], ..simple.clone() }, "command line: --to: "),
        (
            CommandLineOptions { to: vec!["h:1".to_owned(), "x".to_owned()], ..simple.clone() },
            "command line: --to: ",
        ),
        (CommandLineOptions { certificates: None, ..simple.clone() }, "command line: --cert-dir: "),
        (
            CommandLineOptions { key: Some("k".into()), ..simple.clone() },
            "command line: --cert-dir: ",
        ),
        (CommandLineOptions { workers: Some(0), ..simple.clone() }, "command line: --workers: "),
        (
            CommandLineOptions { admin: Some("x".to_owned()), ..simple.clone() },
            "command line: --admin: ",
        ),
        (
            CommandLineOptions { log: Some("x".to_owned()), ..simple.clone() },
            "command line: --log: ",
        ),
        (
            CommandLineOptions { log_level: Some("x".to_owned()), ..simple.clone() },
            "command line: --log-level: ",
        ),
    ] {
        let error = Config::from_options(&bad).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    let error = check(&config).unwrap_err().to_string();
    assert!(error.starts_with("command line: --cert-dir: "), "{error}");
}

#[test]
fn manual_documents_every_key() {
    let manual = include_str!("../../../../docs/proxy.md");
    let route = "[[listener.route]]\nnames = \"a.example\"\n";
    let store = "[resumption.store]\nurl = \"redis://h\"\nsecret = \"s\"\n";
    // The error about an unknown key lists the known keys.
    for text in [
        format!("? = 1\n{GOOD}"),
        format!("[admin]\n? = 1\n{GOOD}"),
        format!("[ech]\n? = 1\n{GOOD}"),
        format!("[log]\n? = 1\n{GOOD}"),
        format!("[limits]\n? = 1\n{GOOD}"),
        format!("[timeouts]\n? = 1\n{GOOD}"),
        format!("[resumption]\n? = 1\n{GOOD}"),
        format!("{store}? = 1\n{GOOD}"),
        format!("{GOOD}? = 1\n"),
        format!("{GOOD}{route}? = 1\n"),
    ] {
        let error = line(&text.replace("? =", "unknown ="));
        let (_, known) = error.split_once("known keys: ").unwrap_or_else(|| panic!("{error}"));
        let known = known.split(" (line ").next().unwrap_or(known);
        for key in known.split(", ") {
            let places = [format!("\n{key} = "), format!("\n# {key} = "), format!("{key}]")];
            assert!(places.iter().any(|place| manual.contains(place)), "{key} of {text}");
        }
    }
}
