//! The tasks with two sides of which the programs are made.

use roving_gpu::{Arg, Buffer, Dual, Kernel, Kind};

use super::PoolAndDevices;
use super::kernels;
use super::math::bodies::{self, Four};
use super::math::dense;
use super::math::filter::{self, Filter};
use super::math::plane::{self, Rectangle};
use super::math::real::Real;

/// So many groups that nothing is left out, when each takes `each`.
fn groups(count: usize, each: usize) -> u32 {
    count.div_ceil(each) as u32
}

/// Tasks on tiles: what their times are kept by, and what a device runs for them.
pub(super) trait TileTasks: Real {
    /// c += a · b.
    const MULTIPLY: (&'static Kind, &'static Kernel);
    /// c -= a · bᵀ.
    const SUBTRACT: (&'static Kind, &'static Kernel);
    /// The X with X · lᵀ = a.
    const SOLVE: (&'static Kind, &'static Kernel);
    /// The L with L · Lᵀ = a; on the CPU only.
    const FACTOR: &'static Kind;
}

/// The kinds of one sort of number.
macro_rules! tile_tasks {
    ($number:ident, $multiply:ident, $subtract:ident, $solve:ident) => {
        impl TileTasks for $number {
            const MULTIPLY: (&'static Kind, &'static Kernel) = {
                static KIND: Kind = Kind::new(concat!("multiply ", stringify!($number)));
                (&KIND, &kernels::$multiply)
            };
            const SUBTRACT: (&'static Kind, &'static Kernel) = {
                static KIND: Kind = Kind::new(concat!("subtract ", stringify!($number)));
                (&KIND, &kernels::$subtract)
            };
            const SOLVE: (&'static Kind, &'static Kernel) = {
                static KIND: Kind = Kind::new(concat!("solve ", stringify!($number)));
                (&KIND, &kernels::$solve)
            };
            const FACTOR: &'static Kind = {
                static KIND: Kind = Kind::new(concat!("factor ", stringify!($number)));
                &KIND
            };
        }
    };
}

tile_tasks!(f32, GEMM_F32, GEMM_NT_F32, TRSM_F32);
tile_tasks!(f64, GEMM_F64, GEMM_NT_F64, TRSM_F64);

/// The effect of a product of tiles on the third.
#[derive(Clone, Copy)]
enum Product {
    /// c += a · b.
    Add,
    /// c -= a · bᵀ.
    SubtractTransposed,
}

/// A product of square tiles.
async fn product<T: TileTasks>(
    place: &PoolAndDevices<'_>,
    what: Product,
    side: usize,
    [a, b, c]: [&Buffer<T>; 3],
) {
    let sides = [side; 3];
    let work = 2.0 * (side as f64).powi(3);
    let (kind, kernel) = match what {
        Product::Add => T::MULTIPLY,
        Product::SubtractTransposed => T::SUBTRACT,
    };
    Dual::new(kind, &sides)
        .work(work)
        .reads(a)
        .reads(b)
        .updates(c)
        .cpu(|| {
            place.pace.spend(work, || {
                // The two factors may be one tile; the third is neither.
                let (a, b, mut c) = (a.read(), b.read(), c.write());
                match what {
                    Product::Add => dense::multiply(sides, &a, &b, &mut c),
                    Product::SubtractTransposed => {
                        dense::subtract_transposed(sides, &a, &b, &mut c)
                    }
                }
            });
        })
        .gpu(async |gpu| {
            let groups = [groups(side, 64), groups(side, 64), 1];
            let sides = [side as u32, side as u32, side as u32, 0];
            let arguments = [
                Arg::read(a),
                Arg::read(b),
                Arg::update(c),
                Arg::value(&sides),
            ];
            gpu.launch(kernel, groups, &arguments).await
        })
        .on(place.devices)
        .await;
}

/// c += a · b for square tiles.
pub(super) async fn multiply<T: TileTasks>(
    place: &PoolAndDevices<'_>,
    side: usize,
    a: &Buffer<T>,
    b: &Buffer<T>,
    c: &Buffer<T>,
) {
    product(place, Product::Add, side, [a, b, c]).await;
}

/// c -= a · bᵀ for square tiles.
pub(super) async fn subtract_transposed<T: TileTasks>(
    place: &PoolAndDevices<'_>,
    side: usize,
    a: &Buffer<T>,
    b: &Buffer<T>,
    c: &Buffer<T>,
) {
    product(place, Product::SubtractTransposed, side, [a, b, c]).await;
}

/// The X with X · lᵀ = a takes the place of a, for square tiles.
pub(super) async fn solve_transposed<T: TileTasks>(
    place: &PoolAndDevices<'_>,
    side: usize,
    l: &Buffer<T>,
    a: &Buffer<T>,
) {
    let work = (side as f64).powi(3);
    let (kind, kernel) = T::SOLVE;
    Dual::new(kind, &[side, side])
        .work(work)
        .reads(l)
        .updates(a)
        .cpu(|| {
            place.pace.spend(work, || {
                dense::solve_transposed(side, side, &l.read(), &mut a.write());
            });
        })
        .gpu(async |gpu| {
            let sides = [side as u32, side as u32, 0, 0];
            let arguments = [Arg::read(l), Arg::update(a), Arg::value(&sides)];
            gpu.launch(kernel, [groups(side, 8), 1, 1], &arguments)
                .await
        })
        .on(place.devices)
        .await;
}

