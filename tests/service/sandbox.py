"""File systems and control groups of a test's own, to fill them, make them read-only and limit their memory."""

import contextlib
import errno
import os
import pathlib
import shutil
import subprocess

import pytest

from .server import wait_for


def run(*command):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)


def missing(reason):
    """Not every machine lets tests mount; the one that decides must."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"this machine must be able to mount: {reason}")
    pytest.skip(f"cannot mount here: {reason}")


@contextlib.contextmanager
def mounted(place, *how):
    place.mkdir(parents=True)
    if os.geteuid() != 0:
        missing("only root may")
    done = run("mount", *how, place)
    if done.returncode != 0:
        missing(done.stderr.strip())
    try:
        yield place
    finally:
        unmount(place)


def unmount(place):
    def is_free():
        return run("umount", place).returncode == 0 or not os.path.ismount(place)

    try:
        wait_for(is_free, f"end of the mount {place}", deadline=10)
    except AssertionError:
        run("umount", "-l", place)
        raise


def tmpfs(place, size):
    return mounted(place, "-t", "tmpfs", "-o", f"size={size},mode=0777", "tmpfs")


class Ext4:
    """ext4 without a journal on a loop device, which turns read-only at the first error."""

    def __init__(self, image, place, size=16 << 20):
        for program in ["mkfs.ext4", "e2fsck", "losetup"]:
            if shutil.which(program) is None:
                missing(f"there is no {program}")
        if os.geteuid() != 0:
            missing("only root may")
        self.image, self.place, self.devices = image, place, []
        with image.open("wb") as file:
            file.truncate(size)
        made = run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-e", "remount-ro", image)
        assert made.returncode == 0, made.stderr
        place.mkdir()

    def mount(self):
        looped = run("losetup", "--find", "--show", self.image)
        if looped.returncode != 0:
            missing(looped.stderr.strip())
        self.devices.append(looped.stdout.strip())
        done = run("mount", "-t", "ext4", "-o", "errors=remount-ro", self.devices[-1], self.place)
        if done.returncode != 0:
            missing(done.stderr.strip())

    def break_down(self):
        """Has the kernel find an error, as on a bad sector: everything is read-only at once."""
        device = os.path.basename(self.devices[-1])
        trigger = pathlib.Path("/sys/fs/ext4", device, "trigger_fs_error")
        try:
            trigger.write_text("a test of banister")
        except OSError as error:
            missing(f"{trigger}: {error}")
        with pytest.raises(OSError) as refused:
            (self.place / "probe").write_bytes(b"probe")
        assert refused.value.errno == errno.EROFS

    def repair(self):
        """Acts as an administrator: unmounts it, checks it, mounts it again at the same place."""
        done = run("umount", "--lazy", self.place)
        assert done.returncode == 0, done.stderr
        checked = run("e2fsck", "-fy", self.image)
        assert checked.returncode in (0, 1), checked.stdout
        self.mount()

    def close(self):
        while os.path.ismount(self.place):
            unmount(self.place)
        for device in self.devices:
            run("losetup", "--detach", device)


def remount(place, how):
    done = run("mount", "-o", f"remount,{how}", place)
    return done.returncode == 0, done.stderr.strip()


def fill(place):
    """Fills the file system up to the last byte, and says with which file."""
    ballast = place / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in [1 << 20, 1 << 16, 4096, 1]:
            with contextlib.suppress(OSError):
                while file.write(b"\0" * size):
                    pass
    return ballast


#: Where the versions are mounted, the file that shows it is the right one, and the file of the limit.
PLACES = [
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.limit_in_bytes"),
    ("/sys/fs/cgroup", "cgroup.controllers", "memory.max"),
]


def made(limit):
    """The folder of a new group; skips the test where no version lets us make one."""
    reasons = []
    for place, mark, file in PLACES:
        root = pathlib.Path(place)
        if not (root / mark).exists():
            reasons.append(f"no {place}/{mark}")
            continue
        group = root / f"banister-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError as error:
            reasons.append(str(error))
            continue
        try:
            (group / file).write_text(str(limit))
            # Swapped out is not bounded.
            for swap in [group / "memory.memsw.limit_in_bytes", group / "memory.swap.max"]:
                with contextlib.suppress(OSError):
                    if swap.exists():
                        swap.write_text("0" if swap.name == "memory.swap.max" else str(limit))
            return group
        except OSError as error:
            reasons.append(str(error))
            group.rmdir()
    pytest.skip(f"no memory limits can be set here: {'; '.join(reasons)}")


@contextlib.contextmanager
def limited(megabytes):
    """The words before a command that make it run under a memory limit."""
    group = made(megabytes << 20)
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$0" "$@"']
    finally:
        wait_for(lambda: not (group / "cgroup.procs").read_text().split(), "end of the group's processes")
        group.rmdir()
