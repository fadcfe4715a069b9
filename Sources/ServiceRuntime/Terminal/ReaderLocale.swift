public import SystemCalls

/// The language of the person who runs a command, or whom a daemon serves.
public enum ReaderLocale {
  /// The tag of BCP 47, `fr-FR`, by the variables that POSIX has for messages (XBD §8.2): the first of them that is set counts.
  /// Nil for the locales `C` and `POSIX`, which name no language.
  public static func tag(_ variables: [String: String] = ProcessEnvironment.variables) -> String? {
    let names = ["LC_ALL", "LC_MESSAGES", "LANG"]
    guard let value = names.lazy.compactMap({ variables[$0] }).first(where: { !$0.isEmpty }) else {
      return nil
    }
    let tag = String(value.prefix { $0 != "." && $0 != "@" }).replacing("_", with: "-")
    return isTag(tag) && !["C", "POSIX"].contains(tag) ? tag : nil
  }

  /// Whether the text has the characters and the length of a tag.
  public static func isTag(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 35
      && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
  }
}
