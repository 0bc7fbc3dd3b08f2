//! Ways to build a hash map.

use std::collections::HashMap;
use std::sync::Mutex;

use rayon::prelude::*;

use crate::work::{Scale, Work, value};

type Map = HashMap<u32, u32>;

fn len(scale: Scale) -> u32 {
    scale.size(1 << 16, 1 << 9) as u32
}

fn serial(len: &u32) -> Map {
    (0..*len).map(|key| (key, key / 3)).collect()
}

/// `collect`.
pub(crate) fn collect(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let keys = (0..*len).into_par_iter();
        keys.map(|key| (key, key / 3)).collect()
    })
}

/// One map behind a mutex that all tasks want.
pub(crate) fn mutex(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let map = Mutex::new(Map::new());
        (0..*len).into_par_iter().for_each(|key| {
            let guard = map.lock();
            let mut map = guard.unwrap_or_else(|poisoned| poisoned.into_inner());
            map.insert(key, key / 3);
        });
        map.into_inner()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    })
}

/// `fold` into maps and `reduce` of them.
pub(crate) fn folded(scale: Scale) -> Box<dyn Work> {
    value(len(scale), serial, |len| {
        let add = |mut map: Map, key: u32| {
            map.insert(key, key / 3);
            map
        };
        let parts = (0..*len).into_par_iter().fold(Map::new, add);
        parts.reduce(Map::new, |mut left, right| {
            left.extend(right);
            left
        })
    })
}
