/// Writes the description of the search as OpenSearch 1.1 has it. Pure.
package struct SearchDescriptionWriter: Sendable {
  package let addresses: FeedAddresses
  /// The name of the catalog.
  package let name: String

  package init(addresses: FeedAddresses, name: String) {
    self.addresses = addresses
    self.name = name
  }

  /// Characters of the short name, at most (OpenSearch 1.1, "ShortName").
  private static let maximumShortName = 16

  /// Returns the document, with a template for each form.
  package func document() -> [UInt8] {
    var xml = XMLWriter()
    xml.element("OpenSearchDescription", ["xmlns": "http://a9.com/-/spec/opensearch/1.1/"]) { xml in
      xml.element("ShortName", text: String(name.prefix(Self.maximumShortName)))
      xml.element("Description", text: "Titles of products and of publications")
      xml.element("InputEncoding", text: "UTF-8")
      xml.element("OutputEncoding", text: "UTF-8")
      for form in FeedForm.allCases {
        let template = FeedAddresses(base: addresses.base, form: form, choice: addresses.choice)
          .openSearchTemplate
        xml.element("Url", ["type": form.mediaType(of: .acquisition), "template": template])
      }
    }
    return xml.bytes
  }
}
