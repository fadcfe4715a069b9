import Foundation

/// Runs a program of the system and answers how it ended and what it printed.
package struct Tool {
  package let status: Int32
  package let output: String

  package static func run(_ arguments: String...) throws -> Tool { try run(arguments) }

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
