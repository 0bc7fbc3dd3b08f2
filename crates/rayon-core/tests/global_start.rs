//! `build_global` waits until its threads are there, and not for what their handlers do. One test:
//! the process has one global pool.

mod common;

use std::sync::{Arc, Barrier};

use common::watched;
use rayon_core::ThreadPoolBuilder;

#[test]
fn start_handlers_can_wait_for_who_builds_the_global_pool() {
    watched(|| {
        let gate = Arc::new(Barrier::new(3));
        let here = Arc::clone(&gate);
        let builder = ThreadPoolBuilder::new().num_threads(2);
        let builder = builder.start_handler(move |_| _ = gate.wait());
        builder.build_global().unwrap();
        here.wait();
        assert_eq!(rayon_core::current_num_threads(), 2);
    });
}
