internal import CLinux
internal import CoreTypes
internal import Glibc
public import SystemCalls

/// The sandbox of Flatpak's (flatpak-metadata(5)).
public enum FlatpakSandbox {
  /// Whether this process runs in one.
  public static var isAround: Bool {
    // What cannot be looked at is not there for this process.
    ((try? FileSystem.status(of: "/.flatpak-info")) ?? nil) != nil
  }

  /// The application of this process's sandbox; nil in none. Empty where its description cannot be read, which is no application's name.
  public static var ownApplication: String? {
    guard isAround else { return nil }
    let bytes = (try? FileSystem.read("/.flatpak-info", upTo: ByteCount(maximumDescription))) ?? []
    return application(of: bytes) ?? ""
  }

  /// The longest description of a sandbox that is read.
  static let maximumDescription = 64 << 10

  /// The application of a sandbox by its description, a key file: `name` of the group `Application`. Nil without one, and for what is no
  /// application's name.
  static func application(of description: some Sequence<UInt8>) -> String? {
    var isInGroup = false
    for line in description.split(separator: UInt8(ascii: "\n")) {
      if line.first == UInt8(ascii: "[") {
        isInGroup = line.elementsEqual("[Application]".utf8)
      } else if isInGroup, line.starts(with: "name=".utf8) {
        let name = String(decoding: line.dropFirst("name=".utf8.count), as: UTF8.self)
        return isApplication(name) ? name : nil
      }
    }
    return nil
  }

  /// Whether a text is the name of an application: two words or more of letters, digits, `_` and `-` with dots between them, none of which
  /// begins with a digit; 255 bytes at most.
  public static func isApplication(_ text: String) -> Bool {
    let words = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard text.utf8.count <= 255, words.count >= 2 else { return false }
    return words.allSatisfy { word in
      guard let first = word.first, !isDigit(first) else { return false }
      return word.allSatisfy { byte in
        let letter = byte | 0x20
        return isDigit(byte) || (letter >= UInt8(ascii: "a") && letter <= UInt8(ascii: "z"))
          || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
      }
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
  }
}

/// Where a process runs, as far as this one is shown.
public enum ProcessSandbox: Hashable, Sendable {
  /// In no sandbox of Flatpak's.
  case none
  /// In the sandbox of the application of that name.
  case application(String)
  /// The kernel does not show it to this process, the process has ended, or its sandbox has a description that is none.
  case unknown
}

/// A process of proc(5). Its directory is held open, so that all that is read is of one process: when that has ended, nothing is read of
/// another one that has got its number. Every call blocks.
public struct ProcessEntry: ~Copyable, Sendable {
  private let directory: FileDescriptor

  /// The process that has the number now. Throws where there is none, and where the kernel hides it. `processes` is `/proc` but for tests.
  public init(_ process: Int32, in processes: String = "/proc") throws(SystemError) {
    directory = try FileDescriptor.open("\(processes)/\(process)", .readOnly, options: .directory)
  }

  /// Where it runs.
  public func sandbox() -> ProcessSandbox {
    do throws(SystemError) {
      let root = try FileDescriptor.open("root", .readOnly, options: .directory, relativeTo: directory)
      let file: FileDescriptor
      do throws(SystemError) {
        file = try FileDescriptor.open(
          ".flatpak-info", .readOnly, options: [.doNotFollow, .doNotWait], relativeTo: root)
      } catch {
        return error.isFileMissing ? .none : .unknown
      }
      guard try file.status().kind == .regular else { return .unknown }
      var bytes: [UInt8] = []
      try file.read(upTo: FlatpakSandbox.maximumDescription, at: .zero, into: &bytes)
      return FlatpakSandbox.application(of: bytes).map { .application($0) } ?? .unknown
    } catch {
      return .unknown
    }
  }

  /// When it began, in ticks of the clock since the boot: the 22nd field of proc_pid_stat(5), counted behind the name in parentheses, which
  /// may have spaces. Nil where it has ended.
  public func startTime() -> UInt64? {
    var bytes: [UInt8] = []
    do throws(SystemError) {
      let file = try FileDescriptor.open("stat", .readOnly, options: .doNotWait, relativeTo: directory)
      try file.read(upTo: 4096, at: .zero, into: &bytes)
    } catch {
      return nil
    }
    guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 19 else { return nil }
    return UInt64(String(decoding: fields[19], as: UTF8.self))
  }
}

extension ProcessEntry {
  /// Now, as ``startTime()`` tells times.
  public static func now() -> UInt64 {
    let ticks = UInt64(max(1, sysconf(Int32(_SC_CLK_TCK))))
    return UInt64(max(0, clinux_boottime())) / (1_000_000_000 / ticks)
  }
}

extension FileDescriptor {
  /// Whether the process of this descriptor has ended (pidfd_open(2)): it can be read from then on.
  public func hasEnded() throws(SystemError) -> Bool {
    var descriptors = [pollfd(fd: number, events: Int16(POLLIN), revents: 0)]
    return try SystemCall.run("poll") { unsafe poll(&descriptors, 1, 0) } > 0
  }
}
