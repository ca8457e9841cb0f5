import Foundation
import WatchifyCShims
import WatchifyKit

/// Follows a store, or syncs it if it is followed already, in a separate process. Prints the outcome, the peak memory
/// in kilobytes and the CPU time in milliseconds, a line each.
func measureMemory(database: String, address: String) async throws {
  watchify_share_heap()  // As `watchify` does.
  let container = try await ModelContainer.open(at: URL(fileURLWithPath: database))
  let followed = try await StoreService.makeBackground(container: container).stores().first
  // Each process runs a simulated day later.
  let start = followed?.lastAttemptAt?.addingTimeInterval(86_400) ?? Date(timeIntervalSince1970: 1_790_000_000)
  let clock = RoundClock(start: start)
  let gate = RequestGate(clock: ShopClock(now: { clock.now }, sleep: { _ in try Task.checkCancellation() }))
  let service = await StoreService.makeBackground(
    container: container, api: ShopifyClient(gate: gate), now: { clock.now })
  var outcome: String
  do {
    if let followed {
      outcome = "\(try await service.sync(followed.id).count) pieces of news"
    } else {
      _ = try await service.addStore(name: nil, domain: address, country: nil)
      outcome = "\(try await service.stores().first?.cachedProductCount ?? 0) products"
    }
  } catch SyncFailure.invalidResponse(.unexpected) {
    outcome = "invalidResponse"
  } catch SyncFailure.invalidResponse(let cause) {
    outcome = "\(cause)"
  } catch { outcome = "\(error)" }
  try await container.close()
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let most = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }?.filter(\.isNumber) ?? "?"
  var used = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
  let milliseconds = used.tv_sec * 1_000 + used.tv_nsec / 1_000_000
  let line = outcome.prefix(400).replacing("\n", with: " ")
  FileHandle.standardOutput.write(Data("\(line)\n\(most)\n\(milliseconds)\n".utf8))
  if ProcessInfo.processInfo.environment["PHASES"] != nil { print(status) }
}
