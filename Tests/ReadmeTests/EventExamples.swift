import Coffer
import CofferCore
import CofferTesting
import Foundation
import Testing

// The Swift code of the article Events, compiled and run: ReadmeTests compares them line by line.

private final class Log: Sendable {
  private let written = Locked<[String]>([])
  var lines: [String] { written.withLock { $0 } }
  func debug(_ line: String) { written.withLock { $0.append(line) } }
}

private final class Timings: Sendable {
  private let recorded = Locked<[Duration]>([])
  var all: [Duration] { recorded.withLock { $0 } }
  func record(_ duration: Duration) { recorded.withLock { $0.append(duration) } }
}

final class SignpostLog: Sendable {
  private let written = Locked<[String]>([])
  var lines: [String] { written.withLock { $0 } }
  func begin(_ name: String, id: UInt64) { written.withLock { $0.append("begin \(name) \(id)") } }
  func event(_ text: String, id: UInt64) { written.withLock { $0.append("event \(id)") } }
  func end(_ name: String, id: UInt64) { written.withLock { $0.append("end \(name) \(id)") } }
}

struct Signposts: StoreTracer {
  let log: SignpostLog
  func begin(_ span: StoreSpan) { log.begin(span.operation.rawValue, id: span.id) }
  func event(_ event: StoreEvent, in span: StoreSpan) { log.event(event.description, id: span.id) }
  func end(_ span: StoreSpan) { log.end(span.operation.rawValue, id: span.id) }
}

@Suite("The examples of logging and metrics run")
struct EventExamples {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-events-\(UUID())")

  @Test func logging() async throws {
    let path = folder.appendingPathComponent("store.db").path
    defer { try? FileManager.default.removeItem(at: folder) }
    let (log, timings) = (Log(), Timings())

    var options = StoreOptions()
    options.events = CofferEvents { event in
      if case .committed(let commit) = event.kind { timings.record(commit.duration) }
      log.debug("\(event)")
    }
    let engine = try await StoreLocation("sqlite:\(path)").open(options)

    try await TypedStore(engine: engine).save("Ada", for: "name")
    #expect(timings.all.count == 1)
    let lines = log.lines
    #expect(lines.count == 2 && lines.allSatisfy { $0.hasPrefix("\(engine.description): ") })
    #expect(lines.last?.contains("committed revision 1 (1 operation, 3 bytes) in ") == true, "\(lines)")
    try await engine.close()
  }

  @Test func spans() async throws {
    let (log, signposts) = (Log(), SignpostLog())

    let events = CofferEvents(tracer: Signposts(log: signposts)) { log.debug("\($0)") }

    try await TypedStore(engine: MemoryEngine(events: events)).save("Ada", for: "name")
    #expect(signposts.lines == ["begin commit 1", "event 1", "end commit 1"])
    #expect(log.lines.count == 1)
  }
}
