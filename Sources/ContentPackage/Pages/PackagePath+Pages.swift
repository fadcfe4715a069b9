extension PackagePath {
  /// Whether the file may be a page, or the picture of a cover, if its first bytes are a picture's: it is called like one, belongs
  /// to no system, and is not hidden.
  public var mayBePage: Bool { FileName.mayBePage(text) }
}
