import CoreTypes
import HTTPClient

/// A page of the names that a bucket holds.
public struct ObjectPage: Sendable {
  /// In the order of their names' bytes.
  public var objects: [ListedObject]
  /// Objects of the page that are not listed, since their names are no ``ObjectKey``: others than this program made them.
  public var unnamedCount: Int
  /// Where the next page begins; nil behind the last one.
  public var next: ListPosition?
}

/// An object as a list tells it. Lists lag behind: it may be gone, and objects that are there may be missing.
public struct ListedObject: Hashable, Sendable {
  /// The name below the address's prefix.
  public var key: ObjectKey
  /// The length, the ETag and the date.
  public var attributes: ObjectAttributes
}

/// A place between names in a list.
public struct ListPosition: Hashable, Sendable {
  /// The name without the address's prefix; the list goes on behind it.
  let name: String

  /// The place behind `key`.
  public init(after key: ObjectKey) { name = key.rawValue }

  /// A position behind a name that is no ``ObjectKey``, which a page may end with.
  init(name: String) { self.name = name }
}

extension ObjectStore {
  /// The most names of one page.
  public static let maximumPageLength = 1000

  /// A page of the objects whose names begin with `prefix`, which comes behind the address's own and may be empty.
  ///
  /// - Parameters:
  ///   - position: nil for the first page.
  ///   - count: the most names of the page, 1 to ``maximumPageLength``; the store may give fewer although more follow.
  public func list(
    prefix: String = "", after position: ListPosition? = nil,
    limit count: Int = ObjectStore.maximumPageLength,
    within limit: Duration
  ) async throws(ObjectStoreError) -> ObjectPage {
    guard (1...Self.maximumPageLength).contains(count), prefix.utf8.count <= ObjectKey.maximumLength else {
      throw ObjectStoreError(
        code: .invalidRequest,
        message: "a page has 1 to \(Self.maximumPageLength) names, and a prefix is a name's")
    }
    var call = StoreCall(method: "GET")
    call.query = [
      ("list-type", "2"), ("prefix", address.prefix + prefix), ("max-keys", String(count)),
      ("encoding-type", "url"),
    ]
    if let position { call.query.append(("start-after", address.prefix + position.name)) }
    call.longestAnswer = ListDocument.maximumLength(entries: count)
    let reading = ListDocument(
      maximum: count, prefix: address.prefix + prefix, position: position.map { address.prefix + $0.name })
    let request = call
    return try await retry(within: limit) { remaining throws(TryFailure) in
      let response = try await self.send(request, within: remaining)
      do throws(XMLPullReader.Fault) {
        return try reading.page(response.body, below: self.address.prefix)
      } catch {
        throw .malformed("the list cannot be read: \(error.message)", status: response.status)
      }
    }
  }
}

/// Reads a `ListBucketResult` with a view to what was asked for: a list that goes back would never end.
struct ListDocument {
  /// The most names that the page may have.
  var maximum: Int
  /// Every name begins with it.
  var prefix: String
  /// Every name comes behind it.
  var position: String?

  /// The elements of an object that count.
  private struct Entry {
    /// The name as the document has it, maybe encoded.
    var name: String?
    /// The length in bytes.
    var length: Int64?
    /// The ETag with its quotes.
    var entityTag: String?
    /// The date of the PUT; nil where it is missing or no date.
    var lastModified: Timestamp?
  }

  /// Bytes of an answer: a name of 1024 bytes may be three times as long in its encoding, and stores add their own elements.
  static func maximumLength(entries: Int) -> ByteCount {
    .kibibytes(64) + ByteCount(entries * (4 << 10))
  }

  /// Names lose `base`. Throws where anything is missing or contradicts what was asked for.
  func page(_ bytes: [UInt8], below base: String) throws(XMLPullReader.Fault) -> ObjectPage {
    let document = try parse(bytes)
    var page = ObjectPage(objects: [], unnamedCount: 0, next: nil)
    var last = position
    for entry in document.entries {
      guard let encoded = entry.name, let length = entry.length else {
        throw XMLPullReader.Fault("an object has no name, or no length")
      }
      guard let name = document.isEncoded ? PercentEncoding.decodeForm(encoded) : encoded, !name.isEmpty
      else {
        throw XMLPullReader.Fault("a name is not encoded as it says")
      }
      guard name.utf8.starts(with: prefix.utf8), last.map({ Self.isOrdered($0, name) }) ?? true else {
        throw XMLPullReader.Fault("a name was not asked for, or comes out of order")
      }
      last = name
      guard
        let key = ObjectKey(rawValue: String(decoding: name.utf8.dropFirst(base.utf8.count), as: UTF8.self))
      else {
        page.unnamedCount += 1
        continue
      }
      let attributes = ObjectAttributes(
        length: ByteCount(length), entityTag: entry.entityTag, lastModified: entry.lastModified)
      page.objects.append(ListedObject(key: key, attributes: attributes))
    }
    guard document.isTruncated else { return page }
    guard let last, !document.entries.isEmpty else {
      throw XMLPullReader.Fault("it says that more follows, and has no names")
    }
    page.next = ListPosition(name: String(decoding: last.utf8.dropFirst(base.utf8.count), as: UTF8.self))
    return page
  }

  /// Whether the left name comes before the right one, by bytes of UTF-8, as stores sort.
  private static func isOrdered(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }

  /// Reads the document without a look at names. More entries than were asked for end the reading, so that no answer
  /// fills the memory.
  private func parse(
    _ bytes: [UInt8]
  ) throws(XMLPullReader.Fault) -> (entries: [Entry], isTruncated: Bool, isEncoded: Bool) {
    var reader = XMLPullReader(bytes)
    var entries: [Entry] = []
    var isTruncated: Bool?
    var isEncoded = false
    while let event = try reader.next() {
      switch event {
      case .start("Contents") where reader.path.count == 2:
        guard entries.count < maximum else {
          throw XMLPullReader.Fault("it has more names than were asked for")
        }
        entries.append(Entry())
      case .end(let name, let text) where reader.path == ["ListBucketResult", "Contents"]:
        try Self.read(name, text, into: &entries[entries.count - 1])
      case .end("IsTruncated", let text) where reader.path == ["ListBucketResult"]:
        guard let value = Bool(text) else {
          throw XMLPullReader.Fault("it does not tell whether more follows")
        }
        isTruncated = value
      case .end("EncodingType", let text) where reader.path == ["ListBucketResult"]:
        guard text == "url" else { throw XMLPullReader.Fault("its names are encoded in an unknown way") }
        isEncoded = true
      case .start(let name) where reader.path.count == 1 && name != "ListBucketResult":
        throw XMLPullReader.Fault("it is none")
      default: break
      }
    }
    guard let isTruncated else { throw XMLPullReader.Fault("it does not tell whether more follows") }
    return (entries, isTruncated, isEncoded)
  }

  /// Takes one element of an object. A length is digits alone; other elements are passed over.
  private static func read(
    _ name: String, _ text: String, into entry: inout Entry
  ) throws(XMLPullReader.Fault) {
    switch name {
    case "Key": entry.name = text
    case "Size":
      guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let length = Int64(text) else {
        throw XMLPullReader.Fault("a length is no number")
      }
      entry.length = length
    case "ETag": entry.entityTag = text
    case "LastModified": entry.lastModified = Timestamp(rfc3339: text)
    default: break
    }
  }
}
