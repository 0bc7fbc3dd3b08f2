//! Checks and chores as verbs.
fn main() {}
