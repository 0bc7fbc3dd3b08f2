//! Ways to build a list of a million numbers.

use std::collections::LinkedList;

use rayon::prelude::*;

use crate::work::{Scale, Work, in_place, value};

fn len(scale: Scale) -> u32 {
    scale.size(1 << 20, 1 << 10) as u32
}

fn serial(len: &u32) -> Vec<u32> {
    (0..*len).collect()
}

fn push(mut list: Vec<u32>, item: u32) -> Vec<u32> {
    list.push(item);
    list
}

fn append(mut left: Vec<u32>, mut right: Vec<u32>) -> Vec<u32> {
    left.append(&mut right);
    left
}

/// `collect` of known length.
pub(crate) fn collect(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        (0..*len).into_par_iter().collect()
    })
}

/// `collect` behind a filter that keeps all.
pub(crate) fn filtered(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let items = (0..*len).into_par_iter();
        items.filter(|item| *item != u32::MAX).collect()
    })
}

/// `collect_into_vec` of a list that is there already.
pub(crate) fn reused(scale: Scale) -> Box<dyn Work> {
    in_place(
        len(scale) as usize,
        |len| vec![u32::MAX; len],
        |list| {
            (0..list.len() as u32)
                .into_par_iter()
                .collect_into_vec(list)
        },
        |after, before| {
            let right = after.iter().copied().eq(0..before.len() as u32);
            right
                .then_some(())
                .ok_or_else(|| "not the numbers in order".to_owned())
        },
    )
}

/// `fold` into lists and `reduce` of them.
pub(crate) fn folded(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let parts = (0..*len).into_par_iter().fold(Vec::new, push);
        parts.reduce(Vec::new, append)
    })
}

/// A linked list of lists, and all of them appended at the end.
pub(crate) fn linked(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let parts = (0..*len).into_par_iter().fold(Vec::new, push);
        let list: LinkedList<Vec<u32>> = parts.collect();
        let mut whole = Vec::with_capacity(*len as usize);
        list.into_iter()
            .for_each(|mut part| whole.append(&mut part));
        whole
    })
}
