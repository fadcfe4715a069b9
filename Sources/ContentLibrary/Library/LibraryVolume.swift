import CoreTypes
import Files
import FoundationEssentials
import ServiceRuntime
import SystemCalls

/// The file system that the library lies on: which one it is, and whether it is there. `LIBRARY/.pullbox/volume` holds a
/// random identifier, so that an empty mount point is not taken for a library that lost everything; this process holds
/// `flock(2)` on `LIBRARY/.pullbox/lock` while it is there. Every call blocks.
struct LibraryVolume: ~Copyable {
  /// The result of a look at the library.
  enum Presence: Hashable, Sendable {
    /// The library of that identifier, which is this process's alone now.
    case present(String)
    /// There is no marker: nothing was ever placed here, or the file system is not mounted.
    case unmarked
    /// Another agent uses it, or what is there cannot be read: the sentence says why.
    case unusable(String)
  }

  /// Where the marker lies in the library.
  static let markerPath = ".pullbox/volume"

  private let root: String
  private let operations: any FileOperations
  /// Nil while the library is not this process's. It counts also where the file system knows no locks.
  private var lock: FileDescriptor?
  /// The device and the inode of ``lock``.
  private var lockFile: (device: UInt64, inode: UInt64)?

  init(root: String, operations: any FileOperations) {
    self.root = root
    self.operations = operations
  }

  private var folder: String { "\(root)/.pullbox" }
  private var marker: String { "\(root)/\(Self.markerPath)" }
  private var lockPath: String { "\(folder)/lock" }

  /// Looks whether the library is there, and takes it, or lets go of what it had taken before.
  mutating func look() -> Presence {
    do throws(SystemError) {
      guard let status = try operations.status(of: marker), status.kind == .regular else {
        letGo()
        return .unmarked
      }
      let bytes = try operations.read(marker, upTo: .kibibytes(1))
      let identifier = String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
      guard UUID(uuidString: identifier) != nil else {
        letGo()
        return .unusable("\(marker) holds no identifier")
      }
      guard try take() else { return .unusable("another agent uses \(root)") }
      return .present(identifier)
    } catch {
      letGo()
      return .unusable("\(error)")
    }
  }

  /// Makes the marker, and the directories above it, and returns the new identifier. Where there is one already it stays.
  func mark() throws(SystemError) -> String {
    let identifier = UUID().uuidString.lowercased()
    try operations.createDirectories(folder)
    try DurableFile.write(
      Array("\(identifier)\n".utf8).span, to: marker, ifPresent: .refuse, operations: operations)
    return identifier
  }

  /// A library that may only be read has the file, or none can be made.
  private func openLock() throws(SystemError) -> FileDescriptor {
    do {
      return try operations.open(lockPath, .readWrite, options: [.create, .doNotFollow])
    } catch {
      guard error.isReadOnly else { throw error }
      return try operations.open(lockPath, .readOnly, options: .doNotFollow)
    }
  }

  /// Whether the file system knows hard links, which exFAT, for one, does not. A link to the marker is made
  /// for the answer, and removed.
  func canLink() -> Bool {
    let (file, link) = ("\(root)/.pullbox/volume", "\(root)/.pullbox/link")
    do throws(SystemError) {
      try operations.remove(link)
      try operations.link(file, to: link)
      try operations.remove(link)
      return true
    } catch {
      return false
    }
  }

  /// Another process can have the library.
  mutating func letGo() {
    lock = nil
    lockFile = nil
  }

  /// False when another process has it. A file system without locks is taken without one. A lock file that
  /// was replaced meanwhile is locked anew.
  private mutating func take() throws(SystemError) -> Bool {
    if let lockFile, let status = try operations.status(of: lockPath), status.device == lockFile.device,
      status.inode == lockFile.inode
    {
      return true
    }
    letGo()
    let file = try openLock()
    do {
      guard try file.lock() else { return false }
    } catch {
      guard error.isNotSupported else { throw error }
    }
    let status = try operations.status(of: file)
    lockFile = (status.device, status.inode)
    lock = consume file
    return true
  }
}
