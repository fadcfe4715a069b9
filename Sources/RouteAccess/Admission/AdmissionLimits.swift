package import ContentDelivery
package import CoreTypes
package import HTTPServer

/// How many requests are admitted: by address, by client, and in progress at once.
///
/// The defaults suit a day on which a new issue comes out: many devices share few addresses, so that an address may
/// have thousands of requests at once, one device few; what keeps the server well is the bound on requests in progress,
/// each of which keeps its task, its body and a transfer of libcurl's while the store is asked.
package struct AdmissionLimits: Hashable, Sendable {
  /// The limits of one class. A missing bucket is no limit.
  package struct Limits: Hashable, Sendable {
    /// Requests of an IPv4 address, or of the first 64 bits of an IPv6 one.
    package var address: TokenBucket?
    /// Requests of what the request names: a device or a grant from one address, an operator key.
    package var client: TokenBucket?
    /// Requests that have begun, have their bodies and are not answered yet.
    package var inProgress: Int

    /// Without buckets, only `inProgress` bounds the class.
    package init(address: TokenBucket? = nil, client: TokenBucket? = nil, inProgress: Int) {
      self.address = address
      self.client = client
      self.inProgress = inProgress
    }
  }

  /// Requests a second and the burst of a bucket that the defaults are made of.
  private static func bucket(_ rate: Int64, burst: Int64) -> TokenBucket {
    TokenBucket(rate: rate, burst: burst)
  }

  /// The limits of a server whose configuration names none.
  package static let standard: [AdmissionClass: Limits] = [
    .store: Limits(
      address: bucket(500, burst: 20_000), client: bucket(10, burst: 300), inProgress: 192),
    .ticket: Limits(
      address: bucket(1000, burst: 20_000), client: bucket(20, burst: 500), inProgress: 192),
    .feed: Limits(
      address: bucket(500, burst: 20_000), client: bucket(2, burst: 60), inProgress: 16_384),
    .completion: Limits(
      address: bucket(500, burst: 20_000), client: bucket(5, burst: 100), inProgress: 192),
    .catalog: Limits(address: bucket(500, burst: 5000), client: nil, inProgress: 192),
    .operator: Limits(
      address: bucket(500, burst: 5000), client: bucket(500, burst: 5000), inProgress: 64),
    .upload: Limits(
      address: bucket(500, burst: 5000), client: bucket(500, burst: 5000), inProgress: 256),
  ]

  /// The limits by class; a class that is missing has none.
  package var classes: [AdmissionClass: Limits] = Self.standard
  /// Requests of all classes but the operators' that are in progress at once.
  package var inProgress = 256
  /// Requests of each class that wait for a place at once, each with its task, and many with their bodies.
  package var waiting = 192
  /// Bytes of request bodies that are in memory at once.
  package var bodyBytes = ByteCount.mebibytes(16)
  /// Addresses without a limit of their own: proxies that do not name their clients.
  package var unlimited: [PeerNetwork] = []

  /// Without arguments, the defaults.
  package init(
    classes: [AdmissionClass: Limits] = Self.standard, inProgress: Int = 256, waiting: Int = 192,
    bodyBytes: ByteCount = .mebibytes(16), unlimited: [PeerNetwork] = []
  ) {
    self.classes = classes
    self.inProgress = inProgress
    self.waiting = waiting
    self.bodyBytes = bodyBytes
    self.unlimited = unlimited
  }

  /// The limits of a class; without any, for one that ``classes`` does not have.
  package subscript(_ kind: AdmissionClass) -> Limits {
    classes[kind] ?? Limits(address: nil, client: nil, inProgress: .max)
  }
}

extension AdmissionLimits: CustomStringConvertible {
  /// `store 500/s of an address, 10/s of a client, 1024 at once; …`: a line for the log.
  package var description: String {
    let parts = AdmissionClass.allCases.map { kind in
      let limits = self[kind]
      let rates = [("an address", limits.address), ("a client", limits.client)].compactMap { name, bucket in
        bucket.map { "\($0.rate)/s (burst \($0.burst)) of \(name)" }
      }
      return "\(kind.rawValue) \((rates + ["\(limits.inProgress) at once"]).joined(separator: ", "))"
    }
    return parts.joined(separator: "; ")
  }
}
