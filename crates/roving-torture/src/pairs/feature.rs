//! The features of a program: each public operation of `roving`, `roving-flow` and
//! `roving-iter`, with its parts.

use std::fmt;

/// How often a part runs where its step runs, and who may stop that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartRuns {
    /// Once, whoever asks the program to stop.
    Once,
    /// Once, unless something above is cancelled first.
    Task,
    /// At most so often.
    AtMost(u32),
}

/// A part of a step: steps of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepPart {
    pub(crate) runs: PartRuns,
    /// Its steps may await.
    pub(crate) is_async: bool,
    /// Its panic leaves the step.
    pub(crate) leaves: bool,
    /// It may outlive the step, and so contains nothing that panics.
    pub(crate) is_calm: bool,
    /// Something may be cancelled while it runs.
    pub(crate) cancels: bool,
}

impl StepPart {
    pub(crate) fn repeats(&self) -> bool {
        matches!(self.runs, PartRuns::AtMost(2..))
    }
}

const ONCE: StepPart = StepPart {
    runs: PartRuns::Once,
    is_async: false,
    leaves: true,
    is_calm: false,
    cancels: false,
};
const TASK: StepPart = StepPart {
    runs: PartRuns::Task,
    ..ONCE
};
const ASYNC: StepPart = StepPart {
    is_async: true,
    ..ONCE
};
const CHILD: StepPart = StepPart {
    is_async: true,
    ..TASK
};
/// Runs some time, perhaps when the step is over.
const LATER: StepPart = StepPart {
    runs: PartRuns::Task,
    leaves: false,
    is_calm: true,
    ..ONCE
};
const CALM: StepPart = StepPart {
    is_calm: true,
    ..ONCE
};
const MAYBE: StepPart = StepPart {
    runs: PartRuns::AtMost(1),
    cancels: true,
    ..ONCE
};

/// Runs once, unless it is ended before it begins; whoever asks for its result gets its panic.
const AWAITED: StepPart = TASK;
/// Runs some time, if nobody ends it before.
const ABORTED: StepPart = StepPart {
    runs: PartRuns::AtMost(1),
    ..LATER
};

const fn at_most(times: u32, part: StepPart) -> StepPart {
    StepPart {
        runs: PartRuns::AtMost(times),
        ..part
    }
}

/// Everything about a feature that the generator has to know.
pub(crate) struct FeatureFacts {
    pub(crate) name: &'static str,
    pub(crate) parts: &'static [StepPart],
    /// It is awaited, and so stands in an async part.
    pub(crate) is_async: bool,
    /// It may leave something behind that a later step, or the end of the program, uses.
    pub(crate) keeps: bool,
    /// It may panic by itself.
    pub(crate) throws: bool,
    /// How many variants there are.
    pub(crate) modes: u8,
    /// A program with it takes much longer.
    pub(crate) is_heavy: bool,
}

const fn closure(name: &'static str, modes: u8, parts: &'static [StepPart]) -> FeatureFacts {
    FeatureFacts {
        name,
        parts,
        is_async: false,
        keeps: false,
        throws: false,
        modes,
        is_heavy: false,
    }
}

const fn awaited(name: &'static str, modes: u8, parts: &'static [StepPart]) -> FeatureFacts {
    FeatureFacts {
        is_async: true,
        ..closure(name, modes, parts)
    }
}

const fn keeps(about: FeatureFacts) -> FeatureFacts {
    FeatureFacts {
        keeps: true,
        ..about
    }
}

const fn heavy(about: FeatureFacts) -> FeatureFacts {
    FeatureFacts {
        is_heavy: true,
        ..about
    }
}

macro_rules! features {
    ($($feature:ident => $about:expr,)*) => {
        /// One operation, or one family of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub(crate) enum Feature { $($feature,)* }

        /// All of them, in the order of their numbers.
        pub(crate) const FEATURES: &[Feature] = &[$(Feature::$feature,)*];

        const ABOUT: &[FeatureFacts] = &[$($about,)*];
    };
}

