/// Why one of several proofs led to nothing: a ``Problem`` with the proof's place beside its members.
public struct ProofRefusal: Codable, Sendable {
  /// The place in `proofs`, from 0.
  public var proof: Int
  /// The problem that a request with this proof alone would have been refused with.
  public var problem: Problem

  /// Creates the refusal of one proof.
  public init(proof: Int, problem: Problem) {
    self.proof = proof
    self.problem = problem
  }

  private enum CodingKeys: CodingKey {
    case proof
  }

  /// Reads the problem's members from the same object as the place. Throws `DecodingError`.
  public init(from decoder: any Decoder) throws {
    problem = try Problem(from: decoder)
    proof = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .proof)
  }

  /// Writes the problem's members into the same object as the place.
  public func encode(to encoder: any Encoder) throws {
    try problem.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(proof, forKey: .proof)
  }
}
