//! The loop over events, and what every mechanism needs.

use std::collections::VecDeque;
use std::time::Duration;

use super::bits::Bits;
use super::machine::{ByDistance, Costs, Distance};
use super::outcome::{Outcome, Samples};
use super::rules::Rules;
use super::seat::{Continuation, Loop, NOBODY, Seat, SeatActivity};
use crate::queue::{CalendarQueue, QueuedEvent};
use crate::random::Xoshiro256;
use crate::{ModelError, Step, Then, Tree};

/// Ticks of the simulated clock in a nanosecond.
const TICKS_PER_NS: f64 = 16.0;

/// The time of an event, in ticks.
pub(super) fn ticks(ns: f64) -> u64 {
    (ns * TICKS_PER_NS).round() as u64
}

/// A time in ticks.
pub(super) fn time_of(span: Duration) -> u64 {
    ticks(span.as_nanos() as f64)
}

/// So many ticks as a time.
pub(super) fn span(ticks: u64) -> Duration {
    Duration::from_nanos((ticks as f64 / TICKS_PER_NS) as u64)
}

/// [`Costs`] in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    pub(super) join: u64,
    pub(super) publish: u64,
    pub(super) take_back: u64,
    pub(super) look: f64,
    pub(super) pause: f64,
    pub(super) ask: u64,
    pub(super) patience: u64,
    claim: ByDistance,
    line: ByDistance,
    finish: ByDistance,
    pub(super) unpark: u64,
    wake: u64,
    pub(super) nap: u64,
}

impl Prices {
    fn new(costs: &Costs) -> Prices {
        Prices {
            join: ticks(costs.join),
            publish: ticks(costs.publish),
            take_back: ticks(costs.take_back),
            look: costs.look * TICKS_PER_NS,
            pause: costs.pause * TICKS_PER_NS,
            ask: ticks(costs.ask),
            patience: ticks(costs.patience),
            claim: costs.claim,
            line: costs.line,
            finish: costs.finish,
            unpark: ticks(costs.unpark),
            wake: ticks(costs.wake),
            nap: ticks(costs.nap),
        }
    }

    pub(super) fn claim(&self, distance: Distance) -> u64 {
        ticks(self.claim.at(distance))
    }

    pub(super) fn line(&self, distance: Distance) -> u64 {
        ticks(self.line.at(distance))
    }

    pub(super) fn finish(&self, distance: Distance) -> u64 {
        ticks(self.finish.at(distance))
    }
}

/// The kind of an event: in the lowest bits of its mark, the thread's turn above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// A step has ended.
    Step,
    /// A thief is where it saw something.
    Arrive,
    /// A thief has looked around for a while.
    Ask,
    /// And for longer.
    Sleep,
    /// An unparked thread runs.
    Woken,
    /// An awaited task has ended.
    Resume,
    /// A waiting worker looks for something to do meanwhile.
    Leap,
    /// A thief has looked away for long enough.
    Free,
}

const KINDS: [EventKind; 8] = [
    EventKind::Step,
    EventKind::Arrive,
    EventKind::Ask,
    EventKind::Sleep,
    EventKind::Woken,
    EventKind::Resume,
    EventKind::Leap,
    EventKind::Free,
];
const KIND_BITS: u32 = 3;

/// A run in progress.
pub(super) struct RuntimeEngine<'t, T: Tree> {
    pub(super) tree: &'t T,
    pub(super) rules: Rules,
    pub(super) prices: Prices,
    queue: CalendarQueue,
    /// The event that was planned last, if it may be the next one: it spares the queue most events
    /// where workers are few.
    hot: Option<QueuedEvent>,
    pub(super) random: Xoshiro256,
    pub(super) seats: Vec<Seat<T::Task>>,
    /// The thread on each core; the cores that are free; and the threads that want one.
    pub(super) cores: Vec<u32>,
    pub(super) free: Bits,
    pub(super) ready: VecDeque<u32>,
    /// Tasks that frames refer to.
    pub(super) kept: Vec<Option<T::Task>>,
    /// Loops that have begun; one that has ended is used again.
    pub(super) loops: Vec<Loop>,
    /// Seats with something public, and those where not all of it is reserved.
    pub(super) shown: Bits,
    pub(super) open: Bits,
    /// Seats that are asleep.
    pub(super) idle: Bits,
    /// Those that look around and see nothing.
    pub(super) lookers: Vec<u32>,
    /// How many of those have looked for long enough to ask: owners leave to them what they show.
    pub(super) asking: usize,
    /// Compensation threads off duty.
    pub(super) resting: Vec<u32>,
    /// Threads that are not parked in a wait.
    pub(super) active: usize,
    /// How often workers have asked everybody for tasks.
    pub(super) calls: u32,
    pub(super) stamps: u32,
    /// Calls from outside that no worker has begun yet, and those that have not ended.
    pub(super) jobs: VecDeque<T::Task>,
    pub(super) roots: usize,
    pub(super) ended: Option<u64>,
    /// When the last task that works began.
    last_begun: u64,
    pub(super) outcome: Outcome,
    busy: usize,
    victims: usize,
    busy_ticks: u64,
    steal_ticks: u64,
    samples: Samples,
}

