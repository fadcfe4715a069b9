internal import CoreTypes
internal import Files
internal import MessageBus
internal import ServiceRuntime
internal import SystemCalls

/// Why content is not shown to a program in a sandbox.
struct DocumentError: Error, Hashable, Sendable {
  /// The kind of a failure, which ends the name of the bus's error.
  enum Code: String, Sendable {
    /// No document portal is on the user's bus, or it does not answer.
    case noPortal = "NoDocumentPortal"
    /// The portal is older than what it is asked for.
    case portalTooOld = "DocumentPortalTooOld"
    /// The portal has refused, or has answered what is no answer.
    case portalRefused = "DocumentPortalRefused"
    /// This user may not read the content, or it is not there.
    case unreadable = "ContentUnreadable"
    /// It is not known which program asks.
    case unknownCaller = "CallerUnknown"
  }

  let code: Code
  /// A sentence for people.
  let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

/// Shows one product's content at a time to a program in a sandbox, to read, by the document portal of the user
/// (`org.freedesktop.portal.Documents`, version 4; version 2 for content that is one file).
///
/// ```swift
/// let path = try await documents.show("/home/ada/Comics/heroes/1.0", of: "heroes", to: "com.pullbox.Shelf")
/// // /run/user/1000/doc/5a8f/1.0
/// await documents.end("heroes")
/// ```
actor DocumentPortal {
  static let name: BusName = "org.freedesktop.portal.Documents"
  static let path: BusPath = "/org/freedesktop/portal/documents"
  static let interface: BusInterface = "org.freedesktop.portal.Documents"

  /// The flags of `AddFull`: an entry that is there is used again; the entry is a directory. Without a flag it lasts as long as the portal
  /// runs.
  private static let (reusesExisting, isDirectory): (UInt32, UInt32) = (1 << 0, 1 << 3)
  /// The version from which `AddFull` is there, and the one from which it takes directories.
  private static let (firstVersion, directoryVersion) = (2, 4)
  /// The time that the portal may take for an answer; the bus may have to start it.
  private let patience: Duration
  /// Products with documents at most; the one that was shown first makes room.
  static let bound = 512

  private let bus: BusConnection
  private let log: Log
  /// The portal's identifiers of the documents, by products.
  private var documents: [String: Set<String>] = [:]
  /// Products with documents, the one that was shown first in front.
  private var order: [String] = []
  /// Products of which documents are being made: how many, and whether they were ended meanwhile.
  private var making: [String: (count: Int, areEnded: Bool)] = [:]

  /// `bus` is the user's.
  init(on bus: BusConnection, log: Log, patience: Duration = .seconds(10)) {
    self.bus = bus
    self.log = log
    self.patience = patience
  }

  /// Makes a document of the content at `content`, which may be a directory or a file, for that application alone and to read alone. Answers
  /// the path at which the application finds it.
  func show(
    _ content: String, of product: String, to application: String
  ) async throws(DocumentError) -> String {
    making[product, default: (0, false)].count += 1
    defer { endMaking(product) }
    let version = try await version()
    let (file, name, isDirectory) = try await Self.open(content)
    let needed = isDirectory ? Self.directoryVersion : Self.firstVersion
    guard version >= needed else {
      throw DocumentError(
        .portalTooOld,
        "the document portal has version \(version), and shows \(isDirectory ? "directories" : "files") from version \(needed) on"
      )
    }
    let flags = Self.reusesExisting | (isDirectory ? Self.isDirectory : 0)
    let added = try await ask(
      "AddFull",
      [
        .array(of: "h", [.descriptor(file)]), .uint32(flags), .string(application), .strings(["read"]),
      ])
    guard added.count == 2, let identifiers = added[0].elements, identifiers.count == 1,
      case .string(let identifier) = identifiers[0], Self.isIdentifier(identifier)
    else { throw Self.malformed }
    await note(identifier, of: product)
    if making[product]?.areEnded == true {
      await end(product)
      throw DocumentError(.unreadable, "\(product) is not here any more")
    }
    return "\(try await mountPoint())/\(identifier)/\(name)"
  }

  /// Ends all documents of the product: nothing of it is shown any more.
  func end(_ product: String) async {
    making[product]?.areEnded = true
    order.removeAll { $0 == product }
    for identifier in documents.removeValue(forKey: product) ?? [] {
      var call = BusMethodCall(
        "Delete", of: Self.interface, at: Self.path, destination: Self.name,
        arguments: [.string(identifier)])
      // A portal that has gone has forgotten it.
      call.startsService = false
      do throws(BusError) {
        _ = try await bus.call(call, timeout: patience)
      } catch {
        guard !error.isServiceMissing, error.name != "org.freedesktop.portal.Error.NotFound" else { continue }
        log.warning(
          "a document could not be revoked", ["product": LogValue(product), "error": LogValue(error)])
      }
    }
  }

  private func endMaking(_ product: String) {
    guard let made = making[product] else { return }
    making[product] = made.count > 1 ? (made.count - 1, made.areEnded) : nil
  }

  private func note(_ identifier: String, of product: String) async {
    documents[product, default: []].insert(identifier)
    guard !order.contains(product) else { return }
    order.append(product)
    if order.count > Self.bound { await end(order[0]) }
  }

  // MARK: the portal

  private func version() async throws(DocumentError) -> Int {
    let value: BusValue
    do throws(BusError) {
      value = try await bus.property(
        "version", of: Self.interface, at: Self.path, destination: Self.name, timeout: patience)
    } catch {
      throw Self.failure(error)
    }
    guard case .uint32(let version) = value else { throw Self.malformed }
    return Int(version)
  }

  /// The directory of all documents, without a slash at the end.
  private func mountPoint() async throws(DocumentError) -> String {
    let answer = try await ask("GetMountPoint", [])
    guard answer.count == 1, case .bytes(var bytes) = answer[0] else { throw Self.malformed }
    // A text of C's, with its end.
    if bytes.last == 0 { bytes.removeLast() }
    while bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    guard bytes.first == UInt8(ascii: "/"), bytes.count <= Self.longestPath, !bytes.contains(0),
      let path = String(validating: bytes, as: UTF8.self), !path.split(separator: "/").contains("..")
    else { throw Self.malformed }
    return path
  }

  private static let longestPath = 4095

  private func ask(_ member: String, _ arguments: [BusValue]) async throws(DocumentError) -> [BusValue] {
    do throws(BusError) {
      return try await bus.call(
        BusMethodCall(
          member, of: Self.interface, at: Self.path, destination: Self.name, arguments: arguments),
        timeout: patience)
    } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: BusError) -> DocumentError {
    if error.isServiceMissing { return DocumentError(.noPortal, "this session has no document portal") }
    switch error.code {
    case .refused: return DocumentError(.portalRefused, "the document portal has refused: \(error.message)")
    case .malformed, .tooLarge: return malformed
    default: return DocumentError(.noPortal, "the document portal does not answer: \(error.message)")
    }
  }

  private static let malformed = DocumentError(
    .portalRefused, "the document portal has given an invalid reply")

  /// Whether a text is one part of a path.
  private static func isIdentifier(_ text: String) -> Bool {
    let bytes = text.utf8
    return (1...255).contains(bytes.count)
      && bytes.allSatisfy { byte in
        let letter = byte | 0x20
        return (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
          || (letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z"))
          || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
      }
  }

  // MARK: the content

  /// Names the content for the portal, which looks at the path behind the descriptor: without symbolic links.
  private static func open(
    _ content: String
  ) async throws(DocumentError) -> (file: BusDescriptor, name: String, isDirectory: Bool) {
    do throws(SystemError) {
      return try await BlockingPool.shared.run { () throws(SystemError) in
        let path = try FileSystem.realPath(content)
        let file = try FileDescriptor.open(path, .readOnly, options: .pathOnly)
        let isDirectory = try file.status().kind == .directory
        return (BusDescriptor(file), FileSystem.lastPart(of: path), isDirectory)
      }
    } catch {
      throw DocumentError(.unreadable, "the content cannot be opened by this user: \(error)")
    }
  }
}
