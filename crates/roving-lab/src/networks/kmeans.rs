//! `kmeans`: Lloyd's clustering of integer points on the topology of MapReduce. Each mapper holds a
//! slice of the points, each reducer some clusters, and every mapper has a channel to every
//! reducer.
//!
//! Coordinates are whole multiples of 1/32, so distances and sums are exact, and every run comes to
//! the same clusters, bit for bit, in whatever order the parts are added.

use std::sync::Arc;

use roving_flow::{In, Network, Out};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::builder::Builder;
use super::found::FoundAnswer;
use super::params::{Param, read};
use super::{NetworkEntry, NetworkProgram};
use crate::io::input::{BadInput, CommandFailure};
use crate::machine::memory;
use crate::workloads::numbers::{Digest, Noise};
use crate::workloads::{RunAnswer, WorkloadKind};

pub(super) const ENTRY: NetworkEntry = NetworkEntry {
    kind: WorkloadKind {
        name: "kmeans",
        about: "k-means clustering on MapReduce: every mapper has a channel to every reducer",
        inputs: &[
            (
                "20",
                "300,000 points, 120 clusters, 128 mappers and reducers, 20 rounds",
            ),
            ("converged", "the same, until no centre moves"),
            (
                "small",
                "20,000 points, 30 clusters, 16 mappers and reducers, 10 rounds",
            ),
        ],
        params: "rounds=1 to 1e6, points=1 to 1e8, clusters=1 to 4096, processes=1 to 1024 of each kind",
        items: "points × rounds",
        figures: &["rounds", "cost", "checksum"],
        serial: "one loop over all points a round",
    },
    parse: |input| Ok(Box::new(Kmeans::parse(input)?)),
};

/// Points lie in a cube with this edge.
const EDGE: usize = 1000;
/// A coordinate of 1 in fixed point. The square of a distance still fits 32 bits.
const UNIT: i32 = 32;

/// The approximate size of a channel with its messages.
const CHANNEL_BYTES: u64 = 500;

/// Three coordinates, in parts of [`UNIT`].
type Point = [i32; 3];

/// The points to cluster, and the most rounds.
#[derive(Debug)]
pub(crate) struct Kmeans {
    rounds: u64,
    points: u64,
    clusters: u64,
    processes: u64,
    cloud: Vec<Point>,
    found: FoundAnswer,
}

impl Kmeans {
    /// Reads a named input or parameters.
    pub(crate) fn parse(input: &str) -> Result<Kmeans, BadInput> {
        let named = match input {
            "converged" => "rounds=1000000",
            "small" => "rounds=10,points=20000,clusters=30,processes=16",
            other => other,
        };
        let mut kmeans = Kmeans {
            rounds: 20,
            points: 300_000,
            clusters: 120,
            processes: 128,
            cloud: Vec::new(),
            found: FoundAnswer::default(),
        };
        let params = &mut [
            Param::new("rounds", 1..=1_000_000, &mut kmeans.rounds),
            Param::new("points", 1..=100_000_000, &mut kmeans.points),
            Param::new("clusters", 1..=4096, &mut kmeans.clusters),
            Param::new("processes", 1..=1024, &mut kmeans.processes),
        ];
        read("kmeans", named, params)?;
        let need = kmeans.points * 12 + kmeans.processes.pow(2) * CHANNEL_BYTES;
        memory::require("kmeans", input, need, "take kmeans 20")?;
        Ok(kmeans)
    }

    /// The first centres: the first points, again from the beginning when there are fewer.
    fn centres(&self) -> Centres {
        let first = self.cloud.iter().cycle().take(self.clusters as usize);
        Centres::new(first.copied())
    }

