"""A Linux guest that boots in seconds: Debian's kernel with an initramfs made of busybox, an init
script and test programs."""

import glob
import lzma
import os
import shutil
import subprocess

BUSYBOX = "/bin/busybox"  # busybox-static
PREPARE = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
"""
END = "\npoweroff -f\n"
ARGUMENTS = ["-m", "256", "-display", "none", "-serial", "stdio", "-no-reboot", "-nodefaults", "-net", "none"]
COMMAND_LINE = "console=ttyS0 quiet panic=-1 norandmaps"


def kernel(cache):
    """Path of a Debian kernel, from /boot or else from its package; None where there is none."""
    installed = [path for path in glob.glob("/boot/vmlinuz-*-amd64") if os.access(path, os.R_OK)]
    kept = glob.glob(os.path.join(cache, "boot/vmlinuz-*-amd64"))
    if not installed and not kept:
        _download(cache)
        kept = glob.glob(os.path.join(cache, "boot/vmlinuz-*-amd64"))
    return (sorted(installed) + sorted(kept) + [None])[0]


def _download(cache):
    """The kernel's package is fetched, not installed: of its 400 MB only one file is wanted."""
    if shutil.which("apt-get") is None:
        return
    os.makedirs(cache, exist_ok=True)
    found = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True, text=True)
    names = [line.split()[-1] for line in found.stdout.splitlines() if "Depends: linux-image-" in line]
    if not names:
        return
    subprocess.run(["apt-get", "-q", "download", names[0]], cwd=cache, stdin=subprocess.DEVNULL, timeout=200)
    for package in glob.glob(os.path.join(cache, "linux-image-*.deb")):
        content = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", cache, "--wildcards", "./boot/vmlinuz*"], stdin=content.stdout)
        content.wait()
        os.unlink(package)


def unpacked(kernel_path, cache):
    """The kernel as ELF, which QEMU starts by itself (PVH): at the address that it was linked for, and in a third of the
    time, since nothing is unpacked inside the machine. Kept in `cache`. Kernels that are not packed by xz stay as they are."""
    path = os.path.join(cache, os.path.basename(kernel_path).replace("vmlinuz", "vmlinux"))
    if not os.path.exists(path):
        with open(kernel_path, "rb") as file:
            packed = file.read()
        begin = packed.find(lzma.compress(b"")[:6])
        if begin < 0:
            return kernel_path
        os.makedirs(cache, exist_ok=True)
        with open(path + ".part", "wb") as file:
            file.write(lzma.LZMADecompressor().decompress(packed[begin:]))
        os.rename(path + ".part", path)
    return path


class Archive:
    """An initramfs: cpio in the "newc" format (Documentation/driver-api/early-userspace)."""

    def __init__(self):
        self.data = b""
        self.count = 0

    def add(self, name, mode, content=b"", device=(0, 0)):
        self.count += 1
        path = name.encode() + b"\0"
        fields = [self.count, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(path), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        self.data += head + bytes(-len(head) % 4) + content + bytes(-len(content) % 4)

    def finish(self):
        self.add("TRAILER!!!", 0)
        return self.data


def _folders(names):
    """All that the files lie in, but the first level's that every guest has."""
    found = set()
    for name in names:
        while name := os.path.dirname(name):
            found.add(name)
    return found - {"bin", "proc", "dev", "tmp"}


def write_initramfs(path, script, programs, files=()):
    """`script` is what init does, in busybox's shell; `programs` are copied to /bin, `files` are pairs of
    the name in the guest, without its first slash, and the file here."""
    archive = Archive()
    for folder in ("bin", "proc", "dev", "tmp", *sorted(_folders(name for name, _ in files))):
        archive.add(folder, 0o40755)
    archive.add("dev/console", 0o20600, device=(5, 1))
    for program in [BUSYBOX, *programs]:
        with open(program, "rb") as file:
            archive.add("bin/" + os.path.basename(program), 0o100755, file.read())
    for name, source in files:
        with open(source, "rb") as file:
            archive.add(name, 0o100755, file.read())
    archive.add("init", 0o100755, (PREPARE + script + END).encode())
    with open(path, "wb") as file:
        file.write(archive.finish())


def module(kernel_path, work):
    """Builds the module of guest_module/ for that kernel, in the folder `work`; None where the kernel's headers are
    not installed."""
    version = os.path.basename(kernel_path).removeprefix("vmlinuz-")
    headers = f"/usr/src/linux-headers-{version}"
    if not os.path.isdir(headers):
        return None
    sources = os.path.join(os.path.dirname(os.path.abspath(__file__)), "guest_module")
    folder = os.path.join(work, "guest_module")
    shutil.copytree(sources, folder)
    subprocess.run(["make", "-s", "-C", headers, f"M={folder}", "modules"], check=True, stdin=subprocess.DEVNULL,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.path.join(folder, "guest_hooks.ko")


def command(kernel_path, initramfs, *more, boot=""):
    """QEMU's words for this guest; `boot`: more for the kernel's command line."""
    return ["qemu-system-x86_64", *ARGUMENTS, *more, "-kernel", kernel_path, "-initrd", initramfs,
            "-append", f"{COMMAND_LINE} {boot}"]
