//! Actors on Roving's workers: an example of a crate that builds on [`roving::raw`].
//!
//! An actor is a state that one closure changes, message by message. Its mailbox has no bound. Each
//! actor has a *place*, the worker on which it runs, so its state stays in that worker's cache;
//! a message to another actor wakes it there. (A worker that is blocked lets others run what has
//! its place there.)
//!
//! ```
//! let pool = roving::Pool::new(2)?;
//! let total = std::sync::atomic::AtomicU64::new(0);
//! actors::Theatre::new(&pool).run(|stage| {
//!     let sum = stage.actor(0, |message: u64| {
//!         total.fetch_add(message, std::sync::atomic::Ordering::Relaxed);
//!     });
//!     let square = stage.actor(1, move |number: u64| sum.send(number * number));
//!     (1..=10).for_each(|number| square.send(number));
//! });
//! assert_eq!(total.into_inner(), 385);
//! # Ok::<(), roving::BuildError>(())
//! ```

#![deny(unsafe_code)]

use std::collections::VecDeque;
use std::future;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

use roving::raw::tasks::{Place, spawn_placed};
use roving::{Pool, task};

const _: () = assert!(
    roving::raw::VERSION == 1,
    "written for version 1 of the seam"
);

/// A pool with the places of its actors.
pub struct Theatre<'pool> {
    pool: &'pool Pool,
    places: Vec<Place>,
}

impl<'pool> Theatre<'pool> {
    /// Has a place for actors on each worker of the pool.
    pub fn new(pool: &'pool Pool) -> Theatre<'pool> {
        let places = (0..pool.workers()).map(|at| Place::new(Some(at)));
        Theatre {
            pool,
            places: places.collect(),
        }
    }

    /// Runs actors until all mailboxes are empty and nobody can send any more. Actors that have
    /// each other's addresses can always send, so they never end.
    ///
    /// # Panics
    /// With what an actor panics with, when all others have ended.
    pub fn run<'scope>(&'scope self, setup: impl FnOnce(&Stage<'scope>) + Send + 'scope) {
        let places = &self.places;
        self.pool
            .run(|scope| async move { setup(&Stage { scope, places }) });
    }
}

/// Where actors are set up.
pub struct Stage<'scope> {
    scope: task::Scope<'scope>,
    places: &'scope [Place],
}

impl<'scope> Stage<'scope> {
    /// Adds an actor on the worker with that index, modulo their number. It ends when its mailbox
    /// is empty and all of its [`Address`]es are gone.
    pub fn actor<M, F>(&self, worker: usize, mut receive: F) -> Address<M>
    where
        M: Send + 'scope,
        F: FnMut(M) + Send + 'scope,
    {
        let inbox = Arc::new(Inbox(Mutex::new(Mail {
            messages: VecDeque::new(),
            waiting: None,
            addresses: 1,
        })));
        let address = Address(Arc::clone(&inbox));
        let place = &self.places[worker % self.places.len()];
        let body = async move {
            while let Some(message) = next(&inbox).await {
                receive(message);
            }
        };
        drop(spawn_placed(self.scope, place, body));
        address
    }
}

/// A mailbox, shared by its actor and those that send to it.
struct Mail<M> {
    messages: VecDeque<M>,
    /// The actor, while it waits for a message.
    waiting: Option<Waker>,
    /// Its addresses; once there is none, no message can come.
    addresses: usize,
}

struct Inbox<M>(Mutex<Mail<M>>);

impl<M> Inbox<M> {
    fn with<R>(&self, f: impl FnOnce(&mut Mail<M>) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The next message of an actor; `None` when there will be none.
async fn next<M>(inbox: &Inbox<M>) -> Option<M> {
    future::poll_fn(|context| {
        inbox.with(|mail| match mail.messages.pop_front() {
            Some(message) => Poll::Ready(Some(message)),
            None if mail.addresses == 0 => Poll::Ready(None),
            None => {
                mail.waiting = Some(context.waker().clone());
                Poll::Pending
            }
        })
    })
    .await
}

/// Where messages to an actor are sent; as many as there are clones.
pub struct Address<M>(Arc<Inbox<M>>);

impl<M> Address<M> {
    /// Puts a message into the mailbox, and wakes the actor on its worker.
    pub fn send(&self, message: M) {
        let waiting = self.0.with(|mail| {
            mail.messages.push_back(message);
            mail.waiting.take()
        });
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<M> Clone for Address<M> {
    fn clone(&self) -> Address<M> {
        self.0.with(|mail| mail.addresses += 1);
        Address(Arc::clone(&self.0))
    }
}

impl<M> Drop for Address<M> {
    fn drop(&mut self) {
        let waiting = self.0.with(|mail| {
            mail.addresses -= 1;
            mail.waiting.take_if(|_| mail.addresses == 0)
        });
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    #[test]
    fn each_message_comes_once_and_on_its_actor_s_worker() {
        let pool = Pool::new(2).unwrap();
        let (came, elsewhere) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Theatre::new(&pool).run(|stage| {
            let last = stage.actor(0, |hops: u32| {
                came.fetch_add(1, Relaxed);
                assert_eq!(hops, 3);
            });
            let pass = |worker, to: Address<u32>| {
                let elsewhere = &elsewhere;
                stage.actor(worker, move |hops| {
                    let here = roving::current_worker();
                    elsewhere.fetch_add(usize::from(here != Some(worker)), Relaxed);
                    to.send(hops + 1);
                })
            };
            let first = pass(0, pass(1, pass(0, last)));
            (0..100).for_each(|_| first.clone().send(0));
        });
        assert_eq!((came.into_inner(), elsewhere.into_inner()), (100, 0));
    }

    #[test]
    fn a_panic_of_an_actor_reaches_the_caller_and_the_others_end() {
        let pool = Pool::new(2).unwrap();
        let came = AtomicUsize::new(0);
        let ended = panic::catch_unwind(AssertUnwindSafe(|| {
            Theatre::new(&pool).run(|stage| {
                let counts = stage.actor(1, |()| _ = came.fetch_add(1, Relaxed));
                let fails = stage.actor(0, move |()| {
                    counts.send(());
                    panic!("the actor has had enough");
                });
                fails.send(());
                fails.send(());
            });
        }));
        assert!(ended.is_err());
        assert_eq!(came.into_inner(), 1);
    }
}
