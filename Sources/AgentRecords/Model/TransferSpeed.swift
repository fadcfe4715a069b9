/// The speed of a transfer, and how long so many bytes more will take, by what has arrived so far (docs/estimator.md).
///
/// Two averages lie below it, of the last eight seconds, and of the last minute, in which older time counts less. They are
/// blended by the variance of the short one: where the speed goes up and down the long one counts, and where it has
/// changed and stays so the short one. A speed that rises or falls steadily is followed for as long as it may be
/// expected to.
struct TransferSpeed: Hashable, Sendable {
  /// The bytes and the seconds of the long average, each weighted by its age.
  private struct Average: Hashable {
    var bytes = 0.0
    var seconds = 0.0

    /// Bytes a second; 0 before any time has passed.
    var speed: Double { seconds > 0 ? bytes / seconds : 0 }

    mutating func add(_ bytes: Double, in seconds: Double) {
      let fading = TransferSpeed.horizon / (TransferSpeed.horizon + seconds)
      self.bytes = self.bytes * fading + bytes
      self.seconds = self.seconds * fading + seconds
    }
  }

  /// The speed of a second or a little more.
  private struct Bucket: Hashable {
    /// The middle of its time, in seconds since the transfer began.
    var at: Double
    var speed: Double
  }

  /// The contents of a bucket so far.
  private struct Open: Hashable {
    var seconds = 0.0
    var bytes = 0.0
  }

  /// A straight line through the buckets.
  private struct Trend {
    /// Bytes a second at the latest instant.
    var speed: Double
    /// Bytes a second by which the speed grows in each second.
    var growth: Double
  }

  /// The seconds in which what arrived loses so much of its weight that about a third is left.
  private static let horizon = 40.0
  /// The shortest bucket, in seconds.
  private static let bucketSeconds = 1.0
  /// The buckets that a trend is sought in, and the fewest of them.
  private static let trendBuckets = 8...30
  /// The latest buckets, which the short average is made of.
  private static let shortBuckets = 8
  /// The buckets after which a silence says nothing of the way.
  private static let freshBuckets = 4
  /// The standard errors that the two averages differ by when they count alike.
  private static let doubt = 8.0
  /// The share of the variance that a line explains at least, where it counts as a trend.
  private static let explained = 0.95
  /// The change over the buckets, as a share of their mean, from which on a line counts as a trend.
  private static let notable = 0.1
  /// The factor by which a trend may change the speed, up or down. Behind that the speed is taken to stay.
  private static let reach = 2.0

  private var long = Average()
  private var buckets: [Bucket] = []
  /// Seconds of the transfer, silences left out.
  private var now = 0.0
  /// The bucket that is being filled.
  private var open = Open()

  /// Nothing has arrived yet.
  init() {}

  /// So many bytes arrived in so many seconds, more than 0.
  mutating func add(_ bytes: Double, in seconds: Double) {
    long.add(bytes, in: seconds)
    now += seconds
    open.seconds += seconds
    open.bytes += bytes
    guard open.seconds >= Self.bucketSeconds else { return }
    buckets.append(Bucket(at: now - open.seconds / 2, speed: open.bytes / open.seconds))
    if buckets.count > Self.trendBuckets.upperBound { buckets.removeFirst() }
    open = Open()
  }

  /// Whether little has arrived since the beginning, or since the last silence: another one then belongs to the way, and counts as
  /// its time.
  var isFresh: Bool { buckets.count < Self.freshBuckets }

  /// After a silence the long average goes on with a fifth of its weight, and the short one is made anew.
  mutating func resume() { resume(withSeconds: long.seconds / 5) }

  /// Over another number of connections both are made anew; half a second of the long average stays, so that there is one.
  mutating func restart() { resume(withSeconds: min(long.seconds, 0.5)) }

  private mutating func resume(withSeconds seconds: Double) {
    long = Average(bytes: long.speed * seconds, seconds: seconds)
    buckets.removeAll(keepingCapacity: true)
    open = Open()
  }

  /// Seconds that are behind the speed, silences left out.
  var seconds: Double { now }

  /// Bytes a second by both averages; 0 where nothing arrived.
  var speed: Double {
    guard buckets.count >= 2 else { return long.speed }
    let latest = buckets.suffix(Self.shortBuckets).map(\.speed)
    let count = Double(latest.count)
    let short = latest.reduce(0, +) / count
    let variance = latest.reduce(0) { $0 + ($1 - short) * ($1 - short) } / count
    let difference = short - long.speed
    let square = difference * difference
    guard square > 0 else { return short }
    let share = square / (square + Self.doubt * Self.doubt * variance / count)
    return long.speed + share * difference
  }

  /// Seconds until so many bytes more have arrived; nil where nothing says so.
  func seconds(for bytes: Double) -> Double? {
    guard let trend else {
      let speed = speed
      return speed > 0 ? bytes / speed : nil
    }
    let last = trend.growth > 0 ? trend.speed * Self.reach : trend.speed / Self.reach
    let length = (last - trend.speed) / trend.growth
    let meanwhile = (trend.speed + last) / 2 * length
    guard bytes < meanwhile else { return length + (bytes - meanwhile) / last }
    // growth / 2 · t² + speed · t = bytes; within the length of the trend the root is real.
    let root = (trend.speed * trend.speed + 2 * trend.growth * bytes).squareRoot()
    return (root - trend.speed) / trend.growth
  }

  /// Whether the speed rises or falls steadily.
  var isTrending: Bool { trend != nil }

  /// Nil where the speed does not rise or fall steadily.
  private var trend: Trend? {
    guard buckets.count >= Self.trendBuckets.lowerBound else { return nil }
    let count = Double(buckets.count)
    let time = buckets.reduce(0) { $0 + $1.at } / count
    let mean = buckets.reduce(0) { $0 + $1.speed } / count
    var (times, both, speeds) = (0.0, 0.0, 0.0)
    for bucket in buckets {
      let (x, y) = (bucket.at - time, bucket.speed - mean)
      times += x * x
      both += x * y
      speeds += y * y
    }
    guard times > 0, speeds > 0, both * both > Self.explained * times * speeds else { return nil }
    let growth = both / times
    let span = buckets[buckets.count - 1].at - buckets[0].at
    guard abs(growth) * span > Self.notable * mean else { return nil }
    let speed = mean + growth * (now - time)
    // A line that leads far below what comes has ended.
    return speed > 0 && speed * Self.reach >= self.speed ? Trend(speed: speed, growth: growth) : nil
  }
}
