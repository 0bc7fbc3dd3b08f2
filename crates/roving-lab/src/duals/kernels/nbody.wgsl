// Adds to the forces on n bodies what m bodies do to each of them. A body is (x, y, z, mass).

struct Sizes { n: u32, m: u32, softening_squared: f32, unused: u32 }

@group(0) @binding(0) var<storage, read> pulled: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> pulling: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> forces: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> sizes: Sizes;

@compute @workgroup_size(64)
fn nbody(@builtin(global_invocation_id) place: vec3<u32>) {
    if place.x >= sizes.n {
        return;
    }
    let here = pulled[place.x].xyz;
    var force = vec3<f32>();
    for (var j = 0u; j < sizes.m; j++) {
        let other = pulling[j];
        let d = other.xyz - here;
        let r = inverseSqrt(dot(d, d) + sizes.softening_squared);
        force += other.w * r * r * r * d;
    }
    forces[place.x] += vec4<f32>(force, 0.0);
}
