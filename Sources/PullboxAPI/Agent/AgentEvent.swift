/// An event of `GET /v1/events`, whose name is the case and whose data is the value as JSON.
public enum AgentEvent: Sendable {
  case transaction(AgentTransaction)
  case download(DownloadStatus)
  case library(LibraryEvent)

  public var name: String {
    switch self {
    case .transaction: "transaction"
    case .download: "download"
    case .library: "library"
    }
  }

  /// The JSON that follows `data:`.
  public func encodedData() throws -> [UInt8] {
    switch self {
    case .transaction(let transaction): try WireJSON.encode(transaction)
    case .download(let download): try WireJSON.encode(download)
    case .library(let event): try WireJSON.encode(event)
    }
  }

  /// Nil for a name this version does not know.
  public init?(name: String, data: [UInt8]) throws {
    switch name {
    case "transaction": self = .transaction(try WireJSON.decode(AgentTransaction.self, from: data))
    case "download": self = .download(try WireJSON.decode(DownloadStatus.self, from: data))
    case "library": self = .library(try WireJSON.decode(LibraryEvent.self, from: data))
    default: return nil
    }
  }
}
