//! The content of packages, and its places: once for Debian's packages and RPM's.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::builder::{Builder, SHARED, output, remove_folder, run};

/// A package of a package manager.
#[derive(Debug)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) summary: &'static str,
    pub(crate) description: &'static str,
    pub(crate) section: &'static str,
    pub(crate) requires: Vec<String>,
    pub(crate) recommends: &'static [&'static str],
    pub(crate) provides: Vec<String>,
    /// Whether it has a service, with a user and scripts that make it.
    pub(crate) has_service: bool,
    pub(crate) items: Vec<Item>,
}

/// A file, link or folder of a package.
#[derive(Debug)]
pub(crate) struct Item {
    /// The path in the installed system, without the first slash.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) mode: u32,
}

/// The kind of an item.
#[derive(Debug)]
pub(crate) enum Kind {
    File(PathBuf),
    /// A file that the administrator changes.
    Configuration(PathBuf),
    Link(String),
}

/// The package manager, which decides on some folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Debian,
    Rpm,
}

/// The files in all packages of the program.
#[derive(Debug)]
pub(crate) struct ProgramFiles {
    pub(crate) program: PathBuf,
    /// The folder that [`generate`] has written.
    pub(crate) generated: PathBuf,
    /// The licences of what is linked into the program.
    pub(crate) notices: PathBuf,
}

/// The maintainer in all packages and images.
pub(crate) const MAINTAINER: &str = "The Tercel developers <tercel@localhost>";

impl Package {
    /// The program with its service.
    pub(crate) fn program(builder: &Builder, system: System, files: &ProgramFiles) -> Result<Self> {
        let source = |path: &str| builder.source.join(path);
        let generated = |path: &str| files.generated.join(path);
        let zsh = match system {
            System::Debian => "usr/share/zsh/vendor-completions/_tercel",
            System::Rpm => "usr/share/zsh/site-functions/_tercel",
        };
        let mut items = vec![
            file("etc/tercel/proxy.toml", source("crates/proxy/examples/systemd/proxy.toml")),
            file("usr/bin/tercel", files.program.clone()),
            file("usr/share/bash-completion/completions/tercel", generated("completions/tercel")),
            file(zsh, generated("completions/_tercel")),
            file(
                "usr/share/fish/vendor_completions.d/tercel.fish",
                generated("completions/tercel.fish"),
            ),
            file(
                "usr/lib/systemd/system/tercel-proxy.service",
                generated("systemd/tercel-proxy.service"),
            ),
            file(
                "usr/lib/systemd/system/tercel-proxy.socket",
                generated("systemd/tercel-proxy.socket"),
            ),
        ];
        for document in ["docs/proxy.md", "docs/ech.md", "CHANGELOG.md"] {
            items.push(in_folder("usr/share/doc/tercel", source(document))?);
        }
        for manual in entries(&generated("man"))? {
            items.push(in_folder("usr/share/man/man1", manual)?);
        }
        if system == System::Rpm {
            items.push(file("usr/lib/sysusers.d/tercel.conf", generated("sysusers.conf")));
        }
        items.extend(licences(builder, system, "tercel", &files.notices)?);
        for item in &mut items {
            item.mode = match item.path.as_str() {
                "usr/bin/tercel" => 0o755,
                "etc/tercel/proxy.toml" => 0o640,
                _ => item.mode,
            };
            if let (Kind::File(from), true) = (&item.kind, item.path.starts_with("etc/")) {
                item.kind = Kind::Configuration(from.clone());
            }
        }
        let (requires, recommends, provides): (_, &[_], _) = match system {
            System::Debian => {
                (vec!["adduser".to_owned()], &["ca-certificates", "ssl-cert"], Vec::new())
            }
            // The scripts make them. RPM 4.19 requires the owners of files.
            System::Rpm => {
                let made = vec!["user(tercel)".to_owned(), "group(tercel)".to_owned()];
                (Vec::new(), &["ca-certificates"], made)
            }
        };
        Ok(Self {
            name: "tercel".to_owned(),
            summary: "TLS client, test server, load generator and terminator",
            description: "TLS 1.3 and 1.2 from the command line: a client, a test server, a load\n\
                          generator, and a TLS terminator that runs as a service (tercel-proxy).\n\
                          The program is linked statically.",
            section: "net",
            requires,
            recommends,
            provides,
            has_service: true,
            items,
        })
    }

