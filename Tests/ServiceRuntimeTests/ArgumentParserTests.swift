import CoreTypes
import Files
import ServiceRuntime
import SystemCalls
import Testing

struct ArgumentParserTests {
  private static let command = CommandDescription(
    "pullbox", summary: "Publish, buy and read",
    options: [
      .value("server", "URL", fallback: "http://127.0.0.1:8080", help: "The delivery server"),
      .flag("json", help: "One object per line"),
    ],
    subcommands: [
      CommandDescription(
        "publish", summary: "Pack and upload", operands: [.init("DIR|FILE")],
        options: [
          .value("product", "ID", abbreviation: "p", environment: .none, help: "The product"),
          .list("territory", "CODE", environment: .none, help: "Where it is for sale"),
          .flag("release", abbreviation: "r", environment: .none, help: "Release it, too"),
          .flag("quiet", abbreviation: "q", environment: .none, help: "Print nothing"),
        ]),
      CommandDescription("release", summary: "Release a version", operands: [.init("ID"), .init("VERSION")]),
      CommandDescription(
        "inspect", summary: "Show packages", operands: [.init("FILE", isRequired: false, repeats: true)]),
    ])

  private func parse(_ arguments: String..., environment: [String: String] = [:]) throws -> ParsedArguments {
    switch try ArgumentParser(Self.command, environment: environment).parse(arguments) {
    case .run(let parsed): return parsed
    case .text(let text): throw UsageError("text: \(text)")
    }
  }

  private func error(_ arguments: String...) -> String? {
    do throws(UsageError) {
      _ = try ArgumentParser(Self.command, environment: [:]).parse(arguments)
      return nil
    } catch {
      return error.description
    }
  }

  @Test("an option's value is written apart, after an equals sign, or right after its letter")
  func values() throws {
    #expect(try parse("publish", "d", "--product", "a").value("product") == "a")
    #expect(try parse("publish", "d", "--product=a=b").value("product") == "a=b")
    #expect(try parse("publish", "d", "--product=").value("product") == "")
    #expect(try parse("publish", "d", "-p", "a").value("product") == "a")
    #expect(try parse("publish", "d", "-pa").value("product") == "a")
    #expect(try parse("publish", "d", "-rqpa").value("product") == "a")
    #expect(try parse("publish", "d", "-p", "-").value("product") == "-")
  }

  @Test("flags of one letter may be written together")
  func flags() throws {
    let parsed = try parse("publish", "-rq", "d")
    #expect(parsed.isSet("release"))
    #expect(parsed.isSet("quiet"))
    #expect(!parsed.isSet("json"))
    #expect(parsed.subcommands == ["publish"])
    #expect(parsed.operands == ["d"])
  }

  @Test("options of a command count before and after its subcommand")
  func inherited() throws {
    #expect(try parse("--json", "release", "a", "1").isSet("json"))
    #expect(try parse("release", "a", "1", "--json").isSet("json"))
  }

  @Test("two dashes end the options")
  func end() throws {
    #expect(try parse("inspect", "--", "--json", "-x").operands == ["--json", "-x"])
    #expect(try parse("inspect", "-").operands == ["-"])
  }

