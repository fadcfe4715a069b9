import Foundation
import PullboxKit
import Synchronization

/// The reader's words, line by line, and what is done about them.
struct Session {
  let shop: ShopModel
  let shelf: ShelfModel
  let screen: Screen
  let program: String
  private let lines = Lines()

  init(shop: ShopModel, shelf: ShelfModel, screen: Screen, program: String) {
    self.shop = shop
    self.shelf = shelf
    self.screen = screen
    self.program = program
  }

  private static let words = "buy N, open N [PAGE], pause N, resume N, remove N, restore, quit"

  /// Returns at the end of the input, and when the reader leaves. Pages that were asked for and have not come by then are waited for no more.
  func run() async {
    await withDiscardingTaskGroup { pages in
      await answer(&pages)
      pages.cancelAll()
    }
    try? FileManager.default.removeItem(at: Self.pagesDirectory)
  }

  private func answer(_ pages: inout DiscardingTaskGroup) async {
    await screen.ask(Self.words)
    while let line = await lines.next() {
      let words = line.split(separator: " ").map(String.init)
      guard let verb = words.first else { continue }
      await screen.forgetNotes()
      switch verb {
      case "quit", "q": return
      case "restore": await restore()
      case "buy":
        let products = shop.state.products
        guard let index = number(words, upTo: products.count) else {
          await screen.note("buy which?")
          continue
        }
        await buy(products[index])
      case "open", "pause", "resume", "remove":
        let books = shelf.state.books
        guard let index = number(words, upTo: books.count) else {
          await screen.note("\(verb) which of the shelf?")
          continue
        }
        if verb == "open", !books[index].canBeOpened, books[index].canBeRead {
          await begin(books[index], page: words.count == 3 ? Int(words[2]) ?? 0 : 1, among: &pages)
        } else {
          await perform(verb, on: books[index])
        }
      default: await screen.note("'\(verb)' is none of the words below")
      }
      await screen.ask(Self.words)
    }
  }

  /// The index that the second word names, counted from 1.
  private func number(_ words: [String], upTo count: Int) -> Int? {
    guard words.count == 2 || (words.count == 3 && words[0] == "open"), let number = Int(words[1]),
      (1...max(1, count)).contains(number), count > 0
    else {
      return nil
    }
    return number - 1
  }

  private func buy(_ product: Product) async {
    let result = await shop.buy(product.id) { offer in
      let test = offer.isTest ? ", in the store for tests" : ""
      return await confirm("Buy \(product.displayName) for \(offer.displayPrice)\(test)? y/n")
    }
    switch result {
    case .delivered: await screen.note("\(product.displayName) is here already; nothing was charged")
    case .delivering: await screen.note("\(product.displayName) comes; you may leave, it comes all the same")
    case .pending: await screen.note("the store has not decided on \(product.displayName) yet")
    case .declined(let refusal): await screen.note("\(product.displayName): \(refusal)")
    case nil: await screen.note("\(product.displayName): nothing was decided; try again")
    }
  }

  private func perform(_ verb: String, on book: ShelfState.Book) async {
    switch verb {
    case "pause": await shelf.pause(book.product)
    case "resume": await shelf.resume(book.product)
    case "remove":
      guard await confirm("Remove \(book.title) from this device? y/n") else { return }
      await shelf.remove(book.product)
      await shelf.refreshPlan()
    default:
      guard let path = await shelf.open(book.product) else {
        return await screen.note("\(book.title) cannot be opened yet: \(book.statusText)")
      }
      await screen.note(await open(path) ? "\(book.title) is open" : "\(program) could not open \(path)")
    }
  }

  /// Reads a page of content that still comes; the reader goes on meanwhile.
  private func begin(
    _ book: ShelfState.Book, page number: Int, among pages: inout DiscardingTaskGroup
  ) async {
    await screen.note("page \(number) of \(book.title) comes before the rest")
    pages.addTask {
      guard let page = await shelf.page(number, of: book.product) else { return }
      let name = (page.file.path as NSString).lastPathComponent
      // The pages of two issues have the same names.
      let folder = Self.pagesDirectory.appending(path: "\(book.product)")
      let file = folder.appending(path: "\(number)-\(name)")
      do {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(page.bytes).write(to: file)
      } catch {
        return await screen.note("\(error)")
      }
      await screen.note(
        await open(file.path())
          ? "page \(number) of \(page.count) of \(book.title) is open"
          : "\(program) could not open \(file.path())")
    }
  }

  /// The pages that this run of the program has read.
  private static let pagesDirectory = FileManager.default.temporaryDirectory
    .appending(path: "Reader-\(ProcessInfo.processInfo.processIdentifier)")

  /// A plan first, then the reader's choice of it.
  private func restore() async {
    await shelf.refreshPlan()
    let missing = shelf.state.missing
    guard !missing.isEmpty else { return await screen.note("everything that you own is here") }
    await screen.show(choice: missing)
    await screen.ask("which? numbers, or all, or nothing")
    let words = (await lines.next() ?? "").split(separator: " ").map(String.init)
    await screen.show(choice: [])
    let chosen =
      words == ["all"]
      ? missing
      : words.compactMap { Int($0) }.filter(missing.indices.map { $0 + 1 }.contains).map { missing[$0 - 1] }
    guard !chosen.isEmpty else { return await screen.note("nothing was restored") }
    await shelf.restore(Set(chosen.map(\.product)))
    await screen.note("\(chosen.count) of \(missing.count) are being fetched")
  }

  private func confirm(_ question: String) async -> Bool {
    await screen.ask(question)
    return await lines.next() == "y"
  }

  /// Whether the program took the path over.
  private func open(_ path: String) async -> Bool {
    await withCheckedContinuation { continuation in
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["--", program, path]
      process.standardOutput = FileHandle.nullDevice
      process.terminationHandler = { continuation.resume(returning: $0.terminationStatus == 0) }
      do {
        try process.run()
      } catch {
        process.terminationHandler = nil
        continuation.resume(returning: false)
      }
    }
  }
}

/// The lines of standard input, read by a thread of their own: it waits as long as its reader thinks. One task asks for them.
final class Lines: Sendable {
  private struct State {
    var lines: [String] = []
    var isOver = false
    var waiting: CheckedContinuation<String?, Never>?
  }

  private let state = Mutex(State())

  init() {
    Thread.detachNewThread { [self] in
      while let line = readLine() { add(line) }
      add(nil)
    }
  }

  /// Nil at the end of the input.
  func next() async -> String? {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> String?? in
        if !state.lines.isEmpty { return state.lines.removeFirst() }
        if state.isOver { return .some(nil) }
        state.waiting = continuation
        return nil
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  private func add(_ line: String?) {
    let waiting = state.withLock { state in
      let waiting = state.waiting.take()
      if let line, waiting == nil { state.lines.append(line) }
      if line == nil { state.isOver = true }
      return waiting
    }
    waiting?.resume(returning: line)
  }
}
