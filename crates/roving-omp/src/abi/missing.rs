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

missing! {
    GOMP_parallel_start GOMP_parallel_end GOMP_parallel_sections_start
    GOMP_parallel_loop_static_start GOMP_parallel_loop_dynamic_start
    GOMP_parallel_loop_guided_start GOMP_parallel_loop_runtime_start
    GOMP_target_map_indirect_ptr GOMP_taskwait_depend_nowait
    GOMP_target_data GOMP_target_data_ext GOMP_target_end_data GOMP_target_update
    GOMP_offload_register GOMP_offload_register_ver GOMP_offload_unregister
    GOMP_offload_unregister_ver
    GOMP_target_update_ext GOMP_target_enter_exit_data GOMP_target GOMP_target_ext
    omp_target_alloc omp_target_free omp_target_is_present omp_target_memcpy
    omp_target_memcpy_rect omp_target_associate_ptr omp_target_disassociate_ptr
    omp_target_memcpy_async omp_target_memcpy_rect_async omp_get_mapped_ptr
    omp_target_is_accessible
    omp_get_affinity_format_ omp_set_affinity_format_ omp_display_affinity_
    omp_capture_affinity_
}
