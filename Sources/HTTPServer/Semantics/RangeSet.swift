/// What a `Range` field asks of a representation of known length (RFC 9110 §14.1 and §14.2).
public enum RangeSet: Hashable, Sendable {
  /// Answer as if the field were not there: another unit, not valid, or too many ranges.
  case ignore
  /// One range, which needs no list.
  case single(Range<Int64>)
  /// Two ranges or more, in the order asked for, unsatisfiable ones dropped, overlapping ones and near neighbours joined;
  /// within the representation and none empty.
  case several([Range<Int64>])
  /// 416.
  case unsatisfiable

  /// Ranges that one field may ask for; beyond, the field is ignored.
  public static let maximumRanges = 32
  /// Ranges are joined when fewer bytes than a part's head would take lie between them.
  public static let joiningGap: Int64 = 80
}
