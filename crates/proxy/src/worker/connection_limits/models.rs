//! Model check of connections that open and close on two threads, under every interleaving: `just
//! loom`.

use loom::thread;

use super::*;

fn of_thread(counts: &Arc<ConnectionCounts>) -> Rc<WorkerCounts> {
    Rc::new(WorkerCounts(Arc::clone(counts)))
}

#[test]
fn one_of_two_threads_gets_the_last_permit() {
    let client = IpAddr::from([192, 0, 2, 1]);
    let none = ConnectionLimits { process: 9, per_listener: None, per_client: None };
    for limits in [
        ConnectionLimits { process: 1, ..none },
        ConnectionLimits { per_listener: Some(1), ..none },
        ConnectionLimits { per_client: Some(1), ..none },
    ] {
        loom::model(move || {
            let counts = ConnectionCounts::new(1);
            let take = move |counts: &Arc<ConnectionCounts>| {
                let mut permit = Permit::new(&of_thread(counts), 0, limits)?;
                permit.count_client(client, limits)?;
                Ok::<_, LimitReached>(permit)
            };
            let other = thread::spawn({
                let counts = Arc::clone(&counts);
                move || take(&counts).map(core::mem::forget).is_ok()
            });
            // The permit is never dropped, so that the other thread cannot take it later.
            let ours = take(&counts).map(core::mem::forget).is_ok();
            let theirs = other.join().unwrap();
            assert!(!(ours && theirs), "both took the last place");
            assert!(ours || theirs, "neither got it");
            assert_eq!(counts.open(), 1);
        });
    }
}
