public import Commerce
public import PullboxAPI

/// The facts that an agent has told of this device: its library, and what is not over. A pure value, fed with updates; ``ShopState`` and
/// ``ShelfState`` show it.
public struct DeviceFacts: Sendable {
  /// The content of the library.
  public private(set) var library: [LibraryItem] = []
  /// Whether the agent answers; nil before it was asked.
  public private(set) var isConnected: Bool?
  /// Those of content that are not over, and those that have failed; none of a section.
  private var downloads: [DownloadIdentifier: ContentDownload] = [:]
  /// Those that are not over.
  private var transactions: [TransactionIdentifier: AgentTransaction] = [:]

  /// Knows nothing.
  public init() {}

  /// Takes the list of the library.
  public mutating func apply(library items: [LibraryItem]) { library = items }

  /// Takes what the agent tells. A snapshot replaces what was known of transactions and downloads, but for those that have failed.
  public mutating func apply(_ update: AgentUpdate) {
    switch update {
    case .snapshot(let transactions, let downloads):
      isConnected = true
      self.transactions = [:]
      self.downloads = self.downloads.filter { $0.value.state == .failed }
      for transaction in transactions { note(transaction) }
      for download in downloads { note(download) }
    case .event(.transaction(let transaction)): note(transaction)
    case .event(.download(let download)): note(download)
    case .event(.library(let event)): note(event)
    case .event: break
    case .lost: isConnected = false
    }
  }

  private mutating func note(_ transaction: AgentTransaction) {
    transactions[transaction.id] = PaymentTransaction(transaction).isOver ? nil : transaction
  }

  /// A section comes to content that is here: it is neither the content nor a correction of it.
  private mutating func note(_ status: DownloadStatus) {
    guard status.section == nil else { return }
    // One that fetches the same again takes the place of one that has failed.
    downloads = downloads.filter {
      $0.value.state != .failed || $0.value.product != status.product
    }
    let isOfNoMoreInterest = status.state == .finished || status.state == .cancelled
    downloads[status.id] = isOfNoMoreInterest ? nil : ContentDownload(status)
  }

  private mutating func note(_ event: LibraryEvent) {
    library.removeAll { $0.product == event.item.product && $0.version == event.item.version }
    if event.change != .removed { library.append(event.item) }
  }

  /// The version of the product that is read; nil where the library holds none.
  public func item(of product: ProductIdentifier) -> LibraryItem? { library.current(of: product) }

  /// The download of the product's content that is not over, else the one that has failed; nil where there is neither. Downloads of sections
  /// are no part of it: ``AgentClient/sections(of:)`` tells them.
  public func download(of product: ProductIdentifier) -> ContentDownload? {
    let own = downloads.values.filter { $0.product == product }
    return own.filter { !$0.state.isFinal }.min { $0.id < $1.id } ?? own.min { $0.id < $1.id }
  }

  /// The transaction of the product that is not over.
  public func transaction(of product: ProductIdentifier) -> AgentTransaction? {
    transactions.values.filter { $0.product == product }.min { $0.id.description < $1.id.description }
  }

  /// Every product of which there is something.
  var products: Set<ProductIdentifier> {
    Set(library.map(\.product)).union(downloads.values.map(\.product))
  }
}
