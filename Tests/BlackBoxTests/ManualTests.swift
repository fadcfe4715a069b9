import CoreTypes
import PullboxTesting
import SystemCalls
import Testing

@Suite("Manual pages and completions, made by the executables")
struct ManualTests {
  private static let programs = [
    "pullbox", "pullbox-agent", "pullbox-desktop", "pullbox-sandbox", "pullbox-server",
  ]

  private func bash(
    _ script: String, _ arguments: [String] = [], in directory: TemporaryDirectory
  ) async throws -> Executables.Outcome {
    try await Executables.run("/bin/bash", ["-c", script, "bash"] + arguments, in: directory)
  }

  @Test("man and mandoc have nothing to complain of", arguments: programs)
  func manual(program: String) async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await bash(
      """
      export SOURCE_DATE_EPOCH=1795327805
      page=$2/page.$(case ${1##*/} in pullbox | pullbox-desktop) echo 1 ;; *) echo 8 ;; esac)
      "$1" --help=man >"$page" || exit 1
      ! command -v man >/dev/null || man --warnings -l "$page" 2>&1 >/dev/null
      ! command -v mandoc >/dev/null || mandoc -T lint "$page"
      """, [Executables.path(program), directory.path], in: directory)
    #expect(outcome.succeeded)
    let complaints = outcome.output + outcome.errors
    #expect(complaints.isEmpty, "\(complaints)")
  }

  @Test("the shells can read what is made for them", arguments: programs, ["bash", "zsh", "fish"])
  func syntax(program: String, shell: String) async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await bash(
      """
      "$1" --help=$2 >"$3/completion" || exit 1
      ! command -v $2 >/dev/null || $2 -n "$3/completion"
      """, [Executables.path(program), shell, directory.path], in: directory)
    #expect(outcome.succeeded, "\(outcome.errors)")
  }

  /// The words that bash offers for the last of these; `pullbox` is a stand-in that lists two downloads, and a name of each other list.
  private func offered(_ words: String...) async throws -> [String] { try await offered(words) }

  private func offered(_ words: [String]) async throws -> [String] {
    let directory = try TemporaryDirectory()
    let outcome = try await bash(
      """
      mkdir "$2/bin"
      printf '#!/bin/sh\\n[ "$*" = "complete downloads" ] && echo d1abc && echo d2abc || echo x.of.$2\\n' >"$2/bin/pullbox"
      chmod +x "$2/bin/pullbox"
      source <("$1" --help=bash)
      COMP_WORDS=("$2/bin/pullbox" "${@:3}")
      COMP_CWORD=$(($# - 2))
      cd "$2" && mkdir issue && touch issue.cbz
      _pullbox 2>&1
      printf '%s\\n' "${COMPREPLY[@]}"
      """, [Executables.path("pullbox"), directory.path] + words, in: directory)
    #expect(outcome.succeeded && outcome.errors.isEmpty, "\(outcome.errors)")
    return outcome.output.split(separator: "\n").map(String.init)
  }

  @Test(
    "fish, where it is installed, completes commands, options, words and downloads",
    arguments: [
      ("pullbox pub", "publish"), ("pullbox publish --op", "--operator-key"), ("pullbox buy --op", ""),
      ("pullbox pause d1", "d1abc"), ("pullbox --color n", "never"),
    ])
  func fish(line: String, offered: String) async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await bash(
      """
      command -v fish >/dev/null || { echo "$4"; exit; }
      mkdir "$2/bin"
      printf '#!/bin/sh\\n[ "$*" = "complete downloads" ] && echo d1abc\\n' >"$2/bin/pullbox"
      chmod +x "$2/bin/pullbox"
      "$1" --help=fish >"$2/pullbox.fish"
      HOME=$2 PATH=$2/bin:$PATH fish -c "source '$2/pullbox.fish'; complete -C '$3'" | cut -f 1
      """, [Executables.path("pullbox"), directory.path, line, offered], in: directory)
    let words = outcome.output.split(separator: "\n").map(String.init)
    #expect(words == (offered.isEmpty ? [] : [offered]), "\(outcome.errors)")
  }

  @Test("bash completes commands, and the options of a command and no other's")
  func commands() async throws {
    #expect(Set(try await offered("pub")) == ["publications", "publish"])
    #expect(try await offered("--json", "re").contains("restore"))
    #expect(try await offered("buy", "--wa") == ["--wait"])
    #expect(try await offered("buy", "--operator").isEmpty)
    #expect(try await offered("publish", "--operator") == ["--operator-key"])
    #expect(try await offered("help", "stat") == ["status"])
  }

  @Test("bash completes values: words, files, and the downloads that there are")
  func values() async throws {
    #expect(try await offered("--color", "a") == ["auto", "always"])
    #expect(try await offered("status", "--color", "=", "n") == ["never"])
    #expect(try await offered("downloads", "--state", "pa") == ["paused"])
    #expect(try await offered("publish", "iss").sorted() == ["issue", "issue.cbz"])
    #expect(try await offered("pack", "iss") == ["issue"])
    #expect(try await offered("pause", "d1abc", "d2") == ["d2abc"])
    #expect(try await offered("--json", "cancel", "d") == ["d1abc", "d2abc"])
    #expect(try await offered("priority", "d1abc", "x").isEmpty)
  }

  @Test(
    "bash completes files and directories of the machine, and names that pullbox lists",
    arguments: [
      (["import", "iss"], "issue issue.cbz"), (["export", "issue."], "issue.cbz"),
      (["buy", "x"], "x.of.sale"),
      (["shop", "x"], "x.of.publications"), (["subscription", "x"], "x.of.subscriptions"),
      (["library", "x"], "x.of.library"), (["audit", "x"], "x.of.products"),
      (["versions", "x"], "x.of.products"),
    ])
  func operands(words: [String], offered expected: String) async throws {
    #expect(try await offered(words).sorted().joined(separator: " ") == expected)
  }
}
