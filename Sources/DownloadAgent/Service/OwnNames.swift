import CoreTypes
import Files
import Glibc
import ServiceRuntime
import SystemCalls

/// The names and addresses by which this machine reaches itself without a network. Pure, but for ``ofThisMachine()``.
struct OwnNames: Hashable, Sendable {
  private var names: Set<String> = []
  /// The addresses of IPv6, as 32 hexadecimal digits.
  private var addresses: Set<String> = []

  /// - Parameters:
  ///   - hostName: as the kernel has it.
  ///   - hosts: the text of hosts(5): the names of loopback addresses, such as Debian's `127.0.1.1`, are this machine's.
  ///   - routes: the text of `/proc/net/fib_trie`, in which the line after an IPv4 address of this machine ends in `host LOCAL`.
  ///   - interfaces: the text of `/proc/net/if_inet6`, whose lines begin with an IPv6 address of this machine.
  init(hostName: String, hosts: String, routes: String, interfaces: String) {
    if !hostName.isEmpty { names.insert(hostName.lowercased()) }
    for line in hosts.split(separator: "\n") {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }
      guard let address = words.first, address.hasPrefix("127.") || address == "::1" else { continue }
      names.formUnion(words.dropFirst().map { $0.lowercased() })
    }
    var last: Substring?
    for line in routes.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.suffix(2) == ["host", "LOCAL"], let last { names.insert(String(last)) }
      last = words.first == "|--" ? words.last : nil
    }
    for line in interfaces.split(separator: "\n") {
      guard let digits = line.split(separator: " ").first, digits.utf8.count == 32 else { continue }
      addresses.insert(digits.lowercased())
    }
  }

  /// No name but those that every machine has.
  init() {}

  /// The names that this machine has now, without those that cannot be read. Blocks.
  static func ofThisMachine() -> OwnNames {
    OwnNames(
      hostName: read("/proc/sys/kernel/hostname").filter { !$0.isNewline }, hosts: read("/etc/hosts"),
      routes: read("/proc/net/fib_trie"), interfaces: read("/proc/net/if_inet6"))
  }

  /// Whether the host of a URL is this machine, without the brackets of an IPv6 address.
  func contains(_ host: String) -> Bool {
    let host = host.lowercased()
    if ConfigurationURL.isLoopback(host: host) || host.hasSuffix(".localhost") || names.contains(host) {
      return true
    }
    guard let bytes = Self.bytes(of: host) else { return false }
    // An address of IPv4 within one of IPv6 (RFC 4291 section 2.5.5.2).
    if bytes.prefix(12) == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF] {
      return contains(bytes.suffix(4).map { "\($0)" }.joined(separator: "."))
    }
    let digits = bytes.map { byte in [byte >> 4, byte & 0xF].map { String($0, radix: 16) }.joined() }
    return addresses.contains(digits.joined())
  }

  /// The bytes of an address of IPv6, whichever way it is written, without the link behind it; nil for another text.
  private static func bytes(of host: String) -> [UInt8]? {
    guard host.contains(":") else { return nil }
    var address = in6_addr()
    guard unsafe inet_pton(AF_INET6, String(host.prefix { $0 != "%" }), &address) == 1 else { return nil }
    return unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
  }

  private static func read(_ path: String) -> String {
    guard let bytes = try? FileSystem.read(path, upTo: .mebibytes(1)) else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }
}
