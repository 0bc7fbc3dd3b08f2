//! How a process finds out which rank it is.

use std::env;
use std::process::Command;

use roving_dist::World;

/// Set for the process that [`without_mpi_several_ranks_are_an_error_that_says_what_to_do`] starts.
const ROLE: &str = "ROVING_DIST_LAUNCH";

#[test]
fn a_process_that_was_started_alone_is_a_world_of_one_rank() {
    if env::var_os(ROLE).is_some() {
        println!("{}", World::init().map(|world| world.ranks()).unwrap_err());
        return;
    }
    let world = World::init().unwrap();
    assert_eq!((world.rank(), world.ranks()), (0, 1));
    assert_eq!(world.all_gather(b"alone").unwrap(), [b"alone"]);
    world.finish().unwrap();
}

#[test]
fn without_mpi_several_ranks_are_an_error_that_says_what_to_do() {
    if cfg!(feature = "mpi") {
        return;
    }
    let output = Command::new(env::current_exe().unwrap())
        .args([
            "--exact",
            "a_process_that_was_started_alone_is_a_world_of_one_rank",
            "--nocapture",
        ])
        .env(ROLE, "1")
        .env("OMPI_COMM_WORLD_SIZE", "3")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        said.contains("one of 3 ranks, and was built without MPI: build it with `--features mpi`"),
        "{said}"
    );
}
