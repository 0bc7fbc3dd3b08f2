//! Guards: a buffer on the host.

use std::fmt;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::content::{BufferContent, Content, Granted, Need};
use super::element::Element;
use super::host::Host;
use super::wait::block;

/// A guard of a buffer that is read on the host. See [`Buffer::read`](crate::Buffer::read).
///
/// ```
/// use roving_gpu::{Buffer, ReadGuard};
///
/// let numbers = Buffer::from(vec![1, 2]);
/// let guard: ReadGuard<'_, i32> = numbers.read();
/// assert_eq!(guard.iter().sum::<i32>(), 3);
/// ```
pub struct ReadGuard<'a, T: Element> {
    // Dropped in this order: who comes next finds that it has the only reference.
    host: Arc<Host<T>>,
    _hold: Hold<'a, T>,
}

/// Gives the right to read back.
struct Hold<'a, T: Element>(&'a BufferContent<T>);

impl<T: Element> Drop for Hold<'_, T> {
    fn drop(&mut self) {
        self.0.release(false);
    }
}

/// A guard of a buffer that is written on the host. See [`Buffer::write`](crate::Buffer::write).
///
/// ```
/// use roving_gpu::{Buffer, WriteGuard};
///
/// let numbers = Buffer::from(vec![2, 1]);
/// let mut guard: WriteGuard<'_, i32> = numbers.write();
/// guard.sort();
/// drop(guard);
/// assert_eq!(numbers.into_vec(), [1, 2]);
/// ```
pub struct WriteGuard<'a, T: Element> {
    /// `None` only while it is dropped.
    host: Option<Arc<Host<T>>>,
    shared: &'a BufferContent<T>,
}

pub(super) fn read<T: Element>(shared: &Arc<BufferContent<T>>) -> ReadGuard<'_, T> {
    ReadGuard {
        host: get(shared, false),
        _hold: Hold(shared),
    }
}

pub(super) fn write<T: Element>(shared: &Arc<BufferContent<T>>) -> WriteGuard<'_, T> {
    let mut host = get(shared, true);
    // Copies only if a back-end still has a reference to what it should have given up.
    Arc::make_mut(&mut host);
    WriteGuard {
        host: Some(host),
        shared,
    }
}

pub(super) fn into_vec<T: Element>(shared: Arc<BufferContent<T>>) -> Vec<T> {
    let host = get(&shared, true);
    BufferContent::into_host(shared, host)
}

/// Waits until it can be had.
fn get<T: Element>(shared: &Arc<BufferContent<T>>, exclusive: bool) -> Arc<Host<T>> {
    let mut need = Need::default();
    let mut look = |waker: &Waker| shared.try_guard(exclusive, &mut need, waker);
    // Mostly it can be had at once.
    let mut granted = look(Waker::noop());
    if let Granted::Later = granted {
        let tell = || {
            let len = shared.len();
            format!("a buffer of {len} elements, which a guard or a task on a device holds")
        };
        let guard = poll_fn(|context| match look(context.waker()) {
            Granted::Later => Poll::Pending,
            granted => Poll::Ready(granted),
        });
        granted = block(tell, guard);
    }
    match granted {
        Granted::Yes(host) => host,
        Granted::Lost(reason) => panic!("the only valid copy of a buffer is lost: {reason}"),
        Granted::Later => unreachable!("waited for"),
    }
}

impl<T: Element> Deref for ReadGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.host.0
    }
}

impl<T: Element> Deref for WriteGuard<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.host {
            Some(host) => &host.0,
            None => unreachable!("not while it is dropped"),
        }
    }
}

impl<T: Element> DerefMut for WriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self.host.as_mut().and_then(Arc::get_mut) {
            Some(host) => &mut host.0,
            None => unreachable!("made the only reference when the guard was made"),
        }
    }
}

impl<T: Element> Drop for WriteGuard<'_, T> {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            self.shared.put_back(host);
        }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for ReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for WriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
