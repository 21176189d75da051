//! Refusals by an application's verifier, with its own explanation.

use rcgen::date_time_ymd;
use tercel_pki::{Refusal, RefusalReason, ServerName};

use crate::support::{Chain, Pki, at, leaf_params, name, now};

fn refusal(
    reason: RefusalReason,
    chain: &Chain,
    requested_name: Option<&ServerName<'_>>,
) -> Refusal {
    Refusal::new(reason, chain, requested_name, now())
}

/// The text is one line for every reason, and ends with the explanation.
#[test]
fn an_explanation_ends_the_text_of_each_reason() {
    let pki = Pki::new();
    let chain = pki.chain(&leaf_params(&["a.example"]));
    for reason in [
        RefusalReason::NameMismatch,
        RefusalReason::UnknownIssuer,
        RefusalReason::Expired { not_after: at(1_000) },
        RefusalReason::ByVerifier { alert: 49 },
    ] {
        for requested_name in [None, Some(&name("b.example"))] {
            let plain = refusal(reason, &chain, requested_name);
            assert_eq!(plain.explanation, None);
            let explained = plain.clone().with_explanation("not a service of example.org");
            assert_eq!(explained.reason, reason);
            assert_eq!(
                explained.to_string(),
                format!("{plain}: not a service of example.org"),
                "{reason:?}"
            );
        }
    }
}

#[test]
fn an_explanation_that_quotes_the_peer_stays_on_one_line() {
    let chain = Pki::new().chain(&leaf_params(&["a.example"]));
    let explained = refusal(RefusalReason::UnknownIssuer, &chain, None)
        .with_explanation("no such name: a\nb\u{1b}[2J\u{202e}");
    let text = explained.to_string();
    assert!(text.ends_with(r"no such name: a\u{a}b\u{1b}[2J\u{202e}"), "{text}");
    // The field has the verifier's text without escapes.
    assert_eq!(explained.explanation.as_deref(), Some("no such name: a\nb\u{1b}[2J\u{202e}"));
}

#[test]
fn the_last_explanation_replaces_an_earlier_one() {
    let chain = Pki::new().chain(&leaf_params(&["a.example"]));
    let twice = refusal(RefusalReason::UnknownIssuer, &chain, None)
        .with_explanation("first")
        .with_explanation(String::from("second"));
    assert!(twice.to_string().ends_with(": second") && !twice.to_string().contains("first"));
}

/// The names and the position come from the chain, as for a refusal by the library.
#[test]
fn a_verifiers_refusal_describes_the_chain() {
    let pki = Pki::new();
    let mut params = leaf_params(&["a.example", "192.0.2.7"]);
    params.not_after = date_time_ymd(2024, 1, 1);
    let chain = pki.chain(&params);
    let not_after = tercel_pki::not_after(&chain[0]).unwrap();
    let refused = refusal(RefusalReason::Expired { not_after }, &chain, Some(&name("a.example")));
    assert_eq!(refused.names, ["a.example", "192.0.2.7"]);
    assert_eq!(refused.position, Some(0));
    assert_eq!(refused.chain, chain);
    assert_eq!(refused.requested_name, Some(name("a.example").to_owned()));
    assert_eq!(refused.time, now());
    // A raw public key has no chain, so there is nothing to describe.
    let raw = refusal(RefusalReason::UntrustedRawKey, &Vec::new(), None);
    assert!(raw.names.is_empty() && raw.chain.is_empty() && raw.position.is_none());
}
