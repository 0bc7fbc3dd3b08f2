//! Words of a text, by splitting it where there is room.

use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, value};

/// Words of one to twelve letters, one space or line break between them.
fn text(scale: Scale) -> String {
    let mut random = Random::new(41);
    let mut text = String::new();
    for _ in 0..scale.size(300_000, 2000) {
        for _ in 0..=random.below(12) {
            text.push(char::from(b'a' + random.below(26) as u8));
        }
        text.push(if random.below(10) == 0 { '\n' } else { ' ' });
    }
    text
}

/// At one character.
pub(crate) fn char(scale: Scale) -> Box<dyn Work> {
    value(
        text(scale),
        |text| text.split(' ').count(),
        |text| text.par_split(' ').count(),
    )
}

/// At what a function says.
pub(crate) fn function(scale: Scale) -> Box<dyn Work> {
    value(
        text(scale),
        |text| text.split(char::is_whitespace).count(),
        |text| text.par_split(char::is_whitespace).count(),
    )
}

/// Lines, and the longest of them.
pub(crate) fn lines(scale: Scale) -> Box<dyn Work> {
    value(
        text(scale),
        |text| text.lines().map(str::len).max(),
        |text| text.par_lines().map(str::len).max(),
    )
}
