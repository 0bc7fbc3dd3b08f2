//! Verdicts as data: a rule is made of claims, and a claim is a number with its interval and the
//! line that it is held against.
//!
//! The interval of a claim is that of a bootstrap: the runs are drawn again with replacement, and
//! the middle 99 % of what the statistic comes to are kept. It is then widened by an allowance,
//! since two invocations of one program differ by more than the runs inside of one: threads, pages
//! and neighbours are others. A claim is decided only where the whole interval lies on one side of
//! its line.

use super::spread::{median, number};

/// With fewer runs of anything that a claim is about, nothing is decided.
pub(super) const RUNS_MIN: usize = 5;
/// How often the runs are drawn again.
const REPLICATES: usize = 1_000;
/// The part of the replicates that is left out at each end.
const TAIL: f64 = 0.005;

/// The widening of an interval beyond the bootstrap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Allowance {
    /// So large a part of the number, upwards and downwards.
    Part(f64),
    /// So much, in the unit of the number.
    Plus(f64),
}

/// Ratios of times.
pub(super) const OF_TIMES: Allowance = Allowance::Part(0.07);
/// Ratios of times that are extremes, or of shares of time.
pub(super) const OF_EXTREMES: Allowance = Allowance::Part(0.25);
/// Differences of shares, in percentage points.
pub(super) const OF_SHARES: Allowance = Allowance::Plus(3.0);

/// A number as it was seen, and where it may truly lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    /// The least number of runs behind any of its samples; none where it was counted, and is the
    /// same each time.
    pub(super) n: Option<usize>,
    /// The lower end.
    pub(super) low: f64,
    /// The estimate from the runs as they are.
    pub(super) seen: f64,
    /// The upper end.
    pub(super) high: f64,
}

impl Interval {
    /// Something counted, which comes out the same in every run.
    pub(super) fn counted(value: f64) -> Interval {
        Interval {
            n: None,
            low: value,
            seen: value,
            high: value,
        }
    }

    /// Returns the interval of a statistic of some samples. `None` where a sample is empty, or the
    /// result is not a number.
    pub(super) fn of(
        samples: &[&[f64]],
        allowance: Allowance,
        statistic: impl Fn(&[&[f64]]) -> f64,
    ) -> Option<Interval> {
        let n = samples.iter().map(|sample| sample.len()).min()?;
        let seen = statistic(samples);
        if n == 0 || !seen.is_finite() {
            return None;
        }
        let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
        let mut found = Vec::with_capacity(REPLICATES);
        for _ in 0..REPLICATES {
            let again: Vec<Vec<f64>> = samples.iter().map(|sample| draw.again(sample)).collect();
            let again: Vec<&[f64]> = again.iter().map(Vec::as_slice).collect();
            found.push(statistic(&again));
        }
        found.retain(|value| value.is_finite());
        found.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| found.get((part * (found.len().max(1) - 1) as f64).round() as usize);
        let (low, high) = (*at(TAIL)?, *at(1.0 - TAIL)?);
        let (low, high) = match allowance {
            Allowance::Part(part) => {
                let wider = |end: f64, sign: f64| end + sign * end.abs() * part;
                (wider(low, -1.0), wider(high, 1.0))
            }
            Allowance::Plus(more) => (low - more, high + more),
        };
        Some(Interval {
            n: Some(n),
            low,
            seen,
            high,
        })
    }

    /// The median of one sample over that of another: how many times as long one takes as the
    /// other.
    pub(super) fn ratio(above: &[f64], below: &[f64]) -> Option<Interval> {
        Interval::of(&[above, below], OF_TIMES, |drawn| {
            median(drawn[0]) / median(drawn[1])
        })
    }

    /// The difference of the medians of two samples of shares, in percentage points.
    pub(super) fn points(more: &[f64], less: &[f64]) -> Option<Interval> {
        Interval::of(&[more, less], OF_SHARES, |drawn| {
            (median(drawn[0]) - median(drawn[1])) * 100.0
        })
    }

    /// Converts the interval to another unit, so many times as large.
    pub(super) fn times(self, factor: f64) -> Interval {
        Interval {
            n: self.n,
            low: self.low * factor,
            seen: self.seen * factor,
            high: self.high * factor,
        }
    }

