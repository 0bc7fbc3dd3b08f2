//! The workers of a pool: what each runs, where it looks for more, how it waits and sleeps, and
//! what all of them share.

#[allow(unsafe_code)]
pub(crate) mod arena;
pub(crate) mod blocking;
pub(crate) mod drop_cancelled;
#[allow(unsafe_code)]
pub(crate) mod enter;
#[allow(unsafe_code)]
pub(crate) mod frames;
pub(crate) mod inject;
#[allow(unsafe_code)]
pub(crate) mod job;
pub(crate) mod job_limit;
pub(crate) mod job_runs;
pub(crate) mod lent_thread;
pub(crate) mod on_demand;
#[allow(unsafe_code)]
pub(crate) mod outside_calls;
#[allow(unsafe_code)]
pub(crate) mod own_tasks;
pub(crate) mod pins;
pub(crate) mod pool_kind;
pub(crate) mod priority;
pub(crate) mod registry;
pub(crate) mod replayed;
pub(crate) mod seats;
pub(crate) mod settings;
pub(crate) mod size;
pub(crate) mod sleep;
pub(crate) mod steal;
pub(crate) mod stopping;
#[allow(unsafe_code)]
pub(crate) mod stranded;
#[allow(unsafe_code)]
pub(crate) mod thread_loop;
pub(crate) mod wait;
pub(crate) mod wake_calls;
pub(crate) mod watched_parks;
#[allow(unsafe_code)]
pub(crate) mod worker;

pub(crate) use worker::Worker;
