import HTTPServer
import PackageStorage

/// The parts of a package that are in this node's cache, for the responses that send it.
///
///     let package = try await cache.open(digest, as: description)
///     return try SharedDescriptor(try package.makeDescriptor(), presence: CachedPackagePresence(package))
final class CachedPackagePresence: FilePresence {
  private let package: CachedPackage

  init(_ package: CachedPackage) {
    self.package = package
  }

  func hold(_ range: Range<Int64>) -> Int64 { package.hold(range) }

  func release(_ range: Range<Int64>) { package.release(range) }

  func bring(
    _ range: Range<Int64>, completion: @escaping @Sendable (FilePresenceError?) -> Void
  ) -> @Sendable () -> Void {
    let wait = package.bring(range) { error in completion(error.map { FilePresenceError($0) }) }
    return { wait.cancel() }
  }
}

extension FilePresenceError {
  /// The error as those who send the package know it. What is wrong with this node's disk is not the package's fault.
  init(_ error: PackageCacheError) {
    let code: Code =
      switch error.code {
      case .notFound: .missing
      case .damaged: .damaged
      default: .unavailable
      }
    self.init(code, error.message, retryAfter: error.retryAfter)
  }
}
