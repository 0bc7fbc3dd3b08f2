//! The items that Rayon has deprecated and still has.
#![allow(deprecated)]

use std::any::Any;
use std::error::Error;

use crate::{ThreadPool, ThreadPoolBuilder};

/// Configures the global pool.
///
/// # Errors
/// As [`ThreadPoolBuilder::build_global`].
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
pub fn initialize(config: Configuration) -> Result<(), Box<dyn Error>> {
    config.builder.build_global().map_err(Box::from)
}

/// The configuration of a pool; the older [`ThreadPoolBuilder`].
#[deprecated(note = "Use `ThreadPoolBuilder`")]
#[derive(Debug, Default)]
pub struct Configuration {
    builder: ThreadPoolBuilder,
}

impl Configuration {
    /// The defaults.
    pub fn new() -> Configuration {
        Configuration::default()
    }

    /// See [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As there.
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error + 'static>> {
        self.builder.build().map_err(Box::from)
    }

    fn with(self, f: impl FnOnce(ThreadPoolBuilder) -> ThreadPoolBuilder) -> Configuration {
        Configuration {
            builder: f(self.builder),
        }
    }

    /// See [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F>(self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.with(|builder| builder.thread_name(closure))
    }

    /// See [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, num_threads: usize) -> Configuration {
        self.with(|builder| builder.num_threads(num_threads))
    }

    /// See [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, panic_handler: H) -> Configuration
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.with(|builder| builder.panic_handler(panic_handler))
    }

    /// See [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, stack_size: usize) -> Self {
        self.with(|builder| builder.stack_size(stack_size))
    }

    /// See [`ThreadPoolBuilder::breadth_first`].
    pub fn breadth_first(self) -> Self {
        self.with(ThreadPoolBuilder::breadth_first)
    }

    /// See [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H>(self, start_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.with(|builder| builder.start_handler(start_handler))
    }

    /// See [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H>(self, exit_handler: H) -> Configuration
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.with(|builder| builder.exit_handler(exit_handler))
    }
}

impl ThreadPool {
    /// A pool as `configuration` says.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    #[deprecated(note = "Use `ThreadPoolBuilder::build`")]
    pub fn new(configuration: Configuration) -> Result<ThreadPool, Box<dyn Error>> {
        configuration.build()
    }
}
