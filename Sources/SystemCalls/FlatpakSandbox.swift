/// The sandbox of Flatpak's (flatpak-metadata(5)).
public enum FlatpakSandbox {
  /// Whether this process runs in one.
  public static var isAround: Bool {
    // What cannot be looked at is not there for this process.
    ((try? FileSystem.status(of: "/.flatpak-info")) ?? nil) != nil
  }
}
