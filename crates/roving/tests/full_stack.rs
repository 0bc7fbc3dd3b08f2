//! Full task stacks: tasks run in place, and with them those that no thief would come for.

#![forbid(unsafe_code)]

mod common;

use std::future::poll_fn;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use common::watched;
use roving::policy::Amount;
use roving::{Pool, context, scope};

const SLOTS: usize = 4;

fn of_one_worker(amount: Amount) -> Pool {
    let builder = Pool::builder().workers(1).task_slots(SLOTS);
    builder.steal(amount).build().unwrap()
}

/// Thieves that take eight at once leave four alone: who finds the stack full runs these, or it
/// would stay full.
#[test]
fn what_no_thief_would_take_runs_with_what_does_not_fit() {
    watched(|| {
        for (amount, run_early) in [(Amount::Fixed(8), SLOTS + 1), (Amount::One, 1)] {
            let ran = AtomicUsize::new(0);
            of_one_worker(amount).install(|| {
                scope(|s| {
                    for n in 0..=SLOTS {
                        assert_eq!(ran.load(SeqCst), 0, "{amount}: {n} fit");
                        s.spawn(|_| {
                            ran.fetch_add(1, SeqCst);
                        });
                    }
                    assert_eq!(ran.load(SeqCst), run_early, "{amount}");
                });
            });
            assert_eq!(ran.into_inner(), SLOTS + 1);
        }
    });
}

/// Children that do not fit run inside the poll that spawns them, also those of another context:
/// the roots of both end after all of theirs.
#[test]
fn children_of_each_context_run_where_the_stack_is_full() {
    const CHILDREN: usize = 3 * SLOTS;
    watched(|| {
        let (ran, inside) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (ran_there, inside_there) = (&ran, &inside);
        of_one_worker(Amount::One).run(|s| async move {
            let child = || async move {
                yields().await;
                let is_inside = context::get::<u8>() == Some(7);
                inside_there.fetch_add(usize::from(is_inside), SeqCst);
                ran_there.fetch_add(1, SeqCst);
            };
            let children = || (0..CHILDREN).for_each(|_| drop(s.spawn(child())));
            children();
            context::with(7_u8, children);
            yields().await;
            context::with(7_u8, children);
        });
        assert_eq!(
            (ran.into_inner(), inside.into_inner()),
            (3 * CHILDREN, 2 * CHILDREN)
        );
    });
}

async fn yields() {
    let mut is_first = true;
    poll_fn(|context| {
        if !std::mem::take(&mut is_first) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
