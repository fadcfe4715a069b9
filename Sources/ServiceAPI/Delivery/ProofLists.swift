/// The proofs of a request: one ``Proof``, whose members stand in the document beside the others, or several as the
/// member `proofs`:
///
/// ```json
/// {"device":{"id":"reader-1"},"proofs":[{"receipt":"MIIT…","store":"apple"},{"purchaseToken":"kj3…","store":"google"}]}
/// ```
///
/// Purchases that one request shows with several proofs are one customer's from then on.
public struct ProofList: Codable, Sendable {
  /// Proofs of one request.
  public static let counts = 1...8

  /// The proofs; their number is in ``counts``.
  public let all: [Proof]
  /// Whether they stand as `proofs`.
  public let isList: Bool

  /// One proof, whose members stand beside the others.
  public init(_ proof: Proof) {
    all = [proof]
    isList = false
  }

  /// Nil for a number of proofs outside ``counts``.
  public init?(_ proofs: [Proof]) {
    guard Self.counts.contains(proofs.count) else { return nil }
    all = proofs
    isList = true
  }

  private enum CodingKeys: CodingKey {
    case proofs
  }

  /// Throws `DecodingError`, also for a number of proofs outside ``counts``, and where `proofs` stands beside the members of one.
  public init(from decoder: any Decoder) throws {
    let (container, single) = (try decoder.container(keyedBy: CodingKeys.self), try Proof(from: decoder))
    guard let proofs = try container.decodeIfPresent([Proof].self, forKey: .proofs) else {
      self.init(single)
      return
    }
    func refuse(_ reason: String) -> DecodingError {
      DecodingError.dataCorruptedError(forKey: .proofs, in: container, debugDescription: reason)
    }
    guard single.isEmpty else { throw refuse("it cannot stand beside a proof's own members") }
    guard let list = ProofList(proofs) else {
      throw refuse("not 1 to 8 proofs")
    }
    self = list
  }

  /// Writes the members of a single proof into the same object as the others.
  public func encode(to encoder: any Encoder) throws {
    guard isList else {
      try all.first?.encode(to: encoder)
      return
    }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(all, forKey: .proofs)
  }
}

extension Proof {
  fileprivate var isEmpty: Bool {
    store == nil && receipt == nil && signedTransaction == nil && purchaseToken == nil
  }
}
