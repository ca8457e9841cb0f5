import Coffer
import CofferCore
import Foundation
import WatchifyKit

/// Pictures of products on this device, in a store of files beside the database.
///
/// A shop's server sees one request for a picture, from this process, and none of who looks at which page. The store
/// detects damaged files, which are requested again. The oldest pictures are removed beyond a limit of bytes.
actor PictureCache {
  /// The limit of all pictures, in bytes.
  static let limit = 200 << 20
  /// The pictures that are awaited at a time; further ones are answered with ``Busy``.
  static let mostWaiting = 64
  /// The time for which a picture that cannot be had is not requested again.
  static let pause = Duration.seconds(600)

  /// The error for too many requests at a time.
  struct Busy: Error {}

  private let directory: URL
  private let source: PictureSource
  private let origin = StoreOrigin()
  private var store: SlotEngine?
  private var isUsable = true
  private var waiting: [KeyName: Task<ShopPicture?, any Error>] = [:]
  private var missing: [KeyName: ContinuousClock.Instant] = [:]
  /// The bytes of all stored pictures; `nil` before they were counted.
  private var size: Int?

  /// - Parameter directory: the directory of the store; it is created when the first picture is requested.
  init(directory: URL, source: PictureSource) {
    self.directory = directory
    self.source = source
  }

  /// Returns a picture from the store or from its server; `nil` if there is none at the address.
  /// - Throws: ``Busy``, `URLError` if the server does not answer.
  func picture(at address: String, isLocal: Bool) async throws -> ShopPicture? {
    // A shop of the web must not show what only shops of this device may name.
    guard let key = try? KeyName((isLocal ? "local " : "web ") + address) else {
      return try await source.picture(at: address, isLocal: isLocal)  // Too long for a name of the store.
    }
    if let stored = await stored(key) { return stored }
    if let since = missing[key], since + Self.pause > .now { return nil }
    if let task = waiting[key] { return try await task.value }
    guard waiting.count < Self.mostWaiting else { throw Busy() }
    let task = Task { try await source.picture(at: address, isLocal: isLocal) }
    waiting[key] = task
    defer { waiting[key] = nil }
    do {
      guard let picture = try await task.value else {
        remember(missing: key)
        return nil
      }
      await put(key, picture)
      return picture
    } catch {
      remember(missing: key)
      throw error
    }
  }

  /// Closes the store.
  func close() async {
    isUsable = false
    try? await store?.close()
    store = nil
  }

  private func remember(missing key: KeyName) {
    if missing.count >= 1_000 { missing = missing.filter { $0.value + Self.pause > .now } }
    if missing.count >= 1_000 { missing = [:] }
    missing[key] = .now
  }

  /// Returns the open store; `nil` if it cannot be used: pictures are then requested each time.
  private func engine() async -> SlotEngine? {
    if let store { return store }
    guard isUsable, let opened = try? await SlotEngine.files(in: directory) else { return nil }
    if let store {  // Another call has opened it meanwhile.
      try? await opened.close()
      return store
    }
    store = opened
    return opened
  }

  private func stored(_ key: KeyName) async -> ShopPicture? {
    guard let store = await engine() else { return nil }
    // A damaged file is in the quarantine now, and its picture is requested again.
    guard let entry = try? await store.entry(key) else { return nil }
    return ShopPicture(entry.value)
  }

  private func put(_ key: KeyName, _ picture: ShopPicture) async {
    guard let store = await engine() else { return }
    var batch = WriteBatch(durability: .relaxed)
    batch.put(key, picture.data)
    // A full disk only means that the picture is requested again.
    guard (try? await store.commit(batch, from: origin)) != nil else { return }
    size? += picture.data.count
    if size ?? Int.max > Self.limit { await removeOldest(of: store) }
  }

  /// Counts the stored bytes, and removes the oldest pictures until a tenth of the limit is free.
  private func removeOldest(of store: SlotEngine) async {
    guard let all = try? await store.summaries() else { return }
    var total = all.reduce(0) { $0 + ($1.size ?? 0) }
    defer { size = total }
    guard total > Self.limit else { return }
    var batch = WriteBatch(durability: .relaxed)
    for summary in all.sorted(by: { $0.revision < $1.revision }) {
      guard total > Self.limit / 10 * 9 else { break }
      batch.delete(summary.key)
      total -= summary.size ?? 0
    }
    _ = try? await store.commit(batch, from: origin)
  }
}
