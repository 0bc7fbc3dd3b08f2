//! Files of checkpoints, as runs and their strangers find them.

use super::*;
use crate::checkpoint::format::tests::identity;
use crate::checkpoint::format::{MAGIC, checksum};

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("roving-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    directory
}

/// One rank's files, in the run 1.
fn files(directory: &Path, rank: usize, ranks: usize) -> Files {
    let mut files = Files::new(directory, &identity("a"), rank, ranks).unwrap();
    files.follow(1, None);
    files
}

/// Tasks and a result, as a bag has them.
type Part = (Vec<Vec<u8>>, Vec<u8>);

fn some() -> Part {
    (vec![vec![1, 2, 3], vec![]], vec![9; 100])
}

/// The parts that this rank reads of a cut.
fn load(files: &Files, cut: Cut) -> Result<Vec<(PathBuf, Part)>, String> {
    files.load(cut, Which::Shared)
}

/// A part that differs from rank to rank.
fn of_rank(rank: usize) -> Part {
    (vec![vec![rank as u8; rank]], some().1)
}

/// The first cut of so many ranks, in a directory of that name.
fn saved(name: &str, ranks: usize) -> PathBuf {
    let directory = directory(name);
    files(&directory, 0, ranks).claim(1).unwrap();
    for rank in 0..ranks {
        files(&directory, rank, ranks)
            .save(1, &of_rank(rank))
            .unwrap();
    }
    files(&directory, 0, ranks).commit(1).unwrap();
    directory
}

