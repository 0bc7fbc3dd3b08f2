//! The program as a server: a line names a workload and how often it is to be timed, a line
//! answers. So two programs, linked with different libraries, can be timed in turn.

use std::io::{self, BufRead, Write};

use crate::table::{self, NamedWorkload};
use crate::timing::Caller;
use crate::work::{Scale, Work};

/// More repetitions than that in one answer are a mistake.
const REPETITIONS_MAX: usize = 10_000;

/// One line of input: a workload, and how often.
struct Order {
    entry: &'static NamedWorkload,
    repetitions: usize,
}

fn parse(line: &str) -> Result<Order, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [name, repetitions] = words[..] else {
        return Err(format!(
            "line `{}` is not allowed: want a workload and a number; say `sum-1e3 5`",
            line.trim()
        ));
    };
    let number = repetitions.parse().ok();
    let allowed = number.filter(|number| (1..=REPETITIONS_MAX).contains(number));
    let repetitions = allowed.ok_or_else(|| {
        format!(
            "repetitions `{repetitions}` is not allowed: want a whole number from 1 to \
             {REPETITIONS_MAX}; ask again for more"
        )
    })?;
    Ok(Order {
        entry: table::find(name)?,
        repetitions,
    })
}

/// The workload that was asked for last, with its input.
struct Ready {
    name: &'static str,
    work: Box<dyn Work>,
}

/// Answers each line of `orders` with one line until they end: `times` and nanoseconds, or `error`
/// and the reason.
pub(crate) fn serve(
    orders: impl BufRead,
    mut answers: impl Write,
    scale: Scale,
    caller: &Caller,
) -> io::Result<()> {
    let mut ready: Option<Ready> = None;
    for line in orders.lines() {
        let answer = match parse(&line?).and_then(|order| times(&order, &mut ready, scale, caller))
        {
            Ok(times) => {
                let times: Vec<String> = times.iter().map(|nanos| format!("{nanos:.1}")).collect();
                format!("times {}", times.join(" "))
            }
            Err(why) => format!("error {why}"),
        };
        writeln!(answers, "{answer}")?;
        answers.flush()?;
    }
    Ok(())
}

/// A workload that was not the last one is made first, and run once to warm up.
fn times(
    order: &Order,
    ready: &mut Option<Ready>,
    scale: Scale,
    caller: &Caller,
) -> Result<Vec<f64>, String> {
    let entry = order.entry;
    let runs = scale.size(entry.runs, 1);
    if ready.as_ref().is_none_or(|ready| ready.name != entry.name) {
        // The memory of the last one first.
        *ready = None;
        let mut work = (entry.make)(scale);
        caller.time(&mut *work, runs)?;
        let name = entry.name;
        *ready = Some(Ready { name, work });
    }
    let Some(ready) = ready else {
        return Err(format!("{} was not made", entry.name));
    };
    let each = (0..order.repetitions).map(|_| caller.time(&mut *ready.work, runs));
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(orders: &str) -> Vec<String> {
        let mut answers = Vec::new();
        let served = serve(
            orders.as_bytes(),
            &mut answers,
            Scale::Quick,
            &Caller::outside(),
        );
        assert!(served.is_ok());
        let text = String::from_utf8_lossy(&answers).into_owned();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_has_one_answer() {
        let said = said("sum-1e3 3\nnested 1\nsum-1e3 2\n");
        let counts = said.iter().map(|line| line.split_whitespace().count());
        assert_eq!(counts.collect::<Vec<_>>(), [4, 2, 3]);
        for line in said {
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some("times"));
            assert!(words.all(|word| word.parse::<f64>().is_ok_and(|nanos| nanos > 0.0)));
        }
    }

    #[test]
    fn a_wrong_line_is_told_and_the_next_one_is_served() {
        let said = said("sum-1e3\nnothing 3\nsum-1e3 0\nsum-1e3 many\nsum-1e3 1\n");
        let want = ["`sum-1e3` is not", "`nothing`", "`0`", "`many`"];
        for (line, part) in said.iter().zip(want) {
            assert!(line.starts_with("error ") && line.contains(part), "{line}");
        }
        assert!(said.len() == 5 && said[4].starts_with("times "));
    }
}
