import ServiceRuntime

/// The language of the person who runs a command.
enum ReaderLocale {
  /// The tag of BCP 47, `fr-FR`, by the variables that POSIX has for messages (XBD §8.2): the first of them that is set counts.
  /// Nil for the locales `C` and `POSIX`, which name no language.
  static func tag(_ variables: [String: String] = ProcessEnvironment.variables) -> String? {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
    guard let value = names.lazy.compactMap({ variables[$0] }).first(where: { !$0.isEmpty }) else {
      return nil
    }
    let tag = String(value.prefix { $0 != "." && $0 != "@" }).replacing("_", with: "-")
    let isTag =
      tag.utf8.count <= 35 && tag.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    return isTag && !["", "C", "POSIX"].contains(tag) ? tag : nil
  }
}