    /// The shared library, and what programs in C are compiled with.
    pub(crate) fn libraries(
        builder: &Builder,
        system: System,
        built: &Path,
        notices: &Path,
    ) -> Result<[Self; 2]> {
        let major = env!("CARGO_PKG_VERSION_MAJOR");
        let version = env!("CARGO_PKG_VERSION");
        let (folder, name, development) = match system {
            System::Debian => {
                ("usr/lib/x86_64-linux-gnu", format!("libtercel{major}"), "libtercel-dev")
            }
            System::Rpm => ("usr/lib64", "libtercel".to_owned(), "libtercel-devel"),
        };
        let shared = built.join("lib").join(SHARED);
        let versions = versions_of_symbols(builder, &shared)?;
        let (requires, provides, same_version, pkg_config) = match system {
            System::Debian => {
                let glibc = newest_version(&versions).context("no version of glibc")?;
                let requires = vec![format!("libc6 (>= {glibc})"), "libgcc-s1".to_owned()];
                (requires, Vec::new(), format!("{name} (= {version}-1)"), Vec::new())
            }
            System::Rpm => (
                required_symbols(&versions),
                provided_symbols(&versions),
                format!("{name}(x86-64) = {version}-1"),
                vec![format!("pkgconfig(tercel) = {version}")],
            ),
        };
        let mut library = Self {
            summary: "TLS 1.3 and 1.2, memory-safe, without I/O",
            description: "A TLS library with an interface in C that opens no sockets: received\n\
                          bytes go in, bytes to send come out.",
            section: "libs",
            requires,
            recommends: &["ca-certificates"],
            provides,
            has_service: false,
            items: vec![file(&format!("{folder}/{SHARED}"), shared)],
            name,
        };
        library.items.extend(licences(builder, system, &library.name, notices)?);

        let config = built.join("lib/pkgconfig/installed.pc");
        let text = fs::read_to_string(built.join("lib/pkgconfig/tercel.pc"))?;
        let installed = with_folders(&text, "/usr", &format!("/{folder}"))?;
        fs::write(&config, installed)?;
        let mut for_c = Self {
            name: development.to_owned(),
            summary: "TLS 1.3 and 1.2: files for programs in C and C++",
            description: "The headers, the static library and the file of pkg-config.",
            section: "libdevel",
            requires: vec![same_version],
            recommends: &[],
            provides: pkg_config,
            has_service: false,
            items: vec![
                file("usr/include/tercel.h", built.join("include/tercel.h")),
                file("usr/include/tercel.hpp", built.join("include/tercel.hpp")),
                file(&format!("{folder}/libtercel.a"), built.join("lib/libtercel.a")),
                file(&format!("{folder}/pkgconfig/tercel.pc"), config),
                Item {
                    path: format!("{folder}/libtercel.so"),
                    kind: Kind::Link(SHARED.to_owned()),
                    mode: 0o777,
                },
            ],
        };
        for_c.items.push(in_folder(
            &format!("usr/share/doc/{development}"),
            builder.source.join("docs/c.md"),
        )?);
        for_c.items.extend(licences(builder, system, development, notices)?);
        Ok([library, for_c])
    }

    /// Writes the items below a folder, and returns the number of kilobytes.
    pub(crate) fn lay_out(&self, root: &Path) -> Result<u64> {
        let mut bytes = 0;
        for item in &self.items {
            let to = root.join(&item.path);
            create_folders(root, &item.path)?;
            match &item.kind {
                Kind::File(from) | Kind::Configuration(from) => {
                    bytes += fs::copy(from, &to).with_context(|| from.display().to_string())?;
                    fs::set_permissions(&to, Permissions::from_mode(item.mode))?;
                }
                Kind::Link(target) => symlink(target, &to)?,
            }
        }
        Ok(bytes.div_ceil(1024))
    }
}

