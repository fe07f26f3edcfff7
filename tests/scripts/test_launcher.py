"""The launcher ./hodo and scripts/need-packages, in a scratch tree with stand-ins for the tools."""

import os
import shutil
import stat
import subprocess
import tempfile
import time
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The stand-ins write one line per call to $FAKE/calls.
CMAKE = 'echo "cmake $*" >>"$FAKE/calls"'
NINJA = """echo "ninja $*" >>"$FAKE/calls"
[ -e "$FAKE/break-build" ] && { echo "error: it broke"; exit 1; }
sleep "$(cat "$FAKE/build-seconds" 2>/dev/null || echo 0)"
mkdir -p build/release/src/cli
cat >build/release/src/cli/hodo <<'END'
#!/bin/sh
printf '%s|' "$PWD" "$@"
cat
exit 42
END
chmod +x build/release/src/cli/hodo"""
DPKG_QUERY = """shift 2
for package; do
  if grep -qx "$package" "$FAKE/missing"; then failed=1; else echo "ii  $package"; fi
done
exit "${failed:-0}\""""
APT_GET = """echo "apt-get $*" >>"$FAKE/calls"
case "$*" in
  *update*) rm -f "$FAKE/stale"; exit 0 ;;
  *install*) [ -e "$FAKE/stale" ] && exit 100 ;;
esac
case "$*" in *" -s "*) exit 0 ;; esac
[ -e "$FAKE/no-network" ] && exit 100
: >"$FAKE/missing\""""
SUDO = 'echo "sudo" >>"$FAKE/calls"; exec "$@"'
ID = 'cat "$FAKE/uid"'


class Launcher(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.tree = os.path.join(self.directory, "tree with space")
        self.fake = os.path.join(self.directory, "fake")
        os.makedirs(self.fake)
        for folder in ("src", "page", "engine", "plugin", "cmake"):
            os.makedirs(os.path.join(self.tree, folder))
        for name in ("CMakeLists.txt", "CMakePresets.json", "src/main.cc"):
            self.write(os.path.join(self.tree, name), "")
        shutil.copy(os.path.join(ROOT, "hodo"), self.tree)
        shutil.copytree(os.path.join(ROOT, "scripts"), os.path.join(self.tree, "scripts"))
        for name, body in (
            ("cmake", CMAKE),
            ("ninja", NINJA),
            ("dpkg-query", DPKG_QUERY),
            ("apt-get", APT_GET),
            ("sudo", SUDO),
            ("id", ID),
        ):
            self.tool(name, body)
        self.set("missing", "")
        self.set("uid", "0\n")

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def set(self, name, text=""):
        self.write(os.path.join(self.fake, name), text)

    def tool(self, name, body):
        os.makedirs(os.path.join(self.fake, "bin"), exist_ok=True)
        path = os.path.join(self.fake, "bin", name)
        self.write(path, "#!/bin/sh\n" + body + "\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def environment(self):
        path = os.path.join(self.fake, "bin") + ":" + os.environ["PATH"]
        return dict(os.environ, FAKE=self.fake, PATH=path)

    def start(self, *arguments, program=None, cwd=None, stdin=""):
        return subprocess.run(
            [program or os.path.join(self.tree, "hodo"), *arguments],
            cwd=cwd or self.directory,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def calls(self, tool):
        try:
            with open(os.path.join(self.fake, "calls"), encoding="utf-8") as file:
                return [line.rstrip("\n") for line in file if line.startswith(tool)]
        except FileNotFoundError:
            return []

    def test_becomes_the_program_with_its_own_streams_and_status(self):
        done = self.start("record", "--", "a b", stdin="input")
        self.assertEqual(done.returncode, 42)
        self.assertEqual(done.stdout, f"{self.directory}|record|--|a b|input")
        self.assertIn("building", done.stderr)

    def test_second_call_builds_nothing_and_says_nothing(self):
        self.start()
        done = self.start()
        self.assertEqual((done.returncode, done.stderr), (42, ""))
        self.assertEqual(len(self.calls("ninja")), 1)

    def test_newer_source_builds_again(self):
        self.start()
        later = time.time() + 10
        os.utime(os.path.join(self.tree, "src/main.cc"), (later, later))
        self.start()
        self.assertEqual(len(self.calls("ninja")), 2)

    def test_new_file_with_an_old_date_builds_again(self):
        self.start()
        path = os.path.join(self.tree, "src/new.cc")
        self.write(path, "")
        os.utime(path, (1, 1))
        later = time.time() + 10
        os.utime(os.path.dirname(path), (later, later))
        self.start()
        self.assertEqual(len(self.calls("ninja")), 2)

    def test_edit_during_the_build_is_not_missed(self):
        self.set("build-seconds", "1.5")
        build = subprocess.Popen(
            [os.path.join(self.tree, "hodo")],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while not self.calls("ninja") and time.monotonic() < deadline:
            time.sleep(0.05)
        self.write(os.path.join(self.tree, "src/main.cc"), "edited")
        build.wait(60)
        self.start()
        self.assertEqual(len(self.calls("ninja")), 2)

    def test_works_through_a_symlink(self):
        link = os.path.join(self.directory, "link")
        os.symlink(os.path.join(self.tree, "hodo"), link)
        self.assertEqual(self.start(program=link).returncode, 42)

    def test_two_first_calls_at_once_build_once(self):
        self.set("build-seconds", "0.5")
        both = [
            subprocess.Popen(
                [os.path.join(self.tree, "hodo")],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for _ in range(2)
        ]
        for process in both:
            process.communicate(timeout=60)
        self.assertEqual([process.returncode for process in both], [42, 42])
        self.assertEqual(len(self.calls("ninja")), 1)

    def test_failed_build_shows_its_log_and_fails_again_next_time(self):
        self.set("break-build")
        for _ in range(2):
            done = self.start()
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stdout, "")
            self.assertIn("error: it broke", done.stderr)
            self.assertIn("build/release/build.log", done.stderr)

    def test_installs_only_what_is_missing(self):
        self.set("missing", "qemu-user\n")
        done = self.start()
        self.assertEqual(done.returncode, 42)
        self.assertIn("qemu-user", done.stderr)
        installs = [call for call in self.calls("apt-get") if " -y " in call]
        self.assertEqual(len(installs), 1)
        self.assertTrue(installs[0].endswith("install -y --no-install-recommends qemu-user"))
        self.assertEqual(self.calls("sudo"), [])

    def test_nothing_missing_never_calls_apt(self):
        self.start()
        self.assertEqual(self.calls("apt-get"), [])

    def test_unknown_packages_fetch_the_lists_first(self):
        self.set("missing", "qemu-user\n")
        self.set("stale")
        self.assertEqual(self.start().returncode, 42)
        words = [call.split()[-1] for call in self.calls("apt-get") if " -s " not in call]
        self.assertEqual(words, ["update", "qemu-user"])

    def test_user_goes_through_sudo_and_is_told(self):
        self.set("missing", "cmake\n")
        self.set("uid", "1000\n")
        done = self.start()
        self.assertEqual(done.returncode, 42)
        self.assertIn("sudo", done.stderr)
        self.assertTrue(self.calls("sudo"))

    def test_failed_install_says_what_to_do(self):
        self.set("missing", "cmake\n")
        self.set("no-network")
        done = self.start()
        self.assertEqual(done.returncode, 1)
        self.assertIn("apt-get install cmake", done.stderr)
        self.assertEqual(self.calls("ninja"), [])


if __name__ == "__main__":
    unittest.main()
