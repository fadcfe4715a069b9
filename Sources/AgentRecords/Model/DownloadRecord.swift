package import Commerce
package import CoreTypes
package import Crypto
package import PullboxAPI
package import ServiceAPI

/// Everything the agent remembers of a download.
package struct DownloadRecord: MachineRecord {
  package let identifier: DownloadIdentifier
  /// Order of creation.
  package let sequence: Int64
  package let transaction: TransactionIdentifier
  package let product: ProductIdentifier
  /// The section that it brings to content that is placed already; nil for the content itself.
  package let section: SectionTag?
  package var machine = DownloadMachine()
  /// How urgently it is wanted, before ``priority``.
  package var urgency = DownloadUrgency.normal
  /// The user of the control socket who asked for ``DownloadUrgency/now``: it passes windows and budget. Nil where none did, or the
  /// urgency is another one.
  package var wantedBy: UInt32?
  /// The conditions of the machine that it passes, each with the user who said so.
  package var ignored: [IgnoredCondition] = []
  /// The app that asked for it.
  package var session: SessionName?
  /// Higher goes first among those of one urgency.
  package var priority = 0
  package var grant: GrantIdentifier?
  package var terms: DownloadTerms?
  /// When it last had to do with its content job, which counts until then.
  package var bytesVerified = ByteCount.zero
  package var bytesReceived = ByteCount.zero
  /// Bytes of the package that were on this device already; nil until that is known.
  package var bytesReused: ByteCount?
  /// Bytes of the pieces that it needs, as its job knew them last; nil for content without sections, which needs all.
  package var bytesNeeded: ByteCount?
  package var placedAt: Timestamp?
  /// The path that a reader opens.
  package var contentPath: String?
  package var notBefore: Timestamp?
  /// When it was asked for; nil for one of an earlier version.
  package var created: Timestamp?
  /// When it came to its end, nil while it has none.
  package var endedAt: Timestamp?

  package init(
    identifier: DownloadIdentifier, sequence: Int64, transaction: TransactionIdentifier,
    product: ProductIdentifier, section: SectionTag? = nil
  ) {
    self.identifier = identifier
    self.sequence = sequence
    self.transaction = transaction
    self.product = product
    self.section = section
  }

  /// How it ended, for its transaction.
  package var outcome: TransactionMachine.Outcome {
    switch machine.state {
    case .waiting, .active, .paused: .pending
    case .finished: .delivered
    case .failed: .failed
    case .cancelled: .cancelled
    }
  }

  /// The sections that must be in the library beside what is required.
  package var sections: Set<SectionTag> { section.map { [$0] } ?? [] }

  /// Nothing will happen to it but by a user's request: it is kept in the database alone.
  package var isHistory: Bool { machine.state == .finished || machine.state == .cancelled }

  /// Whether windows and budget do not hold it: a person asked for it now.
  package var passesLimits: Bool { urgency == .now && wantedBy != nil }

  /// The content whose job is kept for this download: until the library has it, or it is given up.
  package var claimedDigest: SHA256Digest? {
    switch machine.state {
    case .waiting, .active, .paused, .failed: machine.phase == .report ? nil : terms?.digest
    case .finished, .cancelled: nil
    }
  }

  /// Returns the status that the control interface shows; `job` is the one of ``claimedDigest``.
  package func status(
    _ job: ContentJobRecord?, _ estimate: ProgressEstimator.Estimate, now: Timestamp
  ) -> DownloadStatus {
    // While it waits for its job, the job's state is its own; of one that has ended it hears in a moment.
    let isWorked = job?.machine.state == .waiting || job?.machine.state == .active
    let working = machine.awaitsJob && isWorked ? job?.machine : nil
    let verified = job?.bytesVerified ?? bytesVerified
    let reused = terms == nil ? nil : job.map(\.bytesReused) ?? bytesReused
    let length = job?.bytesNeeded ?? bytesNeeded ?? terms?.length
    let notBefore = working == nil ? self.notBefore : working?.state == .waiting ? job?.notBefore : nil
    return DownloadStatus(
      id: identifier, product: product, version: terms?.version, transaction: transaction,
      state: working?.state == .active ? .active : machine.state,
      reason: (working?.shownReason ?? machine.reason).rawValue, bytesVerified: verified,
      bytesTotal: length, bytesReceived: job?.bytesReceived ?? bytesReceived,
      progress: machine.state == .finished
        ? 1 : ProgressEstimator.fraction(verified: verified, of: length),
      timeRemaining: estimate.timeRemaining, speed: estimate.speed,
      error: working == nil ? machine.history.problem : working?.history.problem,
      contentPath: machine.state == .finished ? contentPath : nil, priority: priority,
      created: created, notBefore: notBefore.flatMap { $0 > now ? $0 : nil },
      cause: working == nil ? machine.history.cause : working?.history.cause,
      bytesNeeded: reused.map { max((length ?? .zero) - $0, .zero) }, bytesReused: reused,
      stalledSince: estimate.stall.map { now - $0 }, urgency: urgency, wantedBy: wantedBy,
      section: section, session: session, ignored: ignored.isEmpty ? nil : ignored)
  }
}

extension DownloadIdentifier {
  /// 64 random bits.
  package static func random() -> DownloadIdentifier {
    guard let identifier = DownloadIdentifier(Hexadecimal.encode(RandomBytes.make(8))) else {
      preconditionFailure("16 hexadecimal digits name a download")
    }
    return identifier
  }
}
