//! The change that a run is for, read from git.

use std::process::Command;

/// What differs between the base and the tree under test.
#[derive(Debug)]
pub(crate) struct Change {
    /// The commit before the change, or nothing if all commits belong to it.
    pub(crate) base: Option<String>,
    /// Paths that were added, changed or removed, also in files that are not committed.
    pub(crate) paths: Vec<String>,
    /// The first 64 bits of the hash of HEAD's tree.
    pub(crate) tree_hash: u64,
    /// The hash of HEAD's tree in hexadecimal, if the work tree is equal to it.
    pub(crate) clean_tree: Option<String>,
}

/// Commits that are at most this much older than HEAD belong to the change.
const HOURS: i64 = 4;

impl Change {
    /// The change since the commit `since`, or since the newest commit that is four hours older
    /// than HEAD by the committers' dates.
    pub(crate) fn read(since: Option<&str>) -> Result<Self, String> {
        let base = match since {
            Some(commit) => Some(git(&["rev-parse", "--verify", &format!("{commit}^{{commit}}")])?),
            None => {
                let head: i64 = git(&["show", "--no-patch", "--format=%ct", "HEAD"])?
                    .parse()
                    .map_err(|_| "HEAD has no committer date".to_owned())?;
                let before = format!("--before={}", head - HOURS * 3600);
                Some(git(&["rev-list", "--max-count=1", &before, "HEAD"])?)
                    .filter(|commit| !commit.is_empty())
            }
        };
        let changed = match &base {
            Some(base) => git(&["diff", "--name-only", "--no-renames", base])?,
            None => git(&["ls-files"])?,
        };
        let new = git(&["ls-files", "--others", "--exclude-standard"])?;
        let tree = git(&["rev-parse", "HEAD^{tree}"])?;
        let clean = git(&["status", "--porcelain"])?.is_empty();
        Ok(Self {
            base,
            paths: changed.lines().chain(new.lines()).map(str::to_owned).collect(),
            tree_hash: tree
                .get(..16)
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .ok_or("no tree")?,
            clean_tree: clean.then_some(tree),
        })
    }
}

/// The output of a git command without the final line break.
pub(crate) fn git(arguments: &[&str]) -> Result<String, String> {
    let output =
        Command::new("git").args(arguments).output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!(
            "git {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}
