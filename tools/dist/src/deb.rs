//! Debian packages, by `dpkg-deb`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Result;

use crate::architecture::Architecture;
use crate::builder::{Builder, output, remove_folder, run};
use crate::package::{Kind, MAINTAINER, Package};

/// Writes a package to a folder, and returns the name of the file.
pub(crate) fn write(
    builder: &Builder,
    package: &Package,
    architecture: Architecture,
    to: &Path,
) -> Result<String> {
    let root = builder.target.join("deb");
    remove_folder(&root)?;
    let kilobytes = package.lay_out(&root)?;
    fs::set_permissions(&root, Permissions::from_mode(0o755))?;

    let files = |wanted: fn(&Kind) -> bool| {
        package.items.iter().filter(move |item| wanted(&item.kind)).map(|item| item.path.as_str())
    };
    let sums = output(
        builder
            .command("md5sum")?
            .current_dir(&root)
            .args(files(|kind| matches!(kind, Kind::File(_)))),
    )?;
    let configuration: String = files(|kind| matches!(kind, Kind::Configuration(_)))
        .map(|path| format!("/{path}\n"))
        .collect();

    let control = root.join("DEBIAN");
    fs::create_dir(&control)?;
    fs::set_permissions(&control, Permissions::from_mode(0o755))?;
    let mut texts = vec![
        ("control", control_file(package, architecture, kilobytes), 0o644),
        ("md5sums", sums + "\n", 0o644),
    ];
    if !configuration.is_empty() {
        texts.push(("conffiles", configuration, 0o644));
    }
    if package.has_service {
        for script in ["postinst", "prerm", "postrm"] {
            let text = fs::read_to_string(builder.source.join("crates/cli/debian").join(script))?;
            texts.push((script, text, 0o755));
        }
    } else if package.section == "libs" {
        texts.push(("triggers", "activate-noawait ldconfig\n".to_owned(), 0o644));
        // Packages of programs that are linked with the library depend on this.
        let (major, version) = (env!("CARGO_PKG_VERSION_MAJOR"), env!("CARGO_PKG_VERSION"));
        let needed = format!("libtercel {major} {} (>= {version})\n", package.name);
        texts.push(("shlibs", needed, 0o644));
    }
    for (name, text, mode) in texts {
        fs::write(control.join(name), text)?;
        fs::set_permissions(control.join(name), Permissions::from_mode(mode))?;
    }

    let name =
        format!("{}_{}-1_{}.deb", package.name, env!("CARGO_PKG_VERSION"), architecture.debian());
    let mut dpkg = builder.command("dpkg-deb")?;
    // Several threads would compress in blocks.
    dpkg.env("DPKG_DEB_THREADS_MAX", "1").args(["--root-owner-group", "-Zxz", "--build"]);
    run(dpkg.arg(&root).arg(to.join(&name)))?;
    Ok(name)
}

fn control_file(package: &Package, architecture: Architecture, kilobytes: u64) -> String {
    let mut lines = vec![
        format!("Package: {}", package.name),
        format!("Version: {}-1", env!("CARGO_PKG_VERSION")),
        format!("Architecture: {}", architecture.debian()),
        format!("Maintainer: {MAINTAINER}"),
        format!("Installed-Size: {kilobytes}"),
        format!("Depends: {}", package.requires.join(", ")),
        format!("Section: {}", package.section),
        "Priority: optional".to_owned(),
        format!("Homepage: {}", crate::release::HOMEPAGE),
    ];
    if !package.recommends.is_empty() {
        lines.push(format!("Recommends: {}", package.recommends.join(", ")));
    }
    if package.section.starts_with("lib") {
        lines.push("Multi-Arch: same".to_owned());
    }
    lines.push(format!("Description: {}", package.summary));
    lines.extend(package.description.lines().map(|line| format!(" {line}")));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_has_each_field_once_and_the_description_last() {
        let package = Package {
            name: "example".to_owned(),
            summary: "an example",
            description: "first line\nsecond line",
            section: "net",
            requires: vec!["adduser".to_owned()],
            recommends: &["ca-certificates", "ssl-cert"],
            provides: Vec::new(),
            has_service: true,
            items: Vec::new(),
        };
        let text = control_file(&package, Architecture::Aarch64, 7);
        assert!(text.starts_with("Package: example\nVersion: "), "{text}");
        assert!(text.contains("\nArchitecture: arm64\n"), "{text}");
        assert!(text.contains("\nRecommends: ca-certificates, ssl-cert\n"), "{text}");
        let end = "\nDescription: an example\n first line\n second line\n";
        assert!(text.ends_with(end), "{text}");
    }
}
