/// The rules that are held against arbitrary words about the machine, of the kernel and of services: by `scripts/test` with bytes from a
/// seeded `Mutator`, by `scripts/fuzz` with bytes that libFuzzer finds.
enum FuzzTarget: String, CaseIterable, Sendable {
  case netlink
  case observation

  /// The rule that the bytes break; nil when they break none.
  func check(_ bytes: [UInt8]) -> String? {
    switch self {
    case .netlink: NetlinkProperties.check(bytes)
    case .observation: ObservationProperties.check(bytes)
    }
  }
}
