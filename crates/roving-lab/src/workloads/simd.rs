//! Leaf code compiled twice: for any processor of its kind, and for x86-64 with AVX2 and FMA,
//! which is taken where the machine has them.
#![allow(unsafe_code)] // a function with target features is called from one without

/// A piece of leaf code with its arguments.
pub(crate) trait Kernel {
    /// The result.
    type Output;

    /// The code; mark it `#[inline(always)]`. With `FUSED` it may use [`f64::mul_add`], which is
    /// then one instruction.
    fn run<const FUSED: bool>(self) -> Self::Output;
}

/// Runs `kernel` with the best instructions of this machine. Within a process the choice is
/// always the same, so that equal arguments give equal bits.
#[inline]
pub(crate) fn run<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: `run_wide` wants AVX2 and FMA, and this machine has both: the line above asked.
        return unsafe { run_wide(kernel) };
    }
    // 64-bit ARM always has a fused multiply-add.
    if cfg!(target_arch = "aarch64") {
        return kernel.run::<true>();
    }
    kernel.run::<false>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_wide<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

/// `a * b + c`, rounded once with `FUSED`, else twice.
#[inline(always)]
pub(crate) fn add_product<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}
