//! Model check of the health state under every interleaving: `just loom`.

use loom::thread;

use super::*;

#[test]
fn health_is_consistent_while_serving_begins() {
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
