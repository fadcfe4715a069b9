import Measures

/// Who may still write how much. Every open upload claims its whole length from the moment it is begun, so that what was
/// accepted once is not refused half-way because another came later.
struct SpaceBudget: Sendable {
  /// An upload's share: `total` bytes, of which `received` are on the disk.
  struct Claim: Hashable, Sendable {
    var total: ByteCount
    var received: ByteCount

    var remaining: ByteCount { max(.zero, total - received) }
    var share: ByteCount { max(total, received) }
  }

  /// What there is besides open uploads.
  struct Room: Sendable {
    /// On the disk, less what is kept for the database.
    var free: ByteCount
    /// The packages; nil where no quota asks for it.
    var stored: ByteCount?
  }

  let quota: ByteCount?
  private(set) var claims: [String: Claim] = [:]

  init(quota: ByteCount?, claims: [String: Claim] = [:]) {
    self.quota = quota
    self.claims = claims
  }

  /// Nil when `claim` is granted, in place of the one that the upload had; else why it is not, for the client.
  mutating func grant(_ claim: Claim, to id: String, in room: Room) -> String? {
    let others = claims.filter { $0.key != id }.values
    let promised = others.map(\.remaining).reduce(.zero, +)
    guard room.free > .zero, claim.remaining <= room.free - promised else {
      return "\(claim.remaining) are to come; the disk has \(room.free) left, \(promised) of it promised"
    }
    if let quota, let stored = room.stored {
      let taken = others.map(\.share).reduce(stored, +)
      guard claim.share <= quota - taken else {
        return "\(claim.share) are to be kept; \(taken) of the quota of \(quota) are taken"
      }
    }
    claims[id] = claim
    return nil
  }

  /// What was written does not lie before us any more.
  mutating func note(_ received: ByteCount, of id: String) {
    claims[id]?.received = received
  }

  /// The claim shrinks to what it holds and still needs.
  mutating func settle(_ id: String, _ claim: Claim) {
    if claims[id] != nil { claims[id] = claim }
  }

  mutating func release(_ id: String) {
    claims[id] = nil
  }
}
