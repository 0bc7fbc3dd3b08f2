//! The beginning and the end of a region.

use std::ptr;

use roving::raw::calls::WORKERS_LIMIT;

use super::crew::{self, Crew};
use super::thread::Thread;
use super::{League, Region, Team, part};
use crate::env::{Bind, Controls, Environment};
use crate::loops::plan::LoopPlan;
use crate::sync::patience;
use crate::task::group::Group;
use crate::task::{Code, Heritage};

/// A region that is asked for.
pub(crate) struct RegionRequest {
    pub(crate) code: Code,
    pub(crate) data: *mut (),
    /// 0: as many as there are; 1: the region is not to be parallel.
    pub(crate) threads: u32,
    /// `proc_bind`, if it says so.
    pub(crate) bind: u32,
}

/// The plan of a loop that a region begins in, for as many threads as it gets.
pub(crate) type FirstLoop<'a> = &'a dyn Fn(u32) -> LoopPlan;

/// Runs a region, and returns when all its threads and tasks have ended. `reductions` is told how
/// many threads there are before they begin, and returns the group that all tasks belong to.
pub(crate) fn begin(
    asked: &RegionRequest,
    first: Option<FirstLoop<'_>>,
    reductions: Option<&dyn Fn(u32) -> Box<Group>>,
) -> u32 {
    let thread = Thread::current();
    let threads = threads_of(thread, asked.threads);
    let run = |threads: u32, crew: Option<&Crew>| {
        let mut region = region_of(thread, asked, threads);
        let group = reductions.map(|register| register(threads));
        if let Some(group) = &group {
            region.heritage.group = ptr::from_ref(&**group);
        }
        region.begins_in_loop = first.is_some();
        let set_up = |team: &Team| {
            if let Some(first) = first {
                team.ring.begin(|setup| *setup.plan = Some(first(threads)));
            }
        };
        match crew {
            Some(crew) => crew.run(region, set_up),
            None => {
                // A team is large: where it is made in one branch and used after it, it is copied.
                let own = Team::new(region);
                set_up(&own);
                part::run(&own, 0);
            }
        }
    };
    let is_inner = thread.team().region().active > 0;
    if threads > 1 {
        let found = crew::with_crew(threads as usize, |crew| {
            let threads = threads.min(crew.threads() as u32);
            if threads > 1 {
                // The thread that meets an inner region is at work already.
                let more = threads as usize - usize::from(is_inner);
                patience::enter(more);
                run(threads, Some(crew));
                patience::leave(more);
            }
            threads
        });
        if let Some(threads) = found.filter(|&threads| threads > 1) {
            return threads;
        }
    }
    run(1, None);
    1
}

/// Runs code as outside of all regions: as the initial thread of a team of a league, or of a target
/// region.
pub(crate) fn alone(code: Code, data: *mut (), controls: Controls, league: League) {
    let thread = Thread::current();
    let before = thread.league.get();
    let heritage = Heritage {
        controls,
        ..Heritage::initial()
    };
    let team = Team::new(Region {
        code,
        data,
        league,
        ..Region::outermost(heritage)
    });
    part::run(&team, 0);
    thread.league.set(before);
}

/// How many threads a region gets.
fn threads_of(thread: &Thread, asked: u32) -> u32 {
    let controls = thread.controls();
    let region = thread.team().region();
    if asked == 1 || region.active >= controls.max_active {
        return 1;
    }
    let mut threads = if asked > 0 { asked } else { controls.threads };
    if region.active > 0 {
        // As many as there are processors for: more would only be in each other's way.
        threads = threads.min(1 + patience::free() as u32);
    }
    if controls.dynamic {
        threads = threads.min(Environment::get().processors as u32);
    }
    threads.clamp(1, controls.thread_limit.min(WORKERS_LIMIT as u32))
}

fn region_of(thread: &Thread, asked: &RegionRequest, threads: u32) -> Region {
    let outer = thread.team().region();
    let mut controls = thread.controls();
    let settings = Environment::get();
    let level = outer.level + 1;
    if let Some(&threads) = settings.threads.get(level as usize) {
        controls.threads = threads;
    }
    if asked.bind != 0 && controls.bind != Bind::False {
        controls.bind = match asked.bind {
            2 => Bind::Primary,
            4 => Bind::Spread,
            _ => Bind::Close,
        };
    }
    let own_bind = controls.bind;
    if let Some(&bind) = settings.bind.get(level as usize) {
        controls.bind = bind;
    }
    Region {
        code: asked.code,
        data: asked.data,
        threads,
        level,
        active: outer.active + u32::from(threads > 1),
        outer: thread.team(),
        outer_num: thread.num(),
        heritage: Heritage {
            controls,
            group: ptr::null(),
            is_final: false,
        },
        league: thread.league.get(),
        bind: own_bind,
        site: thread.site.get(),
        begins_in_loop: false,
    }
}
