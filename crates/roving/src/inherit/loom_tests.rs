//! The lookup of a thief, beside an owner that enters and leaves contexts; and waiting for a token,
//! with the thread that serves deadlines. Explored by loom.

use std::iter;
use std::ptr;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use loom::thread;

use super::segments::Segments;
use super::timer;
use super::token::Token;
use super::tokens::Tokens;
use crate::machine::meeting_points::park;
use crate::machine::prim::thread::{Thread, current};
use crate::machine::prim::{AtomicUsize, Ordering, explore, explore_within};

fn word(number: usize) -> *mut () {
    ptr::without_provenance_mut(number)
}

/// A stack of which slot 1 is claimed: the owner publishes it by a release, the thief acquires
/// that.
struct Stack {
    segments: Segments,
    published: AtomicUsize,
}

/// A context segment that is written anew while a thief reads it still gives the thief the context
/// of its task: the segment above it began below that task.
#[test]
fn loom_a_thief_finds_the_context_of_its_task() {
    explore(|| {
        let stack = Arc::new(Stack {
            segments: Segments::new(),
            published: AtomicUsize::new(0),
        });
        let thief = {
            let stack = Arc::clone(&stack);
            thread::spawn(move || {
                // Ordering: Acquire, in the place of a claim's. Pairs with [publish].
                let published = stack.published.load(Ordering::Acquire);
                (published == 1).then(|| stack.segments.covering(1))
            })
        };
        let segments = &stack.segments;
        let outer = segments.open(0, word(7));
        // In the same place as the one below, and below the task's slot.
        let old = segments.open(1, word(8));
        segments.close(old);
        // Ordering: Release, in the place of a publication's. Pairs with [publish].
        stack.published.store(1, Ordering::Release);
        let above = segments.open(2, word(9));
        let further = segments.open(3, word(10));
        segments.close(further);
        segments.close(above);
        let found = thief.join().unwrap();
        assert!(found.is_none_or(|found| ptr::eq(found, word(7))));
        segments.close(outer);
    });
}

/// Unparks the thread that waits.
struct Unparks(Thread);

impl Wake for Unparks {
    fn wake(self: Arc<Unparks>) {
        self.0.unpark();
    }
}

fn waker() -> Waker {
    Waker::from(Arc::new(Unparks(current())))
}

/// Parks until the token, or one above it, is cancelled.
fn wait_for(token: &Arc<Token>) {
    let waker = waker();
    let mut tokens = Tokens::of(iter::once(token));
    while tokens.poll(&mut Context::from_waker(&waker)).is_pending() {
        park();
    }
}

/// A token whose time has come for the timer's thread, and for nobody else.
fn due() -> Arc<Token> {
    Token::new(None, Some(Instant::now() + Duration::from_secs(60 * 60)))
}

/// A token whose time has come for nobody.
fn late() -> Arc<Token> {
    let year = Duration::from_secs(365 * 24 * 60 * 60);
    Token::new(None, Some(Instant::now() + year))
}

/// Waits for the token in vain, and gives up.
fn wait_in_vain(token: &Arc<Token>) {
    let mut tokens = Tokens::of(iter::once(token));
    let waker = waker();
    assert!(tokens.poll(&mut Context::from_waker(&waker)).is_pending());
}

#[test]
fn loom_who_waits_for_a_token_is_woken() {
    explore(|| {
        let above = Token::new(None, None);
        let token = Token::new(Some(Arc::clone(&above)), None);
        let cancels = thread::spawn(move || above.cancel());
        wait_for(&token);
        cancels.join().unwrap();
    });
}

/// A callback is called for what was cancelled before it was there, or after that.
#[test]
fn loom_a_callback_hears_of_a_cancel() {
    explore(|| {
        let token = Token::new(None, None);
        let cancels = {
            let token = Arc::clone(&token);
            thread::spawn(move || token.cancel())
        };
        let mut tokens = Tokens::of(iter::once(&token));
        assert!(tokens.wake_at_end(&waker()));
        park();
        cancels.join().unwrap();
    });
}

/// The timer's thread, which has found nothing to do, hears of a deadline.
#[test]
fn loom_who_waits_for_a_deadline_is_woken() {
    explore_within(Some(3), || {
        wait_for(&due());
        wait_for(&due());
        timer::stop();
    });
}

/// The timer's thread waits for one deadline, and hears of an earlier one.
#[test]
fn loom_an_earlier_deadline_is_seen() {
    explore_within(Some(3), || {
        let (late, waker) = (late(), waker());
        let mut tokens = Tokens::of(iter::once(&late));
        assert!(tokens.poll(&mut Context::from_waker(&waker)).is_pending());
        wait_for(&due());
        drop(tokens);
        timer::stop();
    });
}

/// The timer's thread ends because nobody waits, at the moment when somebody does.
#[test]
fn loom_a_deadline_finds_a_timer_that_ends() {
    explore_within(Some(3), || {
        wait_in_vain(&late());
        wait_in_vain(&late());
        wait_for(&due());
        timer::stop();
    });
}

/// The timer is stopped, for the code is about to be unloaded, while somebody begins to wait.
#[test]
fn loom_a_deadline_finds_a_timer_that_is_stopped() {
    explore_within(Some(2), || {
        let stops = {
            wait_in_vain(&late());
            thread::spawn(timer::stop)
        };
        wait_for(&due());
        stops.join().unwrap();
        timer::stop();
    });
}
