//! Texts, which cannot be cut everywhere.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering};

use common::size;
use roving::Pool;
use roving_iter::prelude::*;

/// Such a text was cut, and found to have no place for that, again and again.
#[test]
fn a_long_text_between_separators_is_searched_for_one_a_few_times() {
    const LONG: usize = size(100_000, 1_000);
    let long = "ä".repeat(LONG / 2);
    let texts = [
        long.clone(),
        format!("a,b,{long}"),
        format!("{long},a"),
        format!("a,{long},{long},b"),
    ];
    for (text, seed) in texts
        .iter()
        .flat_map(|text| (0..size(5, 1)).map(move |n| (text, n)))
    {
        let looks = AtomicUsize::new(0);
        let is_separator = |c: char| {
            looks.fetch_add(1, Ordering::Relaxed);
            c == ','
        };
        let pool = Pool::builder().deterministic(seed).build().unwrap();
        let parts: Vec<&str> = pool.install(|| text.par_split(is_separator).collect());
        assert!(parts.into_iter().eq(text.split(',')));
        let (looks, chars) = (looks.into_inner(), text.chars().count());
        assert!(looks <= 5 * chars, "{looks} looks at {chars} characters");
    }
}

/// Lines are cut further behind, or further before, than was asked.
#[test]
fn the_first_and_the_last_of_texts_whose_cuts_move() {
    for seed in 0..size(60, 2) {
        let pool = Pool::builder().deterministic(seed).build().unwrap();
        let mut random = seed;
        let mut next = move |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        let line = |n: u64| "x".repeat(n as usize) + "\n";
        let text: String = (0..40)
            .map(|_| line([1, 2, 3, 90][next(4) as usize]))
            .collect();
        let is_wanted = |line: &&str| line.len() == 2;
        let at = |line: Option<&str>| line.map(|line| line.as_ptr() as usize);
        let found = pool.install(|| {
            [
                text.par_lines().find_first(is_wanted),
                text.par_lines().find_last(is_wanted),
            ]
        });
        let first = text.lines().find(is_wanted);
        let last = text.lines().rev().find(is_wanted);
        assert_eq!(found.map(at), [first, last].map(at), "{seed}");
    }
}
