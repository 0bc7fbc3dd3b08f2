//! Places in the order of a stream, which other streams come after, also those of other devices.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

use cudarc::driver::{CudaEvent, CudaStream, DriverError};

/// A place on a stream, which other streams may be put behind.
#[derive(Default)]
pub(super) struct Point {
    /// `Some(None)`: there will be no event. All that was before it has ended, or the device is
    /// lost.
    event: Mutex<Option<Option<CudaEvent>>>,
    settled: Condvar,
}

impl Point {
    /// Once: later calls change nothing.
    pub(super) fn settle(&self, event: Option<CudaEvent>) {
        let mut own = self.event.lock().unwrap_or_else(PoisonError::into_inner);
        own.get_or_insert(event);
        drop(own);
        self.settled.notify_all();
    }

    /// Sleeps until the other lane has marked its stream. It waits for its device only where a copy
    /// does, and for those that were told to before this: so lanes do not wait for each other.
    pub(super) fn put_behind(&self, stream: &CudaStream) -> Result<(), DriverError> {
        let own = self.event.lock().unwrap_or_else(PoisonError::into_inner);
        let own = self.settled.wait_while(own, |event| event.is_none());
        match &*own.unwrap_or_else(PoisonError::into_inner) {
            Some(Some(event)) => stream.wait(event).or_else(|_| event.synchronize()),
            _ => Ok(()),
        }
    }
}

/// The side of a point that settles it, at the latest when it is dropped.
pub(super) struct Marker(pub(super) Arc<Point>);

impl Drop for Marker {
    fn drop(&mut self) {
        self.0.settle(None);
    }
}

/// The two sides of a new point.
pub(super) fn new() -> (Marker, Arc<Point>) {
    let point = Arc::new(Point::default());
    (Marker(Arc::clone(&point)), point)
}
