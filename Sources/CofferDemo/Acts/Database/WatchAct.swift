import Coffer
import Foundation

/// Saves while a second process watches, which must receive every change exactly once.
func watchAct(_ stage: Stage) async throws {
  let child = try Child(.watch, [stage.path, "watch/last"])
  defer { child.stop() }
  guard try child.line() == "ready" else { throw DemoError("the second process did not become ready") }
  try await stage.withEngine { engine in
    let store = TypedStore(engine: engine)
    let products = stage.catalogue.items.prefix(100).map(\.product)
    var sent: [Sent] = []
    var heard: [Heard] = []
    // One at a time, to measure the latency of a notification.
    for (number, product) in products.enumerated() {
      sent.append(try await save(product, "watch/\(number)", in: store))
      if let line = try child.line() { heard.append(try Heard(line)) }
    }
    let latencies = zip(sent, heard).map { Double($1.time - $0.time) / 1e9 }.sorted()
    // As fast as possible, to find notifications that are lost or delivered twice.
    for (number, product) in (products + products + products).enumerated() {
      sent.append(try await save(product, "watch/burst/\(number)", in: store))
    }
    sent.append(try await save(products[0], "watch/last", in: store))
    heard += try child.lines().map { try Heard($0) }
    report(stage, sent, heard, latencies)
  }
}

private func save(_ product: Product, _ name: String, in store: TypedStore) async throws -> Sent {
  let sent = Sent(key: try KeyName(name), transaction: UUID(), time: monotonicNanoseconds())
  // A relaxed save is not synced, so that the latency is that of the notification alone.
  try await store.save(product, for: sent.key, durability: .relaxed, transaction: sent.transaction)
  return sent
}

private func report(_ stage: Stage, _ sent: [Sent], _ heard: [Heard], _ latencies: [Double]) {
  for (change, message) in zip(sent, heard).prefix(2) {
    let time = duration(Double(message.time - change.time) / 1e9)
    stage.console.line("   got \(message.key)  transaction \(message.transaction.prefix(13))...  after \(time)")
  }
  let median = latencies.isEmpty ? 0 : latencies[latencies.count / 2]
  stage.console.line("   From calling save here to its arrival there: median \(duration(median)), slowest")
  stage.console.line("   \(duration(latencies.last ?? 0)), in \(counted(latencies.count, "change")) one at a time.")
  stage.console.line("   Then \(grouped(sent.count - latencies.count)) more, as fast as possible.")

  var times: [KeyName: Int] = [:]
  for message in heard { times[message.key, default: 0] += 1 }
  let once = sent.filter { times[$0.key] == 1 }.count
  let transactions = Set(sent.map { "\($0.key) \($0.transaction.uuidString)" as Substring })
  let right = heard.filter { transactions.contains("\($0.key) \($0.transaction)") }.count
  stage.summary.changesSent = sent.count
  stage.summary.changesHeard = heard.count
  stage.summary.medianLatencyMicroseconds = median * 1e6
  stage.check(once == sent.count && heard.count == sent.count, "changes received, each exactly once", count: once)
  stage.check(right == sent.count, "changes with the right transaction", count: right)
  stage.check(heard.map(\.key) == sent.map(\.key), "changes in the order of their commits", count: heard.count)
}

private struct Sent {
  let key: KeyName
  let transaction: UUID
  let time: Int
}

/// A change as the second process prints it: "heard TIME TRANSACTION KEY".
struct Heard {
  let key: KeyName
  let transaction: String
  let time: Int

  init(_ line: String) throws {
    let words = line.split(separator: " ", maxSplits: 3)
    guard words.count == 4, words[0] == "heard", let time = Int(words[1]) else {
      throw DemoError("the second process printed '\(line)'")
    }
    self.time = time
    transaction = String(words[2])
    key = try KeyName(String(words[3]))
  }
}
