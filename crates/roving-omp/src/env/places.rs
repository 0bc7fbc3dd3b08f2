//! Places: sets of processors that threads are bound to.

use std::mem;

use super::complaint::invalid;

/// Processors, by number.
pub(crate) type Place = Vec<usize>;

/// The processors that the calling thread may use.
pub(crate) fn allowed() -> Place {
    // SAFETY: a set is bits alone, and all zero is the empty one.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: the set is as large as is said.
    let failed = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } != 0;
    if failed {
        return (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
    }
    // SAFETY: below the number of bits.
    let is_in = |&cpu: &usize| unsafe { libc::CPU_ISSET(cpu, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// The processors that the process may use, as far as can be told: where threads are to be bound,
/// the other library may be loaded too, and have bound this thread already. Then all that the
/// system lets the process have.
pub(super) fn of_process() -> Place {
    let names = ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"];
    let before = allowed();
    if !names.iter().any(|name| std::env::var_os(name).is_some()) {
        return before;
    }
    bind(&(0..libc::CPU_SETSIZE as usize).collect::<Place>());
    let all = allowed();
    bind(&before);
    all
}

/// Lets the calling thread run on these processors alone.
pub(crate) fn bind(place: &[usize]) {
    // SAFETY: as in `allowed`.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in place
        .iter()
        .filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize)
    {
        // SAFETY: below the number of bits.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    // SAFETY: the set is as large as is said. A place that the thread may not use changes nothing.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

/// `OMP_PLACES`: a name, perhaps with a count, or places in braces.
pub(super) fn parse(said: &str) -> Option<Vec<Place>> {
    let said = said.to_ascii_lowercase();
    let name = said.split('(').next().unwrap_or_default().trim();
    if matches!(
        name,
        "threads" | "cores" | "sockets" | "ll_caches" | "numa_domains"
    ) {
        return named(&said, name);
    }
    let (mut places, mut so_far) = (Vec::new(), 0);
    let mut rest = said.trim();
    loop {
        let close = rest.strip_prefix('{')?.find('}')? + 1;
        let place = members(&rest[1..close])?;
        let after = rest[close + 1..].trim_start();
        let (repeat, after) = match after.strip_prefix(':') {
            None => ((1, 0), after),
            Some(after) => {
                let end = after.find(',').unwrap_or(after.len());
                let mut numbers = after[..end].split(':').map(|part| part.trim().parse());
                let count: i64 = numbers.next()?.ok()?;
                let step: i64 = numbers.next().transpose().ok()?.unwrap_or(1);
                ((count, step), &after[end..])
            }
        };
        let more = repeat.0.checked_mul(place.len() as i64)?;
        so_far = more.max(0).checked_add(so_far)?;
        if so_far > NUMBERS_MAX {
            return None;
        }
        for turn in 0..repeat.0 {
            let shifted = |&cpu: &usize| {
                let shift = repeat.1.checked_mul(turn)?;
                usize::try_from(shift.checked_add_unsigned(cpu as u64)?).ok()
            };
            places.push(place.iter().map(shifted).collect::<Option<Place>>()?);
        }
        match after.trim_start().strip_prefix(',') {
            Some(further) => rest = further.trim_start(),
            None if after.trim().is_empty() => return Some(usable(places)),
            None => return None,
        }
    }
}

/// Each processor is taken for a core of its own.
fn named(said: &str, name: &str) -> Option<Vec<Place>> {
    let most = match said.split_once('(') {
        None => usize::MAX,
        Some((_, rest)) => rest.trim().strip_suffix(')')?.trim().parse().ok()?,
    };
    let all = of_process();
    match name {
        "threads" | "cores" => Some(all.into_iter().map(|cpu| vec![cpu]).take(most).collect()),
        _ => Some(vec![all]),
    }
}

/// The most numbers of processors that a variable may name: more than any machine has, and few
/// enough to be kept.
const NUMBERS_MAX: i64 = 1 << 20;

/// The inside of braces: numbers, and `first:count:step`.
fn members(said: &str) -> Option<Place> {
    let mut place = Place::new();
    for part in said.split(',') {
        let mut numbers = part.split(':').map(|part| part.trim().parse::<i64>());
        let first = numbers.next()?.ok()?;
        let count = numbers.next().transpose().ok()?.unwrap_or(1);
        let step = numbers.next().transpose().ok()?.unwrap_or(1);
        if count > NUMBERS_MAX - place.len() as i64 {
            return None;
        }
        for turn in 0..count {
            let number = step.checked_mul(turn)?.checked_add(first)?;
            place.push(usize::try_from(number).ok()?);
        }
    }
    Some(place)
}

/// `GOMP_CPU_AFFINITY`: `0 3-5 6-12:2`, each processor a place.
pub(super) fn from_list(said: &str) -> Vec<Place> {
    let mut places = Vec::new();
    for part in said.split([' ', ',']).filter(|part| !part.is_empty()) {
        let (range, step) = part.split_once(':').unwrap_or((part, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (Ok(first), Ok(last), Ok(step)) = (first.parse(), last.parse(), step.parse()) else {
            invalid("GOMP_CPU_AFFINITY");
            return Vec::new();
        };
        let cpus: std::ops::RangeInclusive<usize> = first..=last;
        let cpus = cpus.step_by(usize::max(step, 1));
        if cpus.size_hint().0 > NUMBERS_MAX as usize - places.len() {
            invalid("GOMP_CPU_AFFINITY");
            return Vec::new();
        }
        places.extend(cpus.map(|cpu| vec![cpu]));
    }
    usable(places)
}

/// Without processors that the process may not use.
fn usable(places: Vec<Place>) -> Vec<Place> {
    let all = of_process();
    let keep = |mut place: Place| {
        place.retain(|cpu| all.contains(cpu));
        place
    };
    let places = places.into_iter().map(keep);
    places.filter(|place| !place.is_empty()).collect()
}

/// As `OMP_DISPLAY_ENV` shows them.
pub(super) fn text(places: &[Place]) -> String {
    let one = |place: &Place| {
        let cpus: Vec<String> = place.iter().map(usize::to_string).collect();
        format!("{{{}}}", cpus.join(","))
    };
    places.iter().map(one).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_in_each_notation() {
        assert_eq!(members("0:3:2"), Some(vec![0, 2, 4]));
        assert_eq!(members("4,1"), Some(vec![4, 1]));
        assert_eq!(members("-1"), None);
        assert_eq!(parse("{0"), None);
        assert_eq!(parse("nonsense"), None);
        let first = allowed()[0];
        assert_eq!(parse(&format!("{{{first}}}")), Some(vec![vec![first]]));
        assert_eq!(from_list(&format!("{first}-{first}")), [vec![first]]);
        assert_eq!(text(&[vec![0, 1], vec![2]]), "{0,1},{2}");
    }

    #[test]
    fn numbers_that_no_machine_has_are_refused() {
        let most = i64::MAX;
        for said in [
            "{0}:4000000000".to_owned(),
            "{0:4000000000}".to_owned(),
            "{0:2000}:2000".to_owned(),
            format!("{{0:2:{most}}},{{1}}:3:{most}"),
            format!("{{{most}:2}}"),
            format!("{{{most}}}:2"),
        ] {
            assert_eq!(parse(&said), None, "{said}");
        }
        assert!(from_list("0-4000000000").is_empty());
        assert!(from_list(&format!("0-{0}", usize::MAX)).is_empty());
    }
}
