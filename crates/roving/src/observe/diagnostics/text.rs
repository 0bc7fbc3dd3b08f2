//! Texts, taken apart and put together with little code: what `std` makes of each pattern is some
//! hundred lines, and a program that is never watched has them, too.

use std::fmt::{self, Write as _};

/// Writes what is formatted to the end of the text.
#[inline(never)]
pub(super) fn put(text: &mut String, what: fmt::Arguments<'_>) {
    // A text takes all.
    let _ = text.write_fmt(what);
}

/// The name of a seat, for people.
#[inline(never)]
pub(super) fn seat(index: usize, workers: usize) -> String {
    match index.checked_sub(workers) {
        None => format!("worker {index}"),
        Some(spare) => format!("spare {spare}"),
    }
}

/// The text before and after the first `at` in it.
#[inline(never)]
pub(super) fn cut<'t>(text: &'t str, at: &str) -> Option<(&'t str, &'t str)> {
    let mut places = 0..text.len();
    let place = places.find(|&place| text.as_bytes()[place..].starts_with(at.as_bytes()))?;
    Some((text.get(..place)?, text.get(place + at.len()..)?))
}

/// The text before and after the last `at` in it.
#[inline(never)]
pub(super) fn cut_last<'t>(text: &'t str, at: &str) -> Option<(&'t str, &'t str)> {
    let mut place = text.len();
    while place > 0 {
        place -= 1;
        if text.as_bytes()[place..].starts_with(at.as_bytes()) {
            return Some((text.get(..place)?, text.get(place + at.len()..)?));
        }
    }
    None
}

/// The word of that number, from 0 on, of those that stand between white space.
#[inline(never)]
pub(super) fn word(text: &str, number: usize) -> Option<&str> {
    let mut rest = text.trim_ascii_start();
    for _ in 0..number {
        rest = rest.get(length(rest)..)?.trim_ascii_start();
    }
    let word = rest.get(..length(rest))?;
    (!word.is_empty()).then_some(word)
}

/// Of the word that the text begins with.
fn length(text: &str) -> usize {
    let mut length = 0;
    for byte in text.bytes() {
        if byte.is_ascii_whitespace() {
            break;
        }
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::pool::testing::of_any_text())]

        /// As the standard library has it, whatever is in the text.
        #[test]
        fn fuzz_the_pieces_of_a_text(text in "[ab:\n )é]{0,12}|.{0,24}", number in 0..4_usize) {
            for at in [":", "::", ") ", "ab"] {
                prop_assert_eq!(cut(&text, at), text.split_once(at));
            }
            for at in [":", ")"] {
                prop_assert_eq!(cut_last(&text, at), text.rsplit_once(at));
            }
            prop_assert_eq!(word(&text, number), text.split_ascii_whitespace().nth(number));
        }
    }
}
