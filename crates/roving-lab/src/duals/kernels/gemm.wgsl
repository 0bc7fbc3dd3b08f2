// c += a · b, and c -= a · bᵀ, by rows. A group of 8 × 8 invocations makes 32 × 32 elements of c; each of them
// makes 4 × 4 in registers: rows that are neighbours, columns 8 apart, so that neighbours load neighbours. There
// is no workgroup memory: a software driver pays more for barriers than for loads, and a device's cache serves
// the loads. `real` is declared before this text.

struct Sizes { m: u32, n: u32, k: u32, unused: u32 }

@group(0) @binding(0) var<storage, read> a: array<real>;
@group(0) @binding(1) var<storage, read> b: array<real>;
@group(0) @binding(2) var<storage, read_write> c: array<real>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

fn add(row: u32, column: u32, value: real) {
    if row < sizes.m && column < sizes.n {
        c[row * sizes.n + column] += value;
    }
}

fn add_row(row: u32, column: u32, values: vec4<real>) {
    add(row, column, values.x);
    add(row, column + 8, values.y);
    add(row, column + 16, values.z);
    add(row, column + 24, values.w);
}

@compute @workgroup_size(8, 8)
fn gemm(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) place: vec3<u32>) {
    let row = group.y * 32 + place.y * 4;
    let column = group.x * 32 + place.x;
    var c0 = vec4<real>();
    var c1 = vec4<real>();
    var c2 = vec4<real>();
    var c3 = vec4<real>();
    for (var k = 0u; k < sizes.k; k++) {
        let i = row * sizes.k + k;
        let j = k * sizes.n + column;
        // Beyond the edge these are other elements, and what they come to is not stored.
        let right = vec4<real>(b[j], b[j + 8], b[j + 16], b[j + 24]);
        c0 += a[i] * right;
        c1 += a[i + sizes.k] * right;
        c2 += a[i + 2 * sizes.k] * right;
        c3 += a[i + 3 * sizes.k] * right;
    }
    add_row(row, column, c0);
    add_row(row + 1, column, c1);
    add_row(row + 2, column, c2);
    add_row(row + 3, column, c3);
}

@compute @workgroup_size(8, 8)
fn gemm_nt(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) place: vec3<u32>) {
    let row = group.y * 32 + place.y * 4;
    let column = group.x * 32 + place.x;
    var c0 = vec4<real>();
    var c1 = vec4<real>();
    var c2 = vec4<real>();
    var c3 = vec4<real>();
    for (var k = 0u; k < sizes.k; k++) {
        let i = row * sizes.k + k;
        let j = column * sizes.k + k;
        let right = vec4<real>(b[j], b[j + 8 * sizes.k], b[j + 16 * sizes.k], b[j + 24 * sizes.k]);
        c0 -= a[i] * right;
        c1 -= a[i + sizes.k] * right;
        c2 -= a[i + 2 * sizes.k] * right;
        c3 -= a[i + 3 * sizes.k] * right;
    }
    add_row(row, column, c0);
    add_row(row + 1, column, c1);
    add_row(row + 2, column, c2);
    add_row(row + 3, column, c3);
}
