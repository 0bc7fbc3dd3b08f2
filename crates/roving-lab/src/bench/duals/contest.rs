//! A program with its tasks spread by measured times, against all of them on the CPU, all on the
//! device, and fixed shares.

use super::super::record::{Bound, RowRecord};
use crate::duals::run::Arena;
use crate::duals::setup::Setup;
use crate::duals::words::{DeviceSource, SideWord, Wanted};
use crate::io::input::CommandFailure;
use crate::networks::run::pool;
use crate::timing::lanes::{Series, TimedLane, interleave};

/// Names of lanes.
const WARM: &str = "auto";
const COLD: &str = "auto, cold";

/// Who takes part, and on what.
pub(super) struct Contest<'a> {
    /// The program.
    pub(super) arena: &'a Arena,
    /// On so many workers.
    pub(super) workers: usize,
    /// And on this device.
    pub(super) source: DeviceSource,
    /// How the device is called.
    pub(super) of: String,
    /// Which part of the work a device does in the time in which all workers do the rest, if that
    /// is known: then shares that cannot be near the best are left out.
    pub(super) ideal: Option<f64>,
    /// Timed rounds.
    pub(super) rounds: usize,
}

/// A share is left out where one side alone takes so many times what both would need together.
const HOPELESS: f64 = 2.0;

impl Contest<'_> {
    /// How many times the time of the ideal share this share takes at least.
    fn least(&self, share: f64) -> f64 {
        self.ideal.map_or(1.0, |ideal| {
            (share / ideal).max((1.0 - share) / (1.0 - ideal))
        })
    }

    /// The fixed shares that are tried: in tenths, the ideal one, and its neighbours.
    fn shares(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = (1..10).map(|tenth| f64::from(tenth) / 10.0).collect();
        if let Some(ideal) = self.ideal {
            shares.extend([ideal - 0.03, ideal, ideal + 0.03]);
        }
        shares.retain(|share| (0.005..0.995).contains(share) && self.least(*share) < HOPELESS);
        shares.sort_by(f64::total_cmp);
        shares.dedup_by(|one, other| (*one - *other).abs() < 0.005);
        shares
    }

    /// A lane whose tasks are spread like that.
    fn lane(
        &self,
        name: impl Into<String>,
        side: SideWord,
        cold: bool,
    ) -> Result<TimedLane<'_>, CommandFailure> {
        let wanted = Wanted {
            source: self.source,
            side,
        };
        let make = move || Setup::new(&wanted, &self.arena.load);
        let pool = pool(self.workers, roving::policy::Amount::default(), false)?;
        let mut setup = make()?;
        Ok(TimedLane::new(name, self.workers, move || {
            if cold {
                setup = make().map_err(|failure| failure.to_string())?;
            }
            self.arena
                .run(&pool, &setup)
                .map_err(|failure| failure.to_string())
        }))
    }

    /// Measures, and claims that `Auto` is within `bound` of the best of the others.
    pub(super) fn hold(&self, record: &mut RowRecord, bound: f64) -> Result<(), CommandFailure> {
        let mut lanes = vec![
            self.lane(WARM, SideWord::Auto, false)?,
            self.lane(COLD, SideWord::Auto, true)?,
        ];
        for (name, side, share) in [
            ("all-CPU", SideWord::Cpu, 0.0),
            ("all-GPU", SideWord::Gpu, 1.0),
        ] {
            if self.least(share) < HOPELESS {
                lanes.push(self.lane(name, side, false)?);
            } else {
                let times = self.least(share);
                let why = format!(
                    "{}, {name}: by the declared speeds it takes {times:.1} times as long as both sides together",
                    self.of
                );
                record.absent.push(why);
            }
        }
        for share in self.shares() {
            lanes.push(self.lane(format!("split {share:.3}"), SideWord::Split(share), false)?);
        }
        let series = interleave(&mut lanes, self.rounds).map_err(CommandFailure::Run)?;
        series
            .iter()
            .for_each(|one| record.series(&self.of, one, "ms", 1e3));
        let median = |one: &Series| one.times.median();
        let best = series[2..].iter().map(median).fold(f64::INFINITY, f64::min);
        let (warm, cold) = (median(&series[0]), median(&series[1]));
        let claim = format!(
            "{}: auto / best of all-CPU, all-GPU and fixed shares",
            self.of
        );
        record.claim(claim, "×", warm / best, Bound::AtMost(bound), None);
        record.single(
            &format!("{}: the same with a cold history", self.of),
            "×",
            cold / best,
        );
        Ok(())
    }
}
