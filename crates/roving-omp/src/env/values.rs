//! The values that the variables have, and what each task inherits of them.

use super::places::Place;

/// How iterations are given to threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScheduleKind {
    Static,
    Dynamic,
    Guided,
    Auto,
}

/// `run-sched-var`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Schedule {
    pub(crate) kind: ScheduleKind,
    pub(crate) monotonic: bool,
    /// 0: as the kind likes it.
    pub(crate) chunk: u64,
}

/// How threads are bound to places, by number as in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Bind {
    False,
    True,
    Primary,
    Close,
    Spread,
}

/// The values that each task has for itself, and its children inherit (*internal control
/// variables*).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Controls {
    /// Threads of the next region, where it does not say.
    pub(crate) threads: u32,
    pub(crate) dynamic: bool,
    pub(crate) max_active: u32,
    pub(crate) schedule: Schedule,
    pub(crate) bind: Bind,
    pub(crate) device: i32,
    pub(crate) thread_limit: u32,
    /// By its handle.
    pub(crate) allocator: usize,
}

impl Controls {
    /// The clause `thread_limit`; 0 where there is none.
    pub(crate) fn limit_threads(&mut self, limit: u32) {
        if limit > 0 {
            self.thread_limit = self.thread_limit.min(limit);
        }
    }
}

/// `OMP_WAIT_POLICY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitPolicy {
    Active,
    Passive,
}

/// All that the environment says.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) processors: usize,
    /// Processors up to which inner regions get threads.
    pub(crate) processors_to_fill: usize,
    pub(crate) controls: Controls,
    /// Threads by level of nesting; the last one holds for all further levels.
    pub(crate) threads: Vec<u32>,
    pub(crate) bind: Vec<Bind>,
    pub(crate) places: Vec<Place>,
    /// Looks before a thread sleeps; `None`: by the clock.
    pub(crate) spins: Option<u64>,
    pub(crate) wait_policy: Option<WaitPolicy>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) cancellation: bool,
    pub(crate) task_priority: u64,
    pub(crate) teams: u32,
    pub(crate) teams_thread_limit: u32,
    pub(crate) display_affinity: bool,
    pub(crate) affinity_format: String,
    pub(crate) target_offload: &'static str,
    pub(crate) spins_said: Option<u64>,
    pub(crate) affinity_said: String,
}