  @Test("the command line goes before the environment, and that before the default")
  func precedence() throws {
    #expect(try parse("inspect").value("server") == "http://127.0.0.1:8080")
    let environment = ["PULLBOX_SERVER": "http://env", "PULLBOX_JSON": "true"]
    #expect(try parse("inspect", environment: environment).value("server") == "http://env")
    #expect(try parse("inspect", environment: environment).isSet("json"))
    #expect(
      try parse("inspect", "--server=http://flag", environment: environment).value("server") == "http://flag")
    #expect(
      try parse("inspect", environment: ["PULLBOX_SERVER": ""]).value("server") == "http://127.0.0.1:8080")
  }

  @Test("the last of a repeated option counts, all of a repeated list do")
  func repeated() throws {
    let parsed = try parse("publish", "d", "-pa", "-pb", "--territory", "FRA", "--territory=DEU")
    #expect(parsed.value("product") == "b")
    #expect(parsed.values("territory") == ["FRA", "DEU"])
  }

  @Test("whole numbers are checked against their range")
  func integers() throws {
    #expect(try parse("publish", "d", "-p7").integer("product", in: 1...9) == 7)
    #expect(try parse("publish", "d").integer("product") == nil)
    #expect(throws: UsageError.self) { try parse("publish", "d", "-p0").integer("product", in: 1...9) }
    #expect(throws: UsageError.self) { try parse("publish", "d", "-pseven").integer("product") }
  }

  @Test("a required option that is missing is named with its variable")
  func required() throws {
    let parsed = try parse("publish", "d")
    #expect(throws: UsageError("--product is needed")) { try parsed.required("product") }
    #expect(try parsed.required("server") == "http://127.0.0.1:8080")
  }

  @Test("a wrong command line is one line that says what is wrong and where to read on")
  func errors() {
    #expect(error() == "a command is missing; 'pullbox --help' shows what it takes")
    #expect(error("relaese") == "there is no command 'relaese'; did you mean 'release'?")
    #expect(error("dance") == "there is no command 'dance'; 'pullbox --help' shows what it takes")
    #expect(error("publish", "d", "--relase") == "there is no option '--relase'; did you mean '--release'?")
    #expect(
      error("publish", "d", "--wat")
        == "there is no option '--wat'; 'pullbox publish --help' shows what it takes")
    #expect(
      error("publish", "d", "-x") == "there is no option '-x'; 'pullbox publish --help' shows what it takes")
    #expect(error("publish") == "DIR|FILE is missing; 'pullbox publish --help' shows what it takes")
    #expect(
      error("release", "a", "1", "2")
        == "'2' is one operand too many; 'pullbox release --help' shows what it takes")
    #expect(
      error("publish", "d", "--product")
        == "--product needs a value: ID; 'pullbox publish --help' shows what it takes")
    #expect(
      error("inspect", "--json=yes") == "--json takes no value; 'pullbox inspect --help' shows what it takes")
  }

  @Test("help is asked for anywhere, and does not ask for what is missing")
  func helpAnywhere() throws {
    for arguments in [["--help"], ["publish", "--help"], ["release", "a", "-h"], ["-h", "publish"]] {
      guard case .text = try ArgumentParser(Self.command, environment: [:]).parse(arguments) else {
        Issue.record("no help: \(arguments)")
        continue
      }
    }
  }

  @Test("help shows usage, commands, options with their variables and defaults")
  func help() throws {
    guard case .text(let root) = try ArgumentParser(Self.command, environment: [:]).parse(["--help"]),
      case .text(let publish) = try ArgumentParser(Self.command, environment: [:]).parse([
        "publish", "--help",
      ])
    else {
      Issue.record("no help")
      return
    }
    #expect(
      root == """
        Usage: pullbox [OPTIONS] COMMAND

        Publish, buy and read.

        Commands:
          publish DIR|FILE    Pack and upload
          release ID VERSION  Release a version
          inspect [FILE...]   Show packages

        Options:
          --server URL  The delivery server (variable PULLBOX_SERVER, default
                        http://127.0.0.1:8080)
          --json        One object per line (variable PULLBOX_JSON)
          -h, --help    Show this help

        'pullbox help COMMAND' describes a command.

        """)
    #expect(
      publish == """
        Usage: pullbox publish [OPTIONS] DIR|FILE

        Pack and upload.

        Options:
          -p, --product ID  The product
          --territory CODE  Where it is for sale
          -r, --release     Release it, too
          -q, --quiet       Print nothing
          -h, --help        Show this help

        Common options:
          --server URL  The delivery server (variable PULLBOX_SERVER, default
                        http://127.0.0.1:8080)
          --json        One object per line (variable PULLBOX_JSON)

        """)
  }

  @Test("a discussion is wrapped, its paragraphs kept apart")
  func discussion() {
    let command = CommandDescription(
      "c", summary: "Do", discussion: "one two three four five six\n\nseven")
    #expect(command.help(columns: 20).contains("\n\none two three four\nfive six\n\nseven\n\nOptions:\n"))
  }

  private static let renamed = CommandDescription(
    "pullbox", summary: "Do",
    options: [.value("gc-grace", "TIME", aliases: ["collection-grace"], help: "How long")],
    subcommands: [
      CommandDescription("gc", aliases: ["collect"], summary: "Run garbage collection"),
      CommandDescription(
        "publish", summary: "Publish",
        options: [.value("version", "V", environment: .none, help: "Which version")]),
    ])

  private func renamed(
    _ arguments: [String], environment: [String: String] = [:], version: String? = nil
  ) throws -> ParsedArguments {
    switch try ArgumentParser(Self.renamed, environment: environment, version: version).parse(arguments) {
    case .run(let parsed): return parsed
    case .text(let text): throw UsageError(text)
    }
  }

  @Test("an option without a variable does not read the one of its name")
  func noVariable() throws {
    let option = CommandOption.value("product", "ID", environment: .none, key: .none, help: "The product")
    #expect(option.environment == nil)
    #expect(option.key == nil)
    #expect(CommandOption.flag("a-b", help: "").environment == "PULLBOX_A_B")
    #expect(CommandOption.flag("a-b", help: "").key == "aB")
    #expect(CommandOption.flag("a-b", environment: "X", key: .named("y.z"), help: "").environment == "X")
    #expect(CommandOption.flag("a-b", environment: "X", key: .named("y.z"), help: "").key == "y.z")
    #expect(try parse("publish", "d", environment: ["PULLBOX_PRODUCT": "a"]).value("product") == nil)
    #expect(
      CommandOption.value("a", "N", environment: .none, key: .none, aliases: ["b"], help: "").aliases
        .allSatisfy {
          $0.environment == nil && $0.key == nil
        })
  }

  @Test("earlier names of commands, options and variables keep working, the new ones go first")
  func aliases() throws {
    #expect(try renamed(["collect"]).subcommands == ["gc"])
    #expect(try renamed(["gc", "--collection-grace", "1h"]).value("gc-grace") == "1h")
    #expect(try renamed(["gc", "--collection-grace=1h", "--gc-grace", "2h"]).value("gc-grace") == "2h")
    #expect(
      try renamed(["gc"], environment: ["PULLBOX_COLLECTION_GRACE": "3h"]).value("gc-grace") == "3h")
    #expect(
      try renamed(
        ["gc"], environment: ["PULLBOX_COLLECTION_GRACE": "3h", "PULLBOX_GC_GRACE": "4h"]
      ).value("gc-grace") == "4h")
  }

  @Test("help shows the new names only, and a hint gives them for what is like an earlier one")
  func aliasesInHelp() throws {
    let help = Self.renamed.help()
    #expect(help.contains("gc") && help.contains("--gc-grace TIME"))
    #expect(!help.contains("  collect") && !help.contains("collection-grace"))
    #expect(throws: UsageError("there is no command 'colect'", hint: "did you mean 'gc'?")) {
      try renamed(["colect"])
    }
    #expect(
      throws: UsageError("there is no option '--colection-grace'", hint: "did you mean '--gc-grace'?")
    ) {
      try renamed(["gc", "--colection-grace", "1h"])
    }
  }

  @Test(
    "--version before a command shows the program and its version; a command may have an option of that name")
  func version() throws {
    #expect(throws: UsageError("pullbox 0.1.0\n")) { try renamed(["--version"], version: "0.1.0") }
    #expect(try renamed(["publish", "--version", "2"], version: "0.1.0").value("version") == "2")
    #expect(throws: UsageError.self) { try renamed(["gc", "--version"], version: "0.1.0") }
    #expect(throws: UsageError.self) { try renamed(["--version"]) }
    #expect(Self.renamed.help(hasVersion: true).contains("--version"))
    #expect(!Self.renamed.help().contains("--version"))
  }

  @Test("the newest entry of CHANGELOG.md has the version of the executables")
  func changelog() throws {
    let root = FileSystem.parent(of: #filePath) + "/../.."
    let text = String(
      decoding: try FileSystem.read("\(root)/CHANGELOG.md", upTo: .mebibytes(1)), as: UTF8.self)
    let released = text.split(separator: "\n").first {
      $0.hasPrefix("## [") && !$0.hasPrefix("## [Unreleased]")
    }
    #expect(released?.hasPrefix("## [\(ProductVersion.current)]") == true)
  }
}
