// c += a · b, and c -= a · bᵀ, by rows. A group of 8 × 8 invocations makes 64 × 64 elements of c; each of them
// makes 8 × 8 in registers: rows that are neighbours, columns 8 apart, so that neighbours load neighbours. There
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

fn add_row(row: u32, column: u32, left: vec4<real>, right: vec4<real>) {
    add(row, column, left.x);
    add(row, column + 8, left.y);
    add(row, column + 16, left.z);
    add(row, column + 24, left.w);
    add(row, column + 32, right.x);
    add(row, column + 40, right.y);
    add(row, column + 48, right.z);
    add(row, column + 56, right.w);
}

@compute @workgroup_size(8, 8)
fn gemm(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) place: vec3<u32>) {
    let row = group.y * 64 + place.y * 8;
    let column = group.x * 64 + place.x;
    var l0 = vec4<real>();
    var r0 = vec4<real>();
    var l1 = vec4<real>();
    var r1 = vec4<real>();
    var l2 = vec4<real>();
    var r2 = vec4<real>();
    var l3 = vec4<real>();
    var r3 = vec4<real>();
    var l4 = vec4<real>();
    var r4 = vec4<real>();
    var l5 = vec4<real>();
    var r5 = vec4<real>();
    var l6 = vec4<real>();
    var r6 = vec4<real>();
    var l7 = vec4<real>();
    var r7 = vec4<real>();
    for (var k = 0u; k < sizes.k; k++) {
        // Beyond the edge these are other elements, and what they come to is not stored.
        let i = row * sizes.k + k;
        let j = k * sizes.n + column;
        let left = vec4<real>(b[j], b[j + 8], b[j + 16], b[j + 24]);
        let right = vec4<real>(b[j + 32], b[j + 40], b[j + 48], b[j + 56]);
        let a0 = a[i];
        l0 += a0 * left;
        r0 += a0 * right;
        let a1 = a[i + sizes.k];
        l1 += a1 * left;
        r1 += a1 * right;
        let a2 = a[i + 2 * sizes.k];
        l2 += a2 * left;
        r2 += a2 * right;
        let a3 = a[i + 3 * sizes.k];
        l3 += a3 * left;
        r3 += a3 * right;
        let a4 = a[i + 4 * sizes.k];
        l4 += a4 * left;
        r4 += a4 * right;
        let a5 = a[i + 5 * sizes.k];
        l5 += a5 * left;
        r5 += a5 * right;
        let a6 = a[i + 6 * sizes.k];
        l6 += a6 * left;
        r6 += a6 * right;
        let a7 = a[i + 7 * sizes.k];
        l7 += a7 * left;
        r7 += a7 * right;
    }
    add_row(row, column, l0, r0);
    add_row(row + 1, column, l1, r1);
    add_row(row + 2, column, l2, r2);
    add_row(row + 3, column, l3, r3);
    add_row(row + 4, column, l4, r4);
    add_row(row + 5, column, l5, r5);
    add_row(row + 6, column, l6, r6);
    add_row(row + 7, column, l7, r7);
}

@compute @workgroup_size(8, 8)
fn gemm_nt(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) place: vec3<u32>) {
    let row = group.y * 64 + place.y * 8;
    let column = group.x * 64 + place.x;
    var l0 = vec4<real>();
    var r0 = vec4<real>();
    var l1 = vec4<real>();
    var r1 = vec4<real>();
    var l2 = vec4<real>();
    var r2 = vec4<real>();
    var l3 = vec4<real>();
    var r3 = vec4<real>();
    var l4 = vec4<real>();
    var r4 = vec4<real>();
    var l5 = vec4<real>();
    var r5 = vec4<real>();
    var l6 = vec4<real>();
    var r6 = vec4<real>();
    var l7 = vec4<real>();
    var r7 = vec4<real>();
    for (var k = 0u; k < sizes.k; k++) {
        // Beyond the edge these are other elements, and what they come to is not stored.
        let i = row * sizes.k + k;
        let j = column * sizes.k + k;
        let left = vec4<real>(b[j], b[j + 8 * sizes.k], b[j + 16 * sizes.k], b[j + 24 * sizes.k]);
        let right = vec4<real>(b[j + 32 * sizes.k], b[j + 40 * sizes.k], b[j + 48 * sizes.k], b[j + 56 * sizes.k]);
        let a0 = a[i];
        l0 -= a0 * left;
        r0 -= a0 * right;
        let a1 = a[i + sizes.k];
        l1 -= a1 * left;
        r1 -= a1 * right;
        let a2 = a[i + 2 * sizes.k];
        l2 -= a2 * left;
        r2 -= a2 * right;
        let a3 = a[i + 3 * sizes.k];
        l3 -= a3 * left;
        r3 -= a3 * right;
        let a4 = a[i + 4 * sizes.k];
        l4 -= a4 * left;
        r4 -= a4 * right;
        let a5 = a[i + 5 * sizes.k];
        l5 -= a5 * left;
        r5 -= a5 * right;
        let a6 = a[i + 6 * sizes.k];
        l6 -= a6 * left;
        r6 -= a6 * right;
        let a7 = a[i + 7 * sizes.k];
        l7 -= a7 * left;
        r7 -= a7 * right;
    }
    add_row(row, column, l0, r0);
    add_row(row + 1, column, l1, r1);
    add_row(row + 2, column, l2, r2);
    add_row(row + 3, column, l3, r3);
    add_row(row + 4, column, l4, r4);
    add_row(row + 5, column, l5, r5);
    add_row(row + 6, column, l6, r6);
    add_row(row + 7, column, l7, r7);
}