/// The L with L · Lᵀ = a takes the place of a. It is small beside the rest, and on the CPU.
pub(super) async fn factor<T: TileTasks>(place: &PoolAndDevices<'_>, side: usize, a: &Buffer<T>) {
    let work = (side as f64).powi(3) / 3.0;
    Dual::new(T::FACTOR, &[side, side])
        .work(work)
        .updates(a)
        .cpu(|| {
            place
                .pace
                .spend(work, || dense::factor(side, &mut a.write()))
        })
        .on(place.devices)
        .await;
}

static ATTRACT: Kind = Kind::new("attract");
static ADVANCE: Kind = Kind::new("advance");
static ESCAPES: Kind = Kind::new("escapes");
static FILTER: Kind = Kind::new("filter");

/// Adds what the bodies `from` do to the bodies `on` to their forces.
pub(super) async fn attract(
    place: &PoolAndDevices<'_>,
    on: &Buffer<Four>,
    from: &Buffer<Four>,
    softening_squared: f32,
    forces: &Buffer<Four>,
) {
    let sizes = [on.len(), from.len()];
    let work = sizes[0] as f64 * sizes[1] as f64;
    Dual::new(&ATTRACT, &sizes)
        .work(work)
        .reads(on)
        .reads(from)
        .updates(forces)
        .cpu(|| {
            place.pace.spend(work, || {
                let (on, from, mut forces) = (on.read(), from.read(), forces.write());
                bodies::attract(&on, &from, softening_squared, &mut forces);
            });
        })
        .gpu(async |gpu| {
            let [n, m] = sizes.map(|size| size as u32);
            let words = [n, m, softening_squared.to_bits(), 0];
            let arguments = [
                Arg::read(on),
                Arg::read(from),
                Arg::update(forces),
                Arg::value(&words),
            ];
            gpu.launch(&kernels::NBODY, [groups(sizes[0], 64), 1, 1], &arguments)
                .await
        })
        .on(place.devices)
        .await;
}

/// The time of a step, from `bodies` to `next`; forces are zero again. Very little beside the
/// forces, and on the CPU.
pub(super) async fn advance(
    place: &PoolAndDevices<'_>,
    bodies: &Buffer<Four>,
    velocities: &Buffer<Four>,
    forces: &Buffer<Four>,
    next: &Buffer<Four>,
    time: f32,
) {
    Dual::new(&ADVANCE, &[bodies.len()])
        .reads(bodies)
        .updates(velocities)
        .updates(forces)
        .writes(next)
        .cpu(|| {
            let mut next = next.write();
            next.copy_from_slice(&bodies.read());
            bodies::advance(
                &mut next,
                &mut velocities.write(),
                &mut forces.write(),
                time,
            );
        })
        .on(place.devices)
        .await;
}

/// The counts of a tile of the Mandelbrot set. How much work it is, nobody knows before.
pub(super) async fn escapes(
    place: &PoolAndDevices<'_>,
    rectangle: Rectangle,
    most: u32,
    counts: &Buffer<u32>,
) {
    let sizes = [rectangle.width, rectangle.height];
    Dual::new(&ESCAPES, &sizes)
        .writes(counts)
        .cpu(|| {
            place.pace.spend_counted(|| {
                let mut counts = counts.write();
                plane::escapes(rectangle, most, &mut counts);
                ((), counts.iter().map(|count| f64::from(*count)).sum())
            });
        })
        .gpu(async |gpu| {
            let Rectangle {
                left, top, step, ..
            } = rectangle;
            let [left, top, step] = [left, top, step].map(f32::to_bits);
            let [width, height] = sizes.map(|size| size as u32);
            let said = place.device_pace.nanos_of_1024();
            let words = [left, top, step, width, height, most, said, 0];
            let arguments = [Arg::update(counts), Arg::value(&words)];
            let groups = [groups(sizes[0], 8), groups(sizes[1], 8), 1];
            gpu.launch(&kernels::MANDELBROT, groups, &arguments).await
        })
        .on(place.devices)
        .await;
}

/// A filtered picture.
pub(super) async fn filter(
    place: &PoolAndDevices<'_>,
    what: Filter,
    pixels: Vec<u32>,
) -> Buffer<u32> {
    let (source, target) = (
        Buffer::from(pixels),
        Buffer::zeroed(what.width * what.height),
    );
    let sizes = [what.width, what.height, 2 * what.radius + 1];
    let work = (sizes[0] * sizes[1] * sizes[2] * sizes[2]) as f64;
    Dual::new(&FILTER, &sizes)
        .work(work)
        .reads(&source)
        .writes(&target)
        .cpu(|| {
            place.pace.spend(work, || {
                filter::filter(what, &source.read(), &mut target.write());
            });
        })
        .gpu(async |gpu| {
            let words = [
                what.width,
                what.height,
                what.radius,
                what.threshold as usize,
            ];
            let words = words.map(|word| word as u32);
            let arguments = [Arg::read(&source), Arg::update(&target), Arg::value(&words)];
            let groups = [groups(what.width, 8), groups(what.height, 8), 1];
            gpu.launch(&kernels::FILTER, groups, &arguments).await
        })
        .on(place.devices)
        .await;
    target
}
