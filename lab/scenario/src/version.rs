//! Versions of libraries, from a lock file that the worker includes.

/// The version of `package` in the text of a `Cargo.lock`.
#[must_use]
pub fn locked_version<'l>(lock: &'l str, package: &str) -> &'l str {
    let entry = format!("name = \"{package}\"\n");
    let version = lock.split_once(&entry).and_then(|(_, after)| after.lines().next());
    let version = version.and_then(|line| line.strip_prefix("version = \""));
    version.and_then(|line| line.strip_suffix('"')).unwrap_or("of unknown version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_packages_own() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"b\"\nversion = \"4.5.6\"\n";
        assert_eq!(locked_version(lock, "b"), "4.5.6");
        assert_eq!(locked_version(lock, "c"), "of unknown version");
    }
}
