import CoreTypes
internal import Synchronization

/// How many connections each address has open. Asked when connections come and go, never between; split by
/// address, so that loops seldom meet. There is an entry for each address with a connection, so that the
/// bound on connections bounds this as well.
final class AddressTable: Sendable {
  private struct Shard: ~Copyable {
    let counts = Mutex<[PeerNetwork: Int]>([:])
  }

  private let limit: Int
  private let exempt: [PeerNetwork]
  private let shards: InlineArray<16, Shard>

  /// A `limit` of 0 is none.
  init(limit: Int, exempt: [PeerNetwork]) {
    self.limit = limit
    self.exempt = exempt
    shards = InlineArray { _ in Shard() }
  }

  /// Whether the peer's address counts at all.
  func limits(_ peer: PeerAddress) -> Bool {
    limit > 0 && peer.family != .unix && !exempt.contains { $0.contains(peer) }
  }

  /// False when the address has as many connections as it may.
  func admit(_ peer: PeerAddress) -> Bool {
    let network = PeerNetwork(limiting: peer)
    return shards[place(network)].counts.locked { counts in
      let count = counts[network, default: 0]
      guard count < limit else { return false }
      counts[network] = count + 1
      return true
    }
  }

  /// A connection that was admitted has ended.
  func release(_ peer: PeerAddress) {
    let network = PeerNetwork(limiting: peer)
    shards[place(network)].counts.locked { counts in
      let count = counts[network, default: 0]
      counts[network] = count > 1 ? count - 1 : nil
    }
  }

  /// Addresses with a connection that counts.
  var count: Int {
    var sum = 0
    for index in shards.indices { sum += shards[index].counts.locked { $0.count } }
    return sum
  }

  /// Hashing is seeded for each process: a client cannot choose addresses that share a shard.
  private func place(_ network: PeerNetwork) -> Int { network.hashValue & 15 }
}
