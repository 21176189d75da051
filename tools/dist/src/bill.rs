//! Bills of materials (CycloneDX 1.5, JSON): what is linked into a program or library, from cargo's
//! own data; and the licence texts of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::architecture::Architecture;
use crate::archive::sha256;
use crate::builder::{Builder, output};
use crate::package::entries;

/// The components of a package of the workspace.
#[derive(Debug)]
pub(crate) struct Bill {
    root: Id,
    components: BTreeMap<Id, Component>,
    dependencies: BTreeMap<Id, BTreeSet<Id>>,
    /// The names and versions of compilers and other tools, which decide on the bytes as well.
    tools: Vec<(String, String)>,
}

/// A name and a version.
type Id = (String, String);

/// A crate, or one of [`OTHERS`].
#[derive(Debug)]
struct Component {
    licence: String,
    /// The SHA-256 of the archive in the registry; the crates of the repository have none.
    checksum: Option<String>,
    /// Where the licence texts are.
    folder: Option<PathBuf>,
    /// Files with licence texts elsewhere.
    texts: Vec<PathBuf>,
}

/// Components that are not crates, with the start of their names in advisories (CPE 2.3).
const OTHERS: &[(&str, &str)] = &[
    (AWS_LC, "cpe:2.3:a:amazon:aws-lc"),
    (MIMALLOC, "cpe:2.3:a:microsoft:mimalloc"),
    (MUSL, "cpe:2.3:a:musl-libc:musl"),
    (STANDARD, "cpe:2.3:a:rust-lang:rust"),
    (UNWINDER, "cpe:2.3:a:llvm:libunwind"),
];
const AWS_LC: &str = "AWS-LC";
const MIMALLOC: &str = "mimalloc in C";
const MUSL: &str = "musl";
const STANDARD: &str = "Rust standard library";
const UNWINDER: &str = "LLVM libunwind";

/// musl's licences in Debian's package of it, which a release needs.
const MUSL_LICENCE: &str = "/usr/share/doc/musl-dev/copyright";

/// Names in licence expressions of crates. A new one needs a decision (deny.toml).
const LICENCES: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "LLVM-exception",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

impl Bill {
    /// The bill of a package for a target, with its default features.
    pub(crate) fn new(builder: &Builder, package: &str, target: &str) -> Result<Self> {
        let tree = output(builder.cargo()?.args([
            "tree",
            "--locked",
            "--target",
            target,
            "--package",
            package,
            "--edges",
            "normal,no-proc-macro",
            "--prefix",
            "depth",
            "--format",
            " {p}",
        ]))?;
        let dependencies = edges(&tree)?;
        let root = tree.lines().next().and_then(parse).context("no tree")?.1;

        let said = output(builder.cargo()?.args([
            "metadata",
            "--locked",
            "--format-version",
            "1",
            "--filter-platform",
            target,
        ]))?;
        let metadata: Value = serde_json::from_str(&said)?;
        let lock = checksums(&fs::read_to_string(builder.source.join("Cargo.lock"))?);
        let mut components = BTreeMap::new();
        for package in metadata["packages"].as_array().context("no packages")? {
            let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
            let id = (text("name"), text("version"));
            if !dependencies.contains_key(&id) {
                continue;
            }
            let manifest = PathBuf::from(text("manifest_path"));
            let component = Component {
                licence: licence(&text("license")).with_context(|| id.0.clone())?,
                checksum: lock.get(&id).cloned(),
                folder: Some(manifest.parent().context("no folder")?.to_owned()),
                texts: Vec::new(),
            };
            components.insert(id, component);
        }
        ensure!(
            components.len() == dependencies.len(),
            "packages of the tree are not in the metadata"
        );
        let tools = tools(target)?;
        let mut bill = Self { root, components, dependencies, tools };
        bill.add_libraries_in_c()?;
        bill.add_standard_library(target)?;
        Ok(bill)
    }

