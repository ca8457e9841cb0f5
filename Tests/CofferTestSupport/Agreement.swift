package import CofferCore

/// Returns the differences between reads, summaries and listings of an engine; empty if they agree.
package func disagreements(of engine: any StorageEngine) async throws -> [String] {
  var found: [String] = []
  for listed in try await engine.summaries() {
    let name = "'\(listed.key.string)'"
    guard let summary = try await engine.summary(of: listed.key), let entry = try await engine.entry(listed.key) else {
      found.append("\(name) is listed, but absent")
      continue
    }
    if summary != listed { found.append("\(name): \(summary) and, in a listing, \(listed)") }
    if summary.attributes != entry.attributes {
      found.append("\(name): attributes \(summary.attributes.encoded) and, when read, \(entry.attributes.encoded)")
    }
    if summary.revision != entry.revision {
      found.append("\(name): \(summary.revision) and, when read, \(entry.revision)")
    }
    if let size = summary.size, size != entry.value.count {
      found.append("\(name): \(size) B and, when read, \(entry.value.count) B")
    }
    let commit = engine.recentCommits(after: .zero)?.first { $0.revision == entry.revision }
    if let commit, summary.date != commit.date { found.append("\(name): of \(String(describing: summary.date))") }
  }
  return found
}
