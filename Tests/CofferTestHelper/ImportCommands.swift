import Coffer
import Foundation

/// Imports values into a store.
///
/// `import STORE SOURCE [keep] [bytes] [pause]` prints a line for each batch, and at the end the report and the peak
/// of the memory in kilobytes. SOURCE is a directory of files or `keychain:SERVICE`. Originals are removed unless they
/// are to be kept. With `pause`, each commit is followed by the line `committed`, and returns after a line of input.
/// `fill STORE COUNT SIZE` stores values.
func runImport(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "import": try await importValues(store, rest)
  case "fill": try await fill(store, count: Int(rest[0]) ?? 0, size: Int(rest[1]) ?? 0)
  default: return false
  }
  return true
}

private func importValues(_ store: String, _ rest: [String]) async throws {
  var opening = StoreOptions()
  if rest.contains("pause") {
    opening.events = CofferEvents { event in
      guard case .committed = event.kind else { return }
      say("committed")
      _ = readLine()
    }
  }
  let engine = try await StoreLocation(store).open(opening)
  var options = Import.Options()
  options.removesOriginals = !rest.contains("keep")
  say("opened")
  let run = engine.import(from: source(rest), options: options)
  for await progress in run.updates { say("values \(progress.values)") }
  do {
    let report = try await run.result()
    say("peak \(try peakMemory())")
    say("done \(report.imported) \(report.alreadyThere) \(report.removedOriginals)")
  } catch let error as StorageError {
    say("failed \(error.code): \(error.message)")
  }
  try await engine.close()
}

private func source(_ rest: [String]) -> Import.Source {
  let encoding: Import.Encoding = rest.contains("bytes") ? .bytes : .json
  let service = rest[0].hasPrefix("keychain:") ? String(rest[0].dropFirst("keychain:".count)) : nil
  return service.map { .keychain(service: $0, encoding: encoding) } ?? .files(directory: rest[0], encoding: encoding)
}

private func fill(_ store: String, count: Int, size: Int) async throws {
  let engine = try await StoreLocation(store).open()
  for number in 0..<count {
    try await engine.commit(
      WriteBatch([.put(KeyName("key-\(number)"), Data(repeating: UInt8(number), count: size))]), from: StoreOrigin())
  }
  try await engine.close()
}

/// The most memory that this process has had, in kilobytes.
private func peakMemory() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}
