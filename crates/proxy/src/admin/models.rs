//! A look at the health while it changes, in every interleaving: `just loom`.

use loom::thread;

use super::*;

#[test]
fn a_process_that_begins_to_serve_has_lost_no_listener() {
    loom::model(|| {
        let health = Health::new();
        let service = thread::spawn({
            let health = Arc::clone(&health);
            move || health.serving(2)
        });
        let seen = health.check();
        let expected = [Err("starting\n".to_owned()), Ok("serving\n".to_owned())];
        assert!(expected.contains(&seen), "{seen:?}");
        service.join().unwrap();
        assert_eq!(health.check().unwrap(), "serving\n");
    });
}
