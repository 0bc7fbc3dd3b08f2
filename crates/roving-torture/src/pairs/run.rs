//! Running a program: each step is done by the real runtime, and what comes of it is compared with
//! what must.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use roving::policy::SpawnOrder;
use roving::raw::panics;
use roving::{BuildError, Pool};

use super::feature::Feature;
use super::program::{FeatureStep, StepProgram};
use super::world::{
    Bomb, Cx, WORKERS_MAX, World, call, check_payload, part, sequence, throw, thrown_by,
};
use super::{
    closures, handles, inherit, iterators, jobs, meaning, networks, pools, repeats, shelf, steps,
    tasks, timed,
};

/// Most of the jobs that wait in the second pool, of those that may be refused.
const QUEUE_LIMIT: usize = 2;
/// How long what has ended may take to let go of everything.
const SETTLING: Duration = Duration::from_secs(60);

/// Runs a step that is no part of a task. One that is awaited has a root of its own.
fn one(step: &FeatureStep, cx: &Cx<'_>) {
    if step.feature.about().is_async {
        return tasks::alone(step, cx);
    }
    cx.world.ran(step);
    match step.feature {
        Feature::Take => shelf::take(step, cx),
        Feature::Act => act(cx),
        Feature::Throw => throw(step, cx),
        Feature::Catch => catch(step, cx),
        Feature::Bomb => bomb(step, cx),
        Feature::TrySpawn
        | Feature::Joined
        | Feature::Aborted
        | Feature::KeptJob
        | Feature::Apart
        | Feature::Loud => jobs::run(step, cx),
        Feature::BlockOn | Feature::TaskScope | Feature::DeadToken => tasks::root(step, cx),
        Feature::Placed => tasks::placed(step, cx),
        Feature::With
        | Feature::KeptContext
        | Feature::DropsContext
        | Feature::Cancel
        | Feature::Deadline => inherit::run(step, cx),
        Feature::Resize
        | Feature::OtherPool
        | Feature::Shutdown
        | Feature::KeptPool
        | Feature::Adopted
        | Feature::CallerRuns
        | Feature::Contended
        | Feature::OwnThreads
        | Feature::Arena
        | Feature::Handlers
        | Feature::Replayed
        | Feature::Global => pools::run(step, cx),
        Feature::Network
        | Feature::Outside
        | Feature::Merge
        | Feature::NetFail
        | Feature::NetCancel
        | Feature::PortPassed
        | Feature::PortKept
        | Feature::HalfPort
        | Feature::Stage
        | Feature::RunHere
        | Feature::Deadlock => networks::run(step, cx),
        Feature::TryStage | Feature::Filter | Feature::ToAll => steps::run(step, cx),
        Feature::Repeat
        | Feature::Sources
        | Feature::StageAsync
        | Feature::Zip
        | Feature::Ring
        | Feature::NetRefused => repeats::run(step, cx),
        Feature::TimedPort => timed::ports(step, cx),
        Feature::Iter
        | Feature::IterOwned
        | Feature::IterEnds
        | Feature::IterSort
        | Feature::IterBridge
        | Feature::IterBomb => iterators::run(step, cx),
        Feature::PoolRef | Feature::Stopped | Feature::AdoptedDrops | Feature::Resized => {
            handles::run(step, cx)
        }
        _ => closures::run(step, cx),
    }
}

/// Does something with what is around, every other time with what is around that.
fn act(cx: &Cx<'_>) {
    let mut next = cx.act;
    while let Some(act) = next {
        (act.call)();
        next = act.outer;
    }
}

fn catch(step: &FeatureStep, cx: &Cx<'_>) {
    let result = panic::catch_unwind(AssertUnwindSafe(|| part(step, 0, cx)));
    if let Err(payload) = result {
        check_payload(step, cx, &*payload);
        if thrown_by(&*payload).is_none() {
            // A request to stop goes on to whoever has made it.
            panic::resume_unwind(payload);
        }
    }
}

