/// What an engine promises. The conformance suite tests each promise, and that what is not promised is refused.
public struct StoreCapabilities: Hashable, Sendable {
  /// The promises that an engine either makes or does not.
  public struct Features: OptionSet, Hashable, Sendable {
    /// One bit for each promise. The bits are stable from release to release.
    public let rawValue: UInt32
    /// The promises whose bits are set.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// A batch of several steps happens whole or not at all.
    public static let atomicBatches = Features(rawValue: 1 << 0)
    /// `require` steps are checked atomically with the batch.
    public static let preconditions = Features(rawValue: 1 << 1)
    /// `withSnapshot` reads one state of the store, whatever is written meanwhile.
    public static let snapshots = Features(rawValue: 1 << 2)
    /// Keys can be listed in order, by prefix and page by page, and cleared by prefix.
    public static let listing = Features(rawValue: 1 << 3)
    /// Values survive closing the engine.
    public static let persistence = Features(rawValue: 1 << 4)
    /// A subscriber may start at an earlier revision.
    public static let replay = Features(rawValue: 1 << 5)
    /// Commits by other processes are heard.
    public static let foreignWriters = Features(rawValue: 1 << 6)
    /// `StoreDurability.full` survives power loss.
    public static let powerLossSafety = Features(rawValue: 1 << 7)
    /// Entries carry the revision that wrote them.
    public static let revisions = Features(rawValue: 1 << 8)
    /// ``ValueAttributes`` are kept with the values.
    public static let attributes = Features(rawValue: 1 << 9)
    /// ``SystemRecord``s are kept beside the values.
    public static let systemRecords = Features(rawValue: 1 << 11)
    /// `latestRevision` is never behind a commit that has returned anywhere, in whatever process: a value that was read
    /// at it is still what the store holds. Caches ask an engine without this promise before each use.
    public static let immediateRevisions = Features(rawValue: 1 << 10)
  }

  /// What the engine does.
  public let features: Features
  /// The largest value in bytes.
  public let maximumValueSize: Int

  /// What an engine says of itself. Promise only what passes the conformance suite.
  public init(_ features: Features, maximumValueSize: Int) {
    self.features = features
    self.maximumValueSize = maximumValueSize
  }

  /// Whether all the given promises are made.
  public func contains(_ features: Features) -> Bool { self.features.contains(features) }
}
