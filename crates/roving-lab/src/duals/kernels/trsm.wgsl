// The X with X · lᵀ = a takes the place of a, by rows; l is lower triangular. Each invocation solves one row of
// X, four columns at a time. `real` is declared before this text.

struct Sizes { m: u32, n: u32, unused: vec2<u32> }

@group(0) @binding(0) var<storage, read> l: array<real>;
@group(0) @binding(1) var<storage, read_write> a: array<real>;
@group(0) @binding(2) var<uniform> sizes: Sizes;

@compute @workgroup_size(8)
fn trsm(@builtin(global_invocation_id) place: vec3<u32>) {
    if place.x >= sizes.m {
        return;
    }
    let n = sizes.n;
    let row = place.x * n;
    let whole = n - n % 4;
    for (var j = 0u; j < whole; j += 4) {
        let l0 = j * n;
        let l1 = l0 + n;
        let l2 = l1 + n;
        let l3 = l2 + n;
        var x = vec4<real>(a[row + j], a[row + j + 1], a[row + j + 2], a[row + j + 3]);
        for (var k = 0u; k < j; k++) {
            x -= a[row + k] * vec4<real>(l[l0 + k], l[l1 + k], l[l2 + k], l[l3 + k]);
        }
        let x0 = x.x / l[l0 + j];
        let x1 = (x.y - x0 * l[l1 + j]) / l[l1 + j + 1];
        let x2 = (x.z - x0 * l[l2 + j] - x1 * l[l2 + j + 1]) / l[l2 + j + 2];
        let x3 = (x.w - x0 * l[l3 + j] - x1 * l[l3 + j + 1] - x2 * l[l3 + j + 2]) / l[l3 + j + 3];
        a[row + j] = x0;
        a[row + j + 1] = x1;
        a[row + j + 2] = x2;
        a[row + j + 3] = x3;
    }
    for (var j = whole; j < n; j++) {
        var x = a[row + j];
        for (var k = 0u; k < j; k++) {
            x -= a[row + k] * l[j * n + k];
        }
        a[row + j] = x / l[j * n + j];
    }
}
