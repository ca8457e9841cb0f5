import CofferCore
import Foundation
import Testing

@Suite("Streams of the latest value, and tasks that report their state", .timeLimit(.minutes(1)))
struct ObservedTaskTests {
  private struct Failure: Error {}

  private func task<T: Sendable>(of type: T.Type) -> ObservedTask<Int, T> {
    ObservedTask(0) { (completed: $0, total: 10) }
  }

  @Test("Each subscriber receives the present value, then the latest one, then the end")
  func feed() async {
    let feed = LatestValueFeed("a")
    var early = feed.subscribe().makeAsyncIterator()
    #expect(await early.next() == "a")
    #expect(feed.update { $0 = "b" } == "b")
    feed.update { $0 = "c" }
    var late = feed.subscribe().makeAsyncIterator()
    #expect(await early.next() == "c", "a slow subscriber skips 'b'")
    #expect(await late.next() == "c")
    feed.update { $0 = "d" }
    feed.finish()
    #expect(await early.next() == "d", "the last value comes before the end")
    #expect(await early.next() == nil)
    #expect(await late.next() == "d")
    #expect(await late.next() == nil)
    feed.update { $0 = "e" }
    feed.finish()
    #expect(feed.value == "e")
    #expect(await Array(feed.subscribe()) == ["e"])
  }

  @Test("A released feed ends its streams, and an abandoned stream leaves its feed usable")
  func released() async {
    var feed: LatestValueFeed? = LatestValueFeed(1)
    var stream = feed?.subscribe().makeAsyncIterator()
    _ = feed?.subscribe()
    feed?.update { $0 = 2 }
    feed = nil
    #expect(await stream?.next() == 2)
    #expect(await stream?.next() == nil)
  }

  /// Waking a task waits for its cancellation, which must not wait for whoever wakes it.
  @Test("A subscriber that is cancelled while the value changes blocks nobody")
  func cancelledMeanwhile() async {
    let feed = LatestValueFeed(0)
    let numbers = Task { for number in 1...20_000 { feed.update { $0 = number } } }
    while feed.value < 20_000 {
      let subscriber = Task { for await _ in feed.subscribe() {} }
      await Task.yield()
      subscriber.cancel()
      await subscriber.value
    }
    await numbers.value
    #expect(!feed.hasSubscribers)
  }

  @Test("A task delivers its states and counts its units, also of more than the total, and ends its streams")
  func states() async throws {
    let task = task(of: String.self)
    let streams = (task.updates, task.updates)
    task.start { _ in
      task.update { $0 = 4 }
      #expect(task.progress.totalUnitCount == 10 && task.progress.completedUnitCount == 4)
      task.update { $0 = 12 }
      return "done"
    }
    #expect(try await task.result() == "done")
    #expect(await Array(streams.0).last == 12)
    #expect(await Array(streams.1).last == 12)
    #expect(await Array(task.updates) == [12])
    #expect(task.progress.totalUnitCount == 12 && task.progress.completedUnitCount == 12)
  }

  @Test("A failed task throws its error from each wait, and ends its streams")
  func failed() async {
    let task = task(of: Void.self)
    let stream = task.updates
    task.start { _ in throw Failure() }
    await #expect(throws: Failure.self) { try await task.result() }
    await #expect(throws: Failure.self) { try await task.result() }
    #expect(await Array(stream) == [0])
  }

  @Test(
    "Cancelling the progress or the task cancels the work; cancelling who waits does not", arguments: [true, false])
  func cancelled(byProgress: Bool) async {
    let task = task(of: Void.self)
    let (started, signal) = AsyncStream.makeStream(of: Void.self)
    task.start { _ in
      signal.finish()
      while true {
        try Task.checkCancellation()
        await Task.yield()
      }
    }
    for await _ in started {}
    let waiting = Task { try await task.result() }
    waiting.cancel()
    #expect(!task.progress.isCancelled)
    if byProgress { task.progress.cancel() } else { task.cancel() }
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await #expect(throws: CancellationError.self) { try await task.result() }
  }

  @Test("A task continues if its object is released")
  func continues() async {
    let (results, result) = AsyncStream.makeStream(of: Int.self)
    task(of: Void.self).start { _ in
      await Task.yield()
      result.yield(7)
      result.finish()
    }
    #expect(await Array(results) == [7])
  }
}

extension Array {
  fileprivate init(_ stream: AsyncStream<Element>) async {
    self = []
    for await element in stream { append(element) }
  }
}
