import CLinux
import Glibc

/// The variables this process was started with.
public enum ProcessEnvironment {
  /// Read on every access. This project removes some when a process begins, and sets one: see ``silenceDispatch()``.
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

  /// Keeps libdispatch from writing to the system's log. It writes a line for each of its threads that may not change its
  /// own priority, which is every thread of a process without privilege. A process whose variable `LIBDISPATCH_LOG` says
  /// otherwise keeps those lines. Call it before there is a second thread.
  public static func silenceDispatch() {
    unsafe setenv("LIBDISPATCH_LOG", "NO", 0)
  }
}
