public import Commerce

/// An event of `GET /v1/events`, whose name is the case and whose data is the value as JSON.
public indirect enum AgentEvent: Sendable {
  // Indirect: the agent keeps thousands, in a table whose free rows would be as long as a status is.
  case transaction(AgentTransaction)
  case download(DownloadStatus)
  case library(LibraryEvent)
  /// An issue that the agent fetched by itself is in the library.
  case issueReady(LibraryItem)
  /// A newer version that the agent fetched by itself is in the library.
  case correctionReady(LibraryItem)
  /// A product that the account owns has changed, as the delivery server tells it: an issue appeared, a refund was made,
  /// a subscription ended.
  case owned(FeedEntry)

  /// The name of the event, after `event:` in the stream.
  public var name: String {
    switch self {
    case .transaction: "transaction"
    case .download: "download"
    case .library: "library"
    case .issueReady: "issue-ready"
    case .correctionReady: "correction-ready"
    case .owned: "owned"
    }
  }

  /// The JSON that follows `data:`.
  public func encodedData() throws -> [UInt8] {
    switch self {
    case .transaction(let transaction): try APIJSON.encode(transaction)
    case .download(let download): try APIJSON.encode(download)
    case .library(let event): try APIJSON.encode(event)
    case .issueReady(let item), .correctionReady(let item): try APIJSON.encode(item)
    case .owned(let entry): try APIJSON.encode(entry)
    }
  }

  /// Nil for a name that this version does not know, and for what cannot be told without a word that only a later agent has. Other words of that kind
  /// are passed over, see ``APIJSON/decode(answer:from:)``. Throws `DecodingError`.
  public init?(name: String, data: [UInt8]) throws {
    do {
      try self.init(known: name, data: data)
    } catch let error as DecodingError where error.isOfUnknownWord {
      return nil
    }
  }

  private init?(known name: String, data: [UInt8]) throws {
    switch name {
    case "transaction": self = .transaction(try APIJSON.decode(answer: AgentTransaction.self, from: data))
    case "download": self = .download(try APIJSON.decode(answer: DownloadStatus.self, from: data))
    case "library": self = .library(try APIJSON.decode(answer: LibraryEvent.self, from: data))
    case "issue-ready": self = .issueReady(try APIJSON.decode(answer: LibraryItem.self, from: data))
    case "correction-ready": self = .correctionReady(try APIJSON.decode(answer: LibraryItem.self, from: data))
    case "owned": self = .owned(try APIJSON.decode(answer: FeedEntry.self, from: data))
    default: return nil
    }
  }
}

/// Something came into the library or left it.
public struct LibraryEvent: Codable, Hashable, Sendable {
  /// The change to the item.
  public enum Change: String, ListedWords, Sendable {
    case placed
    case removed
    /// Its state, its pin or the time it was last opened changed.
    case changed

    /// The item as it is now is told in any case.
    public static var fallback: Change? { .changed }
  }

  /// Whether the item came, went or changed.
  public var change: Change
  /// The item as it is now, or was before it was removed.
  public var item: LibraryItem

  /// Creates the document from its members.
  public init(change: Change, item: LibraryItem) {
    self.change = change
    self.item = item
  }
}
