import Commerce
import CoreTypes
import Crypto
import MessageBus
import PullboxAPI

/// An object that the agent shows on the bus, with its properties: what the socket's documents tell, under names as D-Bus writes them. A
/// member that a document leaves out is an empty text, 0, or -1 where 0 means something. Times are milliseconds since 1970.
struct BusObject: Hashable {
  /// The path.
  var path: BusPath
  /// The interface of its properties and methods.
  var interface: BusInterface
  /// Each property of the interface.
  var properties: [String: BusValue]

  /// The object of the agent itself, and the parent of all others.
  static let root: BusPath = "/com/pullbox/Agent1"
  /// Below it lie downloads, by identifier.
  static let downloads: BusPath = "/com/pullbox/Agent1/downloads"
  /// Below it lie transactions, by identifier.
  static let transactions: BusPath = "/com/pullbox/Agent1/transactions"
  /// Below it lie products of the library.
  static let library: BusPath = "/com/pullbox/Agent1/library"

  /// The interface of the objects of that kind by a path; nil for the agent itself, and for no object's path.
  static func interface(at path: BusPath) -> BusInterface? {
    if path.identifier(below: downloads) != nil { return BusContract.download.name }
    if path.identifier(below: transactions) != nil { return BusContract.transaction.name }
    if path.identifier(below: library) != nil { return BusContract.libraryItem.name }
    return nil
  }

  /// Properties of downloads that change while bytes come, and are told once a second at most.
  static let progress: Set<String> = [
    "BytesVerified", "BytesReceived", "Progress", "TimeRemaining", "Speed", "StalledSince",
  ]

  /// Whether it is a download or a transaction that has ended, until something begins it again.
  var isOver: Bool {
    switch interface {
    case BusContract.download.name:
      properties["State"]?.text.flatMap(DownloadStatus.State.init(rawValue:))?.isFinal ?? false
    case BusContract.transaction.name:
      ["finished", "failed"].contains(properties["Step"]?.text)
    default: false
    }
  }

  /// Nil for an identifier that is too long for a path; none of ours is.
  init?(_ download: DownloadStatus) {
    guard let path = Self.downloads.appending(identifier: download.id.description) else { return nil }
    self.path = path
    interface = BusContract.download.name
    properties = [
      "Id": .string(download.id.description), "Product": .string(download.product.description),
      "Version": .string(download.version?.description ?? ""),
      "Transaction": .string(download.transaction.description), "State": .string(download.state.rawValue),
      "Reason": .string(download.reason), "BytesVerified": .count(download.bytesVerified),
      "BytesTotal": .count(download.bytesTotal), "BytesReceived": .count(download.bytesReceived),
      "BytesNeeded": .count(download.bytesNeeded), "BytesReused": .count(download.bytesReused),
      "Progress": .double(download.progress), "TimeRemaining": .double(download.timeRemaining ?? -1),
      "Speed": .double(download.speed), "Error": .code(of: download.error),
      "ErrorDetail": .string(download.error?.detail ?? ""), "Cause": .string(download.cause ?? ""),
      "ContentPath": .string(download.contentPath ?? ""),
      "Priority": .int32(Int32(clamping: download.priority ?? 0)),
      "Created": .time(download.created), "NotBefore": .time(download.notBefore),
      "SpaceNeeded": .count(download.space?.needed), "SpaceFree": .count(download.space?.free),
      "Title": .string(download.title ?? ""), "StalledSince": .time(download.stalledSince),
      "Urgency": .string(download.urgency?.rawValue ?? ""),
      "WantedBy": .int64(download.wantedBy.map(Int64.init) ?? -1),
      "Section": .string(download.section?.description ?? ""),
      "Session": .string(download.session?.description ?? ""),
      "Condition": .string(download.condition?.name.rawValue ?? ""),
      "ConditionSource": .string(download.condition?.source ?? ""),
      "ConditionDevice": .string(download.condition?.device ?? ""),
      "ConditionSince": .time(download.condition?.since),
      "Ignored": .strings((download.ignored ?? []).map(\.name.rawValue)),
    ]
  }

  /// Nil for an identifier that is too long for a path.
  init?(_ transaction: AgentTransaction) {
    guard let path = Self.transactions.appending(identifier: transaction.id.description) else { return nil }
    self.path = path
    interface = BusContract.transaction.name
    properties = [
      "Id": .string(transaction.id.description), "Product": .string(transaction.product.description),
      "State": .string(transaction.state), "Step": .string(transaction.step),
      "Reason": .string(transaction.reason ?? ""), "Error": .code(of: transaction.error),
      "ErrorDetail": .string(transaction.error?.detail ?? ""), "Cause": .string(transaction.cause ?? ""),
      "Downloads": .array(
        of: "o",
        transaction.downloads.compactMap { Self.downloads.appending(identifier: $0.description) }
          .map { .path($0) }),
      "NotBefore": .time(transaction.notBefore), "Title": .string(transaction.title ?? ""),
      "Session": .string(transaction.session?.description ?? ""), "Revoked": .time(transaction.revoked),
    ]
  }

  /// The version of a product that is read. Nil for an identifier that is too long for a path.
  init?(_ item: LibraryItem) {
    guard let path = Self.library.appending(identifier: item.product.description) else { return nil }
    self.path = path
    interface = BusContract.libraryItem.name
    properties = [
      "Product": .string(item.product.description), "Version": .string(item.version.description),
      "Path": .string(item.path), "Digest": .string(item.digest.description), "Length": .count(item.length),
      "PlacedAt": .time(item.placedAt), "Title": .string(item.title ?? ""),
      "ProductTitle": .string(item.productTitle ?? ""), "Cover": .string(item.cover ?? ""),
      "State": .string(item.state?.rawValue ?? ""), "LengthOnDisk": .count(item.lengthOnDisk),
      "LastOpened": .time(item.lastOpened), "Pinned": .boolean(item.pinned ?? false),
      "RolledBack": .boolean(item.rolledBack ?? false), "Owned": .boolean(item.owned ?? false),
      "Because": .string(item.because ?? ""), "Until": .time(item.until), "OwnedAsOf": .time(item.ownedAsOf),
      "Left": .boolean(item.left ?? false), "Withdrawn": .boolean(item.withdrawn ?? false),
    ]
  }

  /// The object as `InterfacesAdded` and `GetManagedObjects` tell of it: `a{sa{sv}}`.
  var interfaces: BusValue {
    .dictionary(
      key: "s", value: "a{sv}",
      [BusEntry(key: .string(interface.description), value: .properties(properties))])
  }
}

extension BusValue {
  /// A length; 0 for one that is not known.
  fileprivate static func count(_ count: ByteCount?) -> BusValue {
    .uint64(UInt64(clamping: count?.rawValue ?? 0))
  }

  /// A time; 0 for none.
  fileprivate static func time(_ time: Timestamp?) -> BusValue { .int64(time?.millisecondsSinceEpoch ?? 0) }

  /// The problem's type; empty for none.
  fileprivate static func code(of problem: Problem?) -> BusValue { .string(problem?.type ?? "") }
}
