# Sourced by the scripts one floor up. Standard output belongs to their results: everything for people goes to
# standard error.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(basename "$0")
# Package.swift sets no unsafe flags. All that a release build does beyond a debug build comes from SwiftPM and the compiler's driver:
#   -O                          the optimizer
#   -whole-module-optimization  a module is compiled in one go: calls between its files are inlined, generic functions are made for the
#                               types that they are called with. A change compiles the whole module again.
#   -enable-default-cmo         small functions of lower modules as well, by the driver's choice; -cross-module-optimization, which does
#                               it for all functions and costs more time, is set nowhere
#   --gc-sections               code that nothing calls is not linked
# The figures of docs/benchmarks.md are those of release builds. PULLBOX_BUILD_CONFIGURATION=debug uses what scripts/test has built.
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
# Without an index for editors, which takes a quarter of a debug build: they make one of their own.
build_options=(--disable-index-store)

# Seconds between two lines about a build without a terminal.
progress_seconds=10

# describe_build LOG FROM: "12 of 345 steps, Crypto, CoreTypes", by what a build has printed so far. swift build begins the line of a
# step with [12/345]; the targets are those of the latest four lines that name another one, from line FROM on where there are any.
describe_build() {
  awk -v from="$2" '
    match($0, /^\[[0-9]+\/[0-9]+\] /) {
      split(substr($0, 2, RLENGTH - 3), count, "/")
      target = ""
      if ($2 == "Compiling" || $2 == "Linking") target = $3
      else if ($2 " " $3 == "Emitting module") target = $4
      else if ($2 " " $3 == "Wrapping AST") target = $5
      if (target == "") next
      latest = target
      if (NR < from || target == names[named]) next
      for (i = 1; i <= named && names[i] != target; i++) continue
      for (; i < named; i++) names[i] = names[i + 1]
      if (i > named) named += 1
      names[named] = target
      next
    }
    NF { words = $0 }
    END {
      if (!count[2]) { print substr(words, 1, 200); exit }
      text = count[1] " of " count[2] " steps"
      if (!named && latest != "") names[named = 1] = latest
      for (i = (named > 4 ? named - 3 : 1); i <= named; i++) text = text ", " names[i]
      print text
    }' "$1"
}

# watch_build LOG: says every ten seconds how far a build is, until standard input ends.
watch_build() {
  local log=$1 begin=$SECONDS line=1 text
  # read answers with more than 128 when the time is over, and with 1 at the end.
  while read -r -t "$progress_seconds" || [ $? -gt 128 ]; do
    text=$(describe_build "$log" "$line")
    line=$(($(wc -l <"$log") + 1))
    say "building for $((SECONDS - begin)) s${text:+: $text}"
  done
}

# with_progress LOG COMMAND...: runs a build. On a terminal its own progress shows. Elsewhere LOG gets what it prints, a line every
# ten seconds tells what is being built, and if it fails, what it printed beside its steps follows.
with_progress() {
  local log=$1 watcher result=0
  shift
  if [ -t 2 ]; then
    "$@" >&2
    return
  fi
  : >"$log"
  exec 9> >(watch_build "$log")
  watcher=$!
  "$@" >"$log" 2>&1 9>&- || result=$?
  exec 9>&-
  wait "$watcher" || true
  [ "$result" -eq 0 ] || sed -E '/^\[[0-9]+\/[0-9]+\] /d' "$log" >&2
  return "$result"
}

# What users run, and Debian packages hold.
programs=(pullbox pullbox-server pullbox-agent pullbox-sandbox pullbox-desktop)

# build [PRODUCT...]: builds these products, or everything but the tests.
build() {
  command -v swift >/dev/null || fail "the Swift toolchain is needed: https://www.swift.org/install/linux"
  local log result=0 product command=(swift build --package-path "$root" --configuration "$build_configuration" "${build_options[@]}")
  log=$(mktemp)
  if [ $# -eq 0 ]; then with_progress "$log" "${command[@]}" || result=$?; fi
  # swift build takes one at a time, and builds what several need once.
  for product in "$@"; do
    with_progress "$log" "${command[@]}" --product "$product" || { result=$?; break; }
  done
  rm -f "$log"
  [ "$result" -eq 0 ] || fail "the build failed"
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
