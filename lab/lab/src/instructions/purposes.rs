//! The purpose of a function, from its call stack.
//!
//! `purposes.toml` has the patterns. A function that matches no pattern has the purpose *other*,
//! and reports list it by name.

use std::collections::HashMap;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::report::profile::PURPOSES;

const TABLE: &str = include_str!("purposes.toml");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    library: Vec<Patterns>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patterns {
    /// The name is only for readers of the table.
    #[allow(dead_code)]
    name: String,
    #[serde(default)]
    role: HashMap<String, Vec<String>>,
    #[serde(default)]
    tool: HashMap<String, Vec<String>>,
}

/// The classification of a function name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Role(usize),
    Tool(usize),
    Unknown,
}

/// The table of patterns with a cache of lookups.
pub(crate) struct Purposes<'t> {
    table: Vec<(String, Function)>,
    known: HashMap<&'t str, Function>,
}

impl<'t> Purposes<'t> {
    pub(crate) fn read() -> Result<Self> {
        Self::of(TABLE)
    }

    fn of(text: &str) -> Result<Self> {
        let read: Table = toml::from_str(text).context("the table of purposes")?;
        let (mut roles, mut tools) = (Vec::new(), Vec::new());
        for library in read.library {
            for (kinds, patterns) in [(&mut roles, library.role), (&mut tools, library.tool)] {
                // The patterns are sorted in the order of reports, because the map has lost the
                // order of the file.
                let mut patterns: Vec<_> = patterns.into_iter().collect();
                patterns.sort_by_key(|(purpose, _)| place(purpose));
                for (purpose, names) in patterns {
                    let place = place(&purpose);
                    ensure!(place < PURPOSES.len(), "no purpose is called {purpose:?}");
                    kinds.extend(names.into_iter().map(|name| (name, place)));
                }
            }
        }
        let roles = roles.into_iter().map(|(name, place)| (name, Function::Role(place)));
        let tools = tools.into_iter().map(|(name, place)| (name, Function::Tool(place)));
        Ok(Self { table: roles.chain(tools).collect(), known: HashMap::new() })
    }

    /// The index in [`PURPOSES`] of the work of a stack's innermost function.
    pub(crate) fn of_stack(&mut self, stack: &[&'t str]) -> usize {
        let mut tool = PURPOSES.len() - 1;
        for frame in stack {
            match self.function(frame) {
                Function::Role(purpose) => return purpose,
                Function::Tool(purpose) => tool = purpose,
                Function::Unknown => {}
            }
        }
        tool
    }

    fn function(&mut self, name: &'t str) -> Function {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let bare = bare(name);
        let found = self.table.iter().find(|(pattern, _)| fits(pattern, bare));
        let function = found.map_or(Function::Unknown, |(_, function)| *function);
        self.known.insert(name, function);
        function
    }
}

fn place(purpose: &str) -> usize {
    PURPOSES.iter().position(|each| *each == purpose).unwrap_or(PURPOSES.len())
}

/// The name without prefixes and suffixes that builds add.
pub(crate) fn bare(name: &str) -> &str {
    let version = |each: char| each.is_ascii_digit() || each == '_';
    let of_aws_lc = name.strip_prefix("aws_lc_").filter(|rest| rest.starts_with(version));
    let name = of_aws_lc.map_or(name, |rest| rest.trim_start_matches(version));
    let name = name.split_once('@').map_or(name, |(name, _version)| name);
    let made = [" [clone ", ".part.", ".constprop.", ".isra.", ".cold", ".llvm."];
    let end = made.iter().filter_map(|made| name.find(made)).min().unwrap_or(name.len());
    &name[..end]
}

/// Whether a name matches a pattern. `*` matches any text, `?` one character.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut from) = (0, 0);
    // The position of the last `*`, and the position in the name from which it matches.
    let mut star = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(each) if *each == b'?' || *each == name[from] => (at, from) = (at + 1, from + 1),
            _ => {
                let Some((place, start)) = star else { return false };
                star = Some((place, start + 1));
                (at, from) = (place + 1, start + 1);
            }
        }
    }
    pattern[at..].iter().all(|each| *each == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::profile::OTHER;

    fn purpose(stack: &[&'static str]) -> &'static str {
        PURPOSES[Purposes::read().unwrap().of_stack(stack)]
    }

    #[test]
    fn patterns_fit_as_a_shell_would_have_it() {
        assert!(fits("malloc", "malloc") && !fits("malloc", "xmalloc") && !fits("malloc", "mall"));
        assert!(fits("*::keys::*", "a::keys::b::c") && !fits("*::keys::*", "a::keys"));
        assert!(fits("tls1?_*", "tls13_") && !fits("tls1?_*", "tls1_x"));
        assert!(fits("a*b*c", "aXbYbZc") && !fits("a*b*c", "aXbYbZ"));
        assert!(fits("*", "") && !fits("?", ""));
        assert_eq!(bare("aws_lc_0_47_0_RAND_bytes"), "RAND_bytes");
        assert_eq!(bare("aws_lc_rs::hmac::sign"), "aws_lc_rs::hmac::sign");
        assert_eq!(bare("rand_bytes_impl.part.0"), "rand_bytes_impl");
        assert_eq!(bare("__libc_start_main@@GLIBC_2.34"), "__libc_start_main");
    }

    /// The example in the header of `purposes.toml`: the purpose of a function depends on its
    /// callers.
    #[test]
    fn the_nearest_role_counts_and_then_the_outermost_tool() {
        let sha = "aws_lc_0_47_0_sha512_block_data_order_avx";
        let final_ = "aws_lc_0_47_0_SHA384_Final";
        let of = |callers: &[&'static str]| purpose(&[&[sha, final_], callers].concat());
        assert_eq!(of(&[]), "transcript");
        assert_eq!(of(&["tercel_crypto::hmac::mac_with"]), "key schedule");
        assert_eq!(of(&["tercel_crypto::prf::Tls12Prf::fill"]), "key schedule");
        assert_eq!(of(&["aws_lc_0_47_0_HMAC", "aws_lc_rs::hmac::sign"]), "key schedule");
        let ticketer = "<rustls::crypto::aws_lc_rs::ticketer::Rfc5077Ticketer as \
            rustls::server::server_conn::ProducesTickets>::encrypt";
        assert_eq!(of(&["aws_lc_rs::hmac::sign", ticketer]), "sessions");
        let verify = "aws_lc_0_47_0_ECDSA_verify";
        assert_eq!(of(&[verify]), "signatures");
        assert_eq!(
            of(&[verify, "tercel_pki::verifier::ChainVerifier::verify"]),
            "chain validation"
        );
        assert_eq!(of(&[verify, "ASN1_item_verify_ex", "X509_verify"]), "chain validation");
        // The innermost function is the allocator.
        assert_eq!(purpose(&["_int_malloc", "malloc", "X509_verify"]), "allocation");
        assert_eq!(purpose(&["__memcpy_avx_unaligned_erms", "main"]), OTHER);
    }

    #[test]
    fn a_purpose_that_does_not_exist_is_refused() {
        let wrong = "[[library]]\nname = \"x\"\n[library.role]\n\"guessing\" = [\"x\"]";
        assert!(Purposes::of(wrong).is_err());
        assert!(Purposes::of("[[library]]\nname = \"x\"\nrole = 1").is_err());
    }
}