    /// `1.9 (1.7 to 2.1, n = 7)`.
    pub(super) fn text(&self) -> String {
        match self.n {
            None => format!("{} (counted)", number(self.seen)),
            Some(n) => format!(
                "{} ({} to {}, n = {n})",
                number(self.seen),
                number(self.low),
                number(self.high)
            ),
        }
    }
}

/// A small generator: the intervals of given runs are always the same.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// As many values of a sample, drawn with replacement.
    fn again(&mut self, sample: &[f64]) -> Vec<f64> {
        let place = |draw: &mut Draw| (draw.next() >> 32) as usize % sample.len();
        (0..sample.len()).map(|_| sample[place(self)]).collect()
    }
}

/// On which side of which line a claim says that its number lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RequiredRange {
    /// More than this.
    Above(f64),
    /// Less than this.
    Below(f64),
    /// Not less than the first, not more than the second.
    Between(f64, f64),
}

impl RequiredRange {
    /// For tables.
    pub(super) fn text(self) -> String {
        match self {
            RequiredRange::Above(line) => format!("> {}", number(line)),
            RequiredRange::Below(line) => format!("< {}", number(line)),
            RequiredRange::Between(low, high) => format!("{} to {}", number(low), number(high)),
        }
    }
}

/// The verdict of the runs on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The interval lies across the line.
    Open,
    /// There were fewer than [`RUNS_MIN`] runs.
    Few,
}

impl Answer {
    /// For tables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Answer::Yes => "yes",
            Answer::No => "no",
            Answer::Open => "open",
            Answer::Few => "too few runs",
        }
    }
}

/// One thing that a rule asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Requirement {
    /// The meaning of the number.
    pub(super) what: String,
    /// The number.
    pub(super) interval: Interval,
    /// Where it should lie.
    pub(super) line: RequiredRange,
}

impl Requirement {
    /// That a number lies on a side of a line.
    pub(super) fn new(
        what: impl Into<String>,
        interval: Interval,
        line: RequiredRange,
    ) -> Requirement {
        Requirement {
            what: what.into(),
            interval,
            line,
        }
    }

    /// Returns the verdict of the runs.
    pub(super) fn answer(&self) -> Answer {
        let Interval { n, low, high, .. } = self.interval;
        if n.is_some_and(|n| n < RUNS_MIN) {
            return Answer::Few;
        }
        let (yes, no) = match self.line {
            RequiredRange::Above(line) => (low > line, high <= line),
            RequiredRange::Below(line) => (high < line, low >= line),
            RequiredRange::Between(least, most) => {
                (low >= least && high <= most, high < least || low > most)
            }
        };
        match (yes, no) {
            (true, _) => Answer::Yes,
            (_, true) => Answer::No,
            _ => Answer::Open,
        }
    }
}

/// How a rule puts its claims together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Each of them.
    All,
    /// More than half of them.
    Most,
}

impl Rule {
    /// For tables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Rule::All => "all",
            Rule::Most => "most",
        }
    }
}

/// Whether a finding holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FindingVerdict {
    /// It does.
    Holds,
    /// It does not.
    NotHere,
    /// This machine has too few cores for the question.
    TooFewCores,
    /// The runs vary too much or are too few, or something was not measured.
    CannotTell,
}

impl FindingVerdict {
    /// All of them, in the order of the report.
    pub(super) const ALL: [FindingVerdict; 4] = [
        FindingVerdict::Holds,
        FindingVerdict::NotHere,
        FindingVerdict::TooFewCores,
        FindingVerdict::CannotTell,
    ];

    /// The words in the report.
    pub(super) fn words(self) -> &'static str {
        match self {
            FindingVerdict::Holds => "holds here",
            FindingVerdict::NotHere => "not here",
            FindingVerdict::TooFewCores => "not enough cores to tell",
            FindingVerdict::CannotTell => "cannot tell",
        }
    }

    /// The class in the page's style.
    pub(super) fn class(self) -> &'static str {
        match self {
            FindingVerdict::Holds => "holds",
            FindingVerdict::NotHere => "nothere",
            FindingVerdict::TooFewCores | FindingVerdict::CannotTell => "unknown",
        }
    }

    /// Combines the verdicts of a rule's claims.
    fn of(rule: Rule, claims: &[Requirement]) -> FindingVerdict {
        let count = |answer| {
            let answers = claims.iter().map(Requirement::answer);
            answers.filter(|one| *one == answer).count()
        };
        let (all, yes, no) = (claims.len(), count(Answer::Yes), count(Answer::No));
        let (holds, fails) = match rule {
            Rule::All => (yes == all, no > 0),
            Rule::Most => (yes * 2 > all, no * 2 >= all),
        };
        match (all > 0 && holds, all > 0 && fails) {
            (true, _) => FindingVerdict::Holds,
            (_, true) => FindingVerdict::NotHere,
            _ => FindingVerdict::CannotTell,
        }
    }
}

