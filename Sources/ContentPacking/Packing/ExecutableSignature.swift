import ContentPackage
import CoreTypes
import SystemCalls

/// Recognizes code by its first bytes. Packages carry pages, not programs. ELF, Mach-O of all widths and
/// orders, PE, and scripts that may be run.
enum ExecutableSignature {
  /// So many bytes from the front are looked at.
  static let prefixLength = 4096

  /// Returns the kind of executable that starts with `prefix`, as a clause; nil for none.
  ///
  /// - Parameters:
  ///   - prefix: the first ``prefixLength`` bytes, or all of a shorter file.
  ///   - hasExecuteBit: makes a file that begins with `#!` a script; without it that is a text.
  static func find(in prefix: [UInt8], hasExecuteBit: Bool) -> String? {
    if prefix.starts(with: [0x7F, 0x45, 0x4C, 0x46]) { return "an ELF executable" }
    if machO.contains(where: { prefix.starts(with: $0) }) { return "a Mach-O executable" }
    if prefix.starts(with: [0x23, 0x21]), hasExecuteBit { return "a script with the execute bit" }
    if isPortableExecutable(prefix) { return "a PE executable" }
    return nil
  }

  /// Does the same as ``find(in:hasExecuteBit:)`` for a file.
  static func find(in file: borrowing FileDescriptor, hasExecuteBit: Bool) throws(SystemError) -> String? {
    var prefix: [UInt8] = []
    try file.read(upTo: prefixLength, at: .zero, into: &prefix)
    return find(in: prefix, hasExecuteBit: hasExecuteBit)
  }

  /// `MZ` alone could start a text; what it points to cannot.
  private static func isPortableExecutable(_ prefix: [UInt8]) -> Bool {
    guard prefix.starts(with: [0x4D, 0x5A]), prefix.count >= 64 else { return false }
    let offset = Int(prefix.littleEndian(at: 0x3C, as: UInt32.self))
    return prefix.dropFirst(offset).starts(with: [0x50, 0x45, 0, 0])
  }

  /// The last is that of universal binaries; Java classes have it too.
  private static let machO: [[UInt8]] = [
    [0xFE, 0xED, 0xFA, 0xCE], [0xFE, 0xED, 0xFA, 0xCF], [0xCE, 0xFA, 0xED, 0xFE], [0xCF, 0xFA, 0xED, 0xFE],
    [0xCA, 0xFE, 0xBA, 0xBE],
  ]
}
