//! Shapes whose leaves sleep, for the program with our drop-in.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::Duration;

use super::build::{Core, build};
use super::server::{Server, THREADS};
use super::{BENCH, PROGRAM};
use crate::shapes::runner::{Runner, ShapeRun};
use crate::shapes::shape::{CalledFrom, Leaves, ShapePart, ShapedProgram, TimedUntil};

/// A running program with our `rayon-core` and pools of so many workers, ready for shapes.
pub(crate) fn shapes(workers: usize) -> Result<Runner, String> {
    let built = build(BENCH, &Core::ours()?)?;
    let words = ["shapes", &workers.to_string()];
    // Shapes run on the pool that the words ask for, and not on the global one.
    let server = Server::start(built.program(PROGRAM)?, &words, THREADS)?;
    let server = RefCell::new(server);
    Ok(Box::new(move |shape, leaves| {
        let said = server.borrow_mut().say(&line(shape, leaves));
        let mut times = said?
            .seconds()
            .map(Duration::from_secs_f64)
            .collect::<Vec<_>>()
            .into_iter();
        let (Some(time), cpu) = (times.next(), times.next()) else {
            return Err("the program said no time".to_owned());
        };
        Ok(ShapeRun { time, cpu })
    }))
}

/// The line that asks for a run.
fn line(shape: &ShapedProgram, leaves: Leaves) -> String {
    let entry = match shape.kind.entry {
        CalledFrom::Inside => "inside",
        CalledFrom::Callers => "callers",
        CalledFrom::TwoPools => "two-pools",
    };
    let until = match shape.kind.until {
        TimedUntil::Ended => "ended",
        TimedUntil::Begun => "begun",
    };
    let mut line = format!("{entry} {until} {}", leaves.spin);
    for part in &shape.parts {
        line.push(' ');
        write_part(part, &mut line);
    }
    line
}

fn write_part(part: &ShapePart, line: &mut String) {
    let kind = match part {
        ShapePart::Leaf(time_us) => {
            let _ = write!(line, "{time_us}");
            return;
        }
        ShapePart::Series(_) => 's',
        ShapePart::Join(_) => 'j',
        ShapePart::Spawn(_) => 'p',
        ShapePart::Loop(_) => 'l',
    };
    line.push(kind);
    for (place, part) in part.parts().iter().enumerate() {
        line.push(if place == 0 { '(' } else { ',' });
        write_part(part, line);
    }
    line.push(')');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::shape::KINDS;

    #[test]
    fn a_line_says_the_whole_shape() {
        let both = ShapePart::Join(Box::new([
            ShapePart::Leaf(300),
            ShapePart::Spawn(vec![ShapePart::Leaf(40)]),
        ]));
        let mut text = String::new();
        write_part(
            &ShapePart::Series(vec![both, ShapePart::Loop(vec![ShapePart::Leaf(1)])]),
            &mut text,
        );
        assert_eq!(text, "s(j(300,p(40)),l(1))");
        for kind in &KINDS {
            let shape = kind.for_workers(4);
            let text = line(shape, Leaves { spin: 0.25 });
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(words.len(), 3 + shape.parts.len(), "{}", kind.name);
            assert_eq!(words[2], "0.25");
            let numbers = words[3..].concat();
            let leaves = numbers.split(|c: char| !c.is_ascii_digit());
            let sum: u64 = leaves.filter_map(|word| word.parse::<u64>().ok()).sum();
            assert_eq!(sum, shape.whole().work_us(), "{}", kind.name);
        }
    }
}
