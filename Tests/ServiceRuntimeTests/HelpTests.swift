import ServiceRuntime
import Testing

@Suite("Help by audience, and help for manual and shells")
struct HelpTests {
  private static let command = CommandDescription(
    "shop", summary: "Sell and buy",
    exitCodes: [(.done, "done"), (.undetermined, "undetermined, try again")],
    options: [
      .flag("json", environment: .none, help: "Print JSON"),
      .value("key", "KEY", help: "A seller's key"),
      CommandOption.value("color", "WHEN", environment: .none, help: "When").taking(
        .words(["auto", "never"])),
    ],
    subcommands: [
      CommandDescription("buy", summary: "Buy it's own [thing]: now", operands: [.init("ID")])
        .listed(under: "For buyers", using: ["json"]),
      CommandDescription(
        "sell", aliases: ["offer"], summary: "Sell", discussion: "One.\n\n.Two 'and' -three\\.",
        operands: [.init("FILE", completion: .file)],
        options: [.value("price", "N", abbreviation: "p", environment: .none, help: "How much")]
      ).listed(under: "For sellers", using: ["json", "key", "color"]),
      CommandDescription("complete", summary: "For shells", operands: [.init("LIST")]).hidden(),
    ])

  private func text(_ arguments: String..., environment: [String: String] = [:]) throws -> String {
    let parser = ArgumentParser(
      Self.command, environment: environment, version: "1.2", commit: "0123456789ab")
    guard case .text(let text) = try parser.parse(arguments) else { return "" }
    return text
  }

  @Test("help lists commands under their audience, and none that is hidden")
  func groups() throws {
    let help = try text("help")
    #expect(help.contains("For buyers:\n  buy ID"))
    #expect(help.contains("For sellers:\n  sell FILE"))
    #expect(!help.contains("complete"))
    #expect(try text("--help") == help)
  }

  @Test("'help COMMAND' is 'COMMAND --help', which shows the options that the command uses and no others")
  func options() throws {
    let buy = try text("help", "buy")
    #expect(buy == (try text("buy", "--help")))
    #expect(buy.contains("--json") && !buy.contains("--key"))
    #expect(try text("help", "offer").contains("--key"))
    #expect(throws: UsageError.self) { try text("help", "nothing") }
    // An option that it does not use is taken all the same: a wrapper gives it to every command.
    guard
      case .run(let parsed) = try ArgumentParser(Self.command, environment: [:]).parse([
        "buy", "a", "--key", "k",
      ])
    else {
      Issue.record("not run")
      return
    }
    #expect(parsed.value("key") == "k")
  }

  @Test("the version tells the commit where the build knew it")
  func version() throws {
    #expect(try text("--version") == "shop 1.2 (0123456789ab)\n")
  }

  @Test("a manual bears the day it is told, its lines are short, and no text is read as a request")
  func manual() throws {
    let page = try text("--help=man", environment: ["SOURCE_DATE_EPOCH": "1795327805"])
    #expect(page.hasPrefix(".TH \"SHOP\" 1 \"2026-11-22\" \"shop 1.2\" \"Pullbox\"\n"))
    #expect(page.contains("\n\\&.Two \\(aqand\\(aq \\-three\\e.\n"))
    #expect(page.split(separator: "\n").allSatisfy { $0.utf8.count <= 80 })
    #expect(page == (try text("--help=man", environment: ["SOURCE_DATE_EPOCH": "1795327805"])))
  }

  @Test("the codes that a program ends with stand in its help and in a section of its manual")
  func exitCodes() throws {
    #expect(try text("--help").contains("\n\nExit codes: 0 done; 4 undetermined, try again.\n\n"))
    let page = try text("--help=man")
    #expect(
      page.contains(
        "\n.SH EXIT STATUS\n.TP\n.B 0\ndone.\n.TP\n.B 4\nundetermined, try again.\n.SH SEE ALSO\n"))
    #expect(try !text("help", "buy").contains("Exit codes"))
  }

  @Test("a format that does not exist is wrong usage")
  func formats() {
    #expect(throws: UsageError.self) { try text("--help=html") }
  }

  @Test("completions name commands and options", arguments: ["bash", "zsh", "fish"])
  func completions(shell: String) throws {
    let script = try text("--help=\(shell)")
    for word in ["buy", "sell", "offer", "price", "json", "auto"] {
      #expect(script.contains(word), "\(word)")
    }
  }
}
