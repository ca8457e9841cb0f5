import Coffer
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments.first == "child" {
  try await runChild(Array(arguments.dropFirst()))
} else {
  try await runSuite(arguments)
}

func runSuite(_ arguments: [String]) async throws {
  let options = ["--check", "--record"]
  let filters = arguments.filter { !options.contains($0) }
  guard filters.count <= 1, !filters.contains(where: { $0.hasPrefix("-") }) else {
    throw Failure("usage: ./run bench [GROUP] [--check] [--record]")
  }
  let (isChecked, isRecorded) = (arguments.contains("--check"), arguments.contains("--record"))
  let filter = filters.first
  // The file holds the rows of one whole run: rows of different runs cannot be compared.
  guard !isRecorded || filter == nil else { throw Failure("--record needs a whole run, without a GROUP") }
  func wants(_ group: String) -> Bool { filter.map { group.hasPrefix($0) } ?? true }
  let directory = try temporaryDirectory()
  defer { try? FileManager.default.removeItem(at: directory) }
  var bench = Bench()
  try await measureProcessor(&bench)
  if wants("command") { try await measureCommand(&bench, directory) }
  if wants("put") { try await measurePuts(&bench, directory) }
  if wants("put") || wants("writers") { try await measureWriters(&bench, directory) }
  if wants("get") { try await measureGets(&bench, directory) }
  if wants("writeback") || wants("cache") { try await measureWriteBack(&bench, directory) }
  if wants("versions") { try await measureVersions(&bench, directory) }
  if wants("contract") { try await measureContract(&bench, directory) }
  if wants("encrypted") { try await measureEncrypted(&bench, directory) }
  if wants("pages") { try await measurePages(&bench, directory) }
  if wants("batch") { try await measureBatches(&bench, directory) }
  if wants("file") { try await measureFiles(&bench, directory) }
  if wants("router") { try await measureRouter(&bench) }
  if wants("pg") { try await measurePostgreSQL(&bench) }
  if wants("crypto") { try await measureCrypto(&bench) }
  if wants("settings") { try await measureSettings(&bench, directory) }
  if wants("open") { try await measureLargeStore(&bench, directory) }
  if wants("watchify.decode") { try await measureFeed(&bench) }
  if wants("watchify") {
    let folder = directory.appendingPathComponent("watchify")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await measureWatchify(&bench, folder)
  }
  if wants("subscribers") || wants("prefs") || wants("sealed") || wants("keychain") || wants("notify")
    || wants("vault")
  {
    let engines = try BenchEngines(in: directory)
    defer { engines.end() }
    for kind in engines.all where wants(kind.rawValue) { try await measureEngine(&bench, kind, engines) }
    if wants("subscribers") { try await measureSubscribers(&bench, engines) }
    if wants("vault") { try await measureVaults(&bench, engines) }
    if wants("notify") { try await measureNotify(&bench, engines) }
  }
  printTable(bench.rows)
  if isRecorded {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("results.json")
    try encoder.encode(bench.rows).write(to: file)
    print("\nWritten to Benchmarks/results.json")
  }
  for miss in bench.misses { print("aim missed, see docs/performance.md: \(miss)") }
  for failure in bench.failures { print("limit missed: \(failure)") }
  if bench.failures.isEmpty { print(bench.misses.isEmpty ? "all limits held" : "all accepted bounds held") }
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
