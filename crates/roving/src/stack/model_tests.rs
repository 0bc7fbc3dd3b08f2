//! Proptest.
