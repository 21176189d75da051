//! The modules of a crate and their uses of each other, according to the source text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::code::{self, Code};

/// The path of a module from the crate's root; it is empty for the root.
type Name = Vec<String>;

/// The modules of a crate, each a file.
pub(crate) struct Modules {
    files: BTreeMap<Name, File>,
}

struct File {
    place: PathBuf,
    uses: Vec<code::Path>,
    /// Names that this module re-exports from its children, and the child of each.
    reexports: BTreeMap<String, String>,
}

impl Modules {
    /// Reads the files of a crate, given by their paths below `src`, without test modules.
    pub(crate) fn new(sources: impl Iterator<Item = (PathBuf, String)>) -> Self {
        let (mut files, mut tests) = (BTreeMap::new(), BTreeSet::new());
        for (place, text) in sources {
            let name = name_of(&place);
            let code = Code::of(&text);
            let (words, test_modules) = code.product_words();
            tests.extend(test_modules.into_iter().map(|child| joined(&name, child)));
            let uses = code::paths_from_root(&words, &name);
            let reexports = code::reexports(&words);
            files.insert(name, File { place, uses, reexports });
        }
        files.retain(|name, _| !(1..=name.len()).any(|length| tests.contains(&name[..length])));
        Self { files }
    }

    /// Returns uses that violate this order of the top-level modules, and modules that the order
    /// does not contain.
    pub(crate) fn order_faults(&self, order: &[&str]) -> Vec<String> {
        let rank = |name: &str| order.iter().position(|module| *module == name);
        let mut faults = Vec::new();
        for (name, file) in self.files.iter().filter(|(name, _)| !name.is_empty()) {
            let place = file.place.display();
            let Some(own) = rank(&name[0]) else {
                faults.push(format!("{place}: module `{}` has no place in the order", name[0]));
                continue;
            };
            for used in &file.uses {
                let (line, path) = (used.line, used.segments.join("::"));
                match self.resolve(&used.segments).first() {
                    // A name at the root does not say from which module it comes.
                    None => faults.push(format!("{place}:{line}: name the module of `{path}`")),
                    Some(module) if rank(module).is_some_and(|used| used > own) => {
                        faults.push(format!("{place}:{line}: `{}` uses `{path}`", name[0]));
                    }
                    Some(_) => {}
                }
            }
        }
        faults
    }

    /// Modules of one folder that use each other, directly or through other modules of that folder.
    /// A module and its own children may use each other.
    pub(crate) fn circles(&self) -> Vec<String> {
        let folders: BTreeSet<&[String]> =
            self.files.keys().flat_map(|name| (0..name.len()).map(|end| &name[..end])).collect();
        folders.into_iter().filter_map(|folder| self.circle_in(folder)).collect()
    }

    fn circle_in(&self, folder: &[String]) -> Option<String> {
        // The uses between children, with an example for each.
        let mut arrows: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
        for (name, file) in &self.files {
            let Some((own, _)) = child(folder, name) else { continue };
            let targets = arrows.entry(own).or_default();
            for used in &file.uses {
                let module = self.resolve(&used.segments);
                if let Some((other, _)) = child(folder, &module).filter(|(other, _)| *other != own)
                {
                    let example = || format!("{}:{}", file.place.display(), used.line);
                    targets.entry(other.to_owned()).or_insert_with(example);
                }
            }
        }
        // Removes modules that use none of the remaining modules. Each module that is left at the
        // end is on a circle or leads to one.
        while let Some(done) = arrows.iter().find(|(_, targets)| targets.is_empty()) {
            let done = *done.0;
            arrows.remove(done);
            arrows.values_mut().for_each(|targets| _ = targets.remove(done));
        }
        let examples = arrows.iter().flat_map(|(from, targets)| {
            targets.iter().map(move |(to, example)| format!("{from} -> {to} ({example})"))
        });
        (!arrows.is_empty()).then(|| {
            format!("in `{}`: {}", folder.join("::"), examples.collect::<Vec<_>>().join(", "))
        })
    }

    /// The module to which a path leads, resolved through re-exports.
    fn resolve(&self, path: &[String]) -> Name {
        let depth = (0..=path.len()).rev().find(|end| self.files.contains_key(&path[..*end]));
        let mut name = path[..depth.unwrap_or(0)].to_vec();
        let item = path.get(name.len());
        while let Some(child) = item.and_then(|item| self.files.get(&name)?.reexports.get(item)) {
            name.push(child.clone());
        }
        name
    }
}

