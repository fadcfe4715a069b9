import Foundation
import PullboxKit

/// The text on the terminal: drawn anew with each change, or, where standard output is no terminal, the lines that are new.
actor Screen {
  private var page = Page()
  private var shown: [String] = []
  private let isTerminal = isatty(STDOUT_FILENO) == 1

  func show(_ shop: ShopState) {
    page.shop = shop
    draw()
  }

  func show(_ shelf: ShelfState) {
    page.shelf = shelf
    draw()
  }

  /// The products that a restore may fetch; empty for none.
  func show(choice: [EntitledProduct]) {
    page.choice = choice
    draw()
  }

  func note(_ text: String) {
    page.notes.append(text)
    draw()
  }

  func forgetNotes() { page.notes = [] }

  func ask(_ question: String) {
    page.question = question
    draw()
  }

  private func draw() {
    let lines = page.lines
    guard lines != shown else { return }
    if isTerminal {
      // To the top; each line's rest and what is below are cleared (ECMA-48).
      let text = lines.map { $0 + "\u{1B}[K\r\n" }.joined()
      write("\u{1B}[H\(text)\u{1B}[J> ")
    } else {
      let known = Set(shown)
      for line in lines where !known.contains(line) { write(line + "\n") }
    }
    shown = lines
  }

  private func write(_ text: String) {
    FileHandle.standardOutput.write(Data(text.utf8))
  }
}

/// The lines of the screen. A pure value.
struct Page {
  var shop = ShopState()
  var shelf = ShelfState()
  var choice: [EntitledProduct] = []
  var notes: [String] = []
  var question = ""

  var lines: [String] {
    var lines = [title, ""]
    if !choice.isEmpty {
      lines += ["OWNED, AND NOT HERE"]
      lines += choice.enumerated().map {
        "\(pad($0.offset + 1)) \(name(of: $0.element.product))  \($0.element.length)"
      }
      return lines + ["", question]
    }
    lines.append("SHOP")
    let rows = shop.rows
    let width = rows.map(\.product.displayName.count).max() ?? 0
    for (index, row) in rows.enumerated() {
      let name = row.product.displayName
      lines.append(
        "\(pad(index + 1)) \(name)\(String(repeating: " ", count: width - name.count))  \(row.statusText)")
    }
    if let problem = shop.problem { lines.append("    \(problem)") }
    lines += ["", "SHELF"]
    for (index, book) in shelf.books.enumerated() {
      lines.append("\(pad(index + 1)) \(book.title)  \(bar(book))\(book.statusText)\(left(book))")
    }
    if let problem = shelf.problem { lines.append("    \(problem)") }
    let missing = shelf.missing.count
    if missing > 0 { lines.append("    \(missing) more that you own: restore") }
    lines.append("")
    lines += notes.suffix(3)
    lines.append(question)
    return lines
  }

  private var title: String {
    let place = shop.storefront.map { ", \($0.countryCode), \($0.environment)" } ?? ""
    let agent = shelf.device.isConnected == false ? " (the agent is away; it is waited for)" : ""
    return "Reader\(place)\(agent)"
  }

  /// The title where the shop has it, else the product's name.
  private func name(of product: ProductIdentifier) -> String {
    shop.row(of: product)?.product.displayName ?? product.description
  }

  private func pad(_ number: Int) -> String { number < 10 ? "  \(number)" : " \(number)" }

  /// The time that is left, where it is known.
  private func left(_ book: ShelfState.Book) -> String {
    book.download?.timeRemainingText.map { ", \($0) left" } ?? ""
  }

  private func bar(_ book: ShelfState.Book) -> String {
    guard let download = book.download, download.state == .active else { return "" }
    let filled = Int(download.progress * 20)
    return "[\(String(repeating: "#", count: filled))\(String(repeating: "-", count: 20 - filled))] "
  }
}
