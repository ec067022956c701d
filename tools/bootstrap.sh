#!/bin/sh
# Checks the Debian packages that a purpose needs: tools/bootstrap.sh build test aarch64 lint bench demo nightly spark wheel account
#
# One list a purpose, nothing else in the project names packages. If all are installed, it runs one dpkg-query. Else it prints the
# command that installs them. On a terminal it asks whether to run that command; otherwise it fails. TARE_BOOTSTRAP=1 runs it
# without a question (CI). TARE_NO_BOOTSTRAP=1 skips the check (other distributions).
set -eu

packages_build="g++ cmake ninja-build pkg-config libdw-dev libzstd-dev ca-certificates"
packages_test="$packages_build libgtest-dev catch2 doctest-dev libfmt-dev libunwind-dev clang-19 clang-14 g++-11 libclang-rt-19-dev libclang-rt-14-dev binutils procps valgrind gdb lldb-19 python3-lldb-19 heaptrack zstd
  libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 libjemalloc-dev libgoogle-perftools-dev
  bubblewrap gcc-multilib musl-tools abigail-tools chromium tmux
  python3.11 python3.11-dbg
  libboost-context-dev
  libglib2.0-dev libglib2.0-tests libglib2.0-bin dbus dconf-cli dconf-gsettings-backend dconf-service ibus"
packages_lint="$packages_test clang-tidy-19"
packages_bench="valgrind $packages_build libbenchmark-dev libsystemd-dev libfmt-dev libabsl-dev libboost-dev llvm-19-dev wamerican
  libjemalloc2 libmimalloc2.0 libtcmalloc-minimal4 heaptrack sqlite3 git python3.11 python3.11-dbg python3.11-venv
  libglib2.0-dev libgc-dev dwarves libc6-dbg"
packages_nightly="$packages_test postgresql redis-server apache2 apache2-utils nginx-light subversion mmdebstrap default-jdk-headless nodejs rustc cargo golang-go sqlite3 emacs-nox gnuplot-nox
  ffmpeg busybox graphicsmagick lld-19 lua5.4 ruby perl libtalloc2 libsqlite3-0"
packages_spark="default-jdk-headless"
packages_wheel="$packages_build mmdebstrap musl-tools"
packages_aarch64="cmake ninja-build pkg-config python3 clang-19 lld-19 qemu-user"
packages_account="redis-server nginx-light php-cli postgresql chromium default-jdk-headless nodejs rustc libreoffice-writer-nogui
  libjemalloc-dev git g++ python3.11 python3.11-venv"
packages_demo="$packages_build python3.11 python3.11-dbg"
# only where the Python that is used is Debian's own and lacks them
packages_python="python3.11-venv python3.11-dev"

wanted=""
for purpose in "$@"; do
  case $purpose in
    build) wanted="$wanted $packages_build" ;;
    test) wanted="$wanted $packages_test" ;;
    lint) wanted="$wanted $packages_lint" ;;
    bench) wanted="$wanted $packages_bench" ;;
    nightly) wanted="$wanted $packages_nightly" ;;
    spark) wanted="$wanted $packages_spark" ;;
    account) wanted="$wanted $packages_account" ;;
    demo) wanted="$wanted $packages_demo" ;;
    aarch64) wanted="$wanted $packages_aarch64" ;;
    wheel) wanted="$wanted $packages_wheel" ;;
    python) wanted="$wanted $packages_python" ;;
    *) echo "bootstrap.sh: unknown purpose '$purpose' (build, test, aarch64, lint, bench, account, demo, nightly, spark, wheel, python)" >&2; exit 2 ;;
  esac
done
[ "${TARE_NO_BOOTSTRAP:-}" = 1 ] && exit 0

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "This isn't Debian: install the equivalents of" $wanted >&2
  echo "and run the same command again with TARE_NO_BOOTSTRAP=1." >&2
  exit 1
fi
# shellcheck disable=SC2086  # a list of words
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null | sed -n 's/ installed$//p') || true
missing=""
for package in $wanted; do
  case "
$installed
" in *"
$package
"*) continue ;; esac
  case " $missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
done
[ -z "$missing" ] && exit 0

as_root=""
[ "$(id -u)" = 0 ] || as_root="sudo "
echo "Missing packages. This command installs them:" >&2
echo "  ${as_root}apt-get update && ${as_root}apt-get install --no-install-recommends$missing" >&2
if [ "${TARE_BOOTSTRAP:-}" != 1 ]; then
  answer=""
  if [ -t 0 ] && [ -t 2 ]; then
    printf 'Run it now? [y/N] ' >&2
    read -r answer
  fi
  case $answer in
    y | Y | yes) ;;
    *)
      echo "Run the command, or the same make target with TARE_BOOTSTRAP=1 (installs without a question) or with" >&2
      echo "TARE_NO_BOOTSTRAP=1 (other packages provide the same)." >&2
      exit 1
      ;;
  esac
fi
# shellcheck disable=SC2086
{
  $as_root apt-get update -qq
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
