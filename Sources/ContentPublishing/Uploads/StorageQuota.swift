package import CoreTypes

/// The limits of uploads: their space, their number and their lifetime. docs/uploading.md ("Limits and
/// answers") has what clients see of them.
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

  /// Creates limits; the defaults are those of the configuration.
  package init(lifetime: Duration = .seconds(86_400), quota: ByteCount? = nil, running: Int = maximumRunning)
  {
    self.lifetime = lifetime
    self.quota = quota
    self.running = running
  }
}

/// How much each upload may still write. Every open upload reserves its whole length from the moment it is
/// begun, so that what was accepted once is not refused half-way because another came later. A value without a
/// lock: ``UploadService`` keeps it in its actor.
package struct StorageQuota: Sendable {
  /// An upload's share: `total` bytes, of which `received` are on the disk.
  package struct Reservation: Hashable, Sendable {
    /// The length that the upload may reach; of one without a known length as far as it was granted.
    var total: ByteCount
    /// Bytes that are on the disk already.
    var received: ByteCount

    /// Bytes that are still to come.
    var remaining: ByteCount { max(.zero, total - received) }
    /// Bytes that count against the quota.
    var share: ByteCount { max(total, received) }
  }

  /// The space besides open uploads.
  struct Available: Sendable {
    /// On the disk, less what is kept for the database.
    var free: ByteCount
    /// The packages; nil where no quota asks for it.
    var stored: ByteCount?
  }

  /// The bound on packages and open uploads; nil for none but the disk's.
  let quota: ByteCount?
  /// By the name of the upload.
  private(set) var reservations: [String: Reservation] = [:]

  /// Begins with the reservations of uploads that are open already.
  init(quota: ByteCount?, reservations: [String: Reservation] = [:]) {
    self.quota = quota
    self.reservations = reservations
  }

  /// Nil when `reservation` is granted, in place of the one that the upload had; else why it is not, for the
  /// client. The disk must have room for everything that is promised and still to come, and the quota for
  /// packages and the shares of all uploads. Nothing changes where it is refused.
  mutating func grant(_ reservation: Reservation, to id: String, in room: Available) -> String? {
    let others = reservations.filter { $0.key != id }.values
    let promised = others.map(\.remaining).reduce(.zero, +)
    guard room.free > .zero, reservation.remaining <= room.free - promised else {
      return
        "\(reservation.remaining) are to come; the disk has \(room.free) left, \(promised) of it promised"
    }
    if let quota, let stored = room.stored {
      let taken = others.map(\.share).reduce(stored, +)
      if let refusal = Self.refusal(of: reservation, where: taken, of: quota) { return refusal }
    }
    reservations[id] = reservation
    return nil
  }

  /// Nil where so much of a quota is taken that the reservation has room; else why it has not, for the client.
  static func refusal(
    of reservation: Reservation, where taken: ByteCount, of quota: ByteCount
  ) -> String? {
    reservation.share <= quota - taken
      ? nil : "\(reservation.share) are to be kept; \(taken) of the quota of \(quota) are taken"
  }

  /// Takes note that the disk holds that many bytes of the upload: they are not to come any more.
  mutating func note(_ received: ByteCount, of id: String) {
    reservations[id]?.received = received
  }

  /// The upload needs no more than this any longer.
  mutating func shrink(_ id: String, to reservation: Reservation) {
    if reservations[id] != nil { reservations[id] = reservation }
  }

  /// Gives the upload's reservation up, once its bytes are a package or gone.
  mutating func release(_ id: String) {
    reservations[id] = nil
  }
}