features! {
    // Closures.
    Join => closure("join", 4, &[ONCE, ONCE]),
    Scope => closure("scope", 3, &[TASK, ONCE]),
    ScopeCancel => closure("scope-cancel", 2, &[MAYBE, ONCE]),
    Broadcast => heavy(closure("broadcast", 2, &[at_most(2, CALM)])),
    ScopeBroadcast => heavy(closure("scope-broadcast", 1, &[at_most(2, CALM)])),
    Loop => closure("loop", 2, &[ONCE]),
    EarlyLoop => closure("loop-ends-early", 4, &[ONCE]),
    Reduce => closure("reduce", 4, &[ONCE]),
    Spawn => keeps(closure("spawn", 3, &[LATER])),
    TrySpawn => keeps(closure("try-spawn", 4, &[LATER])),
    Joined => closure("joined-handle", 4, &[AWAITED]),
    Loud => keeps(closure("waker-throws", 12, &[ABORTED])),
    Aborted => keeps(closure("aborted-handle", 4, &[ABORTED])),
    KeptJob => keeps(closure("kept-join-handle", 4, &[ABORTED])),
    Apart => closure("job-of-no-task", 9, &[AWAITED]),
    Install => closure("install", 2, &[ONCE]),
    Blocking => closure("blocking", 2, &[ONCE]),
    WorkerLocal => keeps(closure("worker-local", 3, &[ONCE])),
    Foreign => heavy(closure("foreign-thread", 3, &[ONCE])),
    ThreadEnd => heavy(closure("at-thread-end", 3, &[ONCE])),
    // Parallel iterators.
    Iter => closure("iterator", 8, &[ONCE]),
    IterOwned => closure("iterator-owns", 6, &[ONCE]),
    IterEnds => closure("iterator-ends-early", 8, &[ONCE]),
    IterSort => closure("iterator-sorts", 4, &[ONCE]),
    IterBridge => closure("iterator-bridge", 4, &[ONCE]),
    IterBomb => FeatureFacts { throws: true, ..closure("iterator-drop-throws", 6, &[]) },
    // Async tasks.
    BlockOn => closure("block-on", 2, &[ASYNC]),
    TaskScope => closure("task-scope", 2, &[ASYNC]),
    Placed => closure("placed-task", 12, &[CHILD, ASYNC]),
    Fork => awaited("fork", 8, &[CHILD, ASYNC]),
    TaskSpawn => awaited("task-spawn", 8, &[CHILD, ASYNC]),
    Branch => awaited("branch", 8, &[CHILD, ASYNC]),
    Call => awaited("call", 2, &[ASYNC]),
    Pause => awaited("pause", 4, &[]),
    Half => keeps(awaited("half-polled", 20, &[CHILD_CALM])),
    Handle => keeps(awaited("kept-handle", 6, &[CHILD_CALM])),
    AwaitedJob => awaited("awaited-handle", 3, &[AWAITED]),
    KeptWaker => keeps(awaited("kept-waker", 3, &[])),
    DeadToken => keeps(closure("dead-token", 2, &[ONCE])),
    // What is inherited.
    With => closure("context-with", 1, &[ONCE]),
    DropsContext => keeps(heavy(closure("context-drop-throws", 8, &[LATER]))),
    KeptContext => keeps(closure("kept-context", 2, &[ONCE])),
    Cancel => keeps(closure("cancel", 5, &[MAYBE])),
    Deadline => closure("deadline", 3, &[MAYBE]),
    UntilCancelled => keeps(awaited("until-cancelled", 4, &[])),
    Timed => keeps(awaited("deadline-awaited", 6, &[MAYBE_ASYNC])),
    // Pools.
    Resize => keeps(closure("resize", 3, &[])),
    OtherPool => heavy(closure("other-pool", 4, &[ONCE, LATER])),
    Shutdown => heavy(closure("shutdown-now", 2, &[MAYBE_CALM, STOPPED])),
    KeptPool => keeps(heavy(closure("kept-pool", 2, &[LATER, ONCE]))),
    Adopted => heavy(closure("adopted-thread", 3, &[ONCE, ONCE])),
    CallerRuns => closure("caller-runs", 2, &[ONCE, LATER]),
    Contended => heavy(closure("contended-place", 5, &[ONCE, ONCE])),
    OwnThreads => keeps(heavy(closure("own-threads", 4, &[ONCE]))),
    Arena => heavy(closure("arena", 3, &[ONCE, ONCE])),
    Handlers => heavy(closure("handlers", 3, &[ONCE])),
    Replayed => heavy(closure("replayed", 1, &[at_most(2, CALM)])),
    Global => heavy(closure("global", 1, &[CALM])),
    PoolRef => heavy(closure("pool-ref", 5, &[TASK])),
    Stopped => heavy(closure("stopped-meanwhile", 1, &[STOPPED_TASK])),
    AdoptedDrops => heavy(closure("adopted-drops-inside", 14, &[ONCE, ONCE])),
    Resized => heavy(closure("resized-meanwhile", 3, &[ONCE, LATER])),
    // Panics.
    Throw => FeatureFacts { throws: true, ..closure("throw", 1, &[]) },
    Catch => closure("catch", 1, &[StepPart { leaves: false, ..ONCE }]),
    Bomb => FeatureFacts { throws: true, ..closure("drop-throws", 4, &[]) },
    // What was kept.
    Take => closure("take", 4, &[]),
    Act => closure("act", 1, &[]),
    // Networks.
    Network => closure("network", 6, &[ASYNC]),
    RunHere => closure("run-here", 2, &[ASYNC]),
    Outside => heavy(closure("outside-port", 4, &[ONCE])),
    Merge => heavy(closure("merge", 6, &[ONCE])),
    NetFail => closure("failing-network", 3, &[CALM]),
    NetCancel => keeps(closure("cancelled-network", 4, &[MAYBE])),
    PortPassed => closure("port-passed", 2, &[CALM]),
    PortKept => keeps(closure("port-kept", 4, &[CALM])),
    HalfPort => closure("half-polled-port", 3, &[CALM]),
    Stage => closure("stage", 2, &[at_most(64, CALM)]),
    TryStage => closure("try-stage", 3, &[at_most(64, CALM)]),
    Filter => closure("filter", 2, &[at_most(64, CALM)]),
    ToAll => closure("to-all", 3, &[at_most(64, CALM)]),
    Deadlock => closure("deadlock", 3, &[CALM]),
    TimedPort => closure("port-timeouts", 5, &[ONCE]),
    Repeat => closure("repeated-network", 4, &[ONCE]),
    Sources => closure("sources", 5, &[ONCE]),
    StageAsync => closure("stage-async", 3, &[at_most(64, ASYNC_CALM)]),
    Zip => closure("zip-batch", 2, &[ONCE]),
    Ring => closure("ring", 3, &[ONCE]),
    NetRefused => closure("refused-network", 3, &[]),
}

