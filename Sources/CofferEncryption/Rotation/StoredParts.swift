import CofferCore

extension StorageEngine {
  /// Passes the summaries of all stored values, with those of expired ones, in parts of about one MiB or 500 values.
  func forEachStoredPart(_ body: ([StoreEntry.Summary]) async throws -> Void) async throws {
    let (pageSize, partBytes) = (500, 1 << 20)
    var last: KeyName?
    while true {
      // A snapshot for each page: a long one would keep the log from being checkpointed.
      let page = try await withAllStored { [last] in try await $0.summaries(prefix: nil, after: last, limit: pageSize) }
      guard let end = page.last else { return }
      var rest = page[...]
      while !rest.isEmpty {
        try Task.checkCancellation()
        var size = 0
        let part = rest.prefix { summary in
          defer { size += summary.size ?? partBytes / 64 }
          return size < partBytes
        }
        rest = rest.dropFirst(part.count)
        try await body(Array(part))
      }
      last = end.key
    }
  }
}
