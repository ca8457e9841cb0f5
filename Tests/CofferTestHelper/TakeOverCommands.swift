import Coffer
import Foundation

/// Takes the files of a directory over into a store, and removes them. Prints a line for each batch.
func runTakeOver(_ command: String, _ store: String, _ rest: [String]) async throws -> Bool {
  guard command == "take-over", rest.count == 1 else { return false }
  let engine = try await StoreLocation(store).open()
  var options = TakeOverOptions()
  options.removesOriginals = true
  say("opened")
  let run = engine.takeOver(from: .files(directory: rest[0], encoding: .json), options: options)
  for await progress in run.updates { say("values \(progress.values)") }
  let report = try await run.result()
  say("done \(report.taken) \(report.alreadyThere) \(report.removedOriginals)")
  try await engine.close()
  return true
}