/// Creates the folders above an item with the usual mode.
fn create_folders(root: &Path, path: &str) -> Result<()> {
    let mut folder = root.to_owned();
    fs::create_dir_all(root)?;
    let names: Vec<_> = path.split('/').collect();
    for name in names.iter().take(names.len().saturating_sub(1)) {
        folder.push(name);
        if !folder.exists() {
            fs::create_dir(&folder)?;
            fs::set_permissions(&folder, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn file(path: &str, from: PathBuf) -> Item {
    Item { path: path.to_owned(), kind: Kind::File(from), mode: 0o644 }
}

fn in_folder(folder: &str, from: PathBuf) -> Result<Item> {
    let name = from.file_name().context("no name")?.to_string_lossy().into_owned();
    Ok(file(&format!("{folder}/{name}"), from))
}

/// The licences, and the notices of what is linked.
fn licences(builder: &Builder, system: System, package: &str, notices: &Path) -> Result<Vec<Item>> {
    let folder = match system {
        System::Debian => format!("usr/share/doc/{package}"),
        System::Rpm => format!("usr/share/licenses/{package}"),
    };
    let mut items = vec![
        in_folder(&folder, builder.source.join("LICENSE-MIT"))?,
        in_folder(&folder, builder.source.join("LICENSE-APACHE"))?,
    ];
    // Debian's packages have a file with this name.
    let name = if system == System::Debian { "copyright" } else { "THIRD-PARTY" };
    items.push(file(&format!("{folder}/{name}"), notices.to_owned()));
    Ok(items)
}

/// The user of the service, for systems whose package manager or systemd makes users.
const SYSUSERS: &str = "\
g ssl-cert -
u tercel - \"tercel proxy\"
";

/// Writes manual pages, completions and systemd's units for an installed program to a folder.
pub(crate) fn generate(builder: &Builder, program: &Path, folder: &Path) -> Result<()> {
    remove_folder(folder)?;
    for name in ["completions", "systemd"] {
        fs::create_dir_all(folder.join(name))?;
    }
    let tercel = || builder.command(&program.to_string_lossy());
    run(tercel()?.arg("man").arg(folder.join("man")))?;
    for page in entries(&folder.join("man"))? {
        crate::archive::gzip(builder, &page)?;
    }
    for (shell, name) in [("bash", "tercel"), ("zsh", "_tercel"), ("fish", "tercel.fish")] {
        let script = output(tercel()?.args(["completions", shell]))?;
        fs::write(folder.join("completions").join(name), script + "\n")?;
    }
    for unit in ["tercel-proxy.service", "tercel-proxy.socket"] {
        let examples = builder.source.join("crates/proxy/examples/systemd");
        let text = fs::read_to_string(examples.join(unit))?;
        let text = text.replace("/usr/local/bin/tercel", "/usr/bin/tercel");
        ensure!(
            !unit.ends_with("service") || text.contains("\nExecStart=/usr/bin/tercel "),
            "{unit} has no ExecStart=/usr/local/bin/tercel"
        );
        fs::write(folder.join("systemd").join(unit), text)?;
    }
    Ok(fs::write(folder.join("sysusers.conf"), SYSUSERS)?)
}

/// The text of `tercel.pc` for other folders.
pub(crate) fn with_folders(text: &str, prefix: &str, library: &str) -> Result<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(match line.split_once('=') {
            Some(("prefix", _)) => format!("prefix={prefix}"),
            Some(("libdir", _)) => format!("libdir={library}"),
            _ => line.to_owned(),
        });
    }
    ensure!(lines.len() > 5, "tercel.pc has few lines");
    Ok(lines.join("\n") + "\n")
}

/// The libraries and versions of symbols that a shared library needs and has.
fn versions_of_symbols(builder: &Builder, library: &Path) -> Result<String> {
    let mut readelf = builder.command("readelf")?;
    output(readelf.args(["--dynamic", "--version-info", "--wide"]).arg(library))
}

/// RPM's names of what a shared library needs, from the output of readelf.
fn required_symbols(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut library = None;
    for line in text.lines() {
        if let Some((_, name)) = line.split_once("(NEEDED)") {
            let name = name.split(['[', ']']).nth(1).unwrap_or_default();
            names.push(format!("{name}()(64bit)"));
        } else if let Some((_, name)) = line.split_once("  File: ") {
            library = name.split_whitespace().next();
        } else if let (Some(library), Some((_, name))) = (library, line.split_once("  Name: ")) {
            let version = name.split_whitespace().next().unwrap_or_default();
            names.push(format!("{library}({version})(64bit)"));
        }
    }
    names.sort();
    names
}

/// RPM's names of the shared library and of the versions that it defines.
fn provided_symbols(text: &str) -> Vec<String> {
    let defined = text.lines().filter(|line| line.contains(" Rev: ") && !line.contains(" BASE "));
    let versions = defined.filter_map(|line| line.split_once("  Name: "));
    let names = versions.map(|(_, name)| format!("{SHARED}({})(64bit)", name.trim()));
    [format!("{SHARED}()(64bit)")].into_iter().chain(names).collect()
}

/// The newest version of glibc.
fn newest_version(text: &str) -> Option<String> {
    let versions = text.split("Name: GLIBC_").skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        rest.get(..end)?.split('.').map(|part| part.parse().ok()).collect::<Option<Vec<u32>>>()
    });
    let newest = versions.max()?;
    Some(newest.iter().map(ToString::to_string).collect::<Vec<_>>().join("."))
}

