import Foundation

/// Runs a program of the system and answers how it ended and what it printed.
package struct Tool {
  /// The exit status, or the number of the signal that ended the program.
  package let status: Int32
  /// Standard output and standard error as they came, in one text.
  package let output: String

  /// Runs the program with those arguments.
  package static func run(_ arguments: String...) throws -> Tool { try run(arguments) }

  /// Runs the program, which is looked for in `PATH`, and waits for its end. Blocks. Throws where `env` itself cannot be
  /// started; a program that is not there has status 127.
  package static func run(_ arguments: [String]) throws -> Tool {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = arguments
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return Tool(status: process.terminationStatus, output: String(decoding: output, as: UTF8.self))
  }
}
