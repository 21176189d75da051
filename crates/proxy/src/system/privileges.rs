//! From root to a user who may do nothing but serve.
//!
//! What only root can do (ports below 1024, reading keys) comes before. What is read again later, certificates and ticket keys, has
//! to be readable by the user too, best by a group; a reload that may not read keeps what it has.
//!
//! Must not know: what is done with the privileges before. Next: [`super::sockets`], by which none are needed.

use std::ffi::CString;
use std::io;

use nix::unistd::{
    Gid, Group, Uid, User, getegid, geteuid, getgid, getgroups, getuid, setgid, setuid,
};

/// Becomes `user`, with `group` or the user's own as group and the user's further groups, and makes sure that there is no way back.
/// Both are names or numbers; a number that stands for nobody known has no further groups, and needs a group.
///
/// For all threads, wherever it is called; who is that user already and no other changes nothing.
///
/// # Errors
/// If there is no such user or group, if it is root, if this process may not become it, or if afterwards the process still is, or
/// could become, what it was. After an error the process must end: part of the change may have been made.
pub fn drop_privileges(user: &str, group: Option<&str>) -> io::Result<()> {
    let wanted = Identity::of(user, group)?;
    if wanted.user.is_root() {
        return Err(refused(format!("user `{user}` is root")));
    }
    if !geteuid().is_root() {
        if wanted.is_ours() {
            return Ok(());
        }
        let us = geteuid();
        return Err(refused(format!(
            "only root can become user `{user}`; this process runs as {us}"
        )));
    }
    // The groups first: afterwards there is no right to change them.
    set_groups(&wanted.groups)?;
    setgid(wanted.group)?;
    setuid(wanted.user)?;
    wanted.verify()
}

/// Whether this process may do everything.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

/// Forbids this thread, and threads and programs that it starts from now on, to gain privileges by what they execute.
/// Only Linux has that; elsewhere nothing is done.
///
/// # Errors
/// If the system refuses.
pub fn forbid_new_privileges() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_no_new_privs()?;
    Ok(())
}

/// Whom to become.
struct Identity {
    user: Uid,
    group: Gid,
    /// All groups, `group` among them.
    groups: Vec<Gid>,
}

impl Identity {
    fn of(user: &str, group: Option<&str>) -> io::Result<Self> {
        let number = user.parse().ok().map(Uid::from_raw);
        let known = match User::from_name(user)? {
            None => number.map_or(Ok(None), User::from_uid)?,
            found => found,
        };
        let group = group.map(group_of).transpose()?;
        match (known, number) {
            (Some(known), _) => {
                let group = group.unwrap_or(known.gid);
                let groups = further_groups(&known.name, group)?;
                Ok(Self { user: known.uid, group, groups })
            }
            (None, Some(user)) => {
                let group = group.ok_or_else(|| refused(format!("user {user} needs a group")))?;
                Ok(Self { user, group, groups: vec![group] })
            }
            (None, None) => Err(refused(format!("there is no user `{user}`"))),
        }
    }

    /// Whether this process is nobody else.
    fn is_ours(&self) -> bool {
        [getuid(), geteuid()] == [self.user; 2] && [getgid(), getegid()] == [self.group; 2]
    }

    /// That all of it has changed, and cannot be changed back.
    fn verify(&self) -> io::Result<()> {
        let mut groups = getgroups()?;
        groups.retain(|group| !self.groups.contains(group));
        if !self.is_ours() || !groups.is_empty() {
            return Err(refused("this process is not who it should have become".to_owned()));
        }
        let root = (Uid::from_raw(0), Gid::from_raw(0));
        // Who is to serve with root's group may have it; nobody is to have root's rights.
        if setuid(root.0).is_ok() || (self.group != root.1 && setgid(root.1).is_ok()) {
            return Err(refused("this process could become root again".to_owned()));
        }
        Ok(())
    }
}

fn group_of(group: &str) -> io::Result<Gid> {
    let number = group.parse().ok().map(Gid::from_raw);
    let known = Group::from_name(group)?.map(|known| known.gid);
    known.or(number).ok_or_else(|| refused(format!("there is no group `{group}`")))
}

#[cfg(not(target_vendor = "apple"))]
fn further_groups(user: &str, group: Gid) -> io::Result<Vec<Gid>> {
    let user = CString::new(user).map_err(io::Error::from)?;
    Ok(nix::unistd::getgrouplist(&user, group)?)
}

#[cfg(not(target_vendor = "apple"))]
fn set_groups(groups: &[Gid]) -> io::Result<()> {
    Ok(nix::unistd::setgroups(groups)?)
}

#[cfg(target_vendor = "apple")]
fn further_groups(_: &str, _: Gid) -> io::Result<Vec<Gid>> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "privileges cannot be dropped on this system"))
}

#[cfg(target_vendor = "apple")]
fn set_groups(_: &[Gid]) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "privileges cannot be dropped on this system"))
}

fn refused(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{in_child, run_in_child};

    #[test]
    fn users_and_groups_that_do_not_exist_are_named() {
        for (user, group, says) in [
            ("no-such-user", None, "no user `no-such-user`"),
            ("nobody", Some("no-such-group"), "no group `no-such-group`"),
            ("4294967290", None, "needs a group"),
            ("root", None, "is root"),
            ("0", None, "is root"),
        ] {
            let error = drop_privileges(user, group).unwrap_err().to_string();
            assert!(error.contains(says), "{user}: {error}");
        }
    }

    #[test]
    fn there_is_no_way_back() {
        if !geteuid().is_root() {
            println!("left out: only root can drop privileges");
            return;
        }
        if !in_child() {
            run_in_child("system::privileges::tests::there_is_no_way_back", |_| ());
            return;
        }
        forbid_new_privileges().unwrap();
        #[cfg(target_os = "linux")]
        assert!(nix::sys::prctl::get_no_new_privs().unwrap());
        // A thread that was there before has to change with the others.
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
    fn a_number_without_a_name_will_do() {
        if !geteuid().is_root() {
            println!("left out: only root can drop privileges");
            return;
        }
        if !in_child() {
            run_in_child("system::privileges::tests::a_number_without_a_name_will_do", |_| ());
            return;
        }
        drop_privileges("54321", Some("54322")).unwrap();
        assert_eq!((getuid().as_raw(), getgid().as_raw()), (54321, 54322));
        assert_eq!(getgroups().unwrap(), [Gid::from_raw(54322)]);
    }
}
