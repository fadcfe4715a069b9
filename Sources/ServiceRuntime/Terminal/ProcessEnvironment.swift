import CLinux
import Glibc

/// The variables this process was started with.
public enum ProcessEnvironment {
  /// Read on every access; nothing in this project changes them.
  public static var variables: [String: String] {
    var variables: [String: String] = [:]
    var position = unsafe environ
    while let entry = unsafe position.pointee {
      let text = unsafe String(cString: entry)
      if let separator = text.firstIndex(of: "=") {
        variables[String(text[..<separator])] = String(text[text.index(after: separator)...])
      }
      unsafe position += 1
    }
    return variables
  }
}
