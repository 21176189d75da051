//! Connections that come and go on two threads, in every interleaving: `just loom`.

use loom::thread;

use super::*;

fn of_thread(counts: &Arc<Counts>) -> Rc<ThreadCounts> {
    Rc::new(ThreadCounts(Arc::clone(counts)))
}

#[test]
fn of_two_threads_one_gets_the_last_place() {
    let client = IpAddr::from([192, 0, 2, 1]);
    let none = Most { all: 9, of_listener: None, of_client: None };
    for most in [
        Most { all: 1, ..none },
        Most { of_listener: Some(1), ..none },
        Most { of_client: Some(1), ..none },
    ] {
        loom::model(move || {
            let counts = Counts::new(1);
            let take = move |counts: &Arc<Counts>| {
                let mut permit = Permit::new(&of_thread(counts), 0, most)?;
                permit.for_client(client, most)?;
                Ok::<_, TooMany>(permit)
            };
            let other = thread::spawn({
                let counts = Arc::clone(&counts);
                move || take(&counts).map(core::mem::forget).is_ok()
            });
            // Whoever got it keeps it, so that the other cannot come later.
            let ours = take(&counts).map(core::mem::forget).is_ok();
            let theirs = other.join().unwrap();
            assert!(!(ours && theirs), "both took the last place");
            assert!(ours || theirs, "neither got it");
            assert_eq!(counts.open(), 1);
        });
    }
}
