//! The task that keeps a rank's messages moving, on the workers that run its processes.
//!
//! So a message is handled, and the process that waits for it run, by one worker, without a switch
//! of threads. The pump polls as long as something comes, and for a short while after; then it
//! sleeps, and the progress thread of the rank polls seldom. Whatever gives it something to do
//! wakes it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use roving::raw::tasks::yield_to_woken;

use super::part::NetworkPart;

/// While messages keep coming, whoever waits for room is looked after so often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Polls in a row while no process of the network can run: the pump's way through the queue of its
/// worker takes longer than a message. Others of the pool wait no longer for that than for a short
/// task.
const SPINS: u32 = 100;
/// Polls without a look at the clock, while nobody else of the rank can poll.
const AT_ONCE: u32 = 10;
/// Polls between two looks at the clock.
const POLLS: u32 = 1024;

/// Ends when all processes that are here have ended.
pub(super) async fn pump(part: Arc<NetworkPart>) {
    let mut backoff = part.post.link().backoff();
    let mut clock = PumpClock {
        polls: 0,
        looked: Instant::now(),
    };
    poll_fn(|context| {
        let post = &part.post;
        post.bell.wake();
        if part.inside.is_over() {
            return Poll::Ready(());
        }
        let told = part.tell_taken() | part.handle_own();
        // Ordering: Relaxed; a hint.
        let may_spin = || part.may_spin.load(Ordering::Relaxed) && !post.has_own();
        for _ in 0..SPINS / AT_ONCE {
            let mut polls = 0;
            let go_on = || {
                polls += 1;
                !told && polls < AT_ONCE && may_spin()
            };
            if post.link().poll_while(go_on) || told {
                backoff.reset();
                // Ordering: Relaxed; a hint.
                part.may_spin.store(false, Ordering::Relaxed);
                if clock.is_due() {
                    part.is_quiet();
                }
                break;
            }
            if backoff.next().is_some() {
                backoff.reset();
                return sleep(&part, context);
            }
            if !may_spin() {
                break;
            }
        }
        // A process that a message has woken goes first.
        yield_to_woken(context);
        Poll::Pending
    })
    .await;
}

/// A rank where something always goes on never becomes quiet: it is looked at now and then.
struct PumpClock {
    polls: u32,
    looked: Instant,
}

impl PumpClock {
    fn is_due(&mut self) -> bool {
        self.polls += 1;
        if self.polls < POLLS {
            return false;
        }
        self.polls = 0;
        let is_due = self.looked.elapsed() > LOOK_EVERY;
        if is_due {
            self.looked = Instant::now();
        }
        is_due
    }
}

/// The rank has become quiet.
fn sleep(part: &NetworkPart, context: &mut Context<'_>) -> Poll<()> {
    part.is_quiet();
    fall_asleep(part, context);
    Poll::Pending
}

/// Sleeps, unless there is something to do after all.
fn fall_asleep(part: &NetworkPart, context: &mut Context<'_>) {
    let post = &part.post;
    let is_over_or_at_rest = || {
        // Ordering: Relaxed, after the fence in `Post::sleep`. Pairs with [nudge]: who has said
        // that nothing goes on here, and did not see the pump asleep, is seen here.
        part.inside.is_over() || part.is_at_rest.load(Ordering::Relaxed)
    };
    if post.sleep(context.waker()) && !is_over_or_at_rest() {
        // Messages that were sent before the pump said that it sleeps leave now.
        post.link().flush();
    } else {
        post.bell.wake();
        context.waker().wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::AtomicBool;
    use std::task::{Wake, Waker};

    use roving::Pool;

    use super::*;
    use crate::network::Network;
    use crate::world::World;

    #[derive(Default)]
    struct Woken(AtomicBool);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            // Ordering: Relaxed; one thread.
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// A rank comes to rest before and after its pump says that it sleeps.
    fn comes_to_rest(part: &NetworkPart) {
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        // Ordering: Relaxed; one thread.
        let is_woken = || woken.0.swap(false, Ordering::Relaxed);

        fall_asleep(part, &mut context);
        assert!(!is_woken(), "nothing is to be done");
        part.rests();
        assert!(is_woken(), "the pump slept");

        // The pump has looked, and does not say yet that it sleeps.
        part.post.bell.wake();
        // Ordering: Relaxed; one thread.
        assert!(part.is_at_rest.swap(false, Ordering::Relaxed));
        part.rests();
        assert!(!is_woken());
        fall_asleep(part, &mut context);
        assert!(is_woken(), "nobody would wake the pump any more");
    }

    #[test]
    fn a_rank_that_comes_to_rest_while_its_pump_falls_asleep_is_told_about() {
        World::threads(2, |world| {
            let part = OnceLock::<Arc<NetworkPart>>::new();
            let mut network = Network::new(&world);
            // On rank 0. Not all have ended while it runs.
            network.process("any", (), async |()| comes_to_rest(part.get().unwrap()));
            let (flow, split) = network.split(None);
            assert!(part.set(split).is_ok());
            flow.run(&Pool::new(1).unwrap()).unwrap();
        });
    }
}
