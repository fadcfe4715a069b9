/// The version that all executables of this project share.
public enum ProductVersion {
  /// `MAJOR.MINOR.PATCH`, in the sense of semantic versioning (https://semver.org). The newest entry of CHANGELOG.md has the
  /// same.
  public static let current = "0.1.0"
}