#[test]
fn a_cut_is_read_as_it_was_written_and_older_ones_go() {
    let directory = directory("files");
    let files = files(&directory, 0, 1);
    files.claim(1).unwrap();
    assert_eq!(files.last(), Ok(None));
    for number in 1..=3 {
        files.save(number, &some()).unwrap();
        let before = files.last().unwrap().map(|cut| cut.number);
        assert_eq!(before, number.checked_sub(1).filter(|last| *last > 0));
        files.commit(number).unwrap();
        let cut = files.last().unwrap().unwrap();
        assert_eq!(cut, files.own(number));
        let loaded = load(&files, cut).unwrap();
        assert_eq!(loaded.len(), 1);
        assert_eq!(loaded[0].1, some());
    }
    assert!(!files.cut(files.own(2)).exists());
    files.close().unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn each_part_is_read_once_by_any_number_of_ranks() {
    for saved_by in 1..=9 {
        let directory = saved(&format!("parts-{saved_by}"), saved_by);
        for ranks in 1..=12 {
            let mut read = Vec::new();
            for rank in 0..ranks {
                let files = files(&directory, rank, ranks);
                let cut = files.last().unwrap().unwrap();
                read.extend(load(&files, cut).unwrap().into_iter().map(|(_, part)| part));
            }
            let all = files(&directory, ranks - 1, ranks);
            let cut = all.last().unwrap().unwrap();
            let all = all.load::<Part>(cut, Which::All).unwrap().into_iter();
            let all: Vec<Part> = all.map(|(_, part)| part).collect();
            read.sort_by_key(|part| part.0[0].len());
            let saved: Vec<Part> = (0..saved_by).map(of_rank).collect();
            assert_eq!(read, saved, "{saved_by} ranks, then {ranks}");
            assert_eq!(all, saved, "{saved_by} ranks, then {ranks}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}

#[test]
fn a_part_that_is_missing_or_anothers_is_refused_by_name() {
    let directory = saved("missing", 3);
    let all = files(&directory, 0, 1);
    let cut = all.last().unwrap().unwrap();
    let (second, third) = (all.part(cut, 1), all.part(cut, 2));
    let kept = fs::read(&third).unwrap();
    fs::copy(&second, &third).unwrap();
    let error = load(&all, cut).unwrap_err();
    assert!(error.contains("rank-2` is another file"), "{error}");
    fs::copy(directory.join("latest"), &third).unwrap();
    let error = load(&all, cut).unwrap_err();
    assert!(error.contains("rank-2` is another file"), "{error}");
    fs::remove_file(&third).unwrap();
    let error = load(&all, cut).unwrap_err();
    assert!(
        error.contains("rank-2` is missing, one of the 3 files") && error.contains("bring it"),
        "{error}"
    );
    fs::write(&third, kept).unwrap();
    assert!(load(&all, cut).is_ok());
    fs::copy(&second, directory.join("latest")).unwrap();
    assert!(all.last().unwrap_err().contains("latest` is damaged"));
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn damage_and_strangers_are_errors() {
    let directory = saved("damage", 1);
    let files = files(&directory, 0, 1);
    let cut = files.last().unwrap().unwrap();
    let other = Files::new(&directory, &identity("b"), 0, 1).unwrap();
    let error = other.last().unwrap_err();
    assert!(
        error.contains("another program") && error.contains("of `a` with tasks `u32`"),
        "{error}"
    );
    for path in [files.part(cut, 0), directory.join("latest")] {
        let whole = fs::read(&path).unwrap();
        let read = || files.last().and_then(|_| load(&files, cut)).map(drop);
        for place in 0..whole.len() {
            for flip in [0x01, 0x10, 0x80] {
                let mut bytes = whole.clone();
                bytes[place] ^= flip;
                fs::write(&path, &bytes).unwrap();
                assert!(read().unwrap_err().contains("damaged"), "byte {place}");
            }
            fs::write(&path, &whole[..place]).unwrap();
            assert!(read().unwrap_err().contains("damaged"), "{place} bytes");
        }
        let mut older = whole[..whole.len() - 8].to_vec();
        older[MAGIC.len()] = b'1';
        older.extend(checksum(&older).to_le_bytes());
        fs::write(&path, &older).unwrap();
        let error = read().unwrap_err();
        assert!(error.contains("format 1, this is 3"), "{error}");
        fs::write(&path, &whole).unwrap();
        assert_eq!(read(), Ok(()));
    }
    fs::remove_dir_all(&directory).unwrap();
}

/// A rank 0 that was stopped, and comes back when another run has taken its place.
#[test]
fn an_older_run_that_comes_back_commits_and_removes_nothing() {
    let directory = saved("zombie", 2);
    let old: Vec<Files> = (0..2).map(|rank| files(&directory, rank, 2)).collect();
    let mut new = files(&directory, 0, 1);
    new.claim(2).unwrap();
    let last = new.last().unwrap();
    new.follow(2, last);
    new.save(1, &some()).unwrap();
    for (rank, files) in old.iter().enumerate() {
        files.save(2, &of_rank(rank)).unwrap();
    }
    let error = old[0].commit(2).unwrap_err();
    assert!(error.contains("another run has taken"), "{error}");
    assert_eq!(new.last().unwrap(), last);
    new.commit(1).unwrap();
    let cut = new.last().unwrap().unwrap();
    assert_eq!((cut.run, cut.number, cut.ranks), (2, 2, 1));
    assert!(old[0].commit(2).is_err());
    old[0].close().unwrap();
    assert_eq!(load(&new, cut).unwrap()[0].1, some());
    new.close().unwrap();
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
    assert!(old[0].commit(2).is_err());
    old[0].close().unwrap();
    // Once more from its beginning, and not to be resumed.
    new.claim(2).unwrap();
    new.save(2, &some()).unwrap();
    new.clear().unwrap();
    assert_eq!(new.last(), Ok(None));
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_is_somebody_else_s_stays_and_is_named() {
    let directory = directory("strangers");
    fs::create_dir_all(directory.join("cut-scenes")).unwrap();
    let strangers = [
        "cut-scenes/one",
        "cut-7-x",
        "film.part",
        "latest.old.part",
        "notes",
    ];
    for name in strangers {
        fs::write(directory.join(name), name).unwrap();
    }
    let files = files(&directory, 0, 1);
    for name in ["run", "latest"] {
        fs::write(directory.join(name), "mine").unwrap();
        let error = files.claim(1).unwrap_err();
        assert!(
            error.contains(&format!("{name}` is no file of a checkpoint")),
            "{error}"
        );
        assert_eq!(fs::read(directory.join(name)).unwrap(), b"mine");
        fs::remove_file(directory.join(name)).unwrap();
    }
    files.claim(1).unwrap();
    for number in 1..=2 {
        files.save(number, &some()).unwrap();
        files.commit(number).unwrap();
    }
    files.close().unwrap();
    for name in strangers {
        assert_eq!(fs::read(directory.join(name)).unwrap(), name.as_bytes());
    }
    assert_eq!(fs::read_dir(&directory).unwrap().count(), strangers.len());
    fs::remove_dir_all(&directory).unwrap();
    let error = Files::new(Path::new(""), &identity("a"), 0, 1).unwrap_err();
    assert!(error.contains("name a directory"), "{error}");
}

#[test]
fn a_rank_that_sees_another_directory_is_named() {
    let [one, other] = ["sees", "sees-not"].map(directory);
    files(&one, 0, 2).claim(1).unwrap();
    assert_eq!(files(&one, 1, 2).see_claim(), Ok(()));
    let error = files(&other, 1, 2).see_claim().unwrap_err();
    assert!(
        error.contains("does not see it: all ranks need one"),
        "{error}"
    );
    for directory in [one, other] {
        fs::remove_dir_all(directory).unwrap();
    }
}

/// A rank that was stopped while it wrote, and finds the folder of its cut gone or replaced.
#[test]
fn an_older_run_whose_cut_is_removed_under_it_says_that_another_has_come() {
    let directory = saved("under-it", 2);
    for rank in 0..2 {
        let old = files(&directory, rank, 2);
        let path = old.cut(old.own(2));
        fs::write(&path, b"no folder").unwrap();
        let error = old.save(2, &some()).unwrap_err();
        assert!(error.contains(&format!("rank-{rank}`: ")), "{error}");
        old.claim(2).unwrap();
        let error = old.save(2, &some()).unwrap_err();
        assert!(error.contains("another run has taken"), "{error}");
        old.claim(1).unwrap();
        fs::remove_file(&path).unwrap();
    }
    fs::remove_dir_all(&directory).unwrap();
}

/// A rank 0 that was stopped after it had found the directory its own.
#[test]
fn an_older_run_that_was_about_to_commit_has_nothing_to_rename() {
    let directory = saved("about-to", 1);
    let old = files(&directory, 0, 1);
    let written = write_beside(&old.latest(), 1, b"of the older run").unwrap();
    old.stay().unwrap();
    let new = files(&directory, 0, 1);
    new.claim(2).unwrap();
    assert!(fs::rename(&written, old.latest()).is_err());
    assert!(new.last().unwrap().is_some());
    fs::remove_dir_all(&directory).unwrap();
}
