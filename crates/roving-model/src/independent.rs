//! Independent tasks on n processors, event by event: what the equations describe as n grows.

use crate::queue::{CalendarQueue, QueuedEvent};
use crate::random::Xoshiro256;
use crate::{ModelError, Policy};

/// Ticks of the clock in one mean task length.
const TICKS: f64 = (1u64 << 20) as f64;
/// Most processors and most tasks of one.
const MOST: usize = 1 << 24;

/// How long tasks take.
///
/// ```
/// use roving_model::{Independent, Policy, Service};
///
/// let model = Independent::new(1000, Policy::None).arrival(0.5);
/// let even = model.service(Service::Constant).steady(50.0, 100.0)?;
/// let uneven = model.service(Service::Exponential).steady(50.0, 100.0)?;
/// assert!(even.time_in_system < uneven.time_in_system);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Distributed exponentially, with mean 1, as in the equations.
    Exponential,
    /// 1, all of them.
    Constant,
}

/// n processors with tasks that arrive by chance, to be simulated.
///
/// ```
/// use roving_model::{Independent, Policy};
///
/// let model = Independent::new(1000, Policy::Half { threshold: 2 }).arrival(0.8).seed(3);
/// let seen = model.steady(50.0, 100.0)?;
/// assert!((seen.time_in_system - 2.283).abs() < 0.1);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Independent {
    processors: usize,
    policy: Policy,
    arrival: f64,
    retry: f64,
    service: Service,
    seed: u64,
}

/// The figures of a simulation.
///
/// ```
/// use roving_model::{Independent, Policy, Seen};
///
/// let seen: Seen = Independent::new(1000, Policy::None).arrival(0.5).steady(20.0, 50.0)?;
/// assert!((seen.busy - 0.5).abs() < 0.05);
/// assert_eq!(seen.steals_per_task, 0.0);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// The mean fraction of processors that had a task.
    pub busy: f64,
    /// The mean fraction that had two at least.
    pub victims: f64,
    /// The mean time of a task in the system, by Little's law.
    pub time_in_system: f64,
    /// Successful steals for each task that ended.
    pub steals_per_task: f64,
    /// Looks at a victim for each task that ended.
    pub attempts_per_task: f64,
    /// For a drain, when one task in a hundred was left; else the time that was watched.
    pub time: f64,
    /// Tasks that ended.
    pub tasks: u64,
}

impl Independent {
    /// So many processors, to which nothing arrives unless said otherwise.
    pub fn new(processors: usize, policy: Policy) -> Independent {
        Independent {
            processors,
            policy,
            arrival: 0.0,
            retry: 0.0,
            service: Service::Exponential,
            seed: 1,
        }
    }

    /// The rate of arrivals at each processor, 0 unless said otherwise.
    #[must_use]
    pub fn arrival(self, arrival: f64) -> Independent {
        Independent { arrival, ..self }
    }

    /// The rate at which a processor without tasks looks again for a victim, 0 unless said
    /// otherwise.
    #[must_use]
    pub fn retry(self, retry: f64) -> Independent {
        Independent { retry, ..self }
    }

