//! Rust source read as words, just well enough for the rules in `main.rs`.
//!
//! For: telling code from comments and strings, and finding paths that start at the crate's root.
//! Must not know: the rules, or where a file stands.
//! Next: `main.rs` for what is done with the words.

/// Source text without comments and without what stands inside strings.
pub(crate) struct Code(String);

/// An identifier or a single other character, and the line it stands in.
#[derive(Clone, Copy)]
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
                // Lines keep their numbers, and words on both sides stay apart.
                code.push(' ');
                code.extend(rest[..taken].chars().filter(|c| *c == '\n'));
            }
            rest = &rest[taken..];
        }
        Self(code)
    }

    /// Identifiers, and each other visible character by itself.
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

    /// The names that follow the crate's root in paths, be it written `crate::name`,
    /// `crate::{name, ..}` or with one `super` per level of a module `depth` deep. In an inline
    /// module more `super`s may climb to the same place, so they count as well.
    pub(crate) fn names_at_root(&self, depth: usize) -> Vec<Word<'_>> {
        let words: Vec<_> = self.words().collect();
        let text = |at: usize| words.get(at).map_or("", |word| word.text);
        let is_path = |at: usize| text(at) == ":" && text(at + 1) == ":";
        let mut picked = Vec::new();
        let mut at = 0;
        while at < words.len() {
            let mut reached = text(at) == "crate" && is_path(at + 1);
            let mut supers = 0;
            while text(at) == "super" && is_path(at + 1) {
                supers += 1;
                reached = supers >= depth;
                at += 3;
            }
            if supers == 0 {
                at += if reached { 3 } else { 1 };
            }
            if !reached {
                continue;
            }
            if text(at) != "{" {
                picked.push(at);
                continue;
            }
            let mut open = 0_usize;
            for (index, word) in words.iter().enumerate().skip(at) {
                match word.text {
                    "{" => open += 1,
                    "}" => open -= 1,
                    _ => {}
                }
                if open == 0 {
                    break;
                }
                if open == 1 && matches!(word.text, "{" | ",") {
                    picked.push(index + 1);
                }
            }
        }
        let names = picked.iter().filter_map(|index| words.get(*index).copied());
        names.filter(|word| word.text != "}").collect()
    }
}

/// How many bytes of `rest` are a comment, string or character; `before` is what precedes it.
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
    // `r"..."`, `r#"..."#`, `br"..."`, `cr"..."`; the `r` of `for"` or of `r#name` is none.
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

/// The length of a character after its opening quote, quotes included; 0 for a lifetime.
fn character(inside: &str) -> usize {
    if let Some(escape) = inside.strip_prefix('\\') {
        let after = escape.chars().next().map_or(0, char::len_utf8);
        return escape[after..].find('\'').map_or(0, |end| 2 + after + end + 1);
    }
    let length = inside.chars().next().map_or(0, char::len_utf8);
    if inside[length..].starts_with('\'') { 1 + length + 1 } else { 0 }
}

/// The length of a string after its opening quote, closing quote included.
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
    fn tells_code_from_comments_and_strings() {
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
}
