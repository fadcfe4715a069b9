import ContentPackage

/// The oddity of names that are not in UTF-8.
extension PublicationOddity {
  /// Noted once for an encoding, not once for a name.
  static func names(in encoding: ArchiveName.Encoding) -> PublicationOddity {
    PublicationOddity("names are not in UTF-8 and were read as \(encoding.rawValue)")
  }
}