    /// The processes and channels of one run, on any number of ranks.
    pub(crate) fn weave_in<'env>(&'env self, network: &mut impl Builder<'env>) {
        self.found.clear();
        let processes = self.processes as usize;
        let (mut begins, mut ends) = (Vec::new(), Vec::new());
        let mut columns: Vec<Vec<In<Vec<Sum>>>> = (0..processes).map(|_| Vec::new()).collect();
        for mapper in 0..processes {
            let (begin, input) = network.bounded(format_args!("centres {mapper}"), 1);
            let outs: Vec<Out<Vec<Sum>>> = columns
                .iter_mut()
                .enumerate()
                .map(|(reducer, column)| {
                    let (out, input) = network.bounded(format_args!("{mapper} to {reducer}"), 1);
                    column.push(input);
                    out
                })
                .collect();
            let slice = self.slice(mapper);
            network.movable(
                format_args!("map {mapper}"),
                (input, outs),
                (),
                move |(), ports| map(slice, ports),
            );
            begins.push(begin);
        }
        for (reducer, inputs) in columns.into_iter().enumerate() {
            let (out, end) = network.bounded(format_args!("sums {reducer}"), 1);
            network.movable(
                format_args!("reduce {reducer}"),
                (inputs, out),
                (),
                |(), ports| reduce(ports),
            );
            ends.push(end);
        }
        let rounds = Rounds {
            centres: self.centres(),
            done: 0,
            cost: 0,
        };
        network.first_movable("lead", (begins, ends), rounds, |rounds, ports| {
            lead(self, rounds, ports)
        });
    }

    /// The points of one mapper.
    fn slice(&self, mapper: usize) -> &[Point] {
        let (points, mappers) = (self.cloud.len(), self.processes as usize);
        &self.cloud[mapper * points / mappers..(mapper + 1) * points / mappers]
    }
}

/// Where the clusters are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Centres {
    x: Vec<i32>,
    y: Vec<i32>,
    z: Vec<i32>,
}

impl Centres {
    fn new(points: impl Iterator<Item = Point>) -> Centres {
        let mut centres = Centres::default();
        for [x, y, z] in points {
            centres.x.push(x);
            centres.y.push(y);
            centres.z.push(z);
        }
        centres
    }

    /// The nearest cluster, of several the first, and the square of the distance. `squares` is
    /// memory for the distances.
    #[inline]
    fn nearest(&self, point: &Point, squares: &mut Vec<u32>) -> (usize, u32) {
        let axes = self.x.iter().zip(&self.y).zip(&self.z);
        squares.clear();
        squares.extend(axes.map(|((x, y), z)| {
            let (x, y, z) = (point[0] - x, point[1] - y, point[2] - z);
            (x * x) as u32 + (y * y) as u32 + (z * z) as u32
        }));
        let least = squares.iter().copied().min().unwrap_or_default();
        let place = squares.iter().position(|square| *square == least);
        (place.unwrap_or_default(), least)
    }

    /// The centres of what was assigned; a cluster without points stays where it is.
    fn moved(&self, sums: &[Sum]) -> Centres {
        let old = self.x.iter().zip(&self.y).zip(&self.z);
        let points = old.zip(sums).map(|(((x, y), z), sum)| {
            let centre = |axis: usize, old: i32| {
                let half = sum.points / 2;
                let mean = (sum.axes[axis] + half).checked_div(sum.points);
                mean.map_or(old, |mean| mean as i32)
            };
            [centre(0, *x), centre(1, *y), centre(2, *z)]
        });
        Centres::new(points)
    }
}

/// The centres as they are sent to all mappers: one for those of a rank, another for those of the
/// next.
#[derive(Clone)]
struct Same(Arc<Centres>);

impl Serialize for Same {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'d> Deserialize<'d> for Same {
    fn deserialize<D: Deserializer<'d>>(from: D) -> Result<Same, D::Error> {
        Centres::deserialize(from).map(|centres| Same(Arc::new(centres)))
    }
}

/// The sums over the points of one cluster, or of a part of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    points: u64,
    axes: [u64; 3],
    /// The squares of the distances to the centre.
    cost: u64,
}

impl Sum {
    fn point(&mut self, point: &Point, square: u32) {
        self.points += 1;
        for (axis, place) in self.axes.iter_mut().zip(point) {
            *axis += *place as u64;
        }
        self.cost += u64::from(square);
    }

    fn add(&mut self, other: &Sum) {
        self.points += other.points;
        for (axis, more) in self.axes.iter_mut().zip(other.axes) {
            *axis += more;
        }
        self.cost += other.cost;
    }
}

