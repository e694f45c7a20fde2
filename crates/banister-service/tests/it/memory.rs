//! The memory limit, read from made-up files of the system, and the budget that follows from it.

use std::path::Path;

use banister_service::memory::{limit_in, parsed_bytes};

const MACHINE: &str = "MemTotal:       16384000 kB\nMemFree:         1 kB\n";

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

fn limit(files: &[(&str, &str)]) -> usize {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), files);
    limit_in(root.path())
}

#[test]
fn the_least_limit_counts() {
    let machine = ("proc/meminfo", MACHINE);
    assert_eq!(limit(&[machine]), 16_384_000 * 1024);
    // Version 2: no limit of its own, one above.
    let own = ("proc/self/cgroup", "0::/system.slice/banister.service\n");
    let none = (
        "sys/fs/cgroup/system.slice/banister.service/memory.max",
        "max\n",
    );
    let above = ("sys/fs/cgroup/system.slice/memory.max", "536870912\n");
    assert_eq!(limit(&[machine, own, none]), 16_384_000 * 1024);
    assert_eq!(limit(&[machine, own, none, above]), 512 << 20);
    let less = (
        "sys/fs/cgroup/system.slice/banister.service/memory.max",
        "1000000\n",
    );
    assert_eq!(limit(&[machine, own, less, above]), 1_000_000);
    // Version 1, beside other controllers; without a limit it has a number beyond all memory.
    let old = (
        "proc/self/cgroup",
        "5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n",
    );
    let endless = (
        "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
        "9223372036854771712\n",
    );
    let limited = (
        "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes",
        "536870912\n",
    );
    assert_eq!(limit(&[machine, old, endless]), 16_384_000 * 1024);
    assert_eq!(limit(&[machine, old, limited]), 512 << 20);
    // Inside a container, the group is the root of what is mounted.
    let mounted = ("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
    assert_eq!(limit(&[machine, old, mounted]), 512 << 20);
}

#[test]
fn the_address_space_does_not_count() {
    // Threads reserve far more of it than they use: a limit on it cannot be kept, so none is claimed.
    let limits =
        "Max address space         1073741824            unlimited            bytes     \n";
    let files = [("proc/meminfo", MACHINE), ("proc/self/limits", limits)];
    assert_eq!(limit(&files), 16_384_000 * 1024);
}

#[test]
fn where_nothing_is_known_a_limit_is_assumed() {
    assert_eq!(limit(&[]), 2 << 30);
    let nonsense = [
        ("proc/meminfo", "MemTotal: much"),
        ("proc/self/cgroup", "x\n:\n0:"),
    ];
    assert_eq!(limit(&nonsense), 2 << 30);
}

#[test]
fn short_values_take_more_memory_than_their_text() {
    let numbers = format!("[{}1]", "1,".repeat(1_000_000)).into_bytes();
    assert!(parsed_bytes(&numbers) > 16 * 1_000_000);
    let lists = format!("[{}[]]", "[],".repeat(1_000_000)).into_bytes();
    assert!(parsed_bytes(&lists) > 96 * 1_000_000);
    let objects = format!("[{}{{}}]", "{},".repeat(1_000_000)).into_bytes();
    assert!(parsed_bytes(&objects) > 1000 * 1_000_000);
    assert!(parsed_bytes(br#"{"id":"a"}"#) < 4096);
}
