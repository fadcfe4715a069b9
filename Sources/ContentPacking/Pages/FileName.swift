/// A file's name, divided where people see it divided: into a stem and an ending.
struct FileName: Hashable, Sendable {
  let stem: Substring
  /// Behind the last dot, in lower case; empty when there is none.
  let ending: String

  /// Dots and spaces at the end do not count: other systems put them there, and Windows takes them away. A
  /// name whose only dot is its first has no ending, as hidden files have none.
  init(_ name: some StringProtocol) {
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
  init(at path: String) {
    let scalars = path.unicodeScalars
    let start = scalars.lastIndex(of: "/").map { scalars.index(after: $0) } ?? scalars.startIndex
    self.init(Substring(scalars[start...]))
  }

  /// The format of a picture that the ending promises; nil for what is not called like one.
  var promisedPicture: PictureFormat? { PictureFormat.promised(by: ending) }
}
