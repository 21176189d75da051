//! The examples that need no network.

use std::path::Path;
use std::process::Command;

#[test]
fn early_data_is_rejected_by_a_new_guard_and_accepted_later() {
    // Cargo builds examples next to the tests that need them.
    let deps = std::env::current_exe().unwrap();
    let build = deps.parent().and_then(Path::parent).unwrap();
    let output = Command::new(build.join("examples/early_data")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8_lossy(&output.stdout);
    let lines = |side: &'static str| printed.lines().filter_map(move |it| it.strip_prefix(side));
    assert!(lines("server: ").eq(["None", "Some(NotAdmitted)", "None"]), "{printed}");
    // The third answer may come with the handshake or after it: that is a matter of timing.
    let states: Vec<_> = lines("client: ").filter_map(|line| line.split_once(": ")).collect();
    let [first, second, (third, _)] = states[..] else { panic!("{printed}") };
    assert_eq!(first, ("NotOffered, None", "answered after the handshake"));
    assert_eq!(second, ("Rejected, Some(ByServer)", "answered after the handshake"));
    assert_eq!(third, "Accepted, None");
}
