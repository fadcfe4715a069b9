import Crypto

/// The picture that stands for a cover where there is none: OPDS 2.0 wants one of every publication. It is gray, and two thirds as wide as
/// high.
package enum NoCover {
  package static let mediaType = "image/png"
  /// A PNG of two by three pixels.
  package static let content =
    Base64.decode(
      "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAAAAACcgYFdAAAADUlEQVR42mNoaGAAIwANiQMB6UHnOwAAAABJRU5ErkJggg=="
    ) ?? []
}
