import ServiceRuntime
import Testing

@testable import pullbox

@Suite("The words of the command line")
struct CommandLineInterfaceTests {
  private func command(_ arguments: [String]) throws -> String? {
    guard
      case .run(let parsed) = try ArgumentParser(CommandLineInterface.description, environment: [:])
        .parse(arguments)
    else { return nil }
    return parsed.subcommands.first
  }

  @Test("commands that were renamed have their earlier words too")
  func earlierWords() throws {
    #expect(try command(["costs", "a", "1"]) == "update-size")
    #expect(try command(["update-size", "a", "1"]) == "update-size")
    #expect(try command(["collect", "--dry-run"]) == "gc")
    #expect(try command(["gc", "--dry-run"]) == "gc")
  }

  @Test("no two commands and no two options of a command have one name")
  func unique() {
    let commands = CommandLineInterface.description.subcommands
    let words = commands.flatMap { [$0.name] + $0.aliases }
    #expect(Set(words).count == words.count)
    for command in commands {
      let options = (CommandLineInterface.description.options + command.options)
      let names = options.flatMap { [$0.name] + $0.aliases.map(\.name) }
      #expect(Set(names).count == names.count, "\(command.name)")
    }
  }

  @Test("the help of a command says which service it talks to")
  func services() {
    for command in CommandLineInterface.groups.flatMap(\.commands) {
      let description = CommandLineInterface.description.subcommands.first {
        $0.name == command.description.name
      }
      #expect(description?.discussion.hasSuffix(command.peer.explanation) == true)
    }
  }

  @Test(
    "only yes is yes",
    arguments: [
      ("y", true), ("Y", true), (" yes ", true), ("YES", true), ("", false), ("n", false), ("yep", false),
      ("no", false),
    ])
  func confirmation(answer: String, isYes: Bool) {
    #expect(Confirmation.isYes(answer) == isYes)
  }

  @Test("the end of input is no confirmation")
  func noAnswer() {
    #expect(!Confirmation.isYes(nil))
  }
}