    /// Adds libraries whose advisories name their own versions.
    fn add_libraries_in_c(&mut self) -> Result<()> {
        let crates: Vec<_> = self
            .components
            .iter()
            .filter_map(|(id, crate_)| Some((id.clone(), crate_.folder.clone()?)))
            .collect();
        for (id, folder) in crates {
            let (name, version, folder, licence) = match id.0.as_str() {
                "aws-lc-sys" => {
                    let version = defined(
                        &folder.join("aws-lc/include/openssl/base.h"),
                        "AWSLC_VERSION_NUMBER_STRING",
                    )?;
                    let licence = self.components[&id].licence.clone();
                    (AWS_LC, version, folder.join("aws-lc"), licence)
                }
                "libmimalloc-sys" => {
                    let folder = folder.join("c_src/mimalloc/v3");
                    let header = folder.join("include/mimalloc.h");
                    let version = mimalloc_version(&defined(&header, "MI_MALLOC_VERSION")?)?;
                    (MIMALLOC, version, folder, "MIT".to_owned())
                }
                _ => continue,
            };
            let folder = Some(folder);
            let component = Component { licence, checksum: None, folder, texts: Vec::new() };
            self.add(&id, name, version, component);
        }
        Ok(())
    }

    /// Adds what comes with the compiler: the standard library, and for static programs musl and
    /// the unwinder.
    fn add_standard_library(&mut self, target: &str) -> Result<()> {
        let rustc = |arguments: &[&str]| output(Command::new("rustc").args(arguments));
        let versions = rustc(&["--version", "--verbose"])?;
        let version = |key: &str| {
            let value = versions.lines().find_map(|line| line.strip_prefix(key));
            value.map(str::to_owned).with_context(|| format!("rustc has no {key}"))
        };
        let documents = Path::new(&rustc(&["--print", "sysroot"])?).join("share/doc/rust");
        let licences = documents.join("licenses");
        let component = |licence: &str, texts| Component {
            licence: licence.to_owned(),
            checksum: None,
            folder: None,
            texts,
        };
        let own = version("release: ")?;
        let standard = component(
            "MIT OR Apache-2.0",
            vec![
                licences.join("MIT.txt"),
                licences.join("Apache-2.0.txt"),
                licences.join("Unicode-3.0.txt"),
                documents.join("COPYRIGHT-library.html"),
            ],
        );
        self.add(&self.root.clone(), STANDARD, own.clone(), standard);
        if target.ends_with("-musl") {
            let own = (STANDARD.to_owned(), own);
            let folder = rustc(&["--print", "target-libdir", "--target", target])?;
            let library = Path::new(&folder).join("self-contained/libc.a");
            let musl = component("MIT", vec![MUSL_LICENCE.into()]);
            self.add(&own, MUSL, musl_version(&fs::read(library)?)?, musl);
            let unwinder = component(
                "Apache-2.0 WITH LLVM-exception",
                vec![licences.join("Apache-2.0.txt"), licences.join("LLVM-exception.txt")],
            );
            self.add(&own, UNWINDER, version("LLVM version: ")?, unwinder);
        }
        Ok(())
    }

    fn add(&mut self, user: &Id, name: &str, version: String, component: Component) {
        let id = (name.to_owned(), version);
        self.dependencies.entry(user.clone()).or_default().insert(id.clone());
        self.dependencies.entry(id.clone()).or_default();
        self.components.insert(id, component);
    }

    /// Writes the bill of a file next to it.
    pub(crate) fn write(&self, builder: &Builder, folder: &Path, name: &str) -> Result<()> {
        let checksum = sha256(builder, &folder.join(name))?;
        let text = serde_json::to_string_pretty(&self.document(&builder.date()?, name, &checksum))?;
        Ok(fs::write(folder.join(format!("{name}.cdx.json")), text + "\n")?)
    }