/// The outcome of a rule, the claims that decided, and the sentence that says it with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judgement {
    /// The outcome.
    pub(super) verdict: FindingVerdict,
    /// How the claims are put together.
    pub(super) rule: Rule,
    /// The question that was asked of the numbers.
    pub(super) claims: Vec<Requirement>,
    /// One sentence with the numbers that decided.
    pub(super) sentence: String,
}

impl Judgement {
    /// It holds if each claim does.
    pub(super) fn all(claims: Vec<Requirement>, sentence: impl Into<String>) -> Judgement {
        Judgement::of(Rule::All, claims, sentence.into())
    }

    /// It holds if more than half of the claims do.
    pub(super) fn most(claims: Vec<Requirement>, sentence: impl Into<String>) -> Judgement {
        Judgement::of(Rule::Most, claims, sentence.into())
    }

    fn of(rule: Rule, claims: Vec<Requirement>, seen: String) -> Judgement {
        let verdict = FindingVerdict::of(rule, &claims);
        let sentence = match verdict {
            FindingVerdict::CannotTell => {
                let few = claims.iter().any(|claim| claim.answer() == Answer::Few);
                let why = if few {
                    "There was no time for five runs of each"
                } else {
                    "The runs vary too much for a verdict"
                };
                format!("{why}: measure on a quiet machine, or with --full. What was seen: {seen}")
            }
            _ => seen,
        };
        Judgement {
            verdict,
            rule,
            claims,
            sentence,
        }
    }

    /// The finding is about more cores than there are: what the claims come to is shown, and
    /// decides nothing.
    pub(super) fn too_few(
        needed: usize,
        cores: usize,
        claims: Vec<Requirement>,
        seen: impl std::fmt::Display,
    ) -> Judgement {
        let sentence = format!(
            "The finding needs {needed} cores or more, and this machine has {cores}: {seen}"
        );
        Judgement {
            verdict: FindingVerdict::TooFewCores,
            rule: Rule::All,
            claims,
            sentence,
        }
    }

