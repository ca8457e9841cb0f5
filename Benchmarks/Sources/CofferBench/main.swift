import Coffer
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "child" {
  try await runChild(Array(arguments.dropFirst()))
} else {
  try await runSuite(arguments)
}

func runSuite(_ arguments: [String]) async throws {
  let isChecked = arguments.contains("--check")
  let filter = arguments.first { !$0.hasPrefix("--") }
  func wants(_ group: String) -> Bool { filter.map { group.hasPrefix($0) } ?? true }
  let directory = try temporaryDirectory()
  defer { try? FileManager.default.removeItem(at: directory) }
  var bench = Bench()
  if wants("put") { try await measurePuts(&bench, directory) }
  if wants("put") || wants("writers") { try await measureWriters(&bench, directory) }
  if wants("get") { try await measureGets(&bench, directory) }
  if wants("contract") { try await measureContract(&bench, directory) }
  if wants("pages") { try await measurePages(&bench, directory) }
  if wants("batch") { try await measureBatches(&bench, directory) }
  if wants("file") { try await measureFiles(&bench, directory) }
  if wants("router") { try await measureRouter(&bench) }
  if wants("open") { try await measureLargeStore(&bench, directory) }
  if wants("watchify.decode") { try await measureFeed(&bench) }
  if wants("watchify") {
    let folder = directory.appendingPathComponent("watchify")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await measureWatchify(&bench, folder)
  }
  if wants("subscribers") || wants("prefs") || wants("sealed") || wants("keychain") || wants("notify") {
    let homes = try Homes(in: directory)
    defer { homes.end() }
    for home in homes.all where wants(home.rawValue) { try await measureHome(&bench, home, homes) }
    if wants("subscribers") { try await measureSubscribers(&bench, homes) }
    if wants("notify") { try await measureNotify(&bench, homes) }
  }
  printTable(bench.rows)
  if filter == nil {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("results.json")
    try encoder.encode(bench.rows).write(to: file)
    print("\nWritten to Benchmarks/results.json")
  }
  for failure in bench.failures { print("limit missed: \(failure)") }
  if bench.failures.isEmpty { print("all limits held") }
  if isChecked, !bench.failures.isEmpty { exit(1) }
}

func printTable(_ rows: [Row]) {
  func pad(_ text: String, _ width: Int) -> String { text.padding(toLength: width, withPad: " ", startingAt: 0) }
  func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
  print()
  print(
    pad("operation", 24) + pad("subject", 24) + right("median µs", 12) + right("p99 µs", 12) + right("ops/s", 12)
      + right("ratio", 8) + "  to")
  for row in rows {
    print(
      pad(row.operation, 24) + pad(row.subject, 24) + right(row.medianMicroseconds.short, 12)
        + right(row.p99Microseconds.short, 12) + right(String(format: "%.0f", row.operationsPerSecond), 12)
        + right(row.ratio?.short ?? "", 8)
        + "  "
        + [row.limitOperation == row.operation ? nil : row.limitOperation, row.limitSubject].compactMap { $0 }
        .joined(separator: " ") + (row.residentBytes.map { "\($0 >> 10) KiB" } ?? ""))
  }
}
