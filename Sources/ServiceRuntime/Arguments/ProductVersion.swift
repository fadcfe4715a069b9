import CLinux

/// The version that all executables of this project share.
public enum ProductVersion {
  /// `MAJOR.MINOR.PATCH`, in the sense of semantic versioning (https://semver.org). The newest entry of CHANGELOG.md has the
  /// same.
  public static let current = "0.1.0"

  /// The commit that was built, as `PULLBOX_COMMIT` told the build: 12 digits, and `-dirty` behind them where the files were
  /// others than the commit's. Nil where nothing told it.
  public static var commit: String? {
    let text = unsafe String(cString: clinux_build_commit())
    return text.isEmpty ? nil : text
  }
}
