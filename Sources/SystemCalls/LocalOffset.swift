internal import CLinux
public import CoreTypes

/// The time zone of this process: that of `TZ`, else the system's, also after it was changed.
public enum LocalOffset {
  /// Seconds by which local time is ahead of UTC at that moment (localtime_r(3)).
  public static func seconds(at moment: Timestamp) -> Int {
    Int(clinux_local_offset(moment.secondsSinceEpoch))
  }
}
