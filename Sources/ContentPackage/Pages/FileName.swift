/// A file's name, divided where people see it divided: into a stem and an ending.
package struct FileName: Hashable, Sendable {
  package let stem: Substring
  /// Behind the last dot, in lower case; empty when there is none.
  package let ending: String

  /// Dots and spaces at the end do not count: other systems put them there, and Windows takes them away. A
  /// name whose only dot is its first has no ending, as hidden files have none.
  package init(_ name: some StringProtocol) {
    var rest = Substring(name)
    while let last = rest.unicodeScalars.last, last == "." || last == " " { rest.unicodeScalars.removeLast() }
    let scalars = rest.unicodeScalars
    guard let dot = scalars.lastIndex(of: "."), dot != scalars.startIndex else {
      stem = Substring(name)
      ending = ""
      return
    }
    stem = Substring(scalars[..<dot])
    ending = Substring(scalars[scalars.index(after: dot)...]).lowercased()
  }

  /// The name of the file at the end of `path`.
  package init(at path: String) {
    let scalars = path.unicodeScalars
    let start = scalars.lastIndex(of: "/").map { scalars.index(after: $0) } ?? scalars.startIndex
    self.init(Substring(scalars[start...]))
  }

  /// Whether the first bytes of a file decide: it is called like a page, and is the publication's own.
  package static func mayBePage(_ path: String) -> Bool {
    FileName(at: path).promisedPicture != nil && SystemName.first(in: path) == nil
      && !SystemName.isHidden(path)
  }

  /// The format of a picture that the ending promises; nil for what is not called like one.
  package var promisedPicture: PictureFormat? { PictureFormat.promised(by: ending) }
}