    fn document(&self, date: &str, file: &str, checksum: &str) -> Value {
        let components: Vec<_> = self
            .components
            .iter()
            .filter(|(id, _)| **id != self.root)
            .map(|(id, component)| {
                let mut value = json!({
                    "type": "library",
                    "bom-ref": reference(id),
                    "name": id.0,
                    "version": id.1,
                    "licenses": [{ "expression": component.licence }],
                });
                match OTHERS.iter().find(|(name, _)| *name == id.0) {
                    Some((_, cpe)) => value["cpe"] = json!(format!("{cpe}:{}:*:*:*:*:*:*:*", id.1)),
                    None => value["purl"] = json!(reference(id)),
                }
                if let Some(checksum) = &component.checksum {
                    value["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
                }
                value
            })
            .collect();
        let tools: Vec<_> = self
            .tools
            .iter()
            .map(|(name, version)| {
                json!({ "type": "application", "name": name, "version": version })
            })
            .collect();
        let dependencies: Vec<_> = self
            .dependencies
            .iter()
            .map(|(id, uses)| {
                let uses: Vec<_> = uses.iter().map(reference).collect();
                json!({ "ref": reference(id), "dependsOn": uses })
            })
            .collect();
        json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "serialNumber": serial_number(checksum),
            "version": 1,
            "metadata": {
                "timestamp": date,
                "tools": { "components": tools },
                "component": {
                    "type": "file",
                    "bom-ref": reference(&self.root),
                    "name": file,
                    "version": self.root.1,
                    "hashes": [{ "alg": "SHA-256", "content": checksum }],
                    "licenses": [{ "expression": "MIT OR Apache-2.0" }],
                },
            },
            "components": components,
            "dependencies": dependencies,
        })
    }

    /// The licence texts of what is linked, each once.
    pub(crate) fn notices(&self) -> Result<String> {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut without_text = Vec::new();
        for ((name, version), component) in &self.components {
            let user = format!("{name} {version} ({})", component.licence);
            let mut files = component.texts.clone();
            if let Some(folder) = &component.folder {
                find_licences(folder, &mut files)?;
            }
            if files.is_empty() {
                without_text.push(user.clone());
            }
            for file in files {
                let bytes = fs::read(&file).with_context(|| file.display().to_string())?;
                let text = String::from_utf8_lossy(&bytes);
                let of_file = if file.extension().is_some_and(|end| end == "html") {
                    crates_of_standard_library(&text)
                } else {
                    vec![(user.clone(), text.trim().replace("\r\n", "\n"))]
                };
                for (user, text) in of_file {
                    let users = texts.entry(text).or_default();
                    if !users.contains(&user) {
                        users.push(user);
                    }
                }
            }
        }
        let mut sections: Vec<_> = texts
            .into_iter()
            .map(|(text, users)| format!("{}\n\n{text}\n", users.join("\n")))
            .collect();
        sections.sort();
        if !without_text.is_empty() {
            sections.insert(0, format!("{WITHOUT_TEXT}\n{}\n", without_text.join("\n")));
        }
        let line = format!("\n{}\n\n", "=".repeat(72));
        Ok(format!("{NOTICE}{line}{}", sections.join(&line)))
    }
}

const NOTICE: &str = "\
Tercel is licensed under MIT or Apache-2.0, at your choice.

Programs and libraries of Tercel contain the crates and libraries below under the licences that
follow their names. The standard library of Rust contains crates for other systems, too.
";

const WITHOUT_TEXT: &str = "\
The archives of these crates have no licence text. The texts below have the terms; the authors are
named at https://crates.io.
";

/// A licence expression. An old form has a slash for OR.
fn licence(text: &str) -> Result<String> {
    let names = text.split([' ', '(', ')', '/']).filter(|name| !name.is_empty());
    let mut count = 0;
    for name in names.filter(|name| !["AND", "OR", "WITH"].contains(name)) {
        ensure!(LICENCES.contains(&name), "the licence {name} is not in the list of tools/dist");
        count += 1;
    }
    ensure!(count > 0, "no licence");
    Ok(text.split('/').map(str::trim).collect::<Vec<_>>().join(" OR "))
}

/// The value of a macro in a header, without quotes.
fn defined(header: &Path, name: &str) -> Result<String> {
    let text = fs::read_to_string(header).with_context(|| header.display().to_string())?;
    let value = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == "#define" && words.next()? == name).then_some(())?;
        Some(words.next()?.trim_matches('"').to_owned())
    });
    value.with_context(|| format!("{} has no {name}", header.display()))
}

