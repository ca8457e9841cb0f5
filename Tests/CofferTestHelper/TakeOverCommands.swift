import Coffer
import Foundation

/// Takes the files of a directory over into a store.
///
/// `take-over STORE DIRECTORY [keep]` prints a line for each batch, at the end the report and the peak of the memory in
/// kilobytes, and removes the files unless they are to be kept. `fill STORE COUNT SIZE` stores values.
func runTakeOver(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  switch command {
  case "take-over": try await takeOver(store, rest)
  case "fill": try await fill(store, count: Int(rest[0]) ?? 0, size: Int(rest[1]) ?? 0)
  default: return false
  }
  return true
}

private func takeOver(_ store: String, _ rest: [String]) async throws {
  let engine = try await StoreLocation(store).open()
  var options = TakeOverOptions()
  options.removesOriginals = !rest.contains("keep")
  let encoding: LegacyEncoding = rest.contains("bytes") ? .bytes : .json
  say("opened")
  let run = engine.takeOver(from: .files(directory: rest[0], encoding: encoding), options: options)
  for await progress in run.updates { say("values \(progress.values)") }
  do {
    let report = try await run.result()
    say("peak \(try peakMemory())")
    say("done \(report.taken) \(report.alreadyThere) \(report.removedOriginals)")
  } catch let error as StorageError {
    say("failed \(error.code)")
  }
  try await engine.close()
}

private func fill(_ store: String, count: Int, size: Int) async throws {
  let engine = try await StoreLocation(store).open()
  for number in 0..<count {
    try await engine.commit(
      WriteBatch([.put(StoreKey("key-\(number)"), Data(repeating: UInt8(number), count: size))]), from: StoreOrigin())
  }
  try await engine.close()
}

/// The most memory that this process has had, in kilobytes.
private func peakMemory() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
}
