import PullboxKit

/// A shop and its reader on one screen: list, price, buy, progress, read.
@main @MainActor struct OneScreen {
  static func main() async throws {
    let products = try await Product.all()
    for (number, product) in products.enumerated() {
      print(number + 1, product.displayName, product.isHeld ? "owned" : product.displayPrice)
    }
    print("Which one? ", terminator: "")
    guard let line = readLine(), let number = Int(line), products.indices.contains(number - 1) else { return }
    let product = products[number - 1]
    let result = try await product.purchase { offer in
      print("Buy \(product.displayName) for \(offer.displayPrice)? y/n ", terminator: "")
      return readLine() == "y"
    }
    switch result {
    case .delivered(let delivery): read(delivery)
    case .delivering(let transaction):
      for try await download in transaction.progress {
        print("\(download.percent) %", download.statusText)
      }
      read(try await transaction.delivered)
    case .pending: print("The store has not decided; it comes by itself.")
    case .declined(let refusal): print(refusal)
    }
  }

  static func read(_ delivery: Delivery) { print("Read it at", delivery.path ?? "-") }
}
