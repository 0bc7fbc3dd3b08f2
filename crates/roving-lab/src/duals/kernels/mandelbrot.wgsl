// How many z = z² + c stay within |z|² ≤ 4, for each c of a grid of points.

struct Tile { x0: f32, y0: f32, step: f32, width: u32, height: u32, iterations_max: u32, unused: vec2<u32> }

@group(0) @binding(0) var<storage, read_write> counts: array<u32>;
@group(0) @binding(1) var<uniform> tile: Tile;

@compute @workgroup_size(8, 8)
fn mandelbrot(@builtin(global_invocation_id) place: vec3<u32>) {
    if place.x >= tile.width || place.y >= tile.height {
        return;
    }
    let cx = tile.x0 + f32(place.x) * tile.step;
    let cy = tile.y0 + f32(place.y) * tile.step;
    var x = 0.0f;
    var y = 0.0f;
    var count = 0u;
    while count < tile.iterations_max {
        let new_x = x * x - y * y + cx;
        y = 2.0 * x * y + cy;
        x = new_x;
        if x * x + y * y > 4.0 {
            break;
        }
        count++;
    }
    counts[place.y * tile.width + place.x] = count;
}