/// A drop that panics, where the library drops something for its user.
fn bomb(step: &FeatureStep, cx: &Cx<'_>) {
    let bomb = Bomb::new(step, cx);
    call(step, cx, &[], || match step.mode {
        0 => drop(roving::join(|| (), move || drop(bomb))),
        1 => roving::scope(|s| {
            s.spawn(move |_| {
                let _bomb = &bomb;
            });
        }),
        2 => roving::task::block_on(async move {
            let child = roving::task::spawn(async move { drop(bomb) });
            child.await;
        }),
        _ => cx.world.pools[0].install(move || drop(bomb)),
    });
}

fn pools_of(program: &StepProgram) -> Result<[Pool; 2], BuildError> {
    let order = match program.work_first {
        true => SpawnOrder::WorkFirst,
        false => SpawnOrder::HelpFirst,
    };
    let pool = |workers: usize| {
        let builder = Pool::builder().workers(workers).workers_max(WORKERS_MAX);
        builder.panic_handler(drop)
    };
    let [first, second] = program.workers;
    let first = pool(first).task_slots(program.slots).spawn_order(order);
    let second = pool(second).queue_limit(QUEUE_LIMIT);
    Ok([first.build()?, second.build()?])
}

/// Runs a program to its very end; the error is what was wrong. Gives how often each step ran.
pub(crate) fn program(program: &StepProgram) -> Result<Vec<u32>, String> {
    let pools = pools_of(program).map_err(|error| format!("the pools: {error}"))?;
    let world = World::new(program, pools, one);
    let cx = Cx::new(&world);
    let run = || match program.seed % 2 {
        0 => sequence(&program.steps, &cx),
        _ => world.pools[0].install(|| sequence(&program.steps, &cx)),
    };
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let mut complaints = Vec::new();
    if let Err(payload) = result
        && thrown_by(&*payload).is_none()
    {
        let text = panics::text(&*payload).unwrap_or("a payload of another type");
        complaints.push(format!("the program panicked: {text}"));
    }
    complaints.extend(shelf::drop_all(&cx));
    drop(cx);
    settle(&world, |world| world.is_settled());
    // What was kept since may be a worker of a pool whose other threads are joined now.
    complaints.extend(shelf::drop_all(&Cx::new(&world)));
    world.join();
    complaints.extend(shelf::drop_all(&Cx::new(&world)));
    complaints.extend(world.complaints());
    let runs = world.runs();
    complaints.extend(wrong_counts(program, &runs));
    settle(&world, |world| Arc::strong_count(world) == 1);
    match Arc::try_unwrap(world) {
        Ok(world) => complaints.extend(world.drops()),
        Err(world) => {
            let still = Arc::strong_count(&world) - 1;
            complaints.push(format!("{still} values were never dropped"));
        }
    }
    match complaints.is_empty() {
        true => Ok(runs),
        false => Err(complaints.join("\n")),
    }
}

/// Waits until that is so, or for too long: what is then not so is found by who looks next.
fn settle(world: &Arc<World>, is_so: impl Fn(&Arc<World>) -> bool) {
    let start = Instant::now();
    let mut looks = 0_u32;
    while !is_so(world) && start.elapsed() < SETTLING {
        looks += 1;
        match looks < 100 {
            true => thread::yield_now(),
            false => thread::sleep(Duration::from_micros(100)),
        }
    }
}

fn wrong_counts(program: &StepProgram, runs: &[u32]) -> Option<String> {
    let bounds = meaning::bounds(program);
    let wrong = bounds.iter().zip(runs).enumerate();
    let mut wrong = wrong.filter(|(_, (bounds, ran))| !(bounds.least..=bounds.most).contains(*ran));
    let (id, (bounds, ran)) = wrong.next()?;
    let (least, most) = (bounds.least, bounds.most);
    Some(format!(
        "step {id} ran {ran} times, and must {least} to {most} times"
    ))
}
