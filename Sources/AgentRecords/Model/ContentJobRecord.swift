package import Commerce
package import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI

/// Everything the agent remembers of a content job.
package struct ContentJobRecord: MachineRecord {
  package let identifier: ContentJobIdentifier
  package let digest: SHA256Digest
  package var machine = ContentJobMachine()
  /// The grant of the download whose manifest the job works with.
  package var grant: GrantIdentifier
  package var terms: DownloadTerms
  /// At the last time it was persisted; a running transfer counts in its ``TransferProgress``.
  package var bytesVerified = ByteCount.zero
  package var bytesReceived = ByteCount.zero
  /// Bytes of the package that the library had; nil until that was looked at.
  package var bytesReused: ByteCount?
  /// The sections that it brings beside what is required; those that the manifest does not have count for nothing.
  package var sections: Set<SectionTag> = []
  /// Bytes of the pieces that these sections and what is required need; nil until the manifest told, and for content without
  /// sections, which needs all.
  package var bytesNeeded: ByteCount?
  package var notBefore: Timestamp?
  /// When it failed; what it has staged is kept for a while.
  package var failedAt: Timestamp?
  /// The server counts what it sends: what the library has of the content does not help. Not persisted.
  package var fetchesEverything = false

  /// How long a failed job keeps what it has staged.
  package static let stagingAge: Duration = .seconds(7 * 86_400)

  package init(identifier: ContentJobIdentifier, grant: GrantIdentifier, terms: DownloadTerms) {
    self.identifier = identifier
    digest = terms.digest
    self.grant = grant
    self.terms = terms
  }

  /// The failure that its downloads share once it has failed.
  package var failure: StepFailure {
    .permanent(machine.reason, problem: machine.history.problem, cause: machine.history.cause)
  }
}

/// Names a content job on one device: 16 hexadecimal digits. Also the name of its staging folder.
package struct ContentJobIdentifier: Hashable, Sendable, CustomStringConvertible {
  package let description: String

  /// Nil when `text` cannot be the name of a folder.
  package init?(_ text: String) {
    guard DownloadIdentifier(text) != nil else { return nil }
    description = text
  }

  private init(digits: String) {
    description = digits
  }

  /// 64 random bits.
  package static func random() -> ContentJobIdentifier {
    ContentJobIdentifier(digits: Hexadecimal.encode(RandomBytes.make(8)))
  }
}
