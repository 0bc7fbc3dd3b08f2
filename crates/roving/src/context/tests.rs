//! Tests of the timer and the tokens from inside: which contexts they wait for, and for how long.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::waiting::OnCancel;
use super::{Cancel, cancelled, is_cancelled};
use crate::inherit::timer;
use crate::{Pool, task};

#[test]
fn who_waits_no_more_is_forgotten() {
    let deadline = Instant::now() + Duration::from_secs(3600);
    let outer = Cancel::at(deadline);
    let inner = outer.child();
    let counts = || (outer.token().waiting(), inner.token().waiting());
    {
        let mut first = pin!(inner.cancelled());
        let mut second = pin!(inner.cancelled());
        let mut context = Context::from_waker(Waker::noop());
        for _ in 0..3 {
            assert!(first.as_mut().poll(&mut context).is_pending());
            assert!(second.as_mut().poll(&mut context).is_pending());
        }
        assert_eq!(counts(), (2, 2));
        assert_eq!(timer::entered(deadline), 2, "one for each token");
    }
    assert_eq!(counts(), (0, 0));
    assert_eq!(timer::entered(deadline), 0);
}

#[test]
fn who_was_woken_is_forgotten() {
    let deadline = Instant::now() + Duration::from_secs(3600);
    let token = Cancel::at(deadline);
    let mut waits = Box::pin(token.cancelled());
    let mut context = Context::from_waker(Waker::noop());
    assert!(waits.as_mut().poll(&mut context).is_pending());
    token.cancel();
    assert_eq!(waits.as_mut().poll(&mut context), Poll::Ready(()));
    drop(waits);
    assert_eq!(token.token().waiting(), 0);
    assert_eq!(timer::entered(deadline), 0);
}

#[test]
fn the_timer_comes_back_after_it_was_stopped() {
    for _ in 0..3 {
        let token = Cancel::after(Duration::from_millis(1));
        task::block_on(async move { token.cancelled().await });
        timer::stop();
    }
    // Not while somebody waits.
    let token = Cancel::after(Duration::from_millis(20));
    task::block_on(async move {
        let waits = task::spawn(async move { token.cancelled().await });
        crate::join(timer::stop, || ());
        waits.await;
    });
}

#[test]
fn a_pool_that_is_to_end_wakes_who_is_suspended_there() {
    let pool = Pool::new(2).unwrap();
    let registry = Arc::clone(pool.registry());
    let (begun, has_begun) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        pool.run(|s| async move {
            let child = s.spawn(cancelled());
            begun.send(()).unwrap();
            cancelled().await;
            child.await;
            assert!(is_cancelled());
            // What somebody waits for is not dropped.
            s.fork(async { 5 }).await.await
        })
    });
    has_begun.recv().unwrap();
    registry.cancel.cancel();
    assert_eq!(thread.join().unwrap(), 5);
    assert!(!is_cancelled(), "this thread is none of the pool's");
}

#[test]
fn a_closure_is_called_once() {
    let pool = Pool::new(1).unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counts = |token: &Cancel| {
        let calls = Arc::clone(&calls);
        token.run(|| {
            OnCancel::new(&pool, move || {
                calls.fetch_add(1, SeqCst);
            })
        })
    };
    let token = Cancel::new();
    let (kept, gone) = (counts(&token.child()), counts(&token));
    drop(gone);
    token.cancel();
    token.cancel();
    pool.registry().cancel.cancel();
    assert_eq!(calls.load(SeqCst), 1);
    drop(kept);
    let late = counts(&Cancel::new());
    assert_eq!(calls.load(SeqCst), 2, "cancelled before");
    drop(late);
}

#[test]
fn chains_of_any_length_can_be_dropped() {
    const LENGTH: usize = if cfg!(miri) { 100 } else { 200_000 };
    let mut token = Cancel::new();
    let mut here = super::current();
    for number in 0..LENGTH {
        token = token.child();
        here = here.run(|| super::with(number, super::current));
    }
    assert_eq!(here.get::<usize>(), Some(LENGTH - 1));
    assert!(!token.is_cancelled());
    drop((token, here));
}

/// Small enough for Miri; the large ones are in `tests/context.rs`.
#[test]
fn what_is_made_inside_inherits() {
    let pool = Pool::builder().caller_runs().build().unwrap();
    let see = super::get::<u8>;
    super::with(1_u8, || {
        pool.install(|| {
            assert_eq!(crate::join(see, see), (Some(1), Some(1)));
            crate::scope(|s| s.spawn(|_| assert_eq!(see(), Some(1))));
            crate::spawn(move || assert_eq!(see(), Some(1)));
        });
        let token = Cancel::new();
        let seen = pool.run(|s| {
            let token = &token;
            async move {
                let inner = super::with(2_u8, || s.spawn(async move { see() }));
                let forked = s.fork(async move { see() }).await;
                let cancelled = token.run_partial(|| {
                    token.cancel();
                    s.spawn(async move { see() })
                });
                let cancelled = cancelled.unwrap().or_cancelled().await;
                (inner.await, forked.await, cancelled)
            }
        });
        assert_eq!(seen, (Some(2), Some(1), Err(super::CancelledError)));
    });
    assert_eq!(see(), None);
}
