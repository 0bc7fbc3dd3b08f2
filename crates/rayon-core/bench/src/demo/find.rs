//! `find_any` and `find_first`, with what is looked for in several places.

use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, value};

/// The number to find, and the numbers to search.
struct Stack {
    hay: Vec<u32>,
    needle: u32,
}

/// A stack with one needle, so many parts of 12 from its start; none with 13.
fn stack(scale: Scale, part: usize) -> Stack {
    let len = scale.size(6_000_000, 6000);
    let needle = 0;
    let mut hay = Random::new(43).words(len);
    hay.iter_mut().for_each(|item| *item |= 1);
    let place = match part {
        12 => len - 1,
        part => len / 12 * part,
    };
    if let Some(item) = hay.get_mut(place) {
        *item = needle;
    }
    Stack { hay, needle }
}

fn serial(stack: &Stack) -> Option<u32> {
    let found = stack.hay.iter().find(|item| **item == stack.needle);
    found.copied()
}

fn place(stack: &Stack) -> Option<usize> {
    stack.hay.iter().position(|item| *item == stack.needle)
}

/// `find_any`, so many twelfths from the start.
pub(crate) fn any(scale: Scale, part: usize) -> Box<dyn Work> {
    value(stack(scale, part), serial, |stack| {
        let items = stack.hay.par_iter();
        items.find_any(|item| **item == stack.needle).copied()
    })
}

/// `position_first`, so many twelfths from the start.
pub(crate) fn first(scale: Scale, part: usize) -> Box<dyn Work> {
    value(stack(scale, part), place, |stack| {
        stack
            .hay
            .par_iter()
            .position_first(|item| *item == stack.needle)
    })
}

/// `find_any` of something that is common.
pub(crate) fn common(scale: Scale) -> Box<dyn Work> {
    value(
        stack(scale, 1),
        |stack| stack.hay.iter().any(|item| item % 1000 == 999),
        |stack| {
            let found = stack.hay.par_iter().find_any(|item| **item % 1000 == 999);
            found.is_some_and(|item| item % 1000 == 999)
        },
    )
}
