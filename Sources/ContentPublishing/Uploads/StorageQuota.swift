package import CoreTypes

/// The limits of uploads: their space, their number and their lifetime.
package struct UploadLimits: Sendable {
  /// The longest package.
  package static let maximumLength = ByteCount(2_147_483_648)

  /// Requests whose bytes may be received at once: each has a thread and up to 48 MiB of memory.
  static let maximumRunning = 32

  /// How long an upload is kept after the last request that added to it.
  package var lifetime: Duration = .seconds(86_400)
  /// Packages and open uploads together; nil: as much as the disk holds.
  package var quota: ByteCount?
  /// Further requests are answered 503.
  package var running = maximumRunning

  package init(lifetime: Duration = .seconds(86_400), quota: ByteCount? = nil, running: Int = maximumRunning)
  {
    self.lifetime = lifetime
    self.quota = quota
    self.running = running
  }
}

/// How much each upload may still write. Every open upload reserves its whole length from the moment it is
/// begun, so that what was accepted once is not refused half-way because another came later.
package struct StorageQuota: Sendable {
  /// An upload's share: `total` bytes, of which `received` are on the disk.
  package struct Reservation: Hashable, Sendable {
    var total: ByteCount
    var received: ByteCount

    var remaining: ByteCount { max(.zero, total - received) }
    var share: ByteCount { max(total, received) }
  }

  /// The space besides open uploads.
  struct Available: Sendable {
    /// On the disk, less what is kept for the database.
    var free: ByteCount
    /// The packages; nil where no quota asks for it.
    var stored: ByteCount?
  }

  let quota: ByteCount?
  private(set) var reservations: [String: Reservation] = [:]

  init(quota: ByteCount?, reservations: [String: Reservation] = [:]) {
    self.quota = quota
    self.reservations = reservations
  }

  /// Nil when `reservation` is granted, in place of the one that the upload had; else why it is not, for the
  /// client.
  mutating func grant(_ reservation: Reservation, to id: String, in room: Available) -> String? {
    let others = reservations.filter { $0.key != id }.values
    let promised = others.map(\.remaining).reduce(.zero, +)
    guard room.free > .zero, reservation.remaining <= room.free - promised else {
      return
        "\(reservation.remaining) are to come; the disk has \(room.free) left, \(promised) of it promised"
    }
    if let quota, let stored = room.stored {
      let taken = others.map(\.share).reduce(stored, +)
      guard reservation.share <= quota - taken else {
        return "\(reservation.share) are to be kept; \(taken) of the quota of \(quota) are taken"
      }
    }
    reservations[id] = reservation
    return nil
  }

  /// Takes note that the disk holds that many bytes of the upload: they are not to come any more.
  mutating func note(_ received: ByteCount, of id: String) {
    reservations[id]?.received = received
  }

  /// The upload needs no more than this any longer.
  mutating func shrink(_ id: String, to reservation: Reservation) {
    if reservations[id] != nil { reservations[id] = reservation }
  }

  mutating func release(_ id: String) {
    reservations[id] = nil
  }
}
