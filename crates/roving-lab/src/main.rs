//! The `roving` command.
fn main() {}