/// The parts of a version as mimalloc's header has it: two digits for each but the first.
fn mimalloc_version(number: &str) -> Result<String> {
    let number: u32 = number.parse()?;
    Ok(format!("{}.{}.{}", number / 10_000, number / 100 % 100, number % 100))
}

/// The version in musl's libc.a: the only text of this form.
fn musl_version(archive: &[u8]) -> Result<String> {
    let is_version = |text: &&str| {
        text.split('.').count() == 3
            && text.split('.').all(|part| {
                !part.is_empty() && part.len() < 4 && part.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    let texts = archive.split(|&byte| byte == 0).filter_map(|text| std::str::from_utf8(text).ok());
    let mut versions: Vec<_> = texts.filter(is_version).collect();
    versions.dedup();
    let [version] = versions.as_slice() else { bail!("versions in libc.a: {versions:?}") };
    Ok((*version).to_owned())
}

/// The licence texts in a document of Rust's standard library, each with its crate.
fn crates_of_standard_library(document: &str) -> Vec<(String, String)> {
    let between = |text: &str, start: &str, end: &str| {
        let (_, rest) = text.split_once(start)?;
        Some(rest.split_once(end)?.0.to_owned())
    };
    let mut texts = Vec::new();
    for section in document.split("<h3>").skip(1) {
        let name = section.split('<').next().unwrap_or_default();
        let name = name.trim_start_matches(|first: char| !first.is_ascii_alphanumeric());
        let licence = between(section, "<b>License:</b> ", "<").unwrap_or_default();
        let user = format!("{name} ({licence}), in the {STANDARD}");
        for text in section.split("<pre>").skip(1) {
            let text = text.split("</pre>").next().unwrap_or_default().trim();
            let text = [("&#34;", "\""), ("&#39;", "'"), ("&#60;", "<"), ("&#62;", ">")]
                .iter()
                .chain(&[("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&#38;", "&")])
                .chain(&[("&amp;", "&")])
                .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
            texts.push((user.clone(), text));
        }
    }
    texts
}

/// The compilers and packaging programs: the first lines that they print for `--version`.
fn tools(target: &str) -> Result<Vec<(String, String)>> {
    let prefix = if target.starts_with("aarch64") {
        Architecture::Aarch64.gnu_prefix()
    } else {
        Architecture::X86_64.gnu_prefix()
    };
    let (compiler, strip) = (format!("{prefix}gcc"), format!("{prefix}strip"));
    let names = ["cargo", "rustc", &compiler, &strip, "tar", "gzip", "xz", "dpkg-deb", "rpmbuild"];
    let version = |name: &str| {
        let said = output(Command::new(name).env("LC_ALL", "C").arg("--version"))?;
        Ok((name.to_owned(), said.lines().next().unwrap_or_default().to_owned()))
    };
    names.into_iter().map(version).collect()
}

/// The depth of a line of `cargo tree`, and the package.
fn parse(line: &str) -> Option<(usize, Id)> {
    let (depth, package) = line.split_once(' ')?;
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    Some((depth.parse().ok()?, (name, version)))
}

/// The dependencies of each package in the output of `cargo tree`. A package that is printed again
/// has no dependencies there.
fn edges(tree: &str) -> Result<BTreeMap<Id, BTreeSet<Id>>> {
    let mut edges: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let mut path: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let (depth, id) = parse(line).with_context(|| format!("cargo tree: {line}"))?;
        path.truncate(depth);
        if let Some(parent) = path.last() {
            edges.entry(parent.clone()).or_default().insert(id.clone());
        }
        edges.entry(id.clone()).or_default();
        path.push(id);
    }
    Ok(edges)
}

/// The checksums in a lock file.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key))?;
        Some(line.strip_prefix(" = \"")?.trim_end_matches('"').to_owned())
    };
    let entry = |block| {
        Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

/// Adds the licence texts of a folder and those below.
fn find_licences(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(folder)? {
        if path.is_dir() && !path.is_symlink() {
            find_licences(&path, files)?;
        } else if is_licence(&path) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_licence(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
    let is_source = [".RS", ".C", ".H", ".PY", ".SH", ".GO", ".TOML", ".JSON"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_named = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|start| name.starts_with(start));
    is_named && !is_source
}

/// The package URL of a crate, which is also the name within a bill. Versions may have a `+`.
fn reference((name, version): &Id) -> String {
    if OTHERS.iter().any(|(other, _)| other == name) {
        return format!("{}@{version}", name.replace(' ', "-"));
    }
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

/// A UUID that depends on the file alone: version 8 of RFC 9562 5.8, from a checksum.
fn serial_number(checksum: &str) -> String {
    let part = |from: usize, to: usize| checksum.get(from..to).unwrap_or_default();
    format!(
        "urn:uuid:{}-{}-8{}-8{}-{}",
        part(0, 8),
        part(8, 12),
        part(13, 16),
        part(17, 20),
        part(20, 32)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str, version: &str) -> Id {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn dependencies_are_read_from_depths() {
        let tree =
            "0 a v1.0.0 (/path)\n1 b v2.0.0\n2 c v3.0.0-rc.1\n1 c v3.0.0-rc.1\n1 b v2.0.0 (*)\n";
        let edges = edges(tree).unwrap();
        assert_eq!(edges.len(), 3);
        assert_eq!(edges[&id("a", "1.0.0")].len(), 2);
        assert!(edges[&id("b", "2.0.0")].contains(&id("c", "3.0.0-rc.1")));
        assert!(edges[&id("c", "3.0.0-rc.1")].is_empty());
        assert!(super::edges("a v1.0.0").is_err());
    }

    #[test]
    fn checksums_are_those_of_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n[[package]]\n\
                    name = \"a\"\nversion = \"1.2.3\"\nsource = \"registry\"\nchecksum = \"00ff\"\n";
        let checksums = checksums(lock);
        assert_eq!(checksums.len(), 1);
        assert_eq!(checksums[&id("a", "1.2.3")], "00ff");
    }

    #[test]
    fn licences_are_known() {
        assert_eq!(licence("MIT").unwrap(), "MIT");
        assert_eq!(licence("Apache-2.0 / MIT").unwrap(), "Apache-2.0 OR MIT");
        assert_eq!(licence("MIT/Apache-2.0").unwrap(), "MIT OR Apache-2.0");
        let long = "(MIT OR Apache-2.0) AND Unicode-3.0";
        assert_eq!(licence(long).unwrap(), long);
        assert!(licence("").is_err() && licence("GPL-3.0-only").is_err());
    }

    #[test]
    fn versions_of_libraries_are_read() {
        assert_eq!(mimalloc_version("30302").unwrap(), "3.3.2");
        assert_eq!(musl_version(b"a\0b.c.d\x001.2.5\0\xff\0").unwrap(), "1.2.5");
        assert!(musl_version(b"1.2.5\x001.2.6\0").is_err() && musl_version(b"").is_err());
    }

    #[test]
    fn references_are_package_urls() {
        assert_eq!(reference(&id("a", "1.0.0+2")), "pkg:cargo/a@1.0.0%2B2");
        assert_eq!(reference(&id(UNWINDER, "1")), "LLVM-libunwind@1");
    }

    #[test]
    fn the_standard_library_names_its_crates() {
        let document = "<pre>x</pre><h3>\u{1f4e6} a-1</h3><p><b>License:</b> MIT</p><pre>\n one \
                        &#60;b&#62;\n</pre><pre>two</pre><h3>c-2</h3>";
        let user = "a-1 (MIT), in the Rust standard library".to_owned();
        let expected = [(user.clone(), "one <b>".to_owned()), (user, "two".to_owned())];
        assert_eq!(crates_of_standard_library(document), expected);
    }

    #[test]
    fn serial_numbers_are_uuids() {
        let checksum = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
        assert_eq!(serial_number(checksum), "urn:uuid:00112233-4455-8677-8899-aabbccddeeff");
    }
}
