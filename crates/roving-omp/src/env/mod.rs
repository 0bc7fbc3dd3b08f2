//! The variables of the environment, read once, and what each task inherits of them.

mod complaint;
mod display;
mod parse;
pub(crate) mod places;
mod values;

use std::sync::LazyLock;

pub(crate) use self::complaint::{stop, warn};
pub(crate) use self::display::print;
use self::parse::Reader;
use self::values::WaitPolicy;
pub(crate) use self::values::{Bind, Controls, Environment, Schedule, ScheduleKind};

/// Regions that can be active at once on one thread.
pub(crate) const LEVELS_MAX: u32 = 255;

static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(Environment::read);

impl Environment {
    #[inline]
    pub(crate) fn get() -> &'static Environment {
        &ENVIRONMENT
    }

    fn read() -> Environment {
        let processors = processors();
        let read = Reader;
        let threads = read.counts("OMP_NUM_THREADS").unwrap_or_default();
        let bind = read.binds().unwrap_or_default();
        let affinity_said = std::env::var("GOMP_CPU_AFFINITY").unwrap_or_default();
        let mut places = match std::env::var("OMP_PLACES") {
            Ok(_) => read.places(),
            Err(_) => places::from_list(&affinity_said),
        };
        if places.is_empty() && bind.iter().any(|&bind| bind != Bind::False) {
            places = places::of_process()
                .into_iter()
                .map(|cpu| vec![cpu])
                .collect();
        }
        let max_active = levels(&read, threads.len() > 1 || bind.len() > 1);
        let limit = read.number("OMP_THREAD_LIMIT", 1);
        let wait_policy = read.wait_policy();
        let spins_said = read.spins();
        let spins = spins_said.or(match wait_policy {
            None => None,
            Some(WaitPolicy::Active) => Some(SPINS_ACTIVE),
            Some(WaitPolicy::Passive) => Some(0),
        });
        let target_offload = read.target_offload();
        let default_bind = match (&places[..], affinity_said.is_empty()) {
            ([], true) => Bind::False,
            _ => Bind::True,
        };
        let to_fill = read.number("ROVING_OMP_PROCESSORS", 1);
        Environment {
            processors,
            processors_to_fill: to_fill.map_or(processors, |count| count as usize),
            controls: Controls {
                threads: threads.first().copied().unwrap_or(processors as u32),
                dynamic: read.boolean("OMP_DYNAMIC").unwrap_or(false),
                max_active,
                schedule: read.schedule().unwrap_or(Schedule {
                    kind: ScheduleKind::Dynamic,
                    monotonic: false,
                    chunk: 1,
                }),
                bind: bind.first().copied().unwrap_or(default_bind),
                device: device(&read, target_offload),
                thread_limit: limit.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX)),
                allocator: read.allocator(),
            },
            threads,
            bind,
            places,
            spins,
            wait_policy,
            stack_size: read.stack_size(),
            cancellation: read.boolean("OMP_CANCELLATION").unwrap_or(false),
            task_priority: read.number("OMP_MAX_TASK_PRIORITY", 0).unwrap_or(0),
            teams: read.number("OMP_NUM_TEAMS", 1).unwrap_or(0) as u32,
            teams_thread_limit: read.number("OMP_TEAMS_THREAD_LIMIT", 1).unwrap_or(0) as u32,
            display_affinity: read.boolean("OMP_DISPLAY_AFFINITY").unwrap_or(false),
            affinity_format: std::env::var("OMP_AFFINITY_FORMAT")
                .unwrap_or_else(|_| "level %L thread %i affinity %A".to_owned()),
            target_offload,
            spins_said,
            affinity_said,
        }
    }
}

/// The default device. There is none but the host, which is one only where it is meant.
fn device(read: &Reader, offload: &str) -> i32 {
    match (read.number("OMP_DEFAULT_DEVICE", 0), offload) {
        (None, "MANDATORY") => DEVICE_INVALID,
        (said, _) => i32::try_from(said.unwrap_or(0)).unwrap_or(i32::MAX),
    }
}

/// How many regions may be active at once: said, or as many as there can be where lists by level
/// or the old variable ask for it.
fn levels(read: &Reader, lists: bool) -> u32 {
    let is_nested = read.boolean("OMP_NESTED");
    let said = read.number("OMP_MAX_ACTIVE_LEVELS", 0);
    let otherwise = match is_nested.unwrap_or(lists) {
        true => LEVELS_MAX,
        false => 1,
    };
    said.map_or(otherwise, |levels| levels.min(LEVELS_MAX.into()) as u32)
}

/// `omp_invalid_device`.
const DEVICE_INVALID: i32 = -4;
/// A hundred seconds or more.
const SPINS_ACTIVE: u64 = 30_000_000_000;

/// As many processors as the process may use.
fn processors() -> usize {
    places::of_process().len().max(1)
}

/// Runs when the library is loaded: what is wrong with the environment is said then.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = loaded;

extern "C" fn loaded() {
    let settings = Environment::get();
    match std::env::var("OMP_DISPLAY_ENV") {
        Err(_) => {}
        Ok(said) => match said.trim().to_ascii_lowercase().as_str() {
            "true" => print(settings, false),
            "verbose" => print(settings, true),
            "false" => {}
            _ => complaint::invalid("OMP_DISPLAY_ENV"),
        },
    }
}