    /// How long tasks take; exponentially distributed unless said otherwise.
    ///
    /// ```
    /// use roving_model::{Independent, Policy, Service};
    ///
    /// let model = Independent::new(100, Policy::None).arrival(0.5).service(Service::Constant);
    /// assert!(model.steady(10.0, 10.0)?.time_in_system >= 1.0);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn service(self, service: Service) -> Independent {
        Independent { service, ..self }
    }

    /// Sets the seed, 1 by default: the same seed gives the same run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Independent {
        Independent { seed, ..self }
    }

    /// Starts empty, waits for `settle`, and watches for `watch`, both in mean task lengths.
    pub fn steady(&self, settle: f64, watch: f64) -> Result<Seen, ModelError> {
        if !(self.arrival > 0.0 && self.arrival < 1.0) {
            let allowed = "a number above 0 and below 1, or there is no steady state";
            return Err(ModelError::new(
                "arrival rate",
                self.arrival,
                allowed,
                "take 0.9",
            ));
        }
        for (subject, time) in [("time to settle", settle), ("time to watch", watch)] {
            if !(time > 0.0 && time <= 1e6) {
                return Err(ModelError::new(
                    subject,
                    time,
                    "above 0 and up to 1e6",
                    "take 200",
                ));
            }
        }
        let mut run = self.started(0, 0)?;
        run.until(settle, 0);
        run.tally.restart(run.now);
        run.until(settle + watch, 0);
        Ok(run.seen(watch))
    }

    /// The fraction `loaded` of the processors starts with `tasks` tasks each; ends when one task
    /// in a hundred is left.
    ///
    /// ```
    /// use roving_model::{Independent, Policy};
    /// let drain = Independent::new(4000, Policy::One { threshold: 2 }).retry(10.0).drain(0.05, 64)?;
    /// assert!((drain.time - 11.0).abs() < 0.5);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    pub fn drain(&self, loaded: f64, tasks: u32) -> Result<Seen, ModelError> {
        if !(loaded > 0.0 && loaded <= 1.0) {
            let allowed = "a fraction above 0 and up to 1";
            return Err(ModelError::new(
                "loaded fraction",
                loaded,
                allowed,
                "take 0.05",
            ));
        }
        if tasks == 0 || tasks as usize > MOST {
            return Err(ModelError::new(
                "tasks of a loaded processor",
                tasks,
                "1 to 16777216",
                "take 64",
            ));
        }
        if self.arrival != 0.0 {
            return Err(ModelError::new(
                "arrival rate",
                self.arrival,
                "0 in a drain",
                "leave it out",
            ));
        }
        let loaded = ((loaded * self.processors as f64).round() as usize).max(1);
        let mut run = self.started(loaded, tasks)?;
        let total = loaded as u64 * u64::from(tasks);
        run.until(f64::INFINITY, total / 100);
        let time = run.now as f64 / TICKS;
        Ok(run.seen(time))
    }

    fn started(&self, loaded: usize, tasks: u32) -> Result<Run, ModelError> {
        if !(2..=MOST).contains(&self.processors) {
            let allowed = "2 to 16777216";
            return Err(ModelError::new(
                "processors",
                self.processors,
                allowed,
                "take 4000",
            ));
        }
        if !(0.0..=1e4).contains(&self.retry) {
            return Err(ModelError::new(
                "retry rate",
                self.retry,
                "0 to 10000",
                "take 10",
            ));
        }
        let model = Independent {
            policy: self.policy.checked()?,
            ..*self
        };
        let mut run = Run {
            model,
            queue: CalendarQueue::new(2 * self.processors),
            random: Xoshiro256::new(self.seed),
            loads: vec![0; self.processors],
            epochs: vec![0; self.processors],
            now: 0,
            tally: Tally::default(),
        };
        for processor in 0..self.processors as u32 {
            if (processor as usize) < loaded {
                run.grow(processor, tasks);
            } else {
                run.look_later(processor);
            }
            run.arrive_later(processor);
        }
        Ok(run)
    }
}

/// Means over time are integrals of whole numbers, divided in the end.
#[derive(Debug, Default)]
struct Tally {
    since: u64,
    /// Processors with a task, with two, and tasks; and until when they are counted in.
    now: [u64; 3],
    sums: [u128; 3],
    counted: u64,
    ended: u64,
    attempts: u64,
    steals: u64,
}

impl Tally {
    fn advance(&mut self, time: u64) {
        let passed = u128::from(time - self.counted);
        for (sum, now) in self.sums.iter_mut().zip(self.now) {
            *sum += passed * u128::from(now);
        }
        self.counted = time;
    }