/// Adds the points of `slice` up by the nearest of `centres`.
fn assigned(slice: &[Point], centres: &Centres) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); centres.x.len()];
    let mut squares = Vec::with_capacity(sums.len());
    for point in slice {
        let (nearest, square) = centres.nearest(point, &mut squares);
        sums[nearest].point(point, square);
    }
    sums
}

/// The rounds of a clustering, whoever adds the points up.
#[derive(Serialize, Deserialize)]
struct Rounds {
    centres: Centres,
    done: u64,
    cost: u64,
}

impl Rounds {
    /// Takes the sums of one round; whether it was the last.
    fn end(&mut self, sums: &[Sum], most: u64) -> bool {
        let moved = self.centres.moved(sums);
        self.done += 1;
        self.cost = sums.iter().map(|sum| sum.cost).sum();
        let still = moved == self.centres;
        self.centres = moved;
        still || self.done == most
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        let Centres { x, y, z } = &self.centres;
        for place in x.iter().chain(y).chain(z) {
            digest.word(*place as u64);
        }
        RunAnswer([self.done, self.cost, digest.value()])
    }
}

/// Which clusters a reducer has: every `reducers`-th.
fn clusters_of(reducer: usize, reducers: usize, clusters: usize) -> impl Iterator<Item = usize> {
    (reducer..clusters).step_by(reducers)
}

/// The ports of a mapper.
type Mapped = (In<Same>, Vec<Out<Vec<Sum>>>);

/// The next set of centres of a mapper: the sums of its points, to each reducer those of its
/// clusters.
async fn map(slice: &[Point], (mut input, mut outs): Mapped) -> Option<((), Mapped)> {
    let centres = input.recv().await?;
    let sums = assigned(slice, &centres.0);
    let reducers = outs.len();
    for (reducer, out) in outs.iter_mut().enumerate() {
        let part = clusters_of(reducer, reducers, sums.len()).map(|cluster| sums[cluster]);
        out.send(part.collect()).await.ok()?;
    }
    Some(((), (input, outs)))
}

/// The ports of a reducer.
type Reduced = (Vec<In<Vec<Sum>>>, Out<Vec<Sum>>);

/// The next round of a reducer: the sums of all mappers, cluster by cluster.
async fn reduce((mut inputs, mut out): Reduced) -> Option<((), Reduced)> {
    let mut sums: Vec<Sum> = Vec::new();
    for input in &mut inputs {
        let part = input.recv().await?;
        sums.resize(part.len(), Sum::default());
        sums.iter_mut()
            .zip(&part)
            .for_each(|(sum, more)| sum.add(more));
    }
    out.send(sums).await.ok()?;
    Some(((), (inputs, out)))
}

/// The ports of the one that begins each round and ends it.
type Led = (Vec<Out<Same>>, Vec<In<Vec<Sum>>>);

/// The next round of the one that begins each and ends it.
async fn lead(
    program: &Kmeans,
    mut rounds: Rounds,
    (mut mappers, mut reducers): Led,
) -> Option<(Rounds, Led)> {
    let centres = Same(Arc::new(rounds.centres.clone()));
    for out in &mut mappers {
        out.send(centres.clone()).await.ok()?;
    }
    let clusters = rounds.centres.x.len();
    let mut sums = vec![Sum::default(); clusters];
    let count = reducers.len();
    for (reducer, input) in reducers.iter_mut().enumerate() {
        let part = input.recv().await?;
        for (cluster, sum) in clusters_of(reducer, count, clusters).zip(part) {
            sums[cluster] = sum;
        }
    }
    if rounds.end(&sums, program.rounds) {
        program.found.set(rounds.answer(), None);
        return None;
    }
    Some((rounds, (mappers, reducers)))
}

impl NetworkProgram for Kmeans {
    fn input(&self) -> String {
        let Kmeans {
            rounds,
            points,
            clusters,
            processes,
            ..
        } = self;
        format!("rounds={rounds},points={points},clusters={clusters},processes={processes}")
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        let mut noise = Noise::new(self.points);
        let mut axis = || noise.below(EDGE) as i32 * UNIT;
        self.cloud = (0..self.points).map(|_| [axis(), axis(), axis()]).collect();
        Ok(())
    }

