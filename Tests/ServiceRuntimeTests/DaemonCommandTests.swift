import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import ServiceRuntime

@Suite("What a daemon's program does in place of serving")
struct DaemonCommandTests {
  private struct Settings: DaemonConfiguration {
    var state: String
    var logLevel: String
  }

  private static let daemon = CommandDescription(
    "pullbox-test", summary: "Serves",
    options: [
      .configurationFile, .logLevel, .value("state", "DIR", fallback: "/var/lib/test", help: "Where all is"),
      .flag("rotate", environment: .none, key: .none, help: "Rotate, and end"),
    ])

  private static let commands: [DaemonCommand<Settings>] = [
    DaemonCommand(
      word: CommandDescription(
        "backup", summary: "Copy the state", operands: [.init("DIR")],
        options: [.flag("quick", environment: .none, key: .none, help: "Compare nothing")])
    ) { _ in .done },
    DaemonCommand(word: CommandDescription("check", summary: "Read the state")) { _ in .integrity },
    DaemonCommand(flag: "rotate") { _ in .noSpace },
  ]

  private static let described = Daemon.description(of: daemon, with: commands)

  private func parse(_ arguments: String...) throws -> ArgumentParser.Outcome {
    try ArgumentParser(Self.described, environment: [:]).parse(arguments)
  }

  private func run(_ arguments: String...) throws -> ParsedArguments {
    guard case .run(let parsed) = try ArgumentParser(Self.described, environment: [:]).parse(arguments) else {
      throw UsageError("help")
    }
    return parsed
  }

  @Test(
    "a word or a flag asks for a command, and nothing does without them",
    arguments: [
      ([], nil), (["--state", "/s"], nil), (["backup", "/b"], 0), (["--state", "/s", "backup", "/b"], 0),
      (["check"], 1), (["--rotate"], 2), (["check", "--rotate"], 1),
    ] as [([String], Int?)])
  func dispatch(arguments: [String], chosen: Int?) throws {
    guard case .run(let parsed) = try ArgumentParser(Self.described, environment: [:]).parse(arguments) else {
      throw UsageError("help")
    }
    #expect(Self.commands.firstIndex { $0.isAsked(by: parsed) } == chosen)
  }

  @Test("the daemon's options count for a command, its own and its operands beside them")
  func options() throws {
    let parsed = try run("backup", "--state", "/s", "--quick", "/b")
    #expect(parsed.operands == ["/b"])
    #expect(parsed.isSet("quick"))
    let log = Log(level: .error, format: .json) { _ in }
    let invocation = DaemonInvocation<Settings>(arguments: parsed, log: log)
    #expect(try invocation.configuration().state == "/s")
  }

  @Test("a command may read other configuration files, for which neither variables nor options count")
  func otherFile() throws {
    let directory = try TemporaryDirectory()
    let files = [("a.json5", "{state: '/a'}"), ("b.json5", "{}"), ("c.json5", "{nothing: 1}")]
    for (name, text) in files { try DurableFile.write(Array(text.utf8).span, to: directory.path(name)) }
    let parser = ArgumentParser(Self.described, environment: ["PULLBOX_STATE": "/variable"])
    guard case .run(let parsed) = try parser.parse(["backup", "--state", "/s", "/b"]) else {
      throw UsageError("help")
    }
    let invocation = DaemonInvocation<Settings>(
      arguments: parsed, log: Log(level: .error, format: .json) { _ in })
    #expect(try invocation.configuration(ofFile: directory.path("a.json5")).state == "/a")
    #expect(try invocation.configuration(ofFile: directory.path("b.json5")).state == "/var/lib/test")
    #expect(throws: ConfigurationError.self) {
      try invocation.configuration(ofFile: directory.path("c.json5"))
    }
    #expect(throws: ConfigurationError.self) { try invocation.configuration(ofFile: directory.path("none")) }
    #expect(try invocation.configuration().state == "/s")
  }

  @Test("words that are none, and operands that are missing or too many, are usage errors")
  func usage() {
    #expect(throws: UsageError("there is no command 'bakcup'", hint: "did you mean 'backup'?")) {
      try parse("bakcup")
    }
    #expect(throws: UsageError("DIR is missing", hint: "'pullbox-test backup --help' shows what it takes")) {
      try parse("backup")
    }
    #expect(throws: UsageError.self) { try parse("check", "now") }
    #expect(throws: UsageError.self) { try parse("--quick") }
  }

  @Test("help lists the words, which may be left out, and the exit codes")
  func help() throws {
    let help = Self.described.help()
    #expect(help.hasPrefix("Usage: pullbox-test [OPTIONS] [COMMAND]\n\nServes.\n\n"))
    #expect(help.contains("Exit codes: 0 done; 1 failed; 2 wrong usage;"))
    #expect(help.replacing("\n", with: " ").contains("78 faulty configuration."))
    #expect(
      help.contains(
        """
        Commands:
          backup DIR  Copy the state
          check       Read the state
        """))
    guard case .text(let backup) = try parse("backup", "--help") else { throw UsageError("no help") }
    #expect(backup.hasPrefix("Usage: pullbox-test backup [OPTIONS] DIR\n\nCopy the state.\n\n"))
    #expect(backup.contains("--quick"))
    #expect(backup.hasSuffix("The options of 'pullbox-test' count here as well.\n"))
    #expect(!backup.contains("--state DIR"))
  }

  @Test(
    "a faulty configuration ends with a code after which nothing starts it again; a service that is away does not"
  )
  func codes() {
    let fault = ConfigurationError(subject: "database", message: "the password is wrong")
    #expect(Daemon.code(of: fault) == .configuration)
    let absence = ConfigurationError(subject: "database", message: "no server answers", mayPass: true)
    #expect(Daemon.code(of: absence) == .failed)
  }

  @Test("a daemon without words takes none, and its help tells of none")
  func wordless() {
    let described = Daemon.description(of: Self.daemon, with: [DaemonCommand<Settings>]())
    #expect(described.help().hasPrefix("Usage: pullbox-test [OPTIONS]\n"))
    #expect(!described.help().contains("Commands:"))
    #expect(throws: UsageError.self) { try ArgumentParser(described, environment: [:]).parse(["backup"]) }
  }
}
