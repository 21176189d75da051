//! Splits Rust source into the words that the rules in `main.rs` need: code without comments and
//! strings, library code without tests, and paths from the crate's root.

use std::collections::BTreeMap;

/// Source text without comments and without the contents of strings.
pub(crate) struct Code(String);

/// An identifier or another visible character, with its line number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

impl Code {
    pub(crate) fn of(text: &str) -> Self {
        let mut code = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let skipped = opaque_prefix(rest, code.chars().next_back());
            let (kept, taken) =
                if skipped == 0 { (true, next.len_utf8()) } else { (false, skipped) };
            if kept {
                code.push(next);
            } else {
                // The replacement keeps line numbers, and separates the words before and after.
                code.push(' ');
                code.extend(rest[..taken].chars().filter(|c| *c == '\n'));
            }
            rest = &rest[taken..];
        }
        Self(code)
    }

    /// All words: identifiers, and each other visible character.
    pub(crate) fn words(&self) -> impl Iterator<Item = Word<'_>> {
        let mut line = 1;
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            loop {
                let first = rest.chars().next()?;
                let length = match rest.find(|c: char| !is_word(c)) {
                    Some(0) => first.len_utf8(),
                    Some(end) => end,
                    None => rest.len(),
                };
                let (text, after) = rest.split_at(length);
                rest = after;
                if first == '\n' {
                    line += 1;
                } else if !first.is_whitespace() {
                    return Some(Word { text, line });
                }
            }
        })
    }

    /// The words outside of test code. Test code is each item under `#[cfg(test)]` or
    /// `#[cfg(all(test, ..))]`. Also returns the names of test modules that have their own files.
    pub(crate) fn product_words(&self) -> (Vec<Word<'_>>, Vec<&str>) {
        let words: Vec<_> = self.words().collect();
        let text = |at: usize| words.get(at).map_or("", |word| word.text);
        let (mut product, mut test_modules) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < words.len() {
            if !(text(at) == "#" && text(at + 1) == "[" && text(at + 2) == "cfg") {
                product.push(words[at]);
                at += 1;
                continue;
            }
            let end = matching(&words, at + 1);
            let is_test = words[at..end].iter().any(|word| word.text == "test")
                && !words[at..end].iter().any(|word| word.text == "not" || word.text == "any");
            if !is_test {
                product.extend(&words[at..end]);
                at = end;
                continue;
            }
            at = end;
            // Skips further attributes, and then the item up to its semicolon or closing brace.
            while text(at) == "#" {
                at = matching(&words, at + 1);
            }
            let start = at;
            while at < words.len() && text(at) != ";" {
                at = if is_open(text(at)) { matching(&words, at) } else { at + 1 };
                if text(at - 1) == "}" && text(start) != "use" {
                    break;
                }
            }
            at += usize::from(text(at) == ";");
            if let Some(name) = (start..at).find(|index| text(*index) == "mod") {
                test_modules.push(text(name + 1));
            }
        }
        (product, test_modules)
    }
}

/// A path such as `crate::record::limits`, without its `crate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// All paths in this module that begin with `crate` or `super`, as paths from the crate's root.
/// Each name of a group gives one path.
pub(crate) fn paths_from_root(words: &[Word<'_>], module: &[String]) -> Vec<Path> {
    let text = |at: usize| words.get(at).map_or("", |word| word.text);
    let is_path = |at: usize| text(at) == ":" && text(at + 1) == ":";
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let line = words[at].line;
        let mut base: Vec<String> = Vec::new();
        if text(at) == "crate" && is_path(at + 1) {
            at += 3;
        } else if text(at) == "super" && is_path(at + 1) {
            base = module.to_vec();
            while text(at) == "super" && is_path(at + 1) {
                base.pop();
                at += 3;
            }
        } else {
            at += 1;
            continue;
        }
        at = tree(words, at, base, line, &mut found);
    }
    found
}

