public import CoreTypes

extension ReceiptAuthority {
  /// How a fresh authority's certificates look.
  public struct Options: Sendable {
    /// The organization in every subject.
    public var organization: String
    /// The signing certificate's validity. It must have begun when the first receipt is made; a receipt's date has whole
    /// seconds only, so it is dated back.
    public var leafValidity: ClosedRange<Timestamp>
    /// The validity of the two others.
    public var issuerValidity: ClosedRange<Timestamp>
    /// Off, for tests: certificates that were issued for something else.
    public var marksLeaf = true
    public var marksIntermediate = true

    /// A leaf for two years and issuers for twenty, from the day before `now`.
    public init(organization: String = "Pullbox Sandbox", now: Timestamp) {
      let day: Duration = .seconds(86_400)
      self.organization = organization
      leafValidity = (now - day)...(now + day * 730)
      issuerValidity = (now - day)...(now + day * 7300)
    }
  }
}
