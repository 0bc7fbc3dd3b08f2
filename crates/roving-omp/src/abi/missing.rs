//! The functions that are not implemented: each is there, says its name, and ends the program. So
//! no program goes on with a wrong answer.

macro_rules! missing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() {
            crate::env::stop(concat!(
                stringify!($name),
                " is not implemented by Roving: see its page on OpenMP"
            ));
        }
    )*};
}

// Compilers before GCC 5 called them.
missing! {
    GOMP_parallel_start GOMP_parallel_end GOMP_parallel_sections_start
    GOMP_parallel_loop_static_start GOMP_parallel_loop_dynamic_start
    GOMP_parallel_loop_guided_start GOMP_parallel_loop_runtime_start
    GOMP_target GOMP_target_data GOMP_target_update
}
