import ServiceRuntime
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
          .value("product", "ID", abbreviation: "p", environment: .some(nil), help: "The product"),
          .list("territory", "CODE", environment: .some(nil), help: "Where it is for sale"),
          .flag("release", abbreviation: "r", environment: .some(nil), help: "Release it, too"),
          .flag("quiet", abbreviation: "q", environment: .some(nil), help: "Print nothing"),
        ]),
      CommandDescription("release", summary: "Release a version", operands: [.init("ID"), .init("VERSION")]),
      CommandDescription(
        "inspect", summary: "Show packages", operands: [.init("FILE", isRequired: false, repeats: true)]),
    ])

  private func parse(_ arguments: String..., environment: [String: String] = [:]) throws -> ParsedArguments {
    switch try ArgumentParser(Self.command, environment: environment).parse(arguments) {
    case .run(let parsed): return parsed
    case .help(let text): throw UsageError("help: \(text)")
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
      guard case .help = try ArgumentParser(Self.command, environment: [:]).parse(arguments) else {
        Issue.record("no help: \(arguments)")
        continue
      }
    }
  }

  @Test("help shows usage, commands, options with their variables and defaults")
  func help() throws {
    guard case .help(let root) = try ArgumentParser(Self.command, environment: [:]).parse(["--help"]),
      case .help(let publish) = try ArgumentParser(Self.command, environment: [:]).parse([
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

        'pullbox COMMAND --help' tells more about a command.

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

        Options of every command:
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
}
