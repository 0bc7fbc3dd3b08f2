//! The workers of a pool: what each runs, where it looks for more, how it waits and sleeps, and
//! what all of them share.

#[allow(unsafe_code)]
pub(crate) mod arena;
#[cfg(not(loom))]
pub(crate) mod blocking;
#[cfg(not(loom))]
pub(crate) mod calls;
#[cfg(not(loom))]
pub(crate) mod dropped;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod enter;
#[allow(unsafe_code)]
pub(crate) mod frames;
pub(crate) mod inject;
#[allow(unsafe_code)]
pub(crate) mod job;
#[cfg(not(loom))]
pub(crate) mod jobs;
#[cfg(not(loom))]
pub(crate) mod kind;
#[cfg(not(loom))]
pub(crate) mod lent;
#[cfg(not(loom))]
pub(crate) mod on_demand;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod outside;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod own;
#[cfg(not(loom))]
pub(crate) mod parked;
#[cfg(not(loom))]
pub(crate) mod pins;
pub(crate) mod places;
pub(crate) mod priority;
#[cfg(not(loom))]
pub(crate) mod registry;
#[cfg(not(loom))]
pub(crate) mod replayed;
#[cfg(not(loom))]
pub(crate) mod seats;
#[cfg(not(loom))]
pub(crate) mod settings;
#[cfg(not(loom))]
pub(crate) mod size;
pub(crate) mod sleep;
#[cfg(not(loom))]
pub(crate) mod steal;
#[cfg(not(loom))]
pub(crate) mod stopping;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod stranded;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod turn;
pub(crate) mod wait;
#[cfg(not(loom))]
#[allow(unsafe_code)]
pub(crate) mod worker;

#[cfg(not(loom))]
pub(crate) use worker::Worker;
