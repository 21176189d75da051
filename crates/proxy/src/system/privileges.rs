//! Drops root privileges.
//!
//! Operations that need privileges (binding ports below 1024, reading private keys) come first.
//! Certificates and ticket keys are read again later, so the unprivileged user must be able to read
//! them too, best through a group. If a reload cannot read a certificate or a key, the previous one
//! stays in use.

use std::ffi::CString;
use std::io;

use nix::unistd::{
    Gid, Group, Uid, User, getegid, geteuid, getgid, getgroups, getuid, setgid, setuid,
};

/// Switches to `user`, with `group` or the user's primary group and the user's supplementary
/// groups, and verifies that root cannot be regained. Both may be names or numbers. A number that
/// is not in the user database has no supplementary groups and requires `group`.
///
/// Affects all threads. Does nothing if the process already runs as `user`.
///
/// # Errors
///
/// If the user or group is unknown or is root, if the process may not switch, or if root privileges
/// could be regained. The process must then exit, because the switch may be incomplete.
pub fn drop_privileges(user: &str, group: Option<&str>) -> io::Result<()> {
    let target = Identity::of(user, group)?;
    if target.user.is_root() {
        return Err(refused(format!("user `{user}` is root")));
    }
    if !geteuid().is_root() {
        if target.is_current() {
            return Ok(());
        }
        let us = geteuid();
        return Err(refused(format!(
            "only root can become user `{user}`; this process runs as {us}"
        )));
    }
    // Groups are set first, because they cannot be changed after `setuid`.
    set_groups(&target.groups)?;
    setgid(target.group)?;
    setuid(target.user)?;
    target.verify()
}

/// Whether the process runs as root.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Sets `no_new_privs` for this thread and for threads and programs that it starts later. Does
/// nothing on systems other than Linux.
///
/// # Errors
///
/// If the system call fails.
pub fn forbid_new_privileges() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}

/// The user and groups to switch to.
struct Identity {
    user: Uid,
    group: Gid,
    /// The supplementary groups, including `group`.
    groups: Vec<Gid>,
}

impl Identity {
    fn of(user: &str, group: Option<&str>) -> io::Result<Self> {
        let number = user.parse().ok().map(Uid::from_raw);
        let known = match User::from_name(user)? {
            None => number.map_or(Ok(None), User::from_uid)?,
            found => found,
        };
        let group = group.map(find_group).transpose()?;
        match (known, number) {
            (Some(known), _) => {
                let group = group.unwrap_or(known.gid);
                let groups = supplementary_groups(&known.name, group)?;
                Ok(Self { user: known.uid, group, groups })
            }
            (None, Some(user)) => {
                let group = group.ok_or_else(|| {
                    refused(format!("user {user} is unknown, so a group is required"))
                })?;
                Ok(Self { user, group, groups: vec![group] })
            }
            (None, None) => Err(refused(format!("unknown user `{user}`"))),
        }
    }

    /// Whether the process already runs as this user and group.
    fn is_current(&self) -> bool {
        [getuid(), geteuid()] == [self.user; 2] && [getgid(), getegid()] == [self.group; 2]
    }

    /// Verifies that the switch is complete and cannot be undone.
    fn verify(&self) -> io::Result<()> {
        let mut groups = getgroups()?;
        groups.retain(|group| !self.groups.contains(group));
        if !self.is_current() || !groups.is_empty() {
            return Err(refused(
                "user or groups differ from the requested ones after the change".to_owned(),
            ));
        }
        let root = (Uid::from_raw(0), Gid::from_raw(0));
        // Root's group may be configured as `group`. Otherwise the process must not be able to
        // regain root's group.
        if setuid(root.0).is_ok() || (self.group != root.1 && setgid(root.1).is_ok()) {
            return Err(refused("process could regain root privileges".to_owned()));
        }
        Ok(())
    }
}

fn find_group(group: &str) -> io::Result<Gid> {
    let number = group.parse().ok().map(Gid::from_raw);
    let known = Group::from_name(group)?.map(|known| known.gid);
    known.or(number).ok_or_else(|| refused(format!("unknown group `{group}`")))
}

#[cfg(not(target_vendor = "apple"))]
fn supplementary_groups(user: &str, group: Gid) -> io::Result<Vec<Gid>> {
    let user = CString::new(user).map_err(io::Error::from)?;
    Ok(nix::unistd::getgrouplist(&user, group)?)
}

#[cfg(not(target_vendor = "apple"))]
fn set_groups(groups: &[Gid]) -> io::Result<()> {
    Ok(nix::unistd::setgroups(groups)?)
}

#[cfg(target_vendor = "apple")]
fn supplementary_groups(_: &str, _: Gid) -> io::Result<Vec<Gid>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "dropping privileges is not supported on this system",
    ))
}

#[cfg(target_vendor = "apple")]
fn set_groups(_: &[Gid]) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "dropping privileges is not supported on this system",
    ))
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_child, run_in_child};

    #[test]
    fn unknown_users_and_groups_are_named_in_the_error() {
        for (user, group, says) in [
            ("no-such-user", None, "unknown user `no-such-user`"),
            ("nobody", Some("no-such-group"), "unknown group `no-such-group`"),
            ("4294967290", None, "a group is required"),
            ("root", None, "is root"),
            ("0", None, "is root"),
        ] {
            let error = drop_privileges(user, group).unwrap_err().to_string();
            assert!(error.contains(says), "{user}: {error}");
        }
    }

    #[test]
    fn dropped_privileges_cannot_be_regained() {
        if !geteuid().is_root() {
            println!("left out: only root can drop privileges");
            return;
        }
        if !in_child() {
            run_in_child(
                "system::privileges::tests::dropped_privileges_cannot_be_regained",
                |_| (),
            );
            return;
        }
        forbid_new_privileges().unwrap();
        #[cfg(target_os = "linux")]
        assert!(nix::sys::prctl::get_no_new_privs().unwrap());
        // Threads that already exist must be switched too.
        let (to_thread, from_test) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            from_test.recv().unwrap();
            (geteuid(), std::fs::read("/etc/shadow").is_err())
        });
        drop_privileges("nobody", None).unwrap();
        let nobody = User::from_name("nobody").unwrap().unwrap();
        assert_eq!((getuid(), getgid()), (nobody.uid, nobody.gid));
        assert!(!getgroups().unwrap().contains(&Gid::from_raw(0)));
        assert!(setuid(Uid::from_raw(0)).is_err() && setgid(Gid::from_raw(0)).is_err());
        assert!(std::fs::read("/etc/shadow").is_err());
        to_thread.send(()).unwrap();
        assert_eq!(thread.join().unwrap(), (nobody.uid, true));
        drop_privileges("nobody", None).unwrap();
        let error = drop_privileges("daemon", None).unwrap_err().to_string();
        assert!(error.contains("only root"), "{error}");
    }

    #[test]
    fn numeric_user_without_a_name_is_accepted() {
        if !geteuid().is_root() {
            println!("left out: only root can drop privileges");
            return;
        }
        if !in_child() {
            run_in_child(
                "system::privileges::tests::numeric_user_without_a_name_is_accepted",
                |_| (),
            );
            return;
        }
        drop_privileges("54321", Some("54322")).unwrap();
        assert_eq!((getuid().as_raw(), getgid().as_raw()), (54321, 54322));
        assert_eq!(getgroups().unwrap(), [Gid::from_raw(54322)]);
    }
}
