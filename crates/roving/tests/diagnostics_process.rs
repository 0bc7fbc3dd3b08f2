//! The variables of the environment, in programs with the feature `diagnostics` and without.

#[path = "common/child.rs"]
mod child;
mod common;

use child::{child, is_child, passed};
use roving::{trace, watch};

const VARIABLES: [&str; 4] = [
    "ROVING_PROFILE",
    "ROVING_TOP",
    "ROVING_TRACE",
    "ROVING_WATCH",
];

#[test]
fn child_uses_two_pools() {
    if is_child("child_uses_two_pools") {
        let pool = roving::Pool::new(1).unwrap();
        assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
        assert_eq!(roving::join(|| 3, || 4), (3, 4));
    }
}

/// Each line that the child writes to standard error, with these variables set so.
fn said(names: &[&str], value: &str) -> Vec<String> {
    let mut command = child("child_uses_two_pools");
    for name in VARIABLES {
        command.env_remove(name);
    }
    for name in names {
        command.env(name, value);
    }
    let output = passed(&mut command);
    let text = String::from_utf8(output.stderr).unwrap();
    let lines = text.lines().filter(|line| line.contains("roving:"));
    lines.map(str::to_owned).collect()
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_variable_is_heard_or_refused() {
    // Nothing can be made there.
    let said = said(&VARIABLES, "/no/such/folder/it");
    if cfg!(feature = "diagnostics") {
        let heard = |words| said.iter().filter(|line| line.contains(words)).count();
        assert_eq!(heard("the trace cannot be written to"), 1, "{said:?}");
        assert_eq!(heard("is not a time"), 1, "{said:?}");
        assert_eq!(heard("pool `roving`, "), 2, "{said:?}");
        return;
    }
    assert_eq!(said.len(), VARIABLES.len(), "{said:?}");
    for (line, name) in said.iter().zip(VARIABLES) {
        let refused = format!("{name} is set, but this program was built without");
        assert!(line.contains(&refused), "{said:?}");
        assert!(line.contains("feature `diagnostics`"), "{said:?}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn what_asks_for_nothing_is_not_refused() {
    assert_eq!(said(&VARIABLES, ""), [""; 0]);
    assert_eq!(said(&VARIABLES, "0"), [""; 0]);
}

#[test]
fn names_of_spans_and_locks_are_always_there() {
    let span = trace::span("a span");
    let held = watch::held("a lock");
    let mut locked = watch::locked("another", || Box::new(5));
    *locked += 1;
    assert_eq!(*locked, 6);
    drop((span, held));
}
