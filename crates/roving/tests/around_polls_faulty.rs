//! Calls around polls that panic, call what they get twice, or not at all.

mod common;

use common::watched;
use roving::raw::tasks::{AroundPolls, around_polls};
use roving::raw::waits::run_one;
use roving::{Pool, task};

static CALLS: AroundPolls = AroundPolls {
    awaited: |_| (),
    others: |f| {
        f();
        f();
        panic!("a call");
    },
};

#[test]
fn each_thing_is_done_once_and_the_panic_ends_there() {
    assert!(around_polls(&CALLS));
    watched(|| {
        let pool = Pool::new(1).unwrap();
        let value = pool.install(|| {
            task::block_on(async {
                let mut runs = 0;
                let job = roving::spawn(|| 1);
                assert_eq!(run_one(false), Some(true));
                runs += job.join().unwrap();
                runs += task::block_on(async { 10 });
                roving::blocking(|| runs += 100);
                task::fork(async move { runs + 1000 }).await.await
            })
        });
        assert_eq!(value, 1111);
    });
}
