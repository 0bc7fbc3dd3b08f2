//! Something that happens once, and for which tasks wait: how the tasks of a program hear that what
//! they read is there.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// Not yet, or for ever.
#[derive(Debug)]
pub(super) struct OnceEvent(Mutex<EventState>);

#[derive(Debug)]
enum EventState {
    /// Not yet; who waits.
    Awaited(Vec<Waker>),
    Happened,
}

impl Default for OnceEvent {
    fn default() -> Self {
        OnceEvent(Mutex::new(EventState::Awaited(Vec::new())))
    }
}

impl OnceEvent {
    /// From now on nobody waits for it.
    pub(super) fn happen(&self) {
        let before = {
            let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *state, EventState::Happened)
        };
        if let EventState::Awaited(wakers) = before {
            wakers.into_iter().for_each(Waker::wake);
        }
    }

    /// Ends when it has happened.
    pub(super) fn wait(&self) -> EventWait<'_> {
        EventWait(self)
    }
}

/// See [`OnceEvent::wait`].
pub(super) struct EventWait<'a>(&'a OnceEvent);

impl Future for EventWait<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) {
            EventState::Happened => Poll::Ready(()),
            EventState::Awaited(wakers) => {
                let known = wakers.iter().any(|waker| waker.will_wake(context.waker()));
                if !known {
                    wakers.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn all_who_wait_go_on_and_who_comes_late_does_not_wait() {
        let (event, gone_on) = (OnceEvent::default(), AtomicU32::new(0));
        let (event, gone_on) = (&event, &gone_on);
        roving::Pool::new(2).unwrap().run(|scope| async move {
            for _ in 0..20 {
                drop(scope.spawn(async move {
                    event.wait().await;
                    // Ordering: Relaxed: the end of the pool's run comes after all of them.
                    gone_on.fetch_add(1, Ordering::Relaxed);
                }));
            }
            event.happen();
            event.wait().await;
        });
        // Ordering: Relaxed: as above.
        assert_eq!(gone_on.load(Ordering::Relaxed), 20);
    }
}
