//! The decisions of a rank with a part of a bag, which `roving-model` takes by the same code.
//!
//! ```
//! use roving_dist::raw::rules::{ATTEMPTS, BASE, Engagement, LOOK, Left, Victims, children, lifelines};
//!
//! // Rank 1 of four has run out of tasks: it asks at random, and then its lifelines.
//! let mut victims = Victims::new(1, 4, ATTEMPTS);
//! let asked = std::iter::from_fn(|| victims.next()).count();
//! assert_eq!((asked, lifelines(1, 4, BASE)), (ATTEMPTS, vec![2, 3]));
//! victims.restart();
//! assert!(victims.next().is_some_and(|rank| rank != 1));
//!
//! // It is done with rank 0's tasks when what it has sent on is acknowledged.
//! let mut own = Engagement::new(1, 2);
//! own.sends();
//! assert_eq!(own.leave(), Left::No);
//! own.is_acknowledged();
//! assert_eq!(own.leave(), Left::Acknowledge(0));
//! let _answers_at_once: bool = own.receives(0);
//!
//! // News of the end goes along a tree.
//! assert_eq!(children(0, 8).collect::<Vec<_>>(), [1, 2, 4]);
//! // A rank at work looks for messages so often.
//! assert!(LOOK.as_micros() < 1000);
//! ```

pub use super::engagement::{Engagement, Left, children};
pub use super::lifeline::{ATTEMPTS, BASE, Victims, lifelines};
pub use super::segment::LOOK;
