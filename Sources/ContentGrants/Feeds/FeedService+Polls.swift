import Commerce
import CoreTypes
import HTTPServer
import PullboxAPI
import ServiceRuntime
import Synchronization

/// Requests that wait for something to tell have no task meanwhile (``FeedPoll``). One task looks at all that may have news, a batch by one
/// read and one write, and only those that are to be answered get a task again.
extension FeedService {
  /// Polls that are looked at together: few enough that whatever else asks the database waits for some milliseconds.
  package static let batch = 8

  /// The answer to a request, or the poll in its place.
  package enum Answer: Sendable {
    /// The page to answer with.
    case reading(Reading)
    /// Nothing yet: the request is asked again when the poll is over.
    case later(FeedPoll)
  }

  /// Returns the news of the token's feed behind `cursor`. Where there are none and `duration` is not zero, returns the poll
  /// to wait for. Throws `unauthorized` for a token that is missing, has expired or whose feed was forgotten, and
  /// `forbidden` for a token of another server or device.
  func answer(
    token: String?, device: DeviceIdentifier, after cursor: Cursor?, waiting duration: Duration
  ) async throws -> Answer {
    let (feed, expiry) = try open(token, of: device)
    let poll = FeedPoll(
      feed, after: cursor, renewsToken: expiry < clock.now() + Self.lifetime / 2,
      until: timer.now() + duration)
    waiters.add(poll)
    let begun = timer.now()
    // From here on the poll hears what happens.
    if begun < poll.deadline,
      let quiet = waiters.withQuiet({ $0.take(feed, after: cursor, at: begun) })
    {
      waiters.schedule(poll, at: due(poll, unlessBefore: quiet.next, now: begun))
      return .later(poll)
    }
    do {
      let look = try await lookOnce(for: poll)
      let now = timer.now()
      // Where another look has found something meanwhile, the answer to the poll is that.
      if look.page.items.isEmpty, !look.page.isWhole, now < poll.deadline, !Task.isCancelled {
        waiters.schedule(poll, at: due(poll, unlessBefore: look.next, now: now))
        return .later(poll)
      }
      waiters.didAnswer(poll)
      return tell(look.page, to: poll)
    } catch {
      waiters.didAnswer(poll)
      throw error
    }
  }

  /// The answer to a request whose poll is over. Throws what the first answer throws. A poll that ended without
  /// a finding is looked at once more.
  func answer(to poll: FeedPoll) async throws -> Answer {
    defer { waiters.didAnswer(poll) }
    switch poll.finding {
    case .page(let page): return tell(page, to: poll)
    case .forgotten: throw forgotten(poll)
    case nil: return tell(try await lookLast(for: poll).page, to: poll)
    }
  }

  /// Looks at the feed of a poll that is over, and remembers where there was nothing.
  private func lookLast(for poll: FeedPoll) async throws -> Look {
    let number = waiters.withQuiet { $0.begin(poll.feed.number, at: timer.now()) }
    do {
      let look = try await lookOnce(for: poll)
      guard let number else { return look }
      let isQuiet = look.page.items.isEmpty && !look.page.isWhole
      waiters.withQuiet { quiet in
        if isQuiet {
          quiet.keep(
            QuietFeeds.Finding(feed: poll.feed, cursor: look.page.cursor, next: look.next), of: number)
        } else {
          quiet.drop(poll.feed.number, of: number)
        }
      }
      return look
    } catch {
      if let number { waiters.withQuiet { $0.drop(poll.feed.number, of: number) } }
      throw error
    }
  }

  /// Looks at the polls that something has woken, or whose time has come, until the task is cancelled. One batch after the other: a
  /// release takes one processor at most, however many wait, and one of the connections that read.
  func tellPolls() async {
    while !Task.isCancelled {
      // Those whose polls have ended have their turn first.
      await waiters.waitForAnswers(clock: timer)
      await tell(await waiters.nextPolls(limit: Self.batch, clock: timer))
    }
  }

  /// Looks at a batch and ends the polls that have news or whose time is over; the others are scheduled again.
  /// A batch that cannot be read is tried poll by poll.
  private func tell(_ polls: [FeedPoll]) async {
    let now = timer.now()
    let (waiting, over) = (polls.filter { now < $0.deadline }, polls.filter { $0.deadline <= now })
    for poll in over { waiters.end(poll) }
    guard !waiting.isEmpty else { return }
    let looks: [Look?]
    do {
      looks = try await look(waiting.map { Question(feed: $0.feed, cursor: $0.cursor) })
    } catch {
      if waiting.count > 1 {
        // One that cannot be read is not in the others' way.
        for poll in waiting { await tell([poll]) }
      } else {
        // It finds out for itself what is wrong, and says so to its device.
        for poll in waiting { waiters.end(poll) }
      }
      return
    }
    for (poll, look) in zip(waiting, looks) {
      guard let look else {
        waiters.end(poll, with: .forgotten)
        continue
      }
      if look.page.items.isEmpty, !look.page.isWhole {
        waiters.schedule(poll, at: due(poll, unlessBefore: look.next, now: timer.now()))
      } else {
        waiters.end(poll, with: .page(look.page))
      }
    }
  }

  /// Looks at the poll's feed. Throws `unauthorized` for a feed that is gone, and ``DatabaseError``.
  private func lookOnce(for poll: FeedPoll) async throws -> Look {
    guard let look = try await look(poll.feed, after: poll.cursor) else { throw forgotten(poll) }
    return look
  }

  /// Returns the refusal of a feed that is gone, and lets its device enroll again.
  private func forgotten(_ poll: FeedPoll) -> Problem {
    forgetEnrollment(in: poll.feed)
    return Problem(.unauthorized, "the feed was forgotten; show the proof again")
  }

  private func tell(_ page: Page, to poll: FeedPoll) -> Answer {
    told.add(page.items.count, ordering: .relaxed)
    return .reading(Reading(page: page, feed: poll.feed, renewsToken: poll.renewsToken))
  }

  /// When to look at it again: at a date that changes something, or when its time is over.
  private func due(
    _ poll: FeedPoll, unlessBefore next: Timestamp?, now: MonotonicInstant
  ) -> MonotonicInstant {
    guard let next else { return poll.deadline }
    return min(poll.deadline, now + max(next - clock.now(), .milliseconds(1)))
  }
}
