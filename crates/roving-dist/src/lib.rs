//! Process networks and bags of tasks across ranks.
#![deny(unsafe_code)]
