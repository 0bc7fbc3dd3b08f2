//! The row `panics`: one panic at a time, at each callback and each destructor that a fixed set of
//! programs reaches.

mod attacks;
mod site;
mod suspended;

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;

use roving::policy::Amount;
use roving::policy::SpawnOrder;
use roving::raw::panics;
use roving::{BuildError, Pool};

use crate::row::{Outcome, RowFigure, RowRun};
use attacks::{ATTACKS, Attack, Heard};
use site::{Attacked, NOWHERE, RunOutcome, Sites};

/// A pool to attack.
#[derive(Clone, Copy, Debug)]
struct AttackedPool {
    workers: usize,
    amount: Amount,
    order: SpawnOrder,
    slots: Option<usize>,
    migrate: bool,
}

const PLAIN: AttackedPool = AttackedPool {
    workers: 2,
    amount: Amount::One,
    order: SpawnOrder::Adaptive,
    slots: None,
    migrate: false,
};

const SHAPES: [AttackedPool; 6] = [
    AttackedPool {
        workers: 1,
        ..PLAIN
    },
    PLAIN,
    AttackedPool {
        workers: 4,
        amount: Amount::Half,
        ..PLAIN
    },
    AttackedPool {
        migrate: true,
        ..PLAIN
    },
    AttackedPool {
        slots: Some(1),
        order: SpawnOrder::HelpFirst,
        ..PLAIN
    },
    AttackedPool {
        workers: 3,
        amount: Amount::Fixed(2),
        order: SpawnOrder::WorkFirst,
        slots: Some(3),
        migrate: true,
    },
];

fn pool(shape: AttackedPool, sites: &'static Sites) -> Result<Pool, BuildError> {
    let builder = Pool::builder()
        .workers(shape.workers)
        .steal(shape.amount)
        .spawn_order(shape.order)
        .name("panics")
        .panic_handler(move |payload| sites.receive(&*payload));
    let builder = match shape.slots {
        Some(slots) => builder.task_slots(slots),
        None => builder,
    };
    match shape.migrate {
        true => builder.migrate_at_each_fork().build(),
        false => builder.build(),
    }
}

#[derive(Default)]
struct InjectedSum {
    sites: u64,
    injected: u64,
    unheard: u64,
}

/// All programs on all pools, once, and then again until the time is over.
pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let sites = Sites::leak();
    let mut sum = InjectedSum::default();
    let mut round = 0;
    while round == 0 || !run.is_over(true) {
        for (number, shape) in SHAPES.into_iter().enumerate() {
            let what = format!("panics on {shape:?}");
            let leash = run.dog.watch(what, run.replay());
            let built = pool(shape, sites).and_then(|first| Ok((first, Pool::new(2)?)));
            let (first, other) = built.map_err(|error| run.failure(error.to_string()))?;
            let cx = Attacked {
                sites,
                pool: &first,
                other: &other,
            };
            for attack in &ATTACKS {
                let reached = each_site(attack, &cx, &mut sum)
                    .map_err(|text| run.failure(format!("{} on {shape:?}: {text}", attack.name)))?;
                sum.sites += u64::from(round == 0 && number == 1) * reached;
                leash.stroke();
                run.tell(|| format!("{} panics injected", sum.injected));
            }
            callbacks(shape, sites, &mut sum).map_err(|text| run.failure(text))?;
        }
        round += 1;
    }
    Ok(vec![
        RowFigure::told("programs", (ATTACKS.len() + 1) as f64, "programs"),
        RowFigure::at_least(
            "callbacks and destructors on two workers",
            sum.sites as f64,
            100.0,
            "sites",
        ),
        RowFigure::at_least("panics injected", sum.injected as f64, 500.0, "panics"),
        RowFigure::at_most(
            "panics that reach nobody, or more than one caller",
            0.0,
            0.0,
            "panics",
        ),
        RowFigure::at_most("siblings that outlive the call", 0.0, 0.0, "callbacks"),
        RowFigure::at_most("values leaked or dropped twice", 0.0, 0.0, "values"),
        RowFigure::at_most("pools unusable afterwards", 0.0, 0.0, "pools"),
        RowFigure::told(
            "in destructors of results that nobody takes: heard by nobody, as documented",
            sum.unheard as f64,
            "panics",
        ),
    ])
}

