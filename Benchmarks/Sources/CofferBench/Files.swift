import Coffer
import Foundation

/// Measures a store with a file per key against the same system calls written by hand.
func measureFiles(_ bench: inout Bench, _ directory: URL) async throws {
  let values = try Values(count: 1_000)
  let byHand = try FilesByHand(directory.appendingPathComponent("posix").path)
  let engine = try await SlotEngine.files(in: directory.appendingPathComponent("coffer"))
  let origin = StoreOrigin()
  try await fill(byHand, engine, values)
  try await bench.measure(
    "file.put.full", rounds: 15, count: 200,
    [
      Variant(subject: "posix") { first, count in
        await each(first, count) { index in
          byHand.put([values.slot(index)].map { (values.names[$0], Values.bytes(index)) })
        }
      },
      Variant(subject: "coffer.file", limit: Limit(subject: "posix", maximumRatio: 1.15, accepted: 1.6)) {
        first, count in
        try await each(first, count) { index in
          let batch = WriteBatch([.put(values.keys[values.slot(index)], Data(Values.bytes(index)))])
          try await engine.commit(batch, from: origin)
        }
      },
    ])
  try await bench.measure(
    "file.get", count: 20_000,
    [
      Variant(subject: "posix") { first, count in
        await grouped(first, count, by: 100) { index in
          precondition(byHand.read(values.names[values.slot(index)]).count == 256)
        }
      },
      Variant(subject: "coffer.file", limit: Limit(subject: "posix", maximumRatio: 1.3, accepted: 1.9)) {
        first, count in
        try await grouped(first, count, by: 100) { index in
          let entry = try await engine.entry(values.keys[values.slot(index)])
          precondition(entry?.value.count == 256)
        }
      },
    ])
  try await measureFileBatches(&bench, byHand, engine, values)
  try await engine.close()
}

private func fill(_ byHand: FilesByHand, _ engine: SlotEngine, _ values: Values) async throws {
  byHand.put(values.names.indices.map { (values.names[$0], Values.bytes($0)) })
  let operations = values.keys.indices.map { WriteBatch.Operation.put(values.keys[$0], Data(Values.bytes($0))) }
  try await engine.commit(WriteBatch(operations), from: StoreOrigin())
}

/// Measures a batch of 1,000 files, each of which is synced separately.
private func measureFileBatches(
  _ bench: inout Bench, _ byHand: FilesByHand, _ engine: SlotEngine, _ values: Values
) async throws {
  try await bench.measure(
    "file.batch.1000", count: 1,
    [
      Variant(subject: "posix") { first, count in
        await each(first, count) { round in
          byHand.put(values.names.indices.map { (values.names[$0], Values.bytes(round * 1_000 + $0)) })
        }
      },
      Variant(subject: "coffer.file", limit: Limit(subject: "posix", maximumRatio: 1)) { first, count in
        try await each(first, count) { round in
          let operations = values.keys.indices.map {
            WriteBatch.Operation.put(values.keys[$0], Data(Values.bytes(round * 1_000 + $0)))
          }
          try await engine.commit(WriteBatch(operations), from: StoreOrigin())
        }
      },
    ])
}

/// A store written without the library: a journal row, a temporary file, a sync, a rename and a sync of the directory.
private final class FilesByHand {
  private let path: String
  private let directory: Int32
  private let journal: SQLiteByHand

  init(_ path: String) throws {
    self.path = path
    mkdir(path, 0o700)
    directory = open(path, O_RDONLY | O_DIRECTORY)
    precondition(directory >= 0)
    journal = try SQLiteByHand(path + ".db", synchronous: "FULL")
  }

  func put(_ files: [(name: [UInt8], bytes: [UInt8])]) {
    for (name, bytes) in files { write(bytes, to: temporary(name)) }
    journal.transact {
      for (name, bytes) in files { journal.write(name, Array(bytes[..<62])) }
    }
    for (name, _) in files {
      precondition(renameat(directory, temporary(name), directory, text(name)) == 0)
    }
    precondition(fsync(directory) == 0)
  }

  func read(_ name: [UInt8]) -> [UInt8] {
    let file = openat(directory, text(name), O_RDONLY)
    defer { close(file) }
    var status = stat()
    precondition(fstat(file, &status) == 0)
    return [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
      count = Foundation.read(file, buffer.baseAddress, buffer.count)
    }
  }

  private func write(_ bytes: [UInt8], to name: String) {
    let file = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    precondition(Foundation.write(file, bytes, bytes.count) == bytes.count && fsync(file) == 0)
    close(file)
  }

  private func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }
  private func temporary(_ name: [UInt8]) -> String { text(name) + ".new" }
}