    fn restart(&mut self, time: u64) {
        self.advance(time);
        *self = Tally {
            since: time,
            now: self.now,
            counted: time,
            ..Tally::default()
        };
    }

    /// One processor's load changes.
    fn change(&mut self, before: u32, after: u32) {
        self.now[0] = self.now[0] + u64::from(after >= 1) - u64::from(before >= 1);
        self.now[1] = self.now[1] + u64::from(after >= 2) - u64::from(before >= 2);
        self.now[2] = self.now[2] + u64::from(after) - u64::from(before);
    }
}

/// The kinds of events, in the mark's lowest bits; above them is the processor's epoch.
const ARRIVAL: u32 = 0;
const END: u32 = 1;
const LOOK: u32 = 2;

struct Run {
    model: Independent,
    queue: CalendarQueue,
    random: Xoshiro256,
    loads: Vec<u32>,
    /// Looks that were planned before a processor last became busy are void.
    epochs: Vec<u32>,
    now: u64,
    tally: Tally,
}

impl Run {
    /// Goes on to `time`, or until no more than `left` tasks are there, if that comes first.
    fn until(&mut self, time: f64, left: u64) {
        let end = time * TICKS;
        while self.tally.now[2] > left || self.model.arrival > 0.0 {
            match self.queue.next_time() {
                Some(next) if (next as f64) < end => {}
                _ => {
                    self.now = end as u64;
                    break;
                }
            }
            if let Some(event) = self.queue.pop() {
                self.now = event.time;
                self.tally.advance(self.now);
                self.act(event);
            }
        }
        self.tally.advance(self.now);
    }

    fn act(&mut self, event: QueuedEvent) {
        let processor = event.who;
        let epoch = self.epochs[processor as usize] & (u32::MAX >> 2);
        match event.mark & 3 {
            ARRIVAL => {
                self.grow(processor, 1);
                self.arrive_later(processor);
            }
            END => {
                let before = self.loads[processor as usize];
                self.set(processor, before - 1);
                self.tally.ended += 1;
                match before {
                    1 => self.look_now(processor),
                    _ => self.serve(processor),
                }
            }
            _ if event.mark >> 2 == epoch => self.look_now(processor),
            _ => {}
        }
    }

    /// One look, and the next one later if it was fruitless.
    fn look_now(&mut self, processor: u32) {
        if !self.look(processor) {
            self.look_later(processor);
        }
    }

    fn set(&mut self, processor: u32, load: u32) {
        let before = std::mem::replace(&mut self.loads[processor as usize], load);
        self.tally.change(before, load);
    }

    /// `tasks` more; the first of them begins if there was none.
    fn grow(&mut self, processor: u32, tasks: u32) {
        let before = self.loads[processor as usize];
        self.set(processor, before + tasks);
        if before == 0 {
            let epoch = &mut self.epochs[processor as usize];
            *epoch = epoch.wrapping_add(1);
            self.serve(processor);
        }
    }

    /// One look at one victim. Returns whether a task was stolen.
    fn look(&mut self, thief: u32) -> bool {
        if self.model.policy == Policy::None {
            return false;
        }
        self.tally.attempts += 1;
        // Of the n - 1 others.
        let pick = self.random.below(self.loads.len() - 1) as u32;
        let victim = pick + u32::from(pick >= thief);
        let load = self.loads[victim as usize];
        let takes = self.model.policy.takes(load);
        if takes > 0 {
            self.tally.steals += 1;
            self.set(victim, load - takes);
            self.grow(thief, takes);
        }
        takes > 0
    }

    fn later(&mut self, mean: f64, who: u32, mark: u32) {
        let time = self.now + (self.random.exponential() * mean * TICKS) as u64;
        self.queue.push(QueuedEvent { time, who, mark });
    }

    fn arrive_later(&mut self, processor: u32) {
        if self.model.arrival > 0.0 {
            self.later(1.0 / self.model.arrival, processor, ARRIVAL);
        }
    }