/// The program as it is, and then with a panic at each place that it reaches. Returns how many
/// there are.
fn each_site(attack: &Attack, cx: &Attacked<'_>, sum: &mut InjectedSum) -> Result<u64, String> {
    let as_it_is = once(attack, cx, NOWHERE)?;
    if as_it_is.fired.is_some() || as_it_is.received > 0 {
        return Err("it panics by itself".to_owned());
    }
    for at in 0..as_it_is.reached {
        let seen = once(attack, cx, at)?;
        let Some(what) = seen.fired else {
            // Loops give up what a worker has not begun; how much that is differs.
            continue;
        };
        sum.injected += 1;
        let may_be_unheard = match attack.heard {
            Heard::Once => false,
            Heard::NotFrom(places) => places.contains(&what),
        };
        match seen.received {
            1 => {}
            0 if may_be_unheard => sum.unheard += 1,
            heard => {
                return Err(format!(
                    "a panic at place {at} ({what}) came out {heard} times, should be once"
                ));
            }
        }
        if !works(cx.pool) {
            return Err(format!(
                "after a panic at place {at} ({what}) the pool does not work"
            ));
        }
    }
    Ok(as_it_is.reached)
}

fn once(attack: &Attack, cx: &Attacked<'_>, at: u64) -> Result<RunOutcome, String> {
    let sites = cx.sites;
    sites.reset(at);
    let payload = panic::catch_unwind(AssertUnwindSafe(|| (attack.run)(cx))).err();
    // Before anything else: what runs now was left behind.
    let inside = sites.seen().inside;
    if let Some(payload) = payload {
        let text = foreign_text(&*payload);
        sites.receive(&*payload);
        if sites.seen().foreign {
            return Err(format!("place {at}: a panic of its own: {text}"));
        }
    }
    if attack.name.contains("jobs") {
        settle(cx.pool);
    }
    let seen = sites.seen();
    let what = seen.fired.unwrap_or("none");
    if inside != 0 {
        return Err(format!(
            "place {at} ({what}): {inside} callbacks run after the call has ended"
        ));
    }
    match sites.census.counts().complaint() {
        Some(text) => Err(format!("place {at} ({what}): {text}")),
        None => Ok(seen),
    }
}

fn foreign_text(payload: &(dyn Any + Send)) -> String {
    panics::text(payload).unwrap_or("without a text").to_owned()
}

/// Returns when the jobs before have ended to the last: each worker has been at its queue again.
fn settle(pool: &Pool) {
    pool.broadcast(|_| ());
}

fn works(pool: &Pool) -> bool {
    fn sum(from: u64, to: u64) -> u64 {
        if to - from == 1 {
            return from;
        }
        let middle = (from + to) / 2;
        let (a, b) = roving::join(|| sum(from, middle), || sum(middle, to));
        a + b
    }
    pool.install(|| sum(0, 32)) == 496 && pool.broadcast(|index| index).len() == pool.workers()
}

/// Attacks the pool's own callbacks: `on_start`, `on_exit`, and the panic handler, whose own panics
/// end nothing.
fn callbacks(
    shape: AttackedPool,
    sites: &'static Sites,
    sum: &mut InjectedSum,
) -> Result<(), String> {
    let build = || -> Result<Pool, BuildError> {
        let value = sites.value("a callback's own");
        Pool::builder()
            .workers(shape.workers)
            .on_start(move |_| {
                let _value = &value;
                drop(sites.enter("on_start"));
            })
            .on_exit(|_| drop(sites.enter("on_exit")))
            .panic_handler(|payload| {
                sites.receive(&*payload);
                drop(payload);
                drop(sites.enter("the panic handler"));
            })
            .build()
    };
    let attack = || -> Result<bool, String> {
        let pool = build().map_err(|error| error.to_string())?;
        let (said, hear) = mpsc::channel::<()>();
        pool.spawn(move || {
            let _said = said;
            panic::resume_unwind(Box::new("a job's"));
        });
        // Until it has ended.
        hear.recv().unwrap_or(());
        let worked = works(&pool);
        drop(pool);
        Ok(worked)
    };
    sites.reset(NOWHERE);
    attack()?;
    let reached = sites.seen().reached;
    for at in 0..reached {
        sites.reset(at);
        let outcome = panic::catch_unwind(AssertUnwindSafe(attack));
        let worked = match outcome {
            Ok(worked) => worked?,
            Err(payload) => {
                sites.receive(&*payload);
                true
            }
        };
        let seen = sites.seen();
        let Some(what) = seen.fired else {
            continue;
        };
        sum.injected += 1;
        let should = u64::from(what != "the panic handler");
        if seen.received != should || !worked {
            let received = seen.received;
            return Err(format!(
                "on {shape:?}: a panic in {what} came out {received} times, should be {should}; \
                 the pool worked: {worked}"
            ));
        }
        if let Some(text) = sites.census.counts().complaint() {
            return Err(format!("on {shape:?}: a panic in {what}: {text}"));
        }
    }
    Ok(())
}