    fn weave<'env>(&'env self, network: &mut Network<'env>) {
        self.weave_in(network);
    }

    fn answer(&self) -> RunAnswer {
        self.found.answer()
    }

    fn serial(&self) -> Result<RunAnswer, CommandFailure> {
        let mut rounds = Rounds {
            centres: self.centres(),
            done: 0,
            cost: 0,
        };
        while !rounds.end(&assigned(&self.cloud, &rounds.centres), self.rounds) {}
        Ok(rounds.answer())
    }

    fn items(&self, answer: &RunAnswer) -> u64 {
        answer.0[0] * self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(input: &str) -> Kmeans {
        let mut kmeans = Kmeans::parse(input).unwrap();
        kmeans.prepare().unwrap();
        kmeans
    }

    #[test]
    fn inputs_are_read_back_and_points_lie_in_the_cube() {
        for input in [
            "20",
            "converged",
            "small",
            "3,points=7,clusters=9,processes=2",
        ] {
            let kmeans = Kmeans::parse(input).unwrap();
            assert_eq!(
                kmeans.input(),
                Kmeans::parse(&kmeans.input()).unwrap().input()
            );
        }
        let kmeans = small("small");
        let inside = |place: &i32| (0..EDGE as i32 * UNIT).contains(place) && place % UNIT == 0;
        assert_eq!(kmeans.cloud.len(), 20_000);
        assert!(kmeans.cloud.iter().flatten().all(inside));
        let slices: usize = (0..16).map(|mapper| kmeans.slice(mapper).len()).sum();
        assert_eq!(slices, 20_000);
    }

    #[test]
    fn a_clustering_that_ended_by_itself_is_one() {
        // By definition: no centre differs from the mean of the points that are nearest to it.
        let kmeans = small("1000000,points=3000,clusters=7,processes=3");
        let mut rounds = Rounds {
            centres: kmeans.centres(),
            done: 0,
            cost: 0,
        };
        let first_cost: u64 = assigned(&kmeans.cloud, &rounds.centres)
            .iter()
            .map(|sum| sum.cost)
            .sum();
        while !rounds.end(&assigned(&kmeans.cloud, &rounds.centres), kmeans.rounds) {}
        let Centres { x, y, z } = &rounds.centres;
        let mut members: Vec<Vec<Point>> = vec![Vec::new(); 7];
        let mut cost = 0;
        for point in &kmeans.cloud {
            let square = |c: &usize| {
                let axes = [(point[0], x[*c]), (point[1], y[*c]), (point[2], z[*c])];
                axes.iter()
                    .map(|(a, b)| i64::from(a - b).pow(2))
                    .sum::<i64>()
            };
            let nearest = (0..7).min_by_key(square).unwrap();
            cost += square(&nearest) as u64;
            members[nearest].push(*point);
        }
        assert_eq!(
            (rounds.answer().0[1], kmeans.serial().unwrap()),
            (cost, rounds.answer())
        );
        assert!(cost < first_cost && rounds.done > 3);
        for (cluster, members) in members.iter().enumerate() {
            let mean = |axis: usize| {
                let sum: f64 = members.iter().map(|point| f64::from(point[axis])).sum();
                sum / members.len() as f64
            };
            assert!((mean(0) - f64::from(x[cluster])).abs() <= 0.5);
            assert!((mean(1) - f64::from(y[cluster])).abs() <= 0.5);
            assert!((mean(2) - f64::from(z[cluster])).abs() <= 0.5);
        }
    }

    #[test]
    fn parts_add_up_to_the_whole_and_empty_clusters_stay() {
        let kmeans = small("1,points=1000,clusters=9,processes=4");
        let centres = kmeans.centres();
        let mut sums = vec![Sum::default(); 9];
        for mapper in 0..4 {
            let part = assigned(kmeans.slice(mapper), &centres);
            sums.iter_mut()
                .zip(&part)
                .for_each(|(sum, more)| sum.add(more));
        }
        assert_eq!(sums, assigned(&kmeans.cloud, &centres));
        assert_eq!(centres.moved(&vec![Sum::default(); 9]), centres);
        let all: Vec<usize> = (0..4)
            .flat_map(|reducer| clusters_of(reducer, 4, 9))
            .collect();
        assert_eq!(all, [0, 4, 8, 1, 5, 2, 6, 3, 7]);
    }
}
