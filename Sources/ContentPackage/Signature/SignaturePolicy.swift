public import Commerce

/// The keys whose signatures a manifest needs. Pure; the server asks with the keys that the product names, a
/// device also with those that it has seen before and those that its owner trusts. Each empty set asks for
/// nothing.
public struct SignaturePolicy: Hashable, Sendable {
  /// The keys that the product names.
  public var named: Set<PublisherKeyIdentifier>
  /// The keys that signed what this device accepted of the product before.
  public var pinned: Set<PublisherKeyIdentifier>
  /// The keys that the device's owner trusts, for every product; one of them stands in for a pinned one.
  public var trusted: Set<PublisherKeyIdentifier>

  /// Creates the policy of one product on one side; see each set for what an empty one means.
  public init(
    named: Set<PublisherKeyIdentifier>, pinned: Set<PublisherKeyIdentifier> = [],
    trusted: Set<PublisherKeyIdentifier> = []
  ) {
    self.named = named
    self.pinned = pinned
    self.trusted = trusted
  }

  /// Whether content may come without any signature.
  public var asksForNothing: Bool { named.isEmpty && pinned.isEmpty && trusted.isEmpty }

  /// The keys that signed `manifest` and count, for a device to remember. Throws ``PackageValidationError`` with every fault.
  public func signers(
    of manifest: [UInt8], signatures: [PublisherSignature]
  ) throws(PackageValidationError) -> Set<PublisherKeyIdentifier> {
    guard signatures.count <= PublisherSignature.maximumCount else {
      throw PackageValidationError(
        .signatureInvalid,
        "\(signatures.count) signatures, at most \(PublisherSignature.maximumCount) are allowed")
    }
    if signatures.isEmpty, !asksForNothing {
      throw PackageValidationError(.signatureMissing, "the manifest is not signed by its publisher")
    }
    var faults: [PackageValidationIssue] = []
    var valid: Set<PublisherKeyIdentifier> = []
    for signature in signatures {
      if signature.isValid(for: manifest) {
        valid.insert(signature.keyId)
      } else {
        faults.append(
          PackageValidationIssue(
            .signatureInvalid, "the signature by key \(signature.keyId) is not one of this manifest"))
      }
    }
    let known = named.isEmpty ? valid : valid.intersection(named)
    for key in valid.subtracting(known).sorted() {
      faults.append(PackageValidationIssue(.signatureKeyUnknown, "the product does not name the key \(key)"))
    }
    if faults.isEmpty { faults += deviceFaults(known) }
    guard faults.isEmpty else { throw PackageValidationError(faults) }
    return known
  }

  private func deviceFaults(_ signers: Set<PublisherKeyIdentifier>) -> [PackageValidationIssue] {
    guard signers.isDisjoint(with: trusted) else { return [] }
    if !trusted.isEmpty {
      return [
        PackageValidationIssue(.signatureKeyUntrusted, "it is signed by no key that this device trusts")
      ]
    }
    guard !pinned.isEmpty, signers.isDisjoint(with: pinned) else { return [] }
    return [
      PackageValidationIssue(
        .signatureKeyChanged, "it is signed by no key that signed an earlier version of this product here")
    ]
  }
}