    fn look_later(&mut self, processor: u32) {
        if self.model.retry > 0.0 && self.model.policy != Policy::None {
            let epoch = self.epochs[processor as usize];
            self.later(1.0 / self.model.retry, processor, epoch << 2 | LOOK);
        }
    }

    fn serve(&mut self, processor: u32) {
        match self.model.service {
            Service::Exponential => self.later(1.0, processor, END),
            Service::Constant => {
                let time = self.now + TICKS as u64;
                let (who, mark) = (processor, END);
                self.queue.push(QueuedEvent { time, who, mark });
            }
        }
    }

    fn seen(&self, time: f64) -> Seen {
        let tally = &self.tally;
        let whole = (tally.counted - tally.since) as f64 * self.loads.len() as f64;
        let [busy, victims, tasks] = tally.sums.map(|sum| sum as f64 / whole);
        let ended = tally.ended.max(1) as f64;
        Seen {
            busy,
            victims,
            time_in_system: tasks / busy,
            steals_per_task: tally.steals as f64 / ended,
            attempts_per_task: tally.attempts as f64 / ended,
            time,
            tasks: tally.ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MeanField;

    /// Few processors, so that tests stay short; `roving bench model` does the same with many.
    #[test]
    fn steady_states_are_near_the_equations() {
        for (text, retry) in [("one", 0.0), ("fixed:2:4", 0.0), ("half", 1.0)] {
            let policy: Policy = text.parse().unwrap();
            let model = Independent::new(1500, policy)
                .arrival(0.8)
                .retry(retry)
                .seed(11);
            let seen = model.steady(60.0, 150.0).unwrap();
            let steady = MeanField::new(0.8).retry(retry).steady(policy).unwrap();
            let off = seen.time_in_system / steady.time_in_system - 1.0;
            assert!(off.abs() < 0.03, "{text}: {off}");
            assert!((seen.busy - 0.8).abs() < 0.01);
            assert!((seen.victims - steady.victims).abs() < 0.015, "{text}");
            assert!(
                (seen.steals_per_task - steady.steals_per_task).abs() < 0.01,
                "{text}"
            );
        }
    }

    #[test]
    fn drains_are_near_the_equations_and_do_all_tasks() {
        for text in ["one", "fixed:4:5", "half"] {
            let policy: Policy = text.parse().unwrap();
            let model = Independent::new(4000, policy).retry(10.0);
            let seen = model.drain(0.05, 64).unwrap();
            let drain = MeanField::new(0.0)
                .retry(10.0)
                .drain(policy, 0.05, 64)
                .unwrap();
            assert!((seen.time / drain.time - 1.0).abs() < 0.04, "{text}");
            assert_eq!(seen.tasks, 200 * 64 - 128);
            assert_eq!(
                seen,
                model.drain(0.05, 64).unwrap(),
                "the same seed, the same run"
            );
            assert_ne!(seen, model.seed(2).drain(0.05, 64).unwrap());
        }
    }

    #[test]
    fn constant_tasks_wait_less() {
        let model = Independent::new(1000, Policy::None).arrival(0.8).seed(5);
        let seen = model
            .service(Service::Constant)
            .steady(100.0, 300.0)
            .unwrap();
        // M/D/1: 1 + l / (2 (1 - l)).
        assert!((seen.time_in_system / 3.0 - 1.0).abs() < 0.05, "{seen:?}");
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let half: Policy = "half".parse().unwrap();
        let one = Independent::new(1, half).arrival(0.5).steady(1.0, 1.0);
        assert!(one.unwrap_err().to_string().contains("take 4000"));
        let model = Independent::new(10, half);
        assert!(model.steady(1.0, 1.0).is_err());
        assert!(model.arrival(0.5).drain(0.1, 3).is_err());
        assert!(model.arrival(0.5).steady(f64::NAN, 1.0).is_err());
    }
}
