//! Checks the features of `tercel` in the manifests of the crates built on it, and the features
//! that docs.rs shows.

use std::collections::BTreeMap;
use std::fs;

use super::{repository, subfolders};

/// The crates that forward features of `tercel`: the folder, the dependency to which they forward,
/// and the features that they leave out with a reason in their manifest.
const FORWARDING: [(&str, &str, &[&str]); 5] = [
    ("tokio", "tercel", &OVER_TCP),
    ("hyper", "tercel-tokio", &OVER_TCP),
    ("postgres", "tercel-tokio", &OVER_TCP),
    // `quic` is always on there.
    ("quinn", "tercel", &["message-tap", "quic"]),
    ("native-tls", "tercel", &OF_NATIVE_TLS),
];

/// The public features that crates for TCP cannot use, because they own the handshakes.
const OVER_TCP: [&str; 2] = ["message-tap", "quic"];

/// The public features that `tercel-native-tls` enables or cannot use.
const OF_NATIVE_TLS: [&str; 5] = ["ech", "message-tap", "native-roots", "quic", "webpki-roots"];

/// A public feature that docs.rs cannot show, because it excludes default features. It adds no
/// item.
const NOT_SHOWN: &str = "fips";

/// Features that are not for users: test seams, and the list of default features.
const NOT_PUBLIC: [&str; 4] = ["default", "testing", "deterministic", "count-locks"];

#[test]
fn public_features_of_tercel_are_forwarded() {
    let wanted = public_features(&manifest("tls"));
    assert!(wanted.contains_key("zstd"), "no features found in the manifest of tercel");
    let mut faults = Vec::new();
    for (folder, through, left_out) in FORWARDING {
        let features = public_features(&manifest(folder));
        for feature in wanted.keys().filter(|feature| !left_out.contains(&feature.as_str())) {
            let forwards = format!("\"{through}/{feature}\"");
            if !features.get(feature).is_some_and(|value| value.contains(&forwards)) {
                faults.push(format!("crates/{folder}: no feature {feature} = [{forwards}]"));
            }
        }
    }
    assert!(faults.is_empty(), "features of tercel that are not forwarded:\n{}", faults.join("\n"));
}

#[test]
fn docs_rs_shows_every_public_feature() {
    let mut faults = Vec::new();
    for folder in subfolders(&repository().join("crates")) {
        let folder = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest = manifest(&folder);
        // docs.rs enables the default features, too.
        let [shown, default] =
            [("[package.metadata.docs.rs]", "features"), ("[features]", "default")]
                .map(|(section, key)| keys(&manifest, section).remove(key).unwrap_or_default());
        for feature in public_features(&manifest).keys().filter(|feature| *feature != NOT_SHOWN) {
            let quoted = format!("\"{feature}\"");
            if !shown.contains(&quoted) && !default.contains(&quoted) {
                faults.push(format!("crates/{folder}: {feature}"));
            }
        }
    }
    assert!(faults.is_empty(), "features that docs.rs does not show:\n{}", faults.join("\n"));
}

fn manifest(folder: &str) -> String {
    fs::read_to_string(repository().join("crates").join(folder).join("Cargo.toml")).unwrap()
}

fn public_features(manifest: &str) -> BTreeMap<String, String> {
    let mut features = keys(manifest, "[features]");
    features.retain(|feature, _| !NOT_PUBLIC.contains(&feature.as_str()));
    features
}

/// The keys of a section of a manifest, with their values, which are on one line.
fn keys(manifest: &str, section: &str) -> BTreeMap<String, String> {
    let lines = manifest.lines().skip_while(|line| *line != section).skip(1);
    let lines =
        lines.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let mut pairs: Vec<(String, String)> = Vec::new();
    for line in lines {
        match line.split_once(" = ") {
            Some((key, value)) => pairs.push((key.to_owned(), value.to_owned())),
            // A value of several lines.
            None => pairs.last_mut().into_iter().for_each(|(_, value)| value.push_str(line)),
        }
    }
    pairs.into_iter().collect()
}
