//! The workers of a pool: what each runs, where it looks for more, how it waits and sleeps, and
//! what all of them share.

#[allow(unsafe_code)]
pub(crate) mod arena;
pub(crate) mod blocking;
pub(crate) mod calls;
pub(crate) mod dropped;
#[allow(unsafe_code)]
pub(crate) mod enter;
#[allow(unsafe_code)]
pub(crate) mod frames;
pub(crate) mod inject;
#[allow(unsafe_code)]
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod kind;
pub(crate) mod lent;
pub(crate) mod on_demand;
#[allow(unsafe_code)]
pub(crate) mod outside;
#[allow(unsafe_code)]
pub(crate) mod own;
pub(crate) mod parked;
pub(crate) mod pins;
pub(crate) mod places;
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
pub(crate) mod turn;
pub(crate) mod wait;
#[allow(unsafe_code)]
pub(crate) mod worker;

pub(crate) use worker::Worker;
