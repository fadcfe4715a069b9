# Sourced by the scripts one floor up. Standard output belongs to their results: everything for people goes to
# standard error.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(basename "$0")
build_configuration=${PULLBOX_BUILD_CONFIGURATION:-release}

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$program: $*"
  exit 1
}

usage_error() {
  say "$program: $*"
  say "'$program --help' shows what it takes"
  exit 2
}

# value_of OPTION "$@": the value that follows an option.
value_of() {
  [ $# -ge 2 ] && [ -n "$2" ] || usage_error "$1 needs a value"
  printf '%s' "$2"
}

# A lower base leaves privileged ports in play, a higher one no room for the store's port.
check_port_base() {
  [[ $1 =~ ^[0-9]{1,5}$ ]] && [ "$1" -ge 1024 ] && [ "$1" -le 65525 ] || usage_error "a port base is 1024 to 65525, not '$1'"
}

is_port_taken() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# What --version says beside the version: Package.swift reads it. Empty outside a checkout, and where a script says so.
export PULLBOX_COMMIT=${PULLBOX_COMMIT-$(git -C "$root" describe --always --dirty --abbrev=12 --exclude '*' 2>/dev/null || true)}

# What a script builds with beyond the configuration.
build_options=()

# Builds everything but the tests. On a terminal the compiler's progress shows; elsewhere its output only when it fails.
build() {
  command -v swift >/dev/null || fail "the Swift toolchain is needed: https://www.swift.org/install/linux"
  local command=(swift build --package-path "$root" --configuration "$build_configuration" "${build_options[@]}")
  if [ -t 2 ]; then
    "${command[@]}" >&2 || fail "the build failed"
    return
  fi
  local log
  log=$(mktemp)
  if ! "${command[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "the build failed"
  fi
  rm -f "$log"
}

# Where the executables lie.
binaries() {
  swift build --package-path "$root" --configuration "$build_configuration" "${build_options[@]}" --show-bin-path
}

# An absolute path; the directory is made.
directory() {
  mkdir -p "$1" || fail "$1 cannot be made"
  (cd "$1" && pwd)
}

# member NAME: the text of a member of the JSON on standard input, where no value holds a quotation mark.
member() { sed -n "s/.*\"$1\":\"\\([^\"]*\\)\".*/\\1/p"; }
