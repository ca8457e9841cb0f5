import Foundation
import WatchifyKit

// Watchify as a process that tests kill: syncs all stores of a database repeatedly, each round a minute of a simulated
// clock later, and appends the news as lines to a file.
//
//   WatchifyTestHelper DATABASE DELIVERIES START-TIME
//
// As a process that syncs a single store and prints the resources used:
//
//   WatchifyTestHelper memory DATABASE ADDRESS

// As a process that checks for the desktop's notification server and prints the result:
//
//   WatchifyTestHelper desktop

/// A clock that advances by more than a minute from round to round.
final class RoundClock: Sendable {
  private let start: Date
  private let begun = ContinuousClock.now

  init(start: Date) { self.start = start }

  // Two hundred seconds per second: a minute takes a third of one.
  var now: Date { start.addingTimeInterval((ContinuousClock.now - begun) / .seconds(1) * 200) }
}

/// Appends a line for each notification in one call, so that a kill leaves a whole line or none.
struct FileChannel: NotificationChannel {
  let name = "desktop"
  let file: FileHandle

  func availability() async -> ChannelAvailability { .available(detail: "file") }

  func deliver(_ content: NotificationContent) async throws {
    try file.write(contentsOf: Data("\(content.body)\n".utf8))
  }
}

let arguments = CommandLine.arguments
if arguments.count == 4, arguments[1] == "memory" {
  try await measureMemory(database: arguments[2], address: arguments[3])
  exit(0)
}
if arguments.count == 2, arguments[1] == "desktop" {
  FileHandle.standardOutput.write(Data("\(await DesktopChannel().availability())\n".utf8))
  exit(0)
}
guard arguments.count == 4, let start = Double(arguments[3]) else { exit(64) }
let container = try await ModelContainer.open(at: URL(fileURLWithPath: arguments[1]))
let clock = RoundClock(start: Date(timeIntervalSince1970: start))
let gate = RequestGate(
  clock: ShopClock(now: { clock.now }, sleep: { _ in try Task.checkCancellation() }))
let service = await StoreService.makeBackground(
  container: container, api: ShopifyClient(gate: gate), now: { clock.now })
let deliveries = open(arguments[2], O_WRONLY | O_CREAT | O_APPEND, 0o600)
guard deliveries >= 0 else { exit(66) }
let notifications = NotificationService()
notifications.attach(service, channels: [FileChannel(file: FileHandle(fileDescriptor: deliveries))])
FileHandle.standardOutput.write(Data("ready\n".utf8))
let end = ContinuousClock.now + .seconds(60)
while ContinuousClock.now < end { await service.syncAllStoresWithErrorTracking(notifications: notifications) }
