import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import Receipts

/// OpenSSL's command line: an independent judge of what this project signs, and an independent signer. Works in a
/// directory of its own that holds the authority's files.
struct OpenSSLTool {
  let directory: TemporaryDirectory

  init(_ authority: ReceiptAuthority) throws {
    directory = try TemporaryDirectory()
    try write(Array(authority.root.pem.utf8), "root.pem")
    try write(Array(authority.leaf.pem.utf8), "leaf.pem")
    try write(Array((authority.intermediate.pem + authority.root.pem).utf8), "issuers.pem")
    try write(Array(try authority.keyPEM().utf8), "key.pem")
  }

  func write(_ bytes: [UInt8], _ name: String) throws {
    try DurableFile.write(bytes.span, to: directory.path(name))
  }

  func read(_ name: String) throws -> [UInt8] {
    try FileSystem.read(directory.path(name), upTo: .mebibytes(1))
  }

  /// The exit status of `openssl` with `arguments`, in which names ending in a file's extension are of the directory.
  func run(_ arguments: [String]) async throws -> Int32 {
    let resolved = arguments.map { argument in
      [".pem", ".der", ".bin"].contains { argument.hasSuffix($0) } ? directory.path(argument) : argument
    }
    let process = try ChildProcess(
      "/usr/bin/openssl", resolved, environment: [:], output: directory.path("output"))
    guard case .exited(let status) = await process.ending() else { return -1 }
    return status
  }

  /// A CMS message over `payload` signed with the authority's leaf; `options` go to `openssl cms -sign`.
  func sign(_ payload: [UInt8], _ options: [String]) async throws -> [UInt8] {
    try write(payload, "payload.bin")
    let status = try await run(
      [
        "cms", "-sign", "-binary", "-nodetach", "-nosmimecap", "-in", "payload.bin", "-signer", "leaf.pem",
        "-inkey", "key.pem", "-certfile", "issuers.pem", "-outform", "DER", "-out", "message.der",
      ] + options)
    try #require(status == 0)
    return try read("message.der")
  }

  /// The content of a CMS message that leads to the authority's root; nil for one that does not.
  func verify(_ message: [UInt8], at seconds: Int64) async throws -> [UInt8]? {
    try write(message, "message.der")
    let status = try await run([
      "cms", "-verify", "-binary", "-inform", "DER", "-in", "message.der", "-CAfile", "root.pem",
      "-no-CApath",
      "-no-CAstore", "-x509_strict", "-purpose", "any", "-attime", String(seconds), "-out", "content.bin",
    ])
    return status == 0 ? try read("content.bin") : nil
  }
}
