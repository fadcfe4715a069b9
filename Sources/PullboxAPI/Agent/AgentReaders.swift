/// `POST /v1/readers` of the agent: an application for reading is let in.
public struct AgentReaderRequest: Codable, Sendable {
  /// The customer's name for the application or its device: `Tablet`.
  public var title: String
  /// In whose words it is shown the catalog where it names none, a BCP 47 tag.
  public var locale: String?

  /// Creates the document from its members.
  public init(title: String, locale: String? = nil) {
    self.title = title
    self.locale = locale
  }
}
