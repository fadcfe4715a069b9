import ContentPackage

extension PackagePath {
  /// False for files whose format is compressed already: deflating them costs time and gains nothing.
  var isWorthDeflating: Bool { !Self.compressedExtensions.contains(fileExtension) }

  private static let compressedExtensions: Set<String> = [
    "jpg", "jpeg", "png", "gif", "webp", "avif", "jxl", "heic", "heif", "jp2",
    "mp3", "m4a", "aac", "ogg", "oga", "opus", "flac", "mp4", "m4v", "mov", "webm", "mkv",
    "zip", "cbz", "cbr", "cb7", "rar", "7z", "gz", "bz2", "xz", "zst", "lz4", "epub", "pdf", "woff", "woff2",
  ]
}