impl<'t, T: Tree> RuntimeEngine<'t, T> {
    pub(super) fn new(tree: &'t T, rules: Rules, costs: &Costs, seed: u64) -> RuntimeEngine<'t, T> {
        let workers = rules.workers;
        let seats_max = workers + rules.spares;
        let mut idle = Bits::new(seats_max);
        (1..workers).for_each(|worker| idle.insert(worker));
        let mut free = Bits::new(rules.cores);
        (1..rules.cores).for_each(|core| free.insert(core));
        let core = |core: usize| if core == 0 { 0 } else { NOBODY };
        let cores = rules.cores as u32;
        let seat = |worker: usize| {
            let state = if worker == 0 {
                SeatActivity::Ready
            } else {
                SeatActivity::Asleep
            };
            Seat::new(worker as u32 % cores, state)
        };
        RuntimeEngine {
            tree,
            prices: Prices::new(costs),
            queue: CalendarQueue::new(workers + 64),
            hot: None,
            random: Xoshiro256::new(seed),
            seats: (0..workers).map(seat).collect(),
            cores: (0..rules.cores).map(core).collect(),
            free,
            ready: VecDeque::new(),
            kept: Vec::new(),
            loops: Vec::new(),
            shown: Bits::new(seats_max),
            open: Bits::new(seats_max),
            idle,
            lookers: Vec::new(),
            asking: 0,
            resting: Vec::new(),
            active: workers,
            // All but the first are asleep, and asked before they went to sleep.
            calls: u32::from(workers > 1),
            stamps: 0,
            jobs: VecDeque::new(),
            roots: 0,
            ended: None,
            last_begun: 0,
            outcome: Outcome {
                workers,
                ..Outcome::default()
            },
            busy: 0,
            victims: 0,
            busy_ticks: 0,
            steal_ticks: 0,
            samples: Samples::new(),
            rules,
        }
    }

    /// Runs to the end. `progress` hears now and then how many tasks have begun.
    pub(super) fn run(mut self, progress: &mut dyn FnMut(u64)) -> Result<Outcome, ModelError> {
        self.jobs = self.tree.roots().into();
        self.roots = self.jobs.len();
        // One is called for each; the first is there.
        (1..self.roots).for_each(|_| {
            self.wake_one(0);
        });
        self.find_work(0, 0);
        while self.ended.is_none() {
            let Some(event) = self.next_event() else {
                return Err(ModelError::line(
                    "the simulation came to a stop before its work was done: please report this",
                ));
            };
            self.outcome.events += 1;
            if event.time >= self.samples.next {
                self.samples.push(event.time, self.busy, self.victims);
            }
            if self.outcome.events.is_multiple_of(1 << 18) {
                progress(self.outcome.tasks);
            }
            if event.mark >> KIND_BITS == self.seats[event.who as usize].turn {
                self.act(event);
            }
        }
        Ok(self.concluded())
    }

    fn concluded(mut self) -> Outcome {
        let end = self.ended.unwrap_or(0);
        for who in 0..self.seats.len() as u32 {
            self.account(who, end);
        }
        let whole = (end.max(1) * self.rules.workers as u64) as f64;
        self.outcome.time_ns = end as f64 / TICKS_PER_NS;
        self.outcome.last_begun_ns = self.last_begun as f64 / TICKS_PER_NS;
        self.outcome.busy = self.busy_ticks as f64 / whole;
        self.outcome.steal = self.steal_ticks as f64 / whole;
        self.outcome.spares = self.seats.len() - self.rules.workers;
        self.outcome.samples = self.samples.finish(self.rules.workers, TICKS_PER_NS);
        self.outcome
    }

    fn next_event(&mut self) -> Option<QueuedEvent> {
        match self.hot.take() {
            None => self.queue.pop(),
            Some(hot) => match self.queue.next_time() {
                Some(next) if next < hot.time => {
                    self.queue.push(hot);
                    self.queue.pop()
                }
                _ => Some(hot),
            },
        }
    }

    fn act(&mut self, event: QueuedEvent) {
        let QueuedEvent { time, who, mark } = event;
        match KINDS[(mark & ((1 << KIND_BITS) - 1)) as usize] {
            EventKind::Step => self.step(who, time),
            EventKind::Arrive => self.arrive(who, time),
            EventKind::Ask => self.ask(who),
            EventKind::Sleep => self.sleep(who, time),
            EventKind::Woken => self.woken(who, time),
            EventKind::Resume => self.resume(who, time),
            EventKind::Leap => self.leap(who, time),
            EventKind::Free => self.find_work(who, time),
        }
    }

    /// Plans an event of `who` for its present turn.
    pub(super) fn plan(&mut self, who: u32, time: u64, kind: EventKind) {
        let mark = self.seats[who as usize].turn << KIND_BITS | kind as u32;
        let event = QueuedEvent { time, who, mark };
        match &mut self.hot {
            None => self.hot = Some(event),
            Some(hot) if event < *hot => {
                let later = std::mem::replace(hot, event);
                self.queue.push(later);
            }
            Some(_) => self.queue.push(event),
        }
    }

    /// Books the time since the last change to what `who` did.
    fn account(&mut self, who: u32, time: u64) {
        let seat = &mut self.seats[who as usize];
        let passed = time.saturating_sub(seat.accounted);
        seat.accounted = seat.accounted.max(time);
        match seat.state {
            SeatActivity::Running | SeatActivity::Napping => self.busy_ticks += passed,
            SeatActivity::Waiting
            | SeatActivity::Looking
            | SeatActivity::EnRoute
            | SeatActivity::Restrained => {
                self.steal_ticks += passed;
            }
            _ => {}
        }
    }

    /// From now on `who` does something else; all that was planned for it is void.
    pub(super) fn turn_to(&mut self, who: u32, time: u64, state: SeatActivity) {
        self.account(who, time);
        let seat = &mut self.seats[who as usize];
        let is_busy = |state| matches!(state, SeatActivity::Running | SeatActivity::Napping);
        self.busy -= usize::from(is_busy(seat.state));
        self.busy += usize::from(is_busy(state));
        seat.state = state;
        seat.turn = seat.turn.wrapping_add(1) & (u32::MAX >> KIND_BITS);
    }

    /// Begins a task's own work.
    pub(super) fn begin(&mut self, who: u32, task: T::Task, time: u64) {
        let Step { ns, then } = self.tree.run(task);
        self.outcome.tasks += 1;
        if ns > 0.0 {
            self.last_begun = self.last_begun.max(time);
        }
        self.outcome.work_ns += ns;
        self.seats[who as usize].then = then;
        match self.rules.naps && ns > 0.0 {
            true => self.nap(who, time, ticks(ns)),
            false => self.work_until(who, time, time + ticks(ns)),
        }
    }

    /// The thread runs until `due`, and what follows then.
    pub(super) fn work_until(&mut self, who: u32, time: u64, due: u64) {
        if self.seats[who as usize].state != SeatActivity::Running {
            self.turn_to(who, time, SeatActivity::Running);
        }
        self.seats[who as usize].due = due;
        self.plan(who, due, EventKind::Step);
    }

    fn step(&mut self, who: u32, time: u64) {
        let seat = &mut self.seats[who as usize];
        match std::mem::take(&mut seat.then) {
            Then::End => self.advance(who, time),
            Then::Join {
                first,
                second,
                after_ns,
            } => {
                let after = ticks(f64::from(after_ns));
                self.outcome.work_ns += f64::from(after_ns);
                seat.frames.push(Continuation::Join { after });
                self.outcome.joins += 1;
                let time = self.push_joined(who, second, time);
                self.begin(who, first, time);
            }
            Then::Series { first, next } => {
                let task = self.keep(next);
                self.seats[who as usize]
                    .frames
                    .push(Continuation::Next { task });
                self.begin(who, first, time);
            }
            Then::Loop { spawner, count } => self.begin_loop(who, spawner, count, time),
            Then::Spread {
                spawner,
                count,
                each_ns,
            } => {
                let base = seat.top();
                let spawner = self.keep(spawner);
                self.outcome.work_ns += f64::from(each_ns) * f64::from(count);
                self.seats[who as usize].frames.push(Continuation::Spread {
                    spawner,
                    next: 0,
                    count,
                    base,
                    each: each_ns,
                });
                self.advance(who, time);
            }
        }
    }

    /// Keeps a task for a frame.
    pub(super) fn keep(&mut self, task: T::Task) -> u32 {
        let vacant = self.kept.iter().position(Option::is_none);
        let place = vacant.unwrap_or(self.kept.len());
        match self.kept.get_mut(place) {
            Some(vacant) => *vacant = Some(task),
            None => self.kept.push(Some(task)),
        }
        place as u32
    }

    /// After the public part of a stack, or who is on the way to it, has changed.
    pub(super) fn refresh(&mut self, who: u32) {
        let (place, seat) = (who as usize, &self.seats[who as usize]);
        let least = self.rules.least;
        let (shows, is_open) = (seat.public() >= least, seat.unreserved() >= least);
        if shows != self.shown.contains(place) {
            if shows {
                self.shown.insert(place);
                self.victims += 1;
            } else {
                self.shown.remove(place);
                self.victims -= 1;
            }
        }
        if is_open != self.open.contains(place) {
            if is_open {
                self.open.insert(place);
            } else {
                self.open.remove(place);
            }
        }
    }

    pub(super) fn distance(&self, a: u32, b: u32) -> Distance {
        let (a, b) = (self.seats[a as usize].core, self.seats[b as usize].core);
        self.rules.topology.distance(a, b)
    }

    /// When a thread that is unparked now runs: at once after the one that has its core, as far as
    /// the system is concerned; a core that is idle has to wake up itself.
    pub(super) fn woken_at(&self, time: u64) -> u64 {
        let wakes_core = !self.rules.naps || self.free.next_from(0).is_some();
        time + self.prices.unpark + if wakes_core { self.prices.wake } else { 0 }
    }

    pub(super) fn is_spare(&self, who: u32) -> bool {
        who as usize >= self.rules.workers
    }
}
