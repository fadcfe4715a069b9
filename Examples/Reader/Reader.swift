import Foundation
import PullboxKit

/// A reader's app on a terminal: a shop with prices, a shelf with what comes and what is here, purchases, restore by choice, reading, also of what still
/// comes.
///
///     swift run Reader [--socket PATH] [--with PROGRAM]
///
/// It is drawn from ``ShopModel`` and ``ShelfModel``; an app with windows draws the same states. The agent does the work: what was bought comes
/// also when this program has ended.
@main
struct Reader {
  static func main() async {
    do {
      let arguments = try Arguments(CommandLine.arguments.dropFirst())
      if let socket = arguments.socket { AppStore.use(try AgentClient(socketPath: socket)) }
      try await run(opening: arguments.program)
    } catch let error as Arguments.Wrong {
      fail("\(error)", code: 2)
    } catch {
      fail("\(error)", code: 1)
    }
  }

  /// Returns when the reader has left. Throws when there is no agent at first.
  private static func run(opening program: String) async throws {
    let (shop, shelf) = (try ShopModel(), try ShelfModel())
    let screen = Screen()
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await shop.run()
        return true
      }
      group.addTask {
        try await shelf.run()
        return true
      }
      group.addTask {
        for await state in shop.states { await screen.show(state) }
        return false
      }
      group.addTask {
        for await state in shelf.states { await screen.show(state) }
        return false
      }
      group.addTask {
        for try await message in Message.messages { await screen.note(message.text) }
        return false
      }
      group.addTask {
        await shop.load(locale: Locale.current.identifier(.bcp47))
        await shelf.refreshPlan()
        await Session(shop: shop, shelf: shelf, screen: screen, program: program).run()
        return true
      }
      // The first that ends the program: the reader who leaves, or an agent that is not there.
      while let isOver = try await group.next() {
        if isOver { break }
      }
      group.cancelAll()
    }
  }

  private static func fail(_ message: String, code: Int32) -> Never {
    FileHandle.standardError.write(Data("Reader: \(message)\n".utf8))
    exit(code)
  }
}

/// The command line.
struct Arguments {
  /// A command line that is none.
  struct Wrong: Error, CustomStringConvertible {
    let description = "usage: Reader [--socket PATH] [--with PROGRAM]"
  }

  /// The agent's socket; nil for the device's own.
  var socket: String?
  /// The program that opens an issue.
  var program = "xdg-open"

  init(_ words: ArraySlice<String>) throws {
    var words = words
    while let word = words.popFirst() {
      guard let value = words.popFirst() else { throw Wrong() }
      switch word {
      case "--socket": socket = value
      case "--with": program = value
      default: throw Wrong()
      }
    }
  }
}
