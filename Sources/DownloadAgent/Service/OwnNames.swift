import CoreTypes
import ServiceRuntime
import SystemCalls

/// The names and addresses by which this machine reaches itself without a network. Pure, but for ``ofThisMachine()``.
struct OwnNames: Hashable, Sendable {
  private var names: Set<String> = []

  /// - Parameters:
  ///   - hostName: as the kernel has it.
  ///   - hosts: the text of hosts(5): the names of loopback addresses, such as Debian's `127.0.1.1`, are this machine's.
  ///   - routes: the text of `/proc/net/fib_trie`, in which the line after an IPv4 address of this machine ends in `host LOCAL`.
  init(hostName: String, hosts: String, routes: String) {
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
  }

  /// No name but those that every machine has.
  init() {}

  /// The names that this machine has now, without those that cannot be read. Blocks.
  static func ofThisMachine() -> OwnNames {
    OwnNames(
      hostName: read("/proc/sys/kernel/hostname").filter { !$0.isNewline }, hosts: read("/etc/hosts"),
      routes: read("/proc/net/fib_trie"))
  }

  /// Whether the host of a URL is this machine, without the brackets of an IPv6 address.
  func contains(_ host: String) -> Bool {
    let host = host.lowercased()
    return ConfigurationURL.isLoopback(host: host) || host.hasSuffix(".localhost") || names.contains(host)
  }

  private static func read(_ path: String) -> String {
    guard let bytes = try? FileSystem.read(path, upTo: .mebibytes(1)) else { return "" }
    return String(decoding: bytes, as: UTF8.self)
  }
}
