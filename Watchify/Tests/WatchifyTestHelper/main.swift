import Foundation
import WatchifyKit

// Watchify as a process that tests kill: reads all stores of a database again and again, each round a minute of its own
// clock later, and tells of the news by lines in a file.
//
//   WatchifyTestHelper DATABASE DELIVERIES START-TIME
//
// Or as one that reads a single store and says what that took:
//
//   WatchifyTestHelper memory DATABASE ADDRESS

// Or as one that looks for the desktop's notification server and says what it finds:
//
//   WatchifyTestHelper desktop

/// A clock that jumps a minute and more from round to round.
final class RoundClock: Sendable {
  private let start: Date
  private let begun = ContinuousClock.now

  init(start: Date) { self.start = start }

  // Two hundred seconds to the second: a minute is over in a third of one.
  var now: Date { start.addingTimeInterval((ContinuousClock.now - begun) / .seconds(1) * 200) }
}

/// Appends a line for each notification: in one call, so that a kill leaves it whole or away.
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
