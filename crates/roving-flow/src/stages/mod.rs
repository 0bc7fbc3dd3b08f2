//! The usual processes: sources and sinks, stages with several workers, and steps of one message.

mod sources;
mod stage;
mod steps;
