//! The one-sided Mann-Whitney U test, and the selection of the best set by it, as in appendix A of
//! Nornir's paper.

/// The level below which a set counts as smaller than another.
const LEVEL: f64 = 0.05;
/// Up to so many pairs without ties, the distribution of U is counted out.
const EXACT_PAIRS_MAX: usize = 2500;

/// The probability of a U as small as that of `a` against `b`, or smaller, if both came from one
/// distribution. Small: `a` is stochastically smaller than `b`.
///
/// Exact where no value occurs twice, else by the normal distribution with the corrections for ties
/// and for continuity. 1 where one of them is empty: nothing can be said.
pub(super) fn less(a: &[f64], b: &[f64]) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> = a.iter().map(|value| (*value, true)).collect();
    all.extend(b.iter().map(|value| (*value, false)));
    all.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    let (mut ranks, mut ties, mut start) = (0.0, 0.0, 0);
    while start < all.len() {
        let same = all[start..].iter().take_while(|one| one.0 == all[start].0);
        let count = same.count();
        // Values that are equal share the mean of their ranks, which count from 1.
        let rank = start as f64 + (count + 1) as f64 / 2.0;
        let ours = all[start..start + count].iter().filter(|one| one.1).count();
        ranks += rank * ours as f64;
        ties += (count * count * count - count) as f64;
        start += count;
    }
    let (m, n) = (a.len() as f64, b.len() as f64);
    let u = ranks - m * (m + 1.0) / 2.0;
    if ties == 0.0 && a.len() * b.len() <= EXACT_PAIRS_MAX {
        return exact(a.len(), b.len(), u as usize);
    }
    let all = m + n;
    let variance = m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    normal((u - m * n / 2.0 + 0.5) / variance.sqrt())
}

/// The part of all orders of `m` and `n` values in which U is at most `u`.
fn exact(m: usize, n: usize, u: usize) -> f64 {
    // orders[i][j][k]: in how many orders of i and j values U is k. The greatest value is one of
    // the i, and then stands above all j, or one of the j.
    let mut before: Vec<Vec<f64>> = vec![vec![1.0]; n + 1];
    for i in 1..=m {
        let mut row: Vec<Vec<f64>> = vec![vec![1.0]];
        for j in 1..=n {
            let mut orders = vec![0.0; i * j + 1];
            for (k, count) in before[j].iter().enumerate() {
                orders[k + j] += count;
            }
            for (k, count) in row[j - 1].iter().enumerate() {
                orders[k] += count;
            }
            row.push(orders);
        }
        before = row;
    }
    let orders = &before[n];
    let all: f64 = orders.iter().sum();
    orders.iter().take(u + 1).sum::<f64>() / all
}

/// The normal distribution below `z`, to seven digits (Abramowitz and Stegun 26.2.17).
fn normal(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z.abs());
    let weights = [
        1.330_274_429,
        -1.821_255_978,
        1.781_477_937,
        -0.356_563_782,
        0.319_381_530,
    ];
    let series = weights.iter().fold(0.0, |sum, weight| t * (weight + sum));
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let above = density * series;
    if z < 0.0 { above } else { 1.0 - above }
}

/// The place of the set that is smaller than the greatest number of others; of several such, the
/// first.
pub(super) fn best(sets: &[&[f64]]) -> Option<usize> {
    let wins = |set: &[f64]| {
        let beaten = sets.iter().filter(|other| less(set, other) < LEVEL);
        beaten.count()
    };
    let mut found: Option<(usize, usize)> = None;
    for (place, set) in sets.iter().enumerate() {
        let wins = wins(set);
        if found.is_none_or(|(_, most)| wins > most) {
            found = Some((place, wins));
        }
    }
    found.map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, want: f64) {
        assert!((found - want).abs() < 5e-5, "{found} is not {want}");
    }

    #[test]
    fn small_samples_are_counted_out() {
        // All five below all five: one order of 252.
        let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
        near(less(&low, &high), 1.0 / 252.0);
        near(less(&high, &low), 1.0);
        // The permeability constants of Hollander and Wolfe (1973), page 69f.: W is 35, p is
        // 0.1272.
        let at_term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
        near(less(&earlier, &at_term), 0.127_206);
    }

    #[test]
    fn the_exact_distribution_is_that_of_all_orders() {
        // Brute force: every choice of three places of seven.
        let mut at_most = [0usize; 13];
        let mut orders = 0;
        for mask in 0u32..128 {
            if mask.count_ones() == 3 {
                orders += 1;
                let pairs = (0..7).flat_map(|a| (0..a).map(move |b| (a, b)));
                let u = pairs.filter(|(a, b)| mask >> a & 1 == 1 && mask >> b & 1 == 0);
                for count in at_most.iter_mut().skip(u.count()) {
                    *count += 1;
                }
            }
        }
        for (u, count) in at_most.iter().enumerate() {
            near(exact(3, 4, u), *count as f64 / f64::from(orders));
        }
    }

    #[test]
    fn ties_use_the_normal_distribution() {
        near(normal(-1.644_854), 0.05);
        near(normal(1.959_964), 0.975);
        near(less(&[1.0; 6], &[1.0; 6]), 1.0);
        // By hand: ranks 1.5, 3, 4.5 of 6; U is 3, its mean 4.5, its variance 4.95.
        near(
            less(&[1.0, 2.0, 3.0], &[1.0, 3.0, 4.0]),
            normal(-1.0 / 4.95f64.sqrt()),
        );
        assert_eq!(less(&[], &[1.0]), 1.0);
    }

    #[test]
    fn the_best_set_beats_most_others_and_the_first_of_equals_is_taken() {
        let slow: Vec<f64> = (0..10).map(|run| 20.0 + f64::from(run)).collect();
        let fast: Vec<f64> = (0..10).map(|run| 10.0 + f64::from(run) / 7.0).collect();
        let noisy: Vec<f64> = (0..10).map(|run| f64::from(run * 8)).collect();
        assert_eq!(best(&[&slow, &noisy, &fast]), Some(2));
        assert_eq!(best(&[&slow, &slow]), Some(0));
        assert_eq!(best(&[]), None);
    }
}
