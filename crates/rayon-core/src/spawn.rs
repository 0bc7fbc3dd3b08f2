//! Detached tasks.

use roving::raw::calls::Order;

use crate::global::with_current;

/// Runs `func` some time in the current pool, and does not wait for it. What a worker spawns, that
/// worker takes newest first, and others steal oldest first.
///
/// # Panics
/// If `func` panics, the pool's panic handler gets the payload; without one the process is aborted.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|pool| pool.spawn(Order::NewestFirst, func));
}

/// As [`fn@spawn`], but what one thread spawns so starts in that order.
///
/// ```
/// let (sender, receiver) = std::sync::mpsc::channel();
/// rayon_core::spawn_fifo(move || sender.send(7).unwrap());
/// assert_eq!(receiver.recv(), Ok(7));
/// ```
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    with_current(|pool| pool.spawn(Order::OldestFirst, func));
}