    /// Something is missing.
    pub(super) fn missing(what: impl std::fmt::Display) -> Judgement {
        Judgement {
            verdict: FindingVerdict::CannotTell,
            rule: Rule::All,
            claims: Vec::new(),
            sentence: format!("The rule lacks {what}."),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven runs around a value, the furthest so large a part of it away.
    fn runs(value: f64, part: f64) -> Vec<f64> {
        [-1.0, -0.6, -0.3, 0.0, 0.2, 0.7, 1.0]
            .map(|place| value * (1.0 + part * place))
            .to_vec()
    }

    fn claim(above: f64, below: f64, part: f64, line: RequiredRange) -> Requirement {
        let (above, below) = (runs(above, part), runs(below, part));
        Requirement::new("a", Interval::ratio(&above, &below).unwrap(), line)
    }

    #[test]
    fn a_claim_is_decided_only_where_its_whole_interval_lies_on_one_side() {
        for (ratio, want) in [
            (1.5, Answer::Yes),
            (1.05, Answer::Open),
            (1.0, Answer::Open),
            (0.95, Answer::Open),
            (0.7, Answer::No),
        ] {
            let line = RequiredRange::Above(1.0);
            assert_eq!(claim(ratio, 1.0, 0.02, line).answer(), want, "{ratio}");
            let turned = match want {
                Answer::Yes => Answer::No,
                Answer::No => Answer::Yes,
                other => other,
            };
            let line = RequiredRange::Below(1.0);
            assert_eq!(claim(ratio, 1.0, 0.02, line).answer(), turned, "{ratio}");
        }
        let within = |ratio| claim(ratio, 1.0, 0.02, RequiredRange::Between(0.8, 1.2)).answer();
        assert_eq!(
            [0.5, 0.8, 1.0, 1.2, 1.6].map(within),
            [
                Answer::No,
                Answer::Open,
                Answer::Yes,
                Answer::Open,
                Answer::No
            ]
        );
        // The same medians decide nothing where the runs are far apart.
        assert_eq!(
            claim(1.5, 1.0, 0.9, RequiredRange::Above(1.0)).answer(),
            Answer::Open
        );
    }

    #[test]
    fn four_runs_decide_nothing_and_what_is_counted_needs_one() {
        let few = Interval::ratio(&[9.0; 4], &[1.0; 7]).unwrap();
        assert_eq!(
            Requirement::new("a", few, RequiredRange::Above(1.0)).answer(),
            Answer::Few
        );
        let counted = |value| {
            Requirement::new(
                "a",
                Interval::counted(value),
                RequiredRange::Between(7.0, 7.0),
            )
        };
        assert_eq!(counted(7.0).answer(), Answer::Yes);
        assert_eq!(counted(8.0).answer(), Answer::No);
        assert!(Interval::ratio(&[], &[1.0]).is_none());
        assert!(Interval::ratio(&[1.0; 5], &[0.0; 5]).is_none());
    }

    #[test]
    fn an_interval_holds_its_number_and_is_the_same_again() {
        for part in [0.0, 0.05, 0.5] {
            let (one, other) = (runs(3.0, part), runs(2.0, part / 2.0));
            let found = Interval::ratio(&one, &other).unwrap();
            assert!(
                found.low < found.seen && found.seen < found.high,
                "{found:?}"
            );
            assert_eq!(Some(found), Interval::ratio(&one, &other));
            assert_eq!((found.n, found.seen), (Some(7), 1.5));
        }
        let shares = Interval::points(&[0.5; 6], &[0.2; 6]).unwrap();
        assert!((shares.seen - 30.0).abs() < 1e-9 && (shares.low - 27.0).abs() < 1e-9);
        // Below nothing, wider is lower.
        let below = Interval::of(&[&[-2.0; 5]], Allowance::Part(0.5), |drawn| drawn[0][0]).unwrap();
        assert_eq!((below.low, below.high), (-3.0, -1.0));
    }

    #[test]
    fn the_interval_misses_a_true_ratio_seldom() {
        // 400 pairs of samples of one distribution, whose ratio is truly 1.
        let mut draw = Draw(7);
        let mut sample = || -> Vec<f64> {
            let one = |draw: &mut Draw| 1.0 + (draw.next() >> 40) as f64 / (1 << 24) as f64;
            (0..9).map(|_| one(&mut draw)).collect()
        };
        let missed = (0..400).filter(|_| {
            let found = Interval::of(&[&sample(), &sample()], Allowance::Plus(0.0), |drawn| {
                median(drawn[0]) / median(drawn[1])
            });
            let found = found.unwrap();
            found.low > 1.0 || found.high < 1.0
        });
        let missed = missed.count();
        assert!(missed <= 12, "{missed} of 400");
    }

    #[test]
    fn a_rule_holds_fails_or_is_open_by_its_claims() {
        let [yes, open, no] =
            [1.5, 1.0, 0.5].map(|ratio| claim(ratio, 1.0, 0.01, RequiredRange::Above(1.0)));
        let verdict = |rule, claims: &[&Requirement]| {
            let claims = claims.iter().map(|one| (*one).clone()).collect();
            Judgement::of(rule, claims, "x".into()).verdict
        };
        use FindingVerdict::{CannotTell, Holds, NotHere};
        for (claims, all, most) in [
            (vec![&yes, &yes], Holds, Holds),
            (vec![&yes, &open], CannotTell, CannotTell),
            (vec![&yes, &no], NotHere, NotHere),
            (vec![&open, &no], NotHere, NotHere),
            (vec![&yes, &yes, &no], NotHere, Holds),
            (vec![&yes, &yes, &open], CannotTell, Holds),
            (vec![&no, &open, &yes], NotHere, CannotTell),
            (vec![], CannotTell, CannotTell),
        ] {
            assert_eq!(verdict(Rule::All, &claims), all, "{claims:?}");
            assert_eq!(verdict(Rule::Most, &claims), most, "{claims:?}");
        }
        let said = Judgement::all(vec![open], "it was so.").sentence;
        assert!(
            said.contains("vary too much") && said.ends_with("it was so."),
            "{said}"
        );
    }
}
