//! Clients that come back to another process than the one they came from.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Folder, client, connect_with, echo, echoed, quoted, start};

#[tokio::test]
async fn ticket_keys_in_a_file_are_good_for_all_who_have_it() {
    let folder = Folder::new(&["a.example"]);
    let file = folder.path("ticket.keys");
    let (name, secret) = ("ab".repeat(16), "cd".repeat(32));
    std::fs::write(&file, format!("1000 {name}{secret}\n")).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let text = format!(
        "workers = 1\n{}to = \"{}\"\n[resumption]\ntickets = \"shared\"\nticket_keys = {}\n",
        folder.listener(),
        echo().await,
        quoted(&file)
    );
    let (one, other) = (start(&text), start(&text));
    let settings = client().build().unwrap();
    for (proxy, resumed) in [(&one, false), (&other, true), (&one, true)] {
        let stream = connect_with(proxy, "a.example", settings.clone()).await;
        let mut stream = stream.unwrap();
        assert_eq!(stream.facts().resumed, resumed);
        assert_eq!(echoed(&mut stream, b"x").await, b"x");
    }
    // Without the file nothing is opened.
    std::fs::remove_file(&file).unwrap();
    let config = crate::support::config(&text);
    let fault = tercel_proxy::check(&config).unwrap_err();
    assert_eq!(fault.key, "resumption.ticket_keys", "{fault}");
}
