//! The reports that environment variables ask for.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::machine::os;
use crate::machine::per_process::PerProcess;
use crate::machine::prim::process_wide;
use crate::observe::variable::set;

pub(super) struct Wishes {
    pub(super) report: bool,
    pub(super) trace: Option<PathBuf>,
    /// Where a live view may ask.
    pub(super) top: Option<PathBuf>,
    /// How long nothing moves before it is reported.
    pub(super) watch: Option<Duration>,
}

process_wide! {
    static WISHES: PerProcess<Option<Arc<Wishes>>> = PerProcess::new();
}

/// Read once, when the first pool is built. A forked child has those of its parent, or reads them
/// itself if a thread of the parent was just reading.
pub(super) fn wishes() -> Arc<Wishes> {
    os::count_forks();
    let mut wishes = WISHES.lock_inherited(Clone::clone);
    Arc::clone(wishes.get_or_insert_with(|| Arc::new(Wishes::read())))
}

impl Wishes {
    fn read() -> Wishes {
        Wishes {
            report: set("ROVING_PROFILE").is_some(),
            trace: set("ROVING_TRACE").map(PathBuf::from),
            top: set("ROVING_TOP").map(|value| socket(&value)),
            watch: set("ROVING_WATCH").and_then(patience_of),
        }
    }
}

/// Where `ROVING_TOP` wants the socket.
fn socket(value: &OsStr) -> PathBuf {
    if value != "1" {
        return PathBuf::from(value);
    }
    let dir = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let dir = dir.filter(|dir| dir.is_dir()).unwrap_or_else(env::temp_dir);
    dir.join(format!("roving-{}.sock", std::process::id()))
}

/// How long nothing moves before it is reported, by default.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

fn patience_of(value: OsString) -> Option<Duration> {
    let value = value.to_str()?;
    parse(value).unwrap_or_else(|()| {
        os::say(&format!(
            "ROVING_WATCH={value:?} is not a time: say 1 (a second) or 2 to 3600000 milliseconds, or \
             unset it; nothing is watched"
        ));
        None
    })
}

fn parse(value: &str) -> Result<Option<Duration>, ()> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Ok(None);
    }
    match value.parse::<u64>() {
        Ok(0) => Ok(None),
        Ok(1) => Ok(Some(PATIENCE)),
        Ok(ms @ 2..=3_600_000) => Ok(Some(Duration::from_millis(ms))),
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::pool::testing::of_any_text())]

        /// Any text is nothing, or a time within the bounds, or refused.
        #[test]
        fn fuzz_the_variable_of_the_watch(text in "[ 0-9+-]{0,12}|.{0,24}") {
            if let Ok(Some(patience)) = parse(&text) {
                prop_assert!((2..=3_600_000).contains(&patience.as_millis()));
                prop_assert!(text.trim_ascii().parse::<u64>().is_ok());
            }
        }
    }

    #[test]
    fn the_variable_is_a_switch_or_a_time() {
        assert_eq!(parse(""), Ok(None));
        assert_eq!(parse("0"), Ok(None));
        assert_eq!(parse("1"), Ok(Some(PATIENCE)));
        assert_eq!(parse(" 250 "), Ok(Some(Duration::from_millis(250))));
        for bad in ["yes", "-1", "3600001", "1.5", "99999999999999999999999"] {
            assert_eq!(parse(bad), Err(()), "{bad}");
        }
    }
}
