import CoreTypes
import Files
import SystemCalls

/// Overwrites secrets in the memory that the kernel shows as this process's command line (proc(5), `/proc/PID/cmdline`), which
/// every user of the machine may read.
enum CommandLineSecrets {
  /// The character that replaces each byte of a secret.
  private static let asterisk = UInt8(ascii: "*")
  /// The file with the place of the command line in memory.
  private static let statusPath = "/proc/self/stat"

  /// To be called once the arguments were read: they are asterisks afterwards. Blocks. Where there is no /proc, nothing
  /// shows them either.
  static func hide(_ secrets: [String]) {
    guard !secrets.isEmpty, let status = try? FileSystem.read(statusPath, upTo: .kibibytes(16)),
      let place = Self.place(in: String(decoding: status, as: UTF8.self)),
      let start = unsafe UnsafeMutablePointer<UInt8>(bitPattern: place.lowerBound)
    else { return }
    let memory = unsafe UnsafeMutableBufferPointer(start: start, count: place.count)
    let line = unsafe Array(memory)
    for index in ranges(of: secrets, in: line).joined() { unsafe memory[index] = asterisk }
  }

  /// Where the arguments stand in memory; nil where a status is not in the form of proc(5). The second field, the program's
  /// name in parentheses, may hold anything.
  static func place(in status: String) -> Range<UInt>? {
    guard let end = status.lastIndex(of: ")") else { return nil }
    // The first of these is the third field; the 48th and the 49th are meant.
    let fields = status[status.index(after: end)...].split { $0.isWhitespace }
    guard fields.count > 46, let start = UInt(fields[45]), let end = UInt(fields[46]), 0 < start, start < end
    else { return nil }
    return start..<end
  }

  /// Where secrets stand among arguments that end with a zero each: alone, or at the end of an option.
  static func ranges(of secrets: [String], in line: [UInt8]) -> [Range<Int>] {
    var ranges: [Range<Int>] = []
    for argument in line.split(separator: 0) {
      for secret in secrets where !secret.isEmpty {
        let bytes = Array(secret.utf8)
        guard argument.count == bytes.count || argument.first == UInt8(ascii: "-"),
          argument.suffix(bytes.count).elementsEqual(bytes)
        else { continue }
        ranges.append(argument.endIndex - bytes.count..<argument.endIndex)
      }
    }
    return ranges
  }
}