const CHILD_CALM: StepPart = StepPart {
    is_calm: true,
    leaves: false,
    runs: PartRuns::AtMost(1),
    ..CHILD
};
const ASYNC_CALM: StepPart = StepPart {
    is_async: true,
    ..CALM
};
const MAYBE_ASYNC: StepPart = StepPart {
    is_async: true,
    ..MAYBE
};
/// A part whose spawned tasks may be dropped.
const STOPPED: StepPart = StepPart {
    cancels: true,
    ..ONCE
};
/// One that may be dropped before it begins, too.
const STOPPED_TASK: StepPart = StepPart {
    cancels: true,
    ..TASK
};
const MAYBE_CALM: StepPart = StepPart {
    is_calm: true,
    leaves: false,
    ..MAYBE
};

impl Feature {
    pub(crate) fn about(self) -> &'static FeatureFacts {
        &ABOUT[self as usize]
    }

    pub(crate) fn name(self) -> &'static str {
        self.about().name
    }

    /// Its parts may run at the same time.
    pub(crate) fn is_parallel(self) -> bool {
        matches!(
            self,
            Feature::Join
                | Feature::Scope
                | Feature::Fork
                | Feature::TaskSpawn
                | Feature::Branch
                | Feature::Placed
        )
    }

    /// The second part runs when the first has ended well.
    pub(crate) fn is_sequential(self) -> bool {
        matches!(
            self,
            Feature::Adopted | Feature::Arena | Feature::AdoptedDrops
        )
    }

    /// The feature of that name.
    pub(crate) fn named(name: &str) -> Option<Feature> {
        FEATURES.iter().copied().find(|one| one.name() == name)
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_have_names_of_their_own_and_fit_a_word() {
        assert!(FEATURES.len() <= 128, "a set of features is a word");
        for (index, feature) in FEATURES.iter().enumerate() {
            assert_eq!(*feature as usize, index);
            let same = FEATURES.iter().filter(|one| one.name() == feature.name());
            assert_eq!(same.count(), 1, "{feature}");
        }
    }
}
