//! Where the processes of a network run: `--placement`.

use std::time::Duration;

#[cfg(feature = "dist")]
use roving_dist::Rebalance;
use roving_flow::Placement;
use roving_partition::MigrationCost;

use super::params::{Param, read};
use crate::io::input::BadInput;

/// A placement with the words that name it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct NamedPlacement(Placement);

/// The idle times that figure 7 compares, in µs.
const THRESHOLDS_US: [u64; 10] = [
    200, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000,
];

impl NamedPlacement {
    /// One of each kind, with the usual figures.
    pub(crate) fn all() -> [NamedPlacement; 3] {
        [
            NamedPlacement(Placement::Stealing),
            NamedPlacement(Placement::partitioned()),
            NamedPlacement(Placement::adaptive()),
        ]
    }

    /// The partitioned ones, from the shortest idle time that asks for new parts to the longest.
    pub(crate) fn thresholds() -> impl Iterator<Item = NamedPlacement> {
        THRESHOLDS_US.into_iter().map(NamedPlacement::after_idle_us)
    }

    fn after_idle_us(idle_us: u64) -> NamedPlacement {
        let mut placement = Placement::partitioned();
        if let Placement::Partitioned { idle_threshold, .. } = &mut placement {
            *idle_threshold = Duration::from_micros(idle_us);
        }
        NamedPlacement(placement)
    }

    /// The placement for the runtime.
    pub(crate) fn placement(self) -> Placement {
        self.0
    }

    /// The placement across the ranks of a network; `None` if processes stay where they are.
    #[cfg(feature = "dist")]
    pub(crate) fn across(self) -> Option<Rebalance> {
        let mut settings = Rebalance::default();
        match self.0 {
            usual if usual == Placement::partitioned() => {}
            Placement::Partitioned {
                idle_threshold,
                alpha,
                migration_cost,
                ..
            } => {
                settings.idle_threshold = idle_threshold;
                settings.alpha = alpha;
                settings.migration_cost = migration_cost;
            }
            _ => return None,
        }
        Some(settings)
    }

    /// The first word of it.
    pub(crate) fn name(self) -> &'static str {
        match self.0 {
            Placement::Partitioned { .. } => "partitioned",
            Placement::Adaptive { .. } => "adaptive",
            _ => "stealing",
        }
    }

    /// All of it, as [`parse`] reads it; only the name where the figures are the usual ones.
    pub(crate) fn text(self) -> String {
        let name = self.name();
        if NamedPlacement::all().contains(&self) {
            return name.to_owned();
        }
        match self.0 {
            Placement::Partitioned {
                idle_threshold,
                alpha,
                migration_cost: MigrationCost::Fixed(migration),
                ..
            } => {
                let idle_us = idle_threshold.as_micros();
                format!("{name}:idle_us={idle_us},alpha={alpha},migration={migration}")
            }
            Placement::Adaptive { grain, trial, .. } => {
                let (grain_ns, trial_us) = (grain.as_nanos(), trial.as_micros());
                format!("{name}:grain_ns={grain_ns},trial_us={trial_us}")
            }
            _ => name.to_owned(),
        }
    }

    /// The idle time after which the network is partitioned anew, if that is what this placement
    /// does.
    pub(crate) fn threshold_us(self) -> Option<u128> {
        match self.0 {
            Placement::Partitioned { idle_threshold, .. } => Some(idle_threshold.as_micros()),
            _ => None,
        }
    }
}

/// Reads `--placement`: a name, and perhaps figures behind a colon.
pub(crate) fn parse(text: &str) -> Result<NamedPlacement, BadInput> {
    let (name, figures) = text.split_once(':').unwrap_or((text, ""));
    let found = NamedPlacement::all()
        .into_iter()
        .find(|place| place.name() == name);
    let Some(NamedPlacement(mut placement)) = found else {
        let allowed = "stealing, partitioned[:idle_us=N,alpha=N,migration=N] or \
                       adaptive[:grain_ns=N,trial_us=N]";
        return Err(BadInput::new(
            "--placement",
            text,
            allowed,
            "leave it out for stealing",
        ));
    };
    if figures.is_empty() {
        return Ok(NamedPlacement(placement));
    }
    match &mut placement {
        Placement::Partitioned {
            idle_threshold,
            alpha,
            migration_cost,
            ..
        } => {
            let mut idle_us = idle_threshold.as_micros() as u64;
            let mut migration = match migration_cost {
                MigrationCost::Fixed(messages) => *messages,
                _ => 16,
            };
            let params = &mut [
                Param::new("idle_us", 1..=60_000_000, &mut idle_us),
                Param::new("alpha", 1..=1_000_000, alpha),
                Param::new("migration", 0..=1_000_000_000, &mut migration),
            ];
            read("--placement", figures, params)?;
            *idle_threshold = Duration::from_micros(idle_us);
            *migration_cost = MigrationCost::Fixed(migration);
        }
        Placement::Adaptive { grain, trial, .. } => {
            let (mut grain_ns, mut trial_us) = (grain.as_nanos() as u64, trial.as_micros() as u64);
            let params = &mut [
                Param::new("grain_ns", 0..=1_000_000_000, &mut grain_ns),
                Param::new("trial_us", 100..=10_000_000, &mut trial_us),
            ];
            read("--placement", figures, params)?;
            (*grain, *trial) = (
                Duration::from_nanos(grain_ns),
                Duration::from_micros(trial_us),
            );
        }
        _ => {
            let allowed = "stealing without figures";
            return Err(BadInput::new(
                "--placement",
                text,
                allowed,
                "write stealing",
            ));
        }
    }
    Ok(NamedPlacement(placement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_read_as_they_are_written() {
        let places = NamedPlacement::all()
            .into_iter()
            .chain(NamedPlacement::thresholds());
        for place in places {
            assert_eq!(parse(&place.text()), Ok(place));
        }
        for text in [
            "partitioned:idle_us=7,alpha=3,migration=0",
            "adaptive:grain_ns=5,trial_us=200",
        ] {
            assert_eq!(parse(text).unwrap().text(), text);
        }
        assert_eq!(NamedPlacement::default().text(), "stealing");
        assert_eq!(parse("partitioned:7").unwrap().threshold_us(), Some(7));
    }

    #[test]
    fn what_is_no_placement_is_named() {
        for (text, named) in [
            ("random", "`random`"),
            ("stealing:3", "`stealing:3`"),
            ("partitioned:idle_us=0", "idle_us `0`"),
            ("adaptive:speed=9", "`speed`"),
        ] {
            let line = parse(text).unwrap_err().to_string();
            assert!(line.contains(named) && !line.contains('\n'), "{line}");
        }
    }
}
