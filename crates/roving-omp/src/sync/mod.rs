//! The words by which threads wait for each other, and how those that wait are woken.

pub(crate) mod barrier;
pub(crate) mod count;
pub(crate) mod dock;
pub(crate) mod elsewhere;
pub(crate) mod futex;
pub(crate) mod gate;
pub(crate) mod mail;
pub(crate) mod mutex;
#[cfg(not(loom))]
pub(crate) mod patience;
#[cfg(not(loom))]
pub(crate) mod rendezvous;
pub(crate) mod turn;

#[cfg(all(test, loom))]
pub(crate) mod loom_tests;

/// Loom has no time: a thread that waits sleeps at once.
#[cfg(loom)]
pub(crate) mod patience {
    #[derive(Default)]
    pub(crate) struct WaitPatience;

    impl WaitPatience {
        pub(crate) fn pause(&mut self) -> bool {
            false
        }
    }
}
