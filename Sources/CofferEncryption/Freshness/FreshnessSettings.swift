import CofferCore

/// How an encrypted store notices that an older copy of it was put back.
///
/// ```swift
/// var configuration = EncryptionConfiguration()
/// configuration.freshness = FreshnessSettings(anchor: FileAnchor(URL(fileURLWithPath: "/mnt/other/shop.anchor")))
/// let engine = try await EncryptedEngine.open(base, key: key, configuration: configuration)
/// ```
///
/// The store counts in an authenticated record of its own, and the anchor keeps the latest number. A store whose number
/// is lower, or whose key ring is older, is refused with `rolledBack` when it is opened. `docs/security.md` states what
/// is noticed and what is not.
public struct FreshnessSettings: Sendable {
  /// The anchor, which belongs to this store alone.
  public var anchor: any FreshnessAnchor

  /// The time after a commit until the anchor is updated; a minute by default. An older copy from within this time is
  /// not noticed. The anchor is also updated when the store is flushed and closed.
  public var interval: Duration

  /// The maximum duration of reading or updating the anchor; 10 seconds by default. Afterwards it is `unavailable`.
  public var timeout: Duration

  /// Whether also an older copy of a single value, and a removed one, is noticed; `false` by default.
  ///
  /// The store then has a record of the versions of all its values, except for those that expire. Every commit of every
  /// process replaces it: a put that does not wait for the disk takes three to four times as long as one without
  /// encryption, and commits of one store wait for each other, so that they share no sync. They read the attributes of
  /// what they replace. Opening the store with an anchor reads the attributes of all values.
  ///
  /// A store has this for good once it was opened with it for writing. It is `unsupported` for a store of which only
  /// declared keys are encrypted, and begins after the store was encrypted completely. Values that are older than that
  /// are covered as soon as they are written again (``EncryptedEngine/rotate(prefix:from:)``); until then they are
  /// noticed only if they are missing. `docs/security.md` states the limits.
  public var coversValues: Bool

  /// Creates settings.
  public init(
    anchor: any FreshnessAnchor, interval: Duration = .seconds(60), timeout: Duration = .seconds(10),
    coversValues: Bool = false
  ) {
    self.anchor = anchor
    self.coversValues = coversValues
    self.interval = interval
    self.timeout = timeout
  }

  /// Refuses a missing store whose anchor knows an encrypted one.
  /// - Throws: `rolledBack`, and the errors of the anchor.
  package func refuseMissing(_ location: String) async throws {
    let reader = AnchorReader(settings: self, location: location)
    guard let bytes = try await reader.bytes() else { return }
    do {
      let anchored = try AnchorRecord(bytes)
      guard !anchored.isReleased else { return }
      throw StorageError.replacedStore("there is none now", than: anchored, in: reader.description, location: location)
    } catch let error as StorageError { throw error.unconfirmed(reader.description, location: location) }
  }
}