/// The child of `folder` to which `name` belongs, and the rest of the name.
fn child<'n>(folder: &[String], name: &'n [String]) -> Option<(&'n str, &'n [String])> {
    let (first, rest) = name.strip_prefix(folder)?.split_first()?;
    Some((first.as_str(), rest))
}

fn joined(name: &[String], child: &str) -> Name {
    name.iter().cloned().chain([child.to_owned()]).collect()
}

/// `record/frame.rs` is `[record, frame]`, `record/mod.rs` and `record.rs` are `[record]`, `lib.rs`
/// is the root.
fn name_of(place: &Path) -> Name {
    let place = place.with_extension("");
    let parts = place.iter().map(|part| part.to_string_lossy().into_owned());
    parts.filter(|part| !["mod", "lib", "main"].contains(&part.as_str())).collect()
}

mod tests {
    use super::*;

    fn modules(files: &[(&str, &str)]) -> Modules {
        Modules::new(files.iter().map(|(place, text)| (place.into(), (*text).to_owned())))
    }

    fn order_faults(place: &str, text: &str) -> usize {
        let others = ["a.rs", "b/mod.rs", "b/x.rs", "c.rs", "lib.rs"];
        let others =
            others.map(|place| (place, "")).into_iter().filter(|(other, _)| *other != place);
        let files: Vec<_> = others.chain([(place, text)]).collect();
        modules(&files).order_faults(&["a", "b", "c"]).len()
    }

    #[test]
    fn uses_of_higher_modules_are_found() {
        for text in [
            "use crate::c::Secret;",
            "fn f() -> crate::c::Secret { todo() }",
            "use crate::{a::Error, c::Secret};",
            "use crate::{a::{A, B}, c};",
            "use super::super::c::Sender;",
            "pub(crate) use crate::c as below;",
            "macro_rules! m { () => { $crate::c::f() } }",
            "use crate::Connection;",
            "use crate::*;",
        ] {
            assert_eq!(order_faults("b/x.rs", text), 1, "{text}");
        }
        assert_eq!(order_faults("a.rs", "use crate::b::X;\nuse crate::c::Y;"), 2);
        assert_eq!(order_faults("b/mod.rs", "use super::c::Flow;"), 1);
        assert_eq!(order_faults("surprise.rs", ""), 1);
    }

    #[test]
    fn uses_of_lower_modules_pass() {
        for (place, text) in [
            ("b/x.rs", "use crate::a::Error;\nuse super::y::MAX;"),
            ("b/mod.rs", "use crate::b::x::Frame; use crate::{a::Error, b::X};"),
            ("b/x.rs", "// use crate::c::Flow;\n/* crate::c::X */"),
            ("b/x.rs", "/// See [`crate::c`].\nconst A: &str = \"crate::c::X\";"),
            ("b/x.rs", "#[cfg(test)] mod tests { use crate::c::X; }"),
            ("c.rs", "use crate::{a, b};"),
            ("lib.rs", "pub use c::C;"),
        ] {
            assert_eq!(order_faults(place, text), 0, "{place}: {text}");
        }
    }

    #[test]
    fn circles_are_found_in_each_folder() {
        let none = [
            ("a/mod.rs", "mod x; mod y; pub(crate) use x::X; use y::Y;"),
            ("a/x.rs", "use super::Own; use crate::b::B;"),
            ("a/y.rs", "use super::x::X;"),
            ("b.rs", ""),
        ];
        assert_eq!(modules(&none).circles(), [""; 0]);
        for (place, text, folder) in [
            ("b.rs", "use crate::a::x::X;", "``"),
            ("a/x.rs", "use super::y::Y;", "`a`"),
            ("a/x.rs", "fn f() { crate::a::y::f() }", "`a`"),
        ] {
            let mut files = none;
            let file = files.iter_mut().find(|(other, _)| *other == place).unwrap();
            let text = format!("{}{text}", file.1);
            file.1 = &text;
            let found = modules(&files).circles();
            assert!(found.len() == 1 && found[0].contains(folder), "{place} {text}: {found:?}");
        }
        // Uses a module through a name that the parent re-exports.
        let hidden =
            [("a/mod.rs", none[0].1), ("a/x.rs", "use super::y::Y;"), ("a/y.rs", "use super::X;")];
        assert_eq!(modules(&hidden).circles().len(), 1);
    }
}
