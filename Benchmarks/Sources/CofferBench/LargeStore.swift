import Coffer
import Foundation

func measureLargeStore(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000_000)
  let large = directory.appendingPathComponent("large.db").path
  let small = directory.appendingPathComponent("small.db").path
  for (path, count) in [(large, 1_000_000), (small, 1_000)] {
    let engine = try await SQLiteEngine.open(at: path)
    for start in stride(from: 0, to: count, by: 10_000) {
      var batch = WriteBatch(durability: .relaxed)
      for index in start..<min(start + 10_000, count) { batch.put(values.keys[index], Data(Values.bytes(index))) }
      try await engine.commit(batch, from: StoreOrigin())
    }
    try await engine.close()
  }
  try await bench.measure(
    "open.1000000", count: 10,
    [
      Variant(subject: "sqlite.c") { first, count in
        try await each(first, count) { index in
          let database = try SQLiteByHand(large, synchronous: "FULL", creates: false)
          precondition(database.read(values.names[values.slot(index)]) != nil)
        }
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.5)) {
        first, count in
        var times: [Double] = []
        for index in first..<(first + count) {
          let start = now()
          let engine = try await SQLiteEngine.open(at: large)
          let entry = try await engine.entry(values.keys[values.slot(index)])
          times.append(now() - start)
          precondition(entry != nil)
          try await engine.close()
        }
        return times
      },
    ])
  let engine = try await SQLiteEngine.open(at: large)
  let database = try SQLiteByHand(large, synchronous: "FULL", creates: false)
  try await bench.measure(
    "get.1000000", count: 20_000,
    [
      Variant(subject: "sqlite.c") { first, count in
        await grouped(first, count, by: 100) { index in
          precondition(database.read(values.names[values.slot(index)]) != nil)
        }
      },
      Variant(subject: "coffer.sqlite", limit: Limit(subject: "sqlite.c", maximumRatio: 1.15, accepted: 1.3)) {
        first, count in
        try await grouped(first, count, by: 100) { index in
          let entry = try await engine.entry(values.keys[values.slot(index)])
          precondition(entry != nil)
        }
      },
    ])
  try await engine.close()
  try measureMemory(&bench, large: large, small: small)
}

/// Measures the resident memory of an open store in a child process: apart from caches, that of a store of 1,000 keys.
private func measureMemory(_ bench: inout Bench, large: String, small: String) throws {
  let sizes = try [small, large].map { path in
    try (0..<3).map { _ in Double(try child(["memory", path]).output.trimmed) ?? .nan }.median
  }
  let difference = (sizes[1] - sizes[0]) / 1_024
  print(
    "resident memory with a store open: \((sizes[0] / 1_024).short) MB with 1,000 keys,",
    "\((sizes[1] / 1_024).short) MB with 1,000,000")
  if !(difference <= 8) { bench.fail("memory: \(difference.short) MB more than a store of 1,000 keys is above 8") }
}

func runMemoryChild(_ path: String) async throws {
  let engine = try await SQLiteEngine.open(at: path)
  _ = try await engine.entry(KeyName("app.item.00000500.setting"))
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
  print(line.filter(\.isNumber))
  try await engine.close()
}

extension String {
  var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}

/// Runs this program as a child process and waits for it to exit.
func child(_ arguments: [String]) throws -> (output: String, status: Int32) {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  process.arguments = ["child"] + arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
  process.waitUntilExit()
  return (output, process.terminationStatus)
}

func runChild(_ arguments: [String]) async throws {
  switch arguments.first {
  case "watchify": try await runWatchifyChild(URL(fileURLWithPath: arguments[1]), number: Int(arguments[2]) ?? 1)
  case "watchify-shops":
    let directory = URL(fileURLWithPath: arguments[1])
    try await runShopsChild(directory, phase: arguments[2], round: Int(arguments[3]) ?? 0)
  case "together": try await runTogetherChild(arguments)
  case "memory": try await runMemoryChild(arguments[1])
  case "writer":
    guard let kind = EngineKind(rawValue: arguments[1]) else { throw Failure("unknown engine") }
    try await runWriterChild(kind, URL(fileURLWithPath: arguments[2]), count: Int(arguments[3]) ?? 0)
  default: throw Failure("unknown child")
  }
}
