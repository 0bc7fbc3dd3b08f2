//! Mean-field equations and a discrete-event simulator of work stealing.
#![forbid(unsafe_code)]