/// Parses what follows `crate::` or `super::`: a name, a glob, or a group of those.
fn tree(
    words: &[Word<'_>],
    mut at: usize,
    mut base: Vec<String>,
    line: usize,
    found: &mut Vec<Path>,
) -> usize {
    let text = |at: usize| words.get(at).map_or("", |word| word.text);
    loop {
        if text(at) == "{" {
            let end = matching(words, at);
            at += 1;
            while at + 1 < end {
                let line = words[at].line;
                at = tree(words, at, base.clone(), line, found);
                // Skips `as name`, and the comma.
                while at + 1 < end && text(at) != "," {
                    at += 1;
                }
                at += 1;
            }
            return end;
        }
        if text(at) != "self" {
            base.push(text(at).to_owned());
        }
        at += 1;
        if !(text(at) == ":" && text(at + 1) == ":") || text(at + 2) == "<" {
            found.push(Path { segments: base, line });
            return at;
        }
        at += 2;
    }
}

/// The names in `pub use child::..`, each with the child module.
pub(crate) fn reexports(words: &[Word<'_>]) -> BTreeMap<String, String> {
    let mut reexports = BTreeMap::new();
    for (index, word) in words.iter().enumerate().filter(|(_, word)| word.text == "use") {
        let before = words.get(index.wrapping_sub(1)).map_or("", |word| word.text);
        if !matches!(before, "pub" | ")") {
            continue;
        }
        let mut found = Vec::new();
        tree(words, index + 1, Vec::new(), word.line, &mut found);
        for path in found {
            if let [child, .., name] = path.segments.as_slice() {
                reexports.insert(name.clone(), child.clone());
            }
        }
    }
    reexports.retain(|_, child| !["crate", "super", "self"].contains(&child.as_str()));
    reexports
}

/// The index after the bracket that closes the bracket at `open`.
fn matching(words: &[Word<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, word) in words.iter().enumerate().skip(open) {
        match word.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    words.len()
}

fn is_open(text: &str) -> bool {
    matches!(text, "(" | "[" | "{")
}

/// The length of the comment, string or character at the start of `rest`; `before` is the character
/// that precedes it.
fn opaque_prefix(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        return character(inside);
    }
    if let Some(inside) = rest.strip_prefix('"') {
        return 1 + escaped_string(inside);
    }
    // `r"..."`, `r#"..."#`, `br"..."`, `cr"..."`, but not the `r` of `for"` or of `r#name`.
    let raw = rest
        .strip_prefix('r')
        .filter(|_| before.is_none_or(|c| !is_word(c) || c == 'b' || c == 'c'));
    let Some(raw) = raw else { return 0 };
    let hashes = raw.len() - raw.trim_start_matches('#').len();
    if !raw[hashes..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = hashes + 1;
    let length = raw[inside..].find(&end).map_or(raw.len(), |at| inside + at + end.len());
    1 + length
}

fn block_comment(rest: &str) -> usize {
    let mut open = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a character after its opening quote, with its closing quote; 0 for a lifetime.
fn character(inside: &str) -> usize {
    if let Some(escape) = inside.strip_prefix('\\') {
        let after = escape.chars().next().map_or(0, char::len_utf8);
        return escape[after..].find('\'').map_or(0, |end| 2 + after + end + 1);
    }
    let length = inside.chars().next().map_or(0, char::len_utf8);
    if inside[length..].starts_with('\'') { 1 + length + 1 } else { 0 }
}

/// The length of a string after its opening quote, with its closing quote.
fn escaped_string(inside: &str) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    inside.len()
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

mod tests {
    use super::*;

    #[test]
    fn code_is_distinguished_from_comments_and_strings() {
        let text = r####"
            // unsafe
            /* unsafe /* unsafe */ unsafe */
            #![forbid(unsafe_code)]
            const A: &str = "unsafe \" unsafe \\"; const B: char = '"'; const C: char = '\'';
            const D: &[u8] = br#"unsafe " unsafe"#; fn f<'a>(x: &'a str) {}
            fn g() { unsafe { h() } }
        "####;
        let code = Code::of(text);
        let found: Vec<_> = code.words().filter(|w| w.text == "unsafe").map(|w| w.line).collect();
        assert_eq!(found, [7]);
    }

    #[test]
    fn product_code_is_distinguished_from_tests() {
        let text = "
            use a; #[cfg(test)] use b; #[cfg(all(test, unix))] #[allow(x)] mod own { fn c() {} }
            #[cfg(test)] mod file; #[cfg(not(test))] use d; #[cfg(unix)] fn e() { f[0]; }
            #[cfg(test)] impl G { fn g() {} } #[cfg(any(test, loom))] use h; #[cfg(test)] use {i, j};
            fn k() {}
        ";
        let code = Code::of(text);
        let (words, modules) = code.product_words();
        let has = |name: &str| words.iter().any(|word| word.text == name);
        let kept = ["a", "d", "e", "f", "h", "k"];
        assert!(kept.iter().all(|name| has(name)), "{words:?}");
        let left_out = ["b", "c", "own", "file", "G", "i", "j"];
        assert!(!left_out.iter().any(|name| has(name)), "{words:?}");
        assert_eq!(modules, ["own", "file"]);
    }

    #[test]
    fn paths_are_found_in_each_notation() {
        let module = ["a".to_owned(), "b".to_owned()];
        for (text, expected) in [
            ("use crate::x::Y;", &["x::Y"][..]),
            ("use crate::x::{self, y::{Z, *}, W as V};", &["x", "x::y::Z", "x::y::*", "x::W"]),
            ("use super::c::D;", &["a::c::D"]),
            ("use super::super::e::{F, g};", &["e::F", "e::g"]),
            ("fn f() { crate::x::call::<T>(super::y()) }", &["x::call", "a::y"]),
            ("pub(crate) use crate::x as y; pub(super) fn f(self: Arc<Self>) {}", &["x"]),
        ] {
            let code = Code::of(text);
            let found = paths_from_root(&code.words().collect::<Vec<_>>(), &module);
            let found: Vec<_> = found.iter().map(|path| path.segments.join("::")).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
