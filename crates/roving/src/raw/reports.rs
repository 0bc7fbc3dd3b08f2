//! Traces and reports of standstills: whether somebody asks for them, and a way to add to them.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//! use std::sync::{Arc, mpsc};
//! use std::time::Duration;
//!
//! use roving::raw::reports::{Lookout, keeps_trace, tell_standstill, watch_patience};
//!
//! // Something that counts what it has done, and has come to a standstill.
//! let done = Arc::new(AtomicU64::new(7));
//! let (told, tells) = mpsc::channel();
//! roving::watch::on_report(move |text| drop(told.send(text.to_owned())));
//!
//! let patience = watch_patience().unwrap_or(Duration::from_millis(1));
//! let (seen, mut before) = (Arc::clone(&done), None);
//! let lookout = Lookout::start("my-lookout", patience, move || {
//!     let now = Some(seen.load(Relaxed));
//!     if now == before {
//!         tell_standstill("two ports wait for each other");
//!         return ControlFlow::Break(());
//!     }
//!     before = now;
//!     ControlFlow::Continue(())
//! });
//! assert!(tells.recv().unwrap().contains("two ports wait"));
//! // Its thread ends, if it has not by itself.
//! drop(lookout);
//!
//! // A span gets a name where somebody reads it.
//! let name = keeps_trace().then(|| format!("after {} steps", done.load(Relaxed)));
//! # assert!(name.is_none() || std::env::var_os("ROVING_TRACE").is_some());
//! ```

use std::ops::ControlFlow;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use crate::machine::faults;
use crate::machine::prim::thread::{self, JoinHandle};
use crate::machine::service;
use crate::observe::{diagnostics, watch};

/// Returns whether a pool of this process keeps a trace, so that spans are worth their names.
#[inline]
pub fn keeps_trace() -> bool {
    crate::observe::trace::is_on()
}

/// The patience that `ROVING_WATCH` asks for.
#[inline]
pub fn watch_patience() -> Option<Duration> {
    diagnostics::patience()
}

/// Gives a report of a standstill to [`watch::on_report`]'s function, or
/// to standard error.
#[inline]
pub fn tell_standstill(text: &str) {
    watch::tell(text);
}

/// A thread that looks again and again whether something stands still, until this is dropped.
///
/// The [module's page](self) has one that tells of a standstill.
#[derive(Debug)]
pub struct Lookout {
    /// Dropped to end the thread.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lookout {
    /// Starts a thread of that name, which calls `look` each time that `patience` has passed, until
    /// `look` says that it has seen enough. Without a thread to be had there is none: what it would
    /// look at works all the same.
    #[inline]
    pub fn start(
        name: &str,
        patience: Duration,
        mut look: impl FnMut() -> ControlFlow<()> + Send + 'static,
    ) -> Option<Lookout> {
        let (over, ends) = mpsc::channel();
        let looks = move || {
            let goes_on = || ends.recv_timeout(patience) == Err(RecvTimeoutError::Timeout);
            while goes_on() && look().is_continue() {}
        };
        let builder = thread::Builder::new().name(name.to_owned());
        let thread = faults::start(builder, looks).ok()?;
        Some(Lookout {
            over: Some(over),
            thread: Some(thread),
        })
    }
}

impl Drop for Lookout {
    /// Returns when the thread has ended. On that thread, which calls `look`: at once.
    #[inline]
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            service::join(thread);
        }
    }
}