/// The paths of a folder's entries, sorted.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_compared_by_numbers() {
        let text = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5\n\
                    \x20 0x0020:   Name: GLIBC_2.34  Flags: none  Version: 4\n\
                    \x20 0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 3\n\
                    \x20 0x0040:   Name: GCC_3.0  Flags: none  Version: 2\n";
        assert_eq!(newest_version(text).as_deref(), Some("2.34"));
        assert_eq!(newest_version(""), None);
    }

    #[test]
    fn symbols_have_the_names_of_rpm() {
        let text = " 0x0001 (NEEDED)             Shared library: [libc.so.6]\n\
                    Version definition section '.gnu.version_d' contains 2 entries:\n\
                    \x20 000000: Rev: 1  Flags: BASE  Index: 1  Cnt: 1  Name: libtercel.so.0\n\
                    \x20 0x001c: Rev: 1  Flags: none  Index: 2  Cnt: 1  Name: TERCEL_0\n\
                    Version needs section '.gnu.version_r' contains 1 entry:\n\
                    \x20 000000: Version: 1  File: libc.so.6  Cnt: 2\n\
                    \x20 0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5\n";
        assert_eq!(required_symbols(text), ["libc.so.6()(64bit)", "libc.so.6(GLIBC_2.9)(64bit)"]);
        let provided = [format!("{SHARED}()(64bit)"), format!("{SHARED}(TERCEL_0)(64bit)")];
        assert_eq!(provided_symbols(text), provided);
    }

    #[test]
    fn pkg_config_gets_other_folders() {
        let text = "prefix=/tmp/x\nlibdir=${prefix}/lib\nincludedir=${prefix}/include\n\n\
                    Name: tercel\nCflags: -I${includedir}\n";
        assert_eq!(
            with_folders(text, "/usr", "/usr/lib64").unwrap(),
            "prefix=/usr\nlibdir=/usr/lib64\nincludedir=${prefix}/include\n\n\
             Name: tercel\nCflags: -I${includedir}\n"
        );
    }
}
