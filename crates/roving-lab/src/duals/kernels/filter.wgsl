// A mean over a square, of what is as bright as the middle: edges stay sharp. In whole numbers, so that every
// device has the same result.

struct Sizes { width: i32, height: i32, radius: i32, threshold: i32 }

@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> filtered: array<u32>;
@group(0) @binding(2) var<uniform> sizes: Sizes;

fn channels(pixel: u32) -> vec3<u32> {
    return vec3<u32>(pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255);
}

fn luma(c: vec3<u32>) -> i32 {
    return i32((c.x + 2 * c.y + c.z) / 4);
}

@compute @workgroup_size(8, 8)
fn filter_square(@builtin(global_invocation_id) place: vec3<u32>) {
    let column = i32(place.x);
    let row = i32(place.y);
    if column >= sizes.width || row >= sizes.height {
        return;
    }
    let here = row * sizes.width + column;
    let pixel = source[here];
    let middle = luma(channels(pixel));
    var sum = vec3<u32>();
    var weights = 0u;
    for (var y = row - sizes.radius; y <= row + sizes.radius; y++) {
        let line = clamp(y, 0, sizes.height - 1) * sizes.width;
        for (var x = column - sizes.radius; x <= column + sizes.radius; x++) {
            let other = channels(source[line + clamp(x, 0, sizes.width - 1)]);
            let weight = u32(max(0, sizes.threshold - abs(luma(other) - middle)));
            sum += weight * other;
            weights += weight;
        }
    }
    // Without a threshold there are no weights, and nothing changes.
    if weights == 0 {
        filtered[here] = pixel;
        return;
    }
    let mean = (sum + weights / 2) / weights;
    filtered[here] = mean.x | (mean.y << 8) | (mean.z << 16) | (pixel & 0xff000000);
}
